#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/order.h>

#include <algorithm>

namespace weft {
namespace {

constexpr double worth_dealing = 1.15;  ///< entries of the fullest block over the mean

}  // namespace

bool rows_are_uneven(std::span<const std::int64_t> begin, std::int64_t rows) {
  const std::int64_t count = std::ssize(begin) - 1, all = ceil_divide(count, rows);
  std::int64_t most = 0;
  for (std::int64_t block = 0; block < all; ++block) {
    const auto first = static_cast<std::size_t>(block * rows);
    const auto last = static_cast<std::size_t>(std::min((block + 1) * rows, count));
    most = std::max<std::int64_t>(most, begin[last] - begin[first]);
  }
  const auto mean = static_cast<double>(begin.back()) / static_cast<double>(std::max<std::int64_t>(1, all));
  return mean > 0 && static_cast<double>(most) / mean > worth_dealing;
}

std::vector<std::int64_t> entries_of_rows(const SparseTensor& weights) {
  std::vector<std::int64_t> entries(weights.rows(), 0);
  weights.walk([&](std::int64_t row, std::int64_t, std::int64_t) { ++entries[row]; });
  return entries;
}

std::shared_ptr<const SparseTensor> dealt_to_blocks(const SparseTensor& weights, std::int64_t rows,
                                                    SparseRtOrder order) {
  const auto begin = weights.array("begin").as<std::int32_t>();
  const bool uneven = order == SparseRtOrder::chosen &&
                      rows_are_uneven(std::vector<std::int64_t>(begin.begin(), begin.end()), rows);
  if (!uneven && order != SparseRtOrder::dealt) return nullptr;
  const Format format = formats::csr({.order = RowOrder::dealt, .rows = rows});
  return std::make_shared<const SparseTensor>(repack(weights, format));
}

}  // namespace weft
