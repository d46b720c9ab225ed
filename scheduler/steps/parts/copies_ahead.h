// When copies into shared memory can be started iterations before the one that reads them.
#pragma once

#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace weft::steps {

/// Preconditions 7 and 8 of stage: several buffers at the loops called `at` in the scope of that name.
std::optional<Reason> check_depth(const ir::Program& program, const std::string& at, const std::string& scope,
                                  std::int64_t depth, const Target& target);

/// The program with what `copied` makes of the loops called `at` that read the buffer: bodies that begin with
/// copies. A refusal is one of its own, or of precondition 9: a copy needs what its own iteration makes, or
/// conditions that it is started ahead of.
/// `around` makes of such a loop what takes its place.
StepResult with_copies(ir::Program program, const std::string& at, const ir::BufferRef& buffer,
                       const std::function<std::variant<ir::Stmt, Reason>(const ir::For&)>& copied,
                       const std::function<ir::Stmt(const ir::Stmt&)>& around = {});

}  // namespace weft::steps
