// How far modelled times were from measured ones: what a verdict that rests on a model has to be beyond.
#pragma once

#include <weft/formats/format.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>

#include <optional>
#include <string_view>

namespace weft {

/// A measured time over the modelled one: the least and the most of all kernels that were compared.
struct KnownError {
  double least = 1;
  double most = 1;
};

/// The error of bound_of(). Nothing for a recipe, format or device whose kernels were never compared with it
/// (docs/measurements/search.md; bound_test holds the bound to these numbers).
std::optional<KnownError> error_of_bound(const ProblemSummary& problem, const Format& format,
                                         std::string_view recipe, const Target& target);
/// A measured time over the modelled one, as it usually is: what times of different recipes are multiplied by
/// before they are compared. The median of the kernels of an H200 (docs/measurements/choice.md), and twice
/// that of the default schedule; 1 where none was compared.
double usual_error_of_bound(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                            const KnobValues& point);
/// The microseconds that a kernel is expected to take: bound_of() times its usual error. On a CPU, which has
/// no model, a rough count: less is faster.
double expected_time(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                     const KnobValues& point, const Target& target, const Ceilings& ceilings);
/// The error of dense_bound(), beside cuBLAS.
std::optional<KnownError> error_of_dense_bound(const Target& target);
/// The error of the simulator's time model. Nothing for kernels on tensor cores and for other devices than
/// the one that it was compared with (docs/simulator.md).
std::optional<KnownError> error_of_simulator(std::string_view recipe, const Target& target);

}  // namespace weft
