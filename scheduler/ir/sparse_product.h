// Products with the entries of a table (SparseProduct), made of entries and entry by entry again.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <optional>
#include <string>
#include <vector>

namespace weft::ir {

/// sum[row] += value * read. Entries of a column have one `read`, the same node.
struct ReadEntry {
  std::int64_t row = 0;
  float value = 0;
  Expr read;
};

/// The entries, those of a column beside one another, as a product that adds to sums[row, place…]; nothing
/// where they multiply anything but elements of one buffer, of f32, f16 or bf16, whose indices differ by
/// numbers. `row` names the variable of an entry's row.
std::optional<SparseProduct> product_of(const std::vector<ReadEntry>& entries, const BufferRef& sums,
                                        const std::vector<Expr>& place, const std::string& row);

/// Each product becomes what it means: for each column a name for what is read, and an addition for each
/// entry.
Stmt written_out(const Stmt& stmt);
/// What written_out() made, or a step of that, as products again.
Stmt with_products(const Stmt& stmt);

}  // namespace weft::ir
