// The sparse layouts that scipy.sparse.save_npz writes: csr, csc, bsr, coo, dia.
#pragma once

#include <weft/formats/io/weight_list.h>
#include <weft/formats/io/zip_archive.h>

#include <optional>
#include <string>

namespace weft::io {

/// The archive has the members format, shape and data.
bool is_scipy_sparse(const ZipArchive& archive);

/// What the members say of the matrix before its entries are read.
ListedWeight summarize_scipy_sparse(const ZipArchive& archive, const std::string& path);

/// Entries in any order, those at one place summed, as scipy does. An array of more than two dimensions (coo)
/// is seen as a matrix, as every weight. UserError naming member and element.
WeightMatrix parse_scipy_sparse(const ZipArchive& archive, const std::string& origin,
                                std::optional<DType> reinterpret_as);

}  // namespace weft::io
