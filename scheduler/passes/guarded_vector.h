// Vectors of which a condition keeps some elements.
#pragma once

#include <weft/scheduler/ir/query.h>

#include <cstdint>
#include <optional>

namespace weft::passes {

/// Of a loop that becomes a vector of elements 0 to `elements` - 1, each of which the condition asks for
/// itself.
struct GuardedVector {
  const ir::If* guard;
  std::int64_t elements;
};

/// The loop as such a vector, whose number of elements is known and whose guard has no other branch.
inline std::optional<GuardedVector> guarded_vector(const ir::For& loop) {
  const auto* guard = loop.body.as<ir::If>();
  const auto known = ir::constant_iterations(loop);
  if (loop.kind != LoopKind::vectorized || guard == nullptr || guard->otherwise.defined() || !known ||
      known->begin != 0)
    return std::nullopt;
  return GuardedVector{guard, known->extent};
}

}  // namespace weft::passes
