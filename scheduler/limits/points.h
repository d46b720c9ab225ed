// The points of a set of knobs at which named conditions hold, one after the other.
#pragma once

#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/limits/constraint.h>

#include <cstdint>
#include <functional>
#include <span>

namespace weft {

/// How a walk over points ended.
enum class Walk : std::uint8_t {
  finished,  ///< every point was seen
  stopped,   ///< the visitor asked for it
  spent,     ///< the effort was used up
};

/// Calls `visit` with every point at which all constraints hold, values in the order of `knobs`, those of the
/// last knob changing fastest, until it returns false. A constraint is tested as soon as its knobs have
/// values, so that most points are never reached. `effort` bounds the points and partial points that are
/// looked at. Throws as CompiledConstraints.
Walk for_each_point(std::span<const Constraint> constraints, std::span<const ir::Knob> knobs,
                    std::size_t effort, const std::function<bool(std::span<const std::int64_t>)>& visit);

}  // namespace weft
