// How fast a point of a recipe can be, from the sizes of the problem and the rates of the device alone, and
// what the recipes make such bounds of.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/limits/constraint.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>

#include <algorithm>
#include <array>
#include <bit>
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

namespace bounds {

/// A knob that the point has; `fallback` where it has none of that name, or 0.
std::int64_t number_of_knob(const KnobValues& point, const char* name, std::int64_t fallback);

inline std::int64_t filled_up(std::int64_t count, std::int64_t to) {
  return ceil_divide(count, to) * to;
}

inline std::int64_t power_of_two_from(std::int64_t count) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, count))));
}

/// Sums up the parts of a bound.
class Parts {
 public:
  explicit Parts(const Ceilings& ceilings) : ceilings_(ceilings) {}

  /// `amount` of one multiprocessor, at its share of `rate` of the whole chip.
  void add_of_multiprocessor(Resource resource, double amount, double rate) {
    add(resource, 1e6 * amount * static_cast<double>(ceilings_.multiprocessors) / rate);
  }
  void add(Resource resource, double microseconds) {
    bound_.parts[static_cast<std::size_t>(resource)] += microseconds;
  }
  /// Stored values, the dense operand and the output, once each, from where they are.
  void add_memory(const ProblemSummary& problem);
  /// The parts joined; those of `Resource::launch` come on top.
  Bound total() const;
  /// Added up: what one core does one after the other.
  Bound sum() const;

 private:
  const Ceilings& ceilings_;
  Bound bound_;
};

/// A kernel that nobody knows more of: without blocks.
Bound of_anything(const ProblemSummary& problem, const Ceilings& ceilings);

}  // namespace bounds
}  // namespace weft
