#include <fmt/format.h>
#include <weft/formats/io/split_weight.h>

#include <bit>
#include <string_view>

namespace weft::io {
namespace {

/// What such a weight has beside its values.
struct BitmaskParts {
  explicit BitmaskParts(const SplitWeight& weight)
      : bitmask(*weight.parts[1]), shape(*weight.parts[2]), row_offsets(weight.parts[3]) {}

  const StoredTensor &bitmask, &shape;
  const StoredTensor* row_offsets;  ///< null for 2:4
};

/// Every group of four columns of a 2:4 weight has two entries; a byte of the mask is two groups.
void check_groups(const SplitWeight& weight, std::uint8_t bits, std::int64_t row, std::int64_t byte) {
  for (int half = 0; half < 2; ++half) {
    const std::int64_t column = 8 * byte + 4 * half;
    const int count = std::popcount(static_cast<unsigned>(bits >> (4 * half)) & 0xFU);
    if (column < weight.columns() && count != 2)
      refuse_tensor(BitmaskParts(weight).bitmask,
                    fmt::format("{} entries in row {}, columns {} to {}", count, row, column, column + 3),
                    "two, as 2:4 asks for");
  }
}

void read_mask(const SplitWeight& weight, const BitmaskParts& parts, WeightMatrix& matrix) {
  const std::int64_t width = (weight.columns() + 7) / 8;
  matrix.row_begin.reserve(static_cast<std::size_t>(weight.rows()) + 1);
  for (std::int64_t row = 0; row < weight.rows(); ++row) {
    for (std::int64_t byte = 0; byte < width; ++byte) {
      auto bits = std::to_integer<unsigned>(parts.bitmask.bytes[row * width + byte]);
      if (parts.row_offsets == nullptr) check_groups(weight, static_cast<std::uint8_t>(bits), row, byte);
      for (; bits != 0; bits &= bits - 1) {
        const std::int64_t column = 8 * byte + std::countr_zero(bits);
        if (column >= weight.columns())
          refuse_tensor(parts.bitmask, fmt::format("a bit for column {} in row {}", column, row),
                        fmt::format("columns 0 to {}", weight.columns() - 1));
        matrix.column.push_back(static_cast<std::int32_t>(column));
      }
    }
    if (parts.row_offsets != nullptr && integer_at(*parts.row_offsets, row) != matrix.row_begin.back())
      refuse_tensor(*parts.row_offsets,
                    fmt::format("offset {} of row {}", integer_at(*parts.row_offsets, row), row),
                    fmt::format("{}, as the bitmask says", matrix.row_begin.back()));
    matrix.row_begin.push_back(matrix.stored());
  }
}

void check_bitmask_parts(const SplitWeight& weight) {
  const BitmaskParts parts(weight);
  check_extents(parts.shape);
  check_weight_shape(weight.shape, parts.bitmask.bytes.size(), parts.shape.origin,
                     "tensor " + parts.shape.name);
  expect(parts.bitmask, "U8", {weight.rows(), (weight.columns() + 7) / 8});
  if (parts.row_offsets != nullptr) return expect(*parts.row_offsets, "I64", {weight.rows()});
  if (weight.columns() % 4 != 0)
    refuse_tensor(parts.shape, fmt::format("{} columns in 2:4", weight.columns()), "a multiple of 4");
  expect(weight.values(), weight.values().dtype, {weight.rows(), weight.columns() / 2});
}

WeightMatrix decompressed(const SplitWeight& weight, std::optional<DType> reinterpret_as) {
  const BitmaskParts parts(weight);
  WeightMatrix matrix = weight.matrix();
  read_mask(weight, parts, matrix);
  return weight.with_values(std::move(matrix), reinterpret_as);
}

}  // namespace

std::vector<SplitWeight> compressed_tensors_among(std::span<const StoredTensor> tensors) {
  const auto find = finder(tensors);
  constexpr std::string_view suffix = ".compressed";
  std::vector<SplitWeight> result;
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.name.ends_with(suffix)) continue;
    const std::string prefix = tensor.name.substr(0, tensor.name.size() - suffix.size());
    const StoredTensor* bitmask = find(prefix + ".bitmask");
    const StoredTensor* shape = find(prefix + ".shape");
    if (bitmask == nullptr || shape == nullptr) continue;
    const StoredTensor* row_offsets = find(prefix + ".row_offsets");
    result.push_back({prefix + ".weight",
                      row_offsets == nullptr ? "sparse-24-bitmask" : "sparse-bitmask",
                      extents_in(*shape),
                      {&tensor, bitmask, shape, row_offsets},
                      check_bitmask_parts,
                      decompressed});
  }
  return result;
}

}  // namespace weft::io
