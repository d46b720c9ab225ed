#include <weft/scheduler/recipes/parts/bound.h>

#include <cmath>
#include <numeric>

namespace weft {
namespace bounds {

std::int64_t number_of_knob(const KnobValues& point, const char* name, std::int64_t fallback) {
  const auto found = point.find(name);
  return found != point.end() && found->second > 0 ? found->second : fallback;
}

Bound Parts::total() const {
  // Resources that work at the same time get in each other's way: the nearer two are, the more. Of the norms
  // this one comes nearest to measured kernels of row groups.
  constexpr double order = 3.5;
  Bound bound = bound_;
  double sum = 0, largest = 0;
  for (std::size_t i = 0; i < resource_count; ++i) {
    const double part = bound.parts[i];
    if (part > largest) {
      largest = part;
      bound.by = static_cast<Resource>(i);
    }
    if (static_cast<Resource>(i) != Resource::launch) sum += std::pow(part, order);
  }
  bound.microseconds = std::pow(sum, 1 / order) + bound.part(Resource::launch);
  return bound;
}

Bound Parts::sum() const {
  Bound bound = total();
  bound.microseconds = std::accumulate(bound.parts.begin(), bound.parts.end(), 0.0);
  return bound;
}

void Parts::add_memory(const ProblemSummary& problem) {
  const double bytes = problem.bytes();
  const bool stays = bytes <= static_cast<double>(ceilings_.l2_bytes);
  const double rate = stays ? ceilings_.l2_bytes_a_second : ceilings_.bytes_a_second;
  add(Resource::memory, 1e6 * bytes / rate);
}

Bound of_anything(const ProblemSummary& problem, const Ceilings& ceilings) {
  Parts parts(ceilings);
  parts.add_memory(problem);
  parts.add(Resource::units, 1e6 * problem.operations() / ceilings.operations_a_second);
  // Every stored weight meets every column once, and no kernel of this kind keeps columns in registers.
  const double gathered = problem.operations() / 2 * static_cast<double>(size_of(problem.dtype));
  parts.add(Resource::shared_memory, 1e6 * gathered / ceilings.shared_bytes_a_second);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.total();
}

}  // namespace bounds

std::string_view name_of(Resource resource) {
  constexpr std::array<std::string_view, resource_count> names{
      "memory", "L2", "shared memory", "tensor cores", "f32 units", "supply of code", "latency", "launch"};
  return names[static_cast<std::size_t>(resource)];
}

}  // namespace weft
