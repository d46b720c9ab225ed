#include <weft/search/model/bound_parts.h>

#include <cmath>

namespace weft {
namespace bounds {

std::int64_t knob(const KnobValues& point, std::initializer_list<const char*> names, std::int64_t fallback) {
  for (const char* name : names) {
    const auto found = point.find(name);
    if (found != point.end() && found->second > 0) return found->second;
  }
  return fallback;
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

void add_memory(Parts& parts, const ProblemSummary& problem, const Ceilings& ceilings) {
  const double bytes = problem.bytes();
  const bool stays = bytes <= static_cast<double>(ceilings.l2_bytes);
  const double rate = stays ? ceilings.l2_bytes_a_second : ceilings.bytes_a_second;
  parts.add(Resource::memory, 1e6 * bytes / rate);
}

Bound of_anything(const ProblemSummary& problem, const Ceilings& ceilings) {
  Parts parts(ceilings);
  add_memory(parts, problem, ceilings);
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

Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target, const Ceilings& ceilings) {
  if (!target.is_gpu()) return {};
  const bool halves = problem.dtype == DType::f16 || problem.dtype == DType::bf16;
  const bool grouped =
      (recipe == "shfl_bw" && problem.group_rows >= 16) || (recipe == "v_n_m" && problem.kept_of > 0);
  if (grouped && halves) return bounds::of_groups(problem, point, target, ceilings);
  if (recipe == "hb_ell" && halves) return bounds::of_blocks(problem, point, target, ceilings);
  if (recipe == "sparsert") return bounds::of_unstructured(problem, point, target, ceilings);
  if (recipe == "default") return bounds::of_default(problem, ceilings);
  return bounds::of_anything(problem, ceilings);
}

Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target) {
  if (!target.is_gpu()) return {};
  return bound_of(problem, recipe, point, target, ceilings_of(problem.dtype, target));
}

double dense_bound(const ProblemSummary& problem, const Ceilings& ceilings) {
  constexpr double share_of_units = 0.73, share_of_tensor_cores = 0.88;  // cuBLAS on an H200, large products
  const bool halves = problem.dtype == DType::f16 || problem.dtype == DType::bf16;
  const double operations =
      2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.k) * static_cast<double>(problem.n);
  const double rate = halves ? share_of_tensor_cores * ceilings.tensor_operations_a_second
                             : share_of_units * ceilings.operations_a_second;
  ProblemSummary dense = problem;
  dense.stored = problem.m * problem.k;
  bounds::Parts parts(ceilings);
  add_memory(parts, dense, ceilings);
  parts.add(halves ? Resource::tensor : Resource::units, 1e6 * operations / rate);
  parts.add(Resource::launch, 2 * ceilings.launch_microseconds);
  return parts.total().microseconds;
}

}  // namespace weft
