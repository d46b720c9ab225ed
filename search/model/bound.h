// How fast a point of a space can be, from the sizes of the problem and the rates of the device alone: what
// the search ranks points by before anything was measured.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/limits/constraint.h>
#include <weft/search/model/ceilings.h>
#include <weft/search/model/problem_summary.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

/// What a kernel keeps busy.
enum class Resource : std::uint8_t {
  memory,         ///< bytes of the device's memory; of the L2 where all operands fit
  l2,             ///< what blocks read again: rows of the dense operand that groups or blocks gather
  shared_memory,  ///< bytes of shared memory, and of the first cache where operands come through it
  tensor,         ///< tensor cores
  units,          ///< f32 units
  code,           ///< instructions that are not in the instruction cache: weights baked into the code
  latency,        ///< copies that are not far enough ahead
  launch,         ///< what a kernel takes that does nothing, and its last stores
};
inline constexpr std::size_t resource_count = 8;
/// "memory", "L2", "shared memory", "tensor cores", "f32 units", "supply of code", "latency", "launch"
std::string_view name_of(Resource resource);

struct Bound {
  double microseconds = 0;
  Resource by = Resource::launch;  ///< the largest of the parts
  /// What each would take alone, in the waves in which the blocks of the point come. 0: not used.
  std::array<double, resource_count> parts{};

  double part(Resource resource) const { return parts[static_cast<std::size_t>(resource)]; }
};

/// A roofline of the kernel that `recipe` makes of the point: every resource with the rates of `ceilings`,
/// blocks in whole waves over the multiprocessors, resources that are needed at the same time joined by a
/// norm, and the launch on top. `point` has the recipe's knobs by name; one that is absent or 0 is taken as
/// the recipe would choose it. It knows nothing of the positions of the weights. A recipe of a user's own
/// gets the roofline without blocks. For the CPU, 0 by launch.
///
/// It grows with m, n, k and the stored weights while the point stays the same. known_error.h says how near
/// it is to measured kernels.
Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target, const Ceilings& ceilings);
Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target);

/// The microseconds of cuBLAS's dense product of the same sizes: what a verdict is compared with where
/// nothing was measured. f32 on its units, halves on tensor cores, at the share of the peak that large
/// products reach.
double dense_bound(const ProblemSummary& problem, const Ceilings& ceilings);

}  // namespace weft
