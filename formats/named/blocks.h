// Weights stored by square blocks: bcsr and blocked_ell.
#pragma once

#include <weft/formats/named/common.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace weft::named {

inline constexpr std::array<FormatParameter, 1> block_parameters{
    {{"b", "a power of two from 4 to 256", "16", "rows and columns of a block"}}};

/// The blocks of a weight that hold an entry, by block row, block columns ascending.
class Blocks {
 public:
  /// The size of a block is the parameter "b": a power of two from 4 to 256, else UserError.
  Blocks(const WeightMatrix& weights, const Format& format);

  std::int64_t size() const { return size_; }
  std::int64_t block_rows() const { return std::ssize(columns_); }
  const std::vector<std::int32_t>& columns(std::int64_t block_row) const { return columns_[block_row]; }
  /// The weight as levels and arrays: between those that find the row and that of the columns of a block,
  /// `levels` find the block, the first of them by its number.
  SparseTensor packed(const Format& format, std::vector<Level> levels,
                      std::vector<SparseTensor::NamedArray> arrays) const;
  /// The values of `count` blocks, those of each block row from number `first_of(block row)` on; zero in
  /// between and where nothing is stored. Shape [count, b, b].
  Array values(std::int64_t count, const std::function<std::int64_t(std::int64_t)>& first_of) const;

 private:
  const WeightMatrix& weights_;
  std::int64_t size_;
  std::vector<std::vector<std::int32_t>> columns_;
};

}  // namespace weft::named
