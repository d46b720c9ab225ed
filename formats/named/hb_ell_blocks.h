// Which blocks hb_ell stores, and how wide each is.
#pragma once

#include <weft/formats/format.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <vector>

namespace weft::named {

/// The parameters of an hb_ell format.
struct HbEllShape : formats::HbEllOptions {
  /// "hb_ell:every=8". Beyond 0, 1 to 64: every block is stored, empty ones in width 0, so that several block
  /// rows can be gone through together; block rows and block columns are filled up to multiples of it, a
  /// power of two.
  std::int64_t every = 0;
  /// "hb_ell:pairs=1": blocks as sparse tensor cores take them (hb_ell_pairs.cpp), with none of the other
  /// parameters but k, 64 or 128 slots that are stored together; V, the rows of a block row, is 16.
  bool pairs = false;
};
/// UserError for values that a parameter cannot have.
HbEllShape hb_ell_shape(const Format& format);

/// By block row, then by column. A width of the size of a block means that the block is dense.
struct HbEllBlocks {
  std::int64_t size = 16;
  std::int64_t every_column = 0;        ///< blocks of each block row where every block is stored
  std::vector<std::int64_t> row_begin;  ///< block rows + 1 offsets
  std::vector<std::int32_t> column;     ///< column of the block, in blocks
  std::vector<std::int32_t> width;

  /// Places of the blocks in ELL, which have an offset each, and of the dense ones.
  std::int64_t sparse_places() const;
  std::int64_t dense_places() const;
};

/// Entries that are +0 do not count. Any number of threads gives the same.
HbEllBlocks hb_ell_blocks(const WeightMatrix& weights, const HbEllShape& shape, std::int64_t threads);

/// Of all arrays that hb_ell would have.
std::int64_t hb_ell_bytes(const WeightMatrix& weights, const HbEllShape& shape);

/// As pack, but on that many threads and unchecked.
SparseTensor pack_hb_ell(const WeightMatrix& weights, const Format& format, std::int64_t threads);

/// The same for "hb_ell:pairs=1", whose shape has been checked.
SparseTensor pack_hb_ell_pairs(const WeightMatrix& weights, const Format& format, std::int64_t threads);
/// UserError where a four has columns of several blocks.
void check_hb_ell_pairs(const SparseTensor& tensor);

}  // namespace weft::named
