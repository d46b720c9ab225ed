// Which part of an operand the iterations of a loop read.
#pragma once

#include <weft/scheduler/steps/parts/coordinates.h>
#include <weft/scheduler/steps/parts/loops.h>

#include <optional>

namespace weft::steps {

/// Where a dimension of the region begins, in terms of loops outside, and how long it is.
struct Span {
  ir::Expr begin;
  ir::Expr extent;
};

/// The part of a dimension of `whole` elements that `index` visits while the loops inside run. Where the
/// index depends on coordinates of the weights that are known to lie in a range, the part holds whatever they
/// are, and may reach over the ends of the dimension; on other data, it is the whole dimension. Undefined
/// where the index is no sum of loops times constants and of such coordinates.
Span span_of(const ir::Expr& index, const ir::Expr& whole, const ir::InnerLoops& loops,
             const Coordinates& coordinates);

/// The smallest span that holds both: they begin a constant apart and have constant extents, or are the same.
std::optional<Span> joined(const Span& a, const Span& b);

}  // namespace weft::steps
