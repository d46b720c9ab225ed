// What the steps that say who runs a loop have in common.
#pragma once

#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft::steps {

/// Every loop of that name is of this kind.
ir::Program marked(ir::Program program, const std::string& name, LoopKind kind, int step);

/// Precondition 1 (the loop exists) and 2 (it is still serial).
std::optional<Reason> require_serial(const ir::Program& program, const std::string& name);
/// Precondition 3: a constant extent of at most `largest`.
std::optional<Reason> require_constant(const ir::Program& program, const std::string& name,
                                       std::int64_t largest);
/// Precondition 4: iterations do not add to the same place.
std::optional<Reason> require_independent(const ir::Program& program, const std::string& name);
/// Precondition 10: no copy into shared memory inside, which all iterations would have to make together, nor
/// sums that groups hand over there.
std::optional<Reason> require_no_copy(const ir::Program& program, const std::string& name);

}  // namespace weft::steps
