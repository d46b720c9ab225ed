// Matrix Market .mtx: coordinate or array, real, integer or pattern, with every symmetry.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>
#include <weft/formats/io/weight_list.h>

#include <string>
#include <vector>

namespace weft::io {

/// Real values become f64, integer ones i64, unsigned-integer ones u64; a pattern becomes pattern-only. A
/// symmetry is expanded: the result holds both triangles. UserError naming line and byte for complex
/// matrices, indices out of range, the same place twice, NaN and infinity, and any other departure from the
/// format.
WeightMatrix parse_mtx(Bytes bytes, const std::string& origin);

/// The matrix by its first lines.
std::vector<ListedWeight> list_mtx(Bytes bytes, const std::string& path);

bool looks_like_mtx(Bytes bytes);

}  // namespace weft::io

namespace weft {

/// Writes the stored entries as "coordinate general", real, integer or pattern, such that reading them back
/// gives the same numbers. A weight of more than two dimensions is written as its matrix. Errors as
/// write_file.
void write_mtx(const std::string& path, const WeightMatrix& weights, CallPlace place = {});

}  // namespace weft
