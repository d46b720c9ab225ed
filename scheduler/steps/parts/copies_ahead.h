// When copies into shared memory can be started iterations before the one that reads them.
#pragma once

#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft::steps {

/// Preconditions 7 and 8 of stage: several buffers at the loops called `at` in the scope of that name.
std::optional<Reason> check_depth(const ir::Program& program, const std::string& at, const std::string& scope,
                                  std::int64_t depth, const Target& target);

/// Precondition 9: why a copy of the loop, whose body is now `staged`, needs what its own iteration makes, or
/// conditions that it is started ahead of.
std::optional<Reason> needs_its_iteration(const ir::Program& program, const ir::Stmt& staged,
                                          const ir::For& loop);

}  // namespace weft::steps
