#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/merged.h>
#include <weft/formats/named/common.h>
#include <weft/formats/named/hb_ell_blocks.h>
#include <weft/formats/parallel.h>

#include <algorithm>

namespace weft::named {
namespace {

/// What one block holds.
struct Content {
  std::int32_t column = 0;
  std::int32_t entries = 0;
  std::int32_t longest = 0;  ///< row
};

/// The blocks of a block row that hold an entry, by column.
class BlockRow {
 public:
  BlockRow(const WeightMatrix& weights, std::int64_t size, std::int64_t number)
      : weights_(weights), size_(size) {
    const std::int64_t end = std::min((number + 1) * size, weights.rows);
    for (std::int64_t row = number * size; row < end; ++row) add_row(row);
  }

  std::vector<Content> take() { return std::move(contents_); }

 private:
  /// Both the row's entries and what there is so far ascend.
  void add_row(std::int64_t row) {
    std::vector<Content> runs;
    for (const std::int64_t i : weights_.entries(row)) {
      if (weights_.values.is_zero_bits(i)) continue;
      const auto column = static_cast<std::int32_t>(weights_.column_of(i) / size_);
      if (runs.empty() || runs.back().column != column) runs.push_back({column, 0, 0});
      ++runs.back().entries;
      ++runs.back().longest;
    }
    contents_ = merged(contents_, runs, &Content::column, [](const Content& old, const Content& run) {
      return Content{old.column, old.entries + run.entries, std::max(old.longest, run.longest)};
    });
  }

  const WeightMatrix& weights_;
  std::int64_t size_;
  std::vector<Content> contents_;
};

/// The width that a block of that content gets.
std::int32_t width_of(const Content& content, const HbEllShape& shape) {
  const std::int64_t widest = shape.step == 1 ? shape.size - 1 : shape.size / 2;
  const std::int64_t filled = ceil_divide(content.longest, shape.step) * shape.step;
  const bool dense = filled > widest || 4 * content.entries > 3 * shape.size * shape.size;
  return static_cast<std::int32_t>(dense ? shape.size : filled);
}

/// Every block, those that hold nothing too.
void add_empty_blocks(std::vector<std::vector<Content>>& rows, std::int64_t columns) {
  for (auto& row : rows) {
    std::vector<Content> all(columns);
    for (std::size_t column = 0; column < all.size(); ++column)
      all[column].column = static_cast<std::int32_t>(column);
    for (const Content& content : row) all[content.column] = content;
    row = std::move(all);
  }
}

/// Every block, in the width that the longest row of any asks for: at once, or, where widths come in steps,
/// in pieces of one step.
void make_uniform(std::vector<std::vector<Content>>& rows, std::int64_t columns, std::int64_t step) {
  std::int32_t longest = 0;
  for (const auto& row : rows) {
    for (const Content& content : row) longest = std::max(longest, content.longest);
  }
  const std::int64_t pieces = step == 1 ? 1 : std::max<std::int64_t>(1, ceil_divide(longest, step));
  const std::int32_t width = step == 1 ? longest : static_cast<std::int32_t>(step);
  for (auto& row : rows) {
    row.clear();
    for (std::int64_t piece = 0; piece < columns * pieces; ++piece)
      row.push_back({static_cast<std::int32_t>(piece / pieces), 0, width});
  }
}

/// A parameter that is 0 or 1, and 0 where it is not there.
bool flag(const Format& format, const char* name) {
  const std::int64_t value = parameter(format, name, 0);
  if (value != 0 && value != 1) refuse_parameter(format, name, value, "0 or 1");
  return value == 1;
}

}  // namespace

HbEllShape hb_ell_shape(const Format& format) {
  const formats::HbEllOptions usual;
  HbEllShape shape;
  shape.pairs = flag(format, "pairs");
  if (shape.pairs) {
    check_parameters(format, {"V", "k", "pairs"});
    power_of_two(format, "V", usual.size, usual.size, usual.size);
    return shape;
  }
  check_parameters(format, {"b", "every", "offset", "pairs", "step", "uniform"});
  shape.size = power_of_two(format, "b", usual.size, 2, 16);
  shape.offset = power_of_two(format, "offset", usual.offset, 4, 8);
  shape.step = power_of_two(format, "step", usual.step, 1, 4);
  if (parameter(format, "every", 0) != 0) shape.every = power_of_two(format, "every", 1, 1, 64);
  shape.uniform = flag(format, "uniform");
  if (shape.uniform && shape.every > 0)
    throw UserError("a format has parameters that exclude one another", format.text(), "uniform and every",
                    "one of them: one width for all has every block already");
  return shape;
}

std::int64_t HbEllBlocks::sparse_places() const {
  std::int64_t places = 0;
  for (const std::int32_t each : width) places += each < size ? each * size : 0;
  return places;
}

std::int64_t HbEllBlocks::dense_places() const {
  return std::ranges::count(width, static_cast<std::int32_t>(size)) * size * size;
}

HbEllBlocks hb_ell_blocks(const WeightMatrix& weights, const HbEllShape& shape, std::int64_t threads) {
  std::vector<std::vector<Content>> rows(ceil_divide(weights.rows, shape.size));
  parallel_for_on(threads, std::ssize(rows),
                  [&](std::int64_t row) { rows[row] = BlockRow(weights, shape.size, row).take(); });
  HbEllBlocks blocks{.size = shape.size, .row_begin = {0}, .column = {}, .width = {}};
  if (shape.every > 0) {
    const auto filled = [&](std::int64_t count) { return ceil_divide(count, shape.every) * shape.every; };
    rows.resize(filled(std::ssize(rows)));
    blocks.every_column = filled(ceil_divide(weights.columns, shape.size));
    add_empty_blocks(rows, blocks.every_column);
  }
  if (shape.uniform) make_uniform(rows, ceil_divide(weights.columns, shape.size), shape.step);
  for (const auto& row : rows) {
    for (const Content& content : row) {
      blocks.column.push_back(content.column);
      blocks.width.push_back(width_of(content, shape));
    }
    blocks.row_begin.push_back(std::ssize(blocks.column));
  }
  return blocks;
}

std::int64_t hb_ell_bytes(const WeightMatrix& weights, const HbEllShape& shape) {
  const HbEllBlocks blocks = hb_ell_blocks(weights, shape, threads_for(weights.stored()));
  const std::int64_t sparse = blocks.sparse_places();
  const auto width = static_cast<std::int64_t>(size_of(weights.values.dtype()));
  constexpr std::int64_t arrays_by_block = 4;
  const std::int64_t numbers = arrays_by_block * std::ssize(blocks.column) + 1 + std::ssize(blocks.row_begin);
  return 4 * numbers + (sparse + blocks.dense_places()) * width + sparse * shape.offset / 8;
}

}  // namespace weft::named
