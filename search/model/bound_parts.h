// What the bounds of the recipes are made of. For bound*.cpp alone.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/search/model/bound.h>

#include <algorithm>
#include <bit>

namespace weft::bounds {

/// A knob by the first of its names that the point has; `fallback` where it has none of them, or 0.
std::int64_t knob(const KnobValues& point, std::initializer_list<const char*> names, std::int64_t fallback);

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
  /// The parts joined; those of `Resource::launch` come on top.
  Bound total() const;

 private:
  const Ceilings& ceilings_;
  Bound bound_;
};

/// Stored values, the dense operand and the output, once each, from where they are.
void add_memory(Parts& parts, const ProblemSummary& problem, const Ceilings& ceilings);

Bound of_groups(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                const Ceilings& ceilings);
Bound of_unstructured(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                      const Ceilings& ceilings);
Bound of_blocks(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                const Ceilings& ceilings);
Bound of_default(const ProblemSummary& problem, const Ceilings& ceilings);
Bound of_anything(const ProblemSummary& problem, const Ceilings& ceilings);

}  // namespace weft::bounds
