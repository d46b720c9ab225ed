// Eigen's product, compiled twice: WEFT_EIGEN_CONTESTANT and WEFT_EIGEN_ORDER say as what. Both copies are in
// one program, and the linker keeps one of functions that share a name: so each calls Eigen's namespace its
// own name.
#define Eigen WEFT_EIGEN_NAMESPACE
#include <memory>
#include <vector>

#include "contestants.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <Eigen/SparseCore>
#pragma GCC diagnostic pop

namespace weft::bench {

Contestant WEFT_EIGEN_CONTESTANT(const WeightMatrix& weights, const float* b, float* c, std::int64_t n,
                                 int threads) {
  using Dense = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::WEFT_EIGEN_ORDER>;
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  auto a = std::make_shared<Eigen::SparseMatrix<float, Eigen::RowMajor>>(weights.rows, weights.columns);
  std::vector<Eigen::Triplet<float>> entries;
  const auto values = weights.values.as<float>();
  for (std::int64_t r = 0; r < weights.rows; ++r) {
    for (auto p = static_cast<std::size_t>(weights.row_begin[static_cast<std::size_t>(r)]);
         p < static_cast<std::size_t>(weights.row_begin[static_cast<std::size_t>(r) + 1]); ++p) {
      entries.emplace_back(static_cast<int>(r), weights.column[p], values[p]);
    }
  }
  a->setFromTriplets(entries.begin(), entries.end());
  const auto dense = std::make_shared<const Dense>(Eigen::Map<const RowMajor>(b, weights.columns, n));
  const auto product = std::make_shared<Dense>(weights.rows, n);
  return {WEFT_EIGEN_NAME,
          [=] {
            Eigen::setNbThreads(threads);
            product->noalias() = *a * *dense;
          },
          [=] { Eigen::Map<RowMajor>(c, product->rows(), product->cols()) = *product; }};
}

}  // namespace weft::bench
