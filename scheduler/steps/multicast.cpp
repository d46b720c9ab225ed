// multicast: one copy feeds a cluster of thread blocks.
#include <fmt/format.h>
#include <weft/scheduler/passes/cluster_copies.h>
#include <weft/scheduler/passes/ring.h>
#include <weft/scheduler/program/other_steps.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft::steps {
namespace {

/// The arrays of the tensor whose tiles are copied ahead, or the name itself where there is none.
std::vector<std::string> arrays_of(const ir::Program& program, const std::string& tensor) {
  std::vector<std::string> arrays;
  for (const ir::For* loop : passes::ring_loops(program.body)) {
    passes::Ring ring;
    passes::ring_of(loop->body, ring);
    for (const ir::Copy& copy : ring.copies) {
      const std::string& name = copy.source->name;
      if (name == tensor || copy.source->tensor == tensor) arrays.push_back(name);
    }
  }
  return arrays.empty() ? std::vector{tensor} : arrays;
}

constexpr int needs_roles = 4;

std::optional<Reason> lost_cluster(const ir::Program& program, const StepContext& context) {
  return passes::why_no_cluster(program, context.target);
}

StepResult apply_multicast(const ir::Program& program, const StepArguments& arguments,
                           const StepContext& context) {
  const Step& step = arguments.step();
  const std::string tensor = arguments.text("tensor"), name = arguments.text("loop");
  if (auto missing = require_loop(program, name)) return *missing;
  if (!context.target.has(Capability::clusters))
    return Reason{2,
                  context.target.name + " has no clusters of thread blocks",
                  fmt::format("a target that has: target_named(\"sm_90a\") for the schedule; or leave out {}",
                              step.cpp()),
                  {}};
  ir::Program result = program;
  if (!result.cluster) result.cluster = ir::Cluster{name, 0, {}};
  if (result.cluster->loop != name)
    return Reason{9, fmt::format("blocks of {} are a cluster already", result.cluster->loop),
                  fmt::format("one loop: {}", written("multicast", {tensor, result.cluster->loop})), name};
  const std::int64_t* blocks = ir::integer_value(find_loop(program.body, name)->extent);
  result.cluster->blocks = blocks == nullptr ? 0 : *blocks;
  std::vector<std::string>& arrays = result.cluster->arrays;
  for (const std::string& array : arrays_of(program, tensor)) {
    if (std::ranges::find(arrays, array) != arrays.end())
      return Reason{9,
                    array + " goes to the cluster already",
                    "one multicast of each array: leave out " + step.cpp(),
                    {}};
    arrays.push_back(array);
  }
  if (auto refused = lost_cluster(result, context)) {
    if (refused->precondition == needs_roles) {
      const Step roles{"specialize_warps", {{"producers", std::int64_t{4}}}, {}, {}};
      refused->accepted += asked_before(program, roles, context) + "; or leave out " + step.cpp() +
                           ": each block copies for itself then";
    }
    return *refused;
  }
  return result;
}

constexpr Parameter parameters[]{
    tensor_parameter("\"A\"", "an array that is staged, or the operand whose staged arrays are meant"),
    loop_parameter("loop", "n.inner.outer", "the loop whose blocks are a cluster")};
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "the target is sm_90 or newer"},
    {3, "the loop is bound to blocks, as many as a cluster may have, two or more"},
    {needs_roles, "warps have roles (specialize_warps)"},
    {5, "the tensor is staged in the loop that they go through, as one piece"},
    {6, "a tile is the same for all blocks of the cluster"},
    {7, "these go through the same tiles and iterations"},
    {8, "each copies as many rows, in whole lines"},
    {9, "all steps multicast have one loop, and each another array"}};

}  // namespace

constinit const StepKind multicast{
    .name = "multicast",
    .sentence =
        "The thread blocks of a loop form a cluster, each of which copies a part of a tile to all of them.",
    .more =
        "A part is copied once all blocks have read what was there before. A later step that would break 3 "
        "or 5 to 8 is refused.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_multicast,
    .broken = lost_cluster};

}  // namespace weft::steps
