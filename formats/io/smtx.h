// DLMC .smtx: three lines of text, positions of the non-zeros without values.
#pragma once

#include <weft/formats/io/bytes.h>
#include <weft/formats/io/weight_list.h>

#include <string>
#include <vector>

namespace weft::io {

/// Line 1 "rows, columns, stored", line 2 the rows + 1 offsets, line 3 the columns. The result is
/// pattern-only. Columns need not ascend inside a row. UserError naming line and byte for anything else,
/// duplicates included.
WeightMatrix parse_smtx(Bytes bytes, const std::string& origin);

/// The matrix by its first line.
std::vector<ListedWeight> list_smtx(Bytes bytes, const std::string& path);

/// The first line is three integers.
bool looks_like_smtx(Bytes bytes);

}  // namespace weft::io
