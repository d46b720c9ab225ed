// How far modelled times were from measured ones: what a verdict that rests on a model has to be beyond.
#pragma once

#include <weft/formats/format.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>
#include <weft/search/records/records.h>

#include <cstdint>
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
/// before they are compared. The median of the kernels of an H200 (docs/measurements/choice.md); 1 where none
/// was compared.
double usual_error_of_bound(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                            const KnobValues& point, const Target& target);
/// Microseconds of the launches that copy operands for a recipe: what is read and written at the rate of
/// memory, and a launch, times what four products took over that on an H200.
double time_of_copying(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
                       const Ceilings& ceilings);
/// Of it what is not in the times that are learnt: nothing of images, whose transposes overlap with kernels.
double time_of_copying_apart(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
                             const Ceilings& ceilings);
/// The problem as kernels of a recipe see it: those of row groups read copies whose rows are filled up.
ProblemSummary seen_by(std::string_view recipe, const ProblemSummary& problem);
/// bound_of() times its usual error, and what copies take: microseconds. On a CPU a rough count for formats
/// other than csr: less is faster.
double modelled_time(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                     const KnobValues& point, const Target& target, const Ceilings& ceilings);
/// Whether what kernels of the recipe take beyond their modelled time was learnt (learnt_times.h).
bool has_learnt_times(std::string_view recipe, const Target& target);
/// The microseconds that a kernel is expected to take: modelled_time(), and what was learnt beyond it. Some
/// microseconds of work, so that of many thousand points those of the least modelled time come first.
double expected_time(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                     const KnobValues& point, const Target& target, const Ceilings& ceilings);
/// The error of expected_time(), at the points that are chosen; where too few of a recipe were compared, that
/// of the bound over the usual one, which is in the time already, and no less than what trials of one recipe
/// are spread around their usual error. Nothing where the bound has none.
std::optional<KnownError> error_of_expected_time(const ProblemSummary& problem, const Format& format,
                                                 std::string_view recipe, const KnobValues& point,
                                                 const Target& target);
/// What an expected time is multiplied by before kernels are ranked, and only then: what speaks against a
/// recipe beside its time. Where times were learnt, 1.15 for the default schedule and 1.1 for hb_ell.
/// Elsewhere 2 for the default schedule, which was the fastest in none of a dozen problems where another
/// recipe has the weights, and 1.5 for what was never compared on a device.
double reluctance_to(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                     const Target& target);
/// The error of a measured time: the spread of its samples, where it has one.
KnownError error_of_samples(const TrialTime& time);
/// The error of dense_bound(), beside cuBLAS and cuDNN, of problems that it was not fitted to.
std::optional<KnownError> error_of_dense_bound(const ProblemSummary& problem, const Target& target);
/// The error of the simulator's time model. Nothing for kernels on tensor cores and for other devices than
/// the one that it was compared with (docs/simulator.md).
std::optional<KnownError> error_of_simulator(std::string_view recipe, const Target& target);

/// Which of two is faster, the sparse kernel or the dense product, as far as their times can say.
enum class Faster : std::uint8_t { kernel, dense, none };
/// "sparse", "dense", "none"
std::string_view name_of(Faster faster);

struct Comparison {
  Faster faster = Faster::none;
  double factor = 1;  ///< by how much the ratio may be wrong, either way
};
/// Of a dense time over a sparse one: one of the two where the ratio is beyond the errors of both times.
/// These have nothing to do with one another, so that their logarithms add up like the sides of a right
/// angle.
Comparison compared(double ratio, const KnownError& dense, const KnownError& sparse);

}  // namespace weft
