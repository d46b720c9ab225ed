// Entries of a block that one statement adds up (ir::SparseProduct).
#pragma once

#include <weft/scheduler/steps/parts/baked_entry.h>

#include <optional>
#include <string>
#include <vector>

namespace weft::steps {

/// The entries, which stand in order of their columns, as a product that adds to sums[row, place…]; nothing
/// where they are under conditions that differ or multiply anything but elements of one buffer, of f32, f16
/// or bf16, whose indices differ by numbers. `row` names the variable of an entry's row.
std::optional<ir::SparseProduct> baked_product(const std::vector<BakedEntry>& entries,
                                               const ir::BufferRef& sums, const std::vector<ir::Expr>& place,
                                               const std::string& row);

}  // namespace weft::steps
