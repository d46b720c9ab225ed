// V:N:M with N = 2: of each block of M columns a group of V rows keeps up to four, and every row two of these
// (see kept_pairs). The kept columns of a group are listed block by block, four for each in ascending order,
// -1 for those that it lacks; the list is filled up to a multiple of k. The last block of columns may be
// narrower.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/named/kept_pairs.h>

#include <algorithm>
#include <array>

namespace weft::named {
namespace {

constexpr std::array<std::int64_t, 8> known_columns{4, 8, 10, 16, 20, 32, 40, 100};

std::int64_t columns_of_block(const Format& format) {
  const std::int64_t columns = parameter(format, "M", formats::PairOptions{}.columns);
  if (std::ranges::find(known_columns, columns) == known_columns.end())
    refuse_parameter(format, "M", columns, "4, 8, 10, 16, 20, 32, 40 or 100");
  return columns;
}

/// The kept columns of each group, four slots for each block of columns.
class KeptColumns {
 public:
  KeptColumns(const WeightMatrix& weights, std::int64_t rows, std::int64_t of_block, std::int64_t slots)
      : weights_(weights), rows_(rows), of_block_(of_block), slots_(static_cast<std::size_t>(slots)) {}

  std::vector<SlotColumns> operator()() const {
    std::vector<SlotColumns> result;
    for (std::int64_t first = 0; first < weights_.rows; first += rows_) result.push_back(of_group(first));
    return result;
  }

 private:
  SlotColumns of_group(std::int64_t first) const {
    const std::int64_t end = std::min(first + rows_, weights_.rows);
    std::vector<std::int32_t> kept(weights_.column.begin() + weights_.row_begin[first],
                                   weights_.column.begin() + weights_.row_begin[end]);
    std::ranges::sort(kept);
    kept.erase(std::ranges::unique(kept).begin(), kept.end());
    SlotColumns columns(slots_, -1);
    for (std::size_t i = 0; i < kept.size();) {
      const std::int64_t block = kept[i] / of_block_;
      std::size_t last = i;
      while (last < kept.size() && kept[last] / of_block_ == block) ++last;
      if (last - i > slots_of_quad) refuse(first, end, block, last - i);
      std::copy(kept.begin() + static_cast<std::ptrdiff_t>(i),
                kept.begin() + static_cast<std::ptrdiff_t>(last), columns.begin() + block * slots_of_quad);
      i = last;
    }
    return columns;
  }

  [[noreturn]] void refuse(std::int64_t first, std::int64_t end, std::int64_t block, std::size_t kept) const {
    const std::int64_t column = block * of_block_;
    throw UserError(
        fmt::format("rows {}-{} keep {} columns in columns {}-{}, at most {}", first, end - 1, kept, column,
                    std::min(column + of_block_, weights_.columns) - 1, slots_of_quad),
        weights_.origin, fmt::format("{} columns with an entry", kept),
        "weights pruned so: pruned(weights, choose_weights(weights, format, {})), or weft prune");
  }

  const WeightMatrix& weights_;
  std::int64_t rows_, of_block_;
  std::size_t slots_;
};

SparseTensor pack_v_n_m(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {"V", "k", "M"});
  const PairShape shape = pair_shape(format, formats::PairOptions{}.rows, weights.values.dtype());
  const std::int64_t of_block = columns_of_block(format);
  const std::int64_t groups = shape.groups_of(weights.rows);
  const std::int64_t blocks = shape.blocks_of(ceil_divide(weights.columns, of_block));
  check_positions(weights, format, groups * blocks * shape.slots, "listed columns");
  const Level level{.dimension = Dimension::none, .extent = blocks, .parent = 0, .loop = "block"};
  return pack_listed_pairs(weights, format, shape,
                           KeptColumns(weights, shape.rows, of_block, blocks * shape.slots)(), of_block,
                           level, {});
}

constexpr std::array<FormatParameter, 3> v_n_m_parameters{{
    {"V", "a power of two from 16 to 256", "64", "rows of a group"},
    slots_parameter,
    {"M", "4, 8, 10, 16, 20, 32, 40 or 100", "8", "columns of which a group keeps four"},
}};

}  // namespace

NamedFormat v_n_m() {
  return {.name = "v_n_m",
          .summary = "groups of V rows (64) that keep 4 of each M columns (8), each row 2 of these: V:2:M",
          .pack = pack_v_n_m,
          .purpose = "Weights pruned to V:2:M, on sparse tensor cores.",
          .parameters = v_n_m_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::VNM::operator()(const PairOptions& options) const {
  return named::with_places({"v_n_m", {{"V", options.rows}, {"M", options.columns}}}, options.places);
}
