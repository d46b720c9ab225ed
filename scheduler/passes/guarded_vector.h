// Vectors of which a condition keeps some elements.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstdint>
#include <optional>

namespace weft::passes {

/// A loop that becomes a vector of elements 0 to `elements` - 1, each of which the condition asks for itself.
struct GuardedVector {
  const ir::For* loop;
  const ir::If* guard;
  std::int64_t elements;
};

/// The statement as such a loop, whose number of elements is known and whose guard has no other branch.
inline std::optional<GuardedVector> guarded_vector(const ir::Stmt& stmt) {
  const auto* loop = stmt.as<ir::For>();
  if (loop == nullptr || loop->kind != ir::LoopKind::vectorized) return std::nullopt;
  const auto* guard = loop->body.as<ir::If>();
  const std::int64_t* begin = ir::integer_value(loop->begin);
  const std::int64_t* extent = ir::integer_value(loop->extent);
  const bool known = begin != nullptr && *begin == 0 && extent != nullptr;
  if (guard == nullptr || guard->otherwise.defined() || !known) return std::nullopt;
  return GuardedVector{loop, guard, *extent};
}

}  // namespace weft::passes
