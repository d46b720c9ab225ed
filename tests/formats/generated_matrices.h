// Weights made for tests: shapes and patterns at which formats go wrong.
#pragma once

#include <weft/formats/format.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft {

struct GeneratedMatrix {
  std::string name;
  WeightMatrix weights;
};

/// Every element stored with the given probability, and one explicit -0.0 and +0.0 among the values where
/// there is room.
WeightMatrix random_matrix(std::int64_t rows, std::int64_t columns, double density, std::uint64_t seed,
                           DType dtype = DType::f32);

/// Rows and columns of very different size, and rows of some kinds that prefer the same columns: what trained
/// weights have and independent numbers lack.
WeightMatrix trained_like(std::int64_t rows, std::int64_t columns, std::uint64_t seed = 1,
                          DType dtype = DType::f32);

/// Empty rows and columns, nothing stored, one element, no rows, no columns, one long row, all stored, odd
/// sizes.
std::vector<GeneratedMatrix> generated_matrices();

/// As much of the weight as the format holds: of n_m and v_n_m, the first columns of a block and the first
/// entries of a row; of other formats, all of it.
WeightMatrix fitted(const WeightMatrix& weights, const Format& format);

/// The entries for which `keeps` says so.
WeightMatrix where(const WeightMatrix& weights,
                   const std::function<bool(std::int64_t row, std::int64_t column)>& keeps);

/// Groups of so many rows whose tiles of 64 columns are dense, 2:4, half dense or empty by turns, and one
/// group in four without entries: what the format mixed stores in blocks of every kind.
WeightMatrix mixed_of_tiles(std::int64_t rows, std::int64_t columns, std::int64_t of_group,
                            DType dtype = DType::f16);

/// As schedules share it.
std::shared_ptr<const SparseTensor> packed(const WeightMatrix& weights, const Format& format);

/// Same shape, positions and bits.
bool same_bits(const Array& left, const Array& right);

}  // namespace weft
