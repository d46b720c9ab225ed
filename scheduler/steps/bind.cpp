// bind: the blocks, warps, lanes or threads of a launch run the iterations of a loop.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/annotate.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/other_loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/thread_nests.h>

#include <algorithm>
#include <array>
#include <map>

namespace weft::steps {
namespace {

constexpr std::array axes{LoopKind::block_x, LoopKind::block_y, LoopKind::block_z,
                          LoopKind::warp,    LoopKind::lane,    LoopKind::thread};

/// Iterations of the loops of an axis that stand in one nest.
std::int64_t largest_extent(LoopKind axis, const Target& target) {
  constexpr std::int64_t along_x = INT32_MAX, along_others = 65'535;
  if (axis == LoopKind::block_x) return along_x;
  if (ir::is_block(axis)) return along_others;
  if (axis == LoopKind::lane) return 32;
  if (axis == LoopKind::warp) return target.threads_per_block / 32;
  return target.threads_per_block;
}

std::string bind_to(const std::string& name, LoopKind axis) {
  return written("bind", {name, std::string(ir::name_of(axis))});
}

/// An axis of blocks that no loop has, else the last.
LoopKind free_block_axis(const ir::Program& program) {
  for (const LoopKind axis : {LoopKind::block_x, LoopKind::block_y}) {
    if (!ir::any<ir::For>(program.body, [&](const ir::For& loop) { return loop.kind == axis; })) return axis;
  }
  return LoopKind::block_z;
}

/// Whether the extent is a number when a launch begins: made of constants, knobs and sizes alone.
bool is_known_at_launch(const ir::Program& program, const ir::Expr& extent) {
  return !ir::any<ir::Load>(extent) && !ir::any<ir::Variable>(extent, [&](const ir::Variable& variable) {
    const auto is_it = [&](const auto& each) { return each.name == variable.name; };
    return std::ranges::none_of(program.knobs, is_it) && std::ranges::none_of(program.extents, is_it);
  });
}

/// Whether the extents differ, whatever knobs decide.
bool are_of_two_lengths(const ir::Program& program, const ir::Expr& one, const ir::Expr& other) {
  if (ir::same(one, other)) return false;
  const bool decided = ir::integer_value(one) != nullptr && ir::integer_value(other) != nullptr;
  return decided || !ir::is_constant(program, one) || !ir::is_constant(program, other);
}

/// Precondition 6 of blocks: all parts that peel made of the loop are as long as its first.
std::optional<Reason> require_parts_of_one_length(const ir::Program& program, const std::string& name,
                                                  LoopKind axis) {
  const auto parts = find_loops(program.body, name);
  const auto other = std::ranges::find_if(parts, [&](const ir::For* part) {
    return are_of_two_lengths(program, part->extent, parts.front()->extent);
  });
  if (other == parts.end()) return std::nullopt;
  return Reason{6,
                fmt::format("parts of {} have {} and {} iterations", name, ir::print(parts.front()->extent),
                            ir::print((*other)->extent)),
                fmt::format("one length for each axis of the grid: {} without peel", bind_to(name, axis)),
                name};
}

/// Preconditions 3 and 6 of blocks: the grid has the axis as long as the loop is, and all loops of the axis
/// are of that length.
std::optional<Reason> require_grid(const ir::Program& program, const std::string& name, LoopKind axis,
                                   const Target& target) {
  const ir::Expr& extent = find_loop(program.body, name)->extent;
  const std::int64_t* known = ir::integer_value(extent);
  const std::int64_t most = largest_extent(axis, target);
  if (known != nullptr && *known > most)
    return Reason{3, fmt::format("{} has {} iterations", name, *known),
                  fmt::format("at most {} blocks along {}: {}, which takes {}", most, ir::name_of(axis),
                              bind_to(name, LoopKind::block_x), INT32_MAX),
                  name};
  if (!is_known_at_launch(program, extent))
    return Reason{
        3, fmt::format("{} has {} iterations, which differ from block to block", name, ir::print(extent)),
        "a number of blocks that is known when a launch begins: a loop over a dimension, or over parts",
        name};
  std::optional<Reason> refused = require_parts_of_one_length(program, name, axis);
  ir::each<ir::For>(program.body, [&](const ir::For& loop) {
    if (refused || loop.kind != axis || !are_of_two_lengths(program, loop.extent, extent)) return;
    refused = Reason{
        6,
        fmt::format("{} is bound to {} and has {} iterations, {} has {}", loop.name, ir::name_of(axis),
                    ir::print(loop.extent), name, ir::print(extent)),
        fmt::format("one length for each axis of the grid: {}", bind_to(name, free_block_axis(program))),
        loop.name};
  });
  return refused;
}

std::optional<Reason> check_axis(const ir::Program& program, const std::string& name, LoopKind axis,
                                 const Target& target) {
  std::optional<Reason> refused;
  const bool over_groups = ir::role_of(program.body, name) == ir::LoopRole::groups;
  // Asked of few loops, and once of those of one name: programs may have thousands.
  std::map<std::string, bool> known;
  const auto nested = [&](const ir::For& loop) {
    const auto [found, is_new] = known.try_emplace(loop.name, false);
    if (is_new)
      found->second =
          stands_inside(program.body, name, loop.name) || stands_inside(program.body, loop.name, name);
    return found->second;
  };
  ir::each<ir::For>(program.body, [&](const ir::For& loop) {
    if (refused || loop.name == name) return;
    if (loop.kind == axis && ir::is_block(axis) && nested(loop))
      refused = Reason{6, fmt::format("{} is bound to {} already", loop.name, ir::name_of(axis)),
                       "one loop of a nest for each of block_x, block_y, block_z: " +
                           bind_to(name, free_block_axis(program)),
                       loop.name};
    const auto is_part = [](LoopKind kind) { return kind == LoopKind::warp || kind == LoopKind::lane; };
    const bool mixed =
        (axis == LoopKind::thread && is_part(loop.kind)) || (loop.kind == LoopKind::thread && is_part(axis));
    if (mixed && nested(loop))
      refused = Reason{7, fmt::format("{} is bound to {}", loop.name, ir::name_of(loop.kind)),
                       "either thread, or warp and lane: " +
                           bind_to(name, loop.kind == LoopKind::lane   ? LoopKind::warp
                                         : loop.kind == LoopKind::warp ? LoopKind::lane
                                                                       : LoopKind::thread),
                       loop.name};
    if (ir::is_block(axis) && ir::is_within_block(loop.kind) && !over_groups &&
        find_loop(loop.body, name) != nullptr)
      refused = Reason{8, fmt::format("{} around it is bound to {}", loop.name, ir::name_of(loop.kind)),
                       fmt::format("block loops outside warp, lane and thread loops: {} first",
                                   written("reorder", {name, loop.name})),
                       loop.name};
  });
  if (refused) return refused;
  if (ir::is_block(axis)) return require_grid(program, name, axis, target);
  if (auto copy = require_no_copy(program, name)) return copy;
  return require_constant(program, name, largest_extent(axis, target));
}

/// What is left of the program without the loops of that name.
Stmt outside_of(const ir::Program& program, const std::string& name) {
  return change_loops(program.body, name, [](const ir::For&) { return Stmt(); });
}

/// ", as n, m.outer": loops that hold every use of the buffer.
std::string loops_around(const ir::Program& program, const ir::BufferRef& buffer) {
  std::vector<std::string> around;
  for (const std::string& name : loop_names(program.body)) {
    const bool one = find_loops(program.body, name).size() == 1;
    if (one && !ir::uses(outside_of(program, name), buffer)) around.push_back(name);
  }
  return around.empty() ? std::string() : fmt::format(", as {}", fmt::join(around, ", "));
}

/// Precondition 11 of blocks: what the iterations write to shared memory, nobody reads outside of them. Each
/// block has a shared memory of its own.
std::optional<Reason> require_own_shared_memory(const ir::Program& program, const std::string& name) {
  std::optional<Reason> refused;
  ir::each<ir::Allocate>(outside_of(program, name), [&](const ir::Allocate& allocation) {
    const ir::BufferRef& buffer = allocation.buffer;
    if (refused || buffer->scope != ir::Scope::shared || !ir::uses(allocation.body, buffer)) return;
    const bool written = std::ranges::any_of(find_loops(program.body, name), [&](const ir::For* loop) {
      return ir::stores_to(loop->body, buffer);
    });
    if (!written) return;
    refused =
        Reason{11,
               fmt::format("{} is written inside {} and used outside of it, where other blocks have "
                           "another shared memory",
                           buffer->name, name),
               fmt::format("a loop around every use of {}{}", buffer->name, loops_around(program, buffer)),
               buffer->name};
  });
  return refused;
}

/// Precondition 11: what the iterations keep in a workspace, nobody else uses. Threads of different blocks,
/// and those of one block between two loops, do not wait for one another.
std::optional<Reason> require_own_workspaces(const ir::Program& program, const std::string& name) {
  const Stmt rest = outside_of(program, name);
  for (const ir::BufferRef& workspace : program.workspaces) {
    const bool inside = std::ranges::any_of(
        find_loops(program.body, name), [&](const ir::For* loop) { return ir::uses(loop->body, workspace); });
    if (!inside || !ir::uses(rest, workspace)) continue;
    return Reason{
        11,
        fmt::format("{} is used inside {} and outside of it, by threads that do not wait for it",
                    workspace->name, name),
        fmt::format("a loop around every use of {}{}", workspace->name, loops_around(program, workspace)),
        workspace->name};
  }
  return std::nullopt;
}

/// True when a register of the buffer is chosen by the loop, or by one inside whose range the loop decides.
bool chooses_register(const Stmt& body, const ir::BufferRef& buffer, const std::string& name) {
  std::vector<std::string> choosing{name};
  ir::each<ir::For>(body, [&](const ir::For& loop) {
    if (ir::uses_any(loop.begin, choosing) || ir::uses_any(loop.extent, choosing))
      choosing.push_back(loop.name);
  });
  bool found = false;
  ir::each_access(body, [&](const ir::BufferRef& used, const std::vector<ir::Expr>& indices) {
    found = found || (used == buffer && std::ranges::any_of(indices, [&](const ir::Expr& e) {
                        return ir::uses_any(e, choosing);
                      }));
  });
  return found;
}

/// Precondition 12: registers that the iterations choose are used nowhere else. Iterations become threads,
/// and threads have registers of their own.
std::optional<Reason> require_own_registers(const ir::Program& program, const std::string& name) {
  const auto loops = find_loops(program.body, name);
  const bool in_parts = std::ranges::any_of(loops, [&](const ir::For* loop) {
    return !ir::same(loop->begin, loops.front()->begin) || !ir::same(loop->extent, loops.front()->extent);
  });
  std::optional<Reason> refused;
  const auto is_chosen = [&](const ir::BufferRef& buffer) {
    return buffer->scope == ir::Scope::registers && std::ranges::any_of(loops, [&](const ir::For* loop) {
             return chooses_register(loop->body, buffer, name);
           });
  };
  ir::each<ir::Allocate>(program.body, [&](const ir::Allocate& allocation) {
    if (refused || !in_parts || !is_chosen(allocation.buffer)) return;
    refused = Reason{12, fmt::format("parts of {} use registers of {}", name, allocation.buffer->name),
                     fmt::format("{} without peel, or the sum inside of it", name), name};
  });
  ir::each<ir::Allocate>(outside_of(program, name), [&](const ir::Allocate& allocation) {
    const ir::BufferRef& buffer = allocation.buffer;
    if (refused || !is_chosen(buffer) || !ir::uses(allocation.body, buffer)) return;
    refused =
        Reason{12, fmt::format("registers of {} are used inside {} and outside of it", buffer->name, name),
               fmt::format("a loop around every use of {}", buffer->name), buffer->name};
  });
  return refused;
}

StepResult bound(const ir::Program& program, const StepArguments& arguments, const StepContext& context) {
  const std::string name = arguments.text("loop"), word = arguments.text("axis");
  if (auto refused = require_serial(program, name)) return *refused;
  const auto axis = std::ranges::find_if(axes, [&](LoopKind kind) { return ir::name_of(kind) == word; });
  if (!context.target.is_gpu())
    return Reason{5, "the target is " + context.target.name,
                  "a GPU target; on the CPU, " + written("parallel", {name}), name};
  const bool over_groups = ir::role_of(program.body, name) == ir::LoopRole::groups;
  if (over_groups && ir::is_block(*axis) != meets_between_blocks(program.body, name))
    return ir::is_block(*axis)
               ? Reason{8, fmt::format("groups of {} hand their sums over in shared memory", name),
                        "warp: the groups of one block; split_k with reduce = second_pass for blocks", name}
               : Reason{8, fmt::format("groups of {} hand their sums over between blocks", name),
                        "block_x, block_y or block_z; split_k with reduce = shared for warps", name};
  if (!over_groups) {
    if (auto refused = require_independent(program, name)) {
      const bool of_blocks = ir::is_block(*axis);
      refused->accepted +=
          fmt::format("; or the groups of .split_k({}, groups = 8{}), bound to {}", loop_text(name),
                      of_blocks ? ", reduce = second_pass" : "", of_blocks ? "blocks" : "warps");
      return *refused;
    }
  }
  if (auto refused = check_axis(program, name, *axis, context.target)) return *refused;
  if (auto refused = require_own_workspaces(program, name)) return *refused;
  if (ir::is_block(*axis)) {
    if (auto refused = require_own_shared_memory(program, name)) return *refused;
  }
  if (auto refused = require_own_registers(program, name)) return *refused;
  ir::Program result = marked(program, name, *axis, context.step);
  if (const std::string again = blocks_that_count_again(result.body); !again.empty())
    return Reason{8,
                  fmt::format("{} stands inside groups that meet between blocks, and its blocks would all "
                              "count a group's arrival",
                              again),
                  "a loop that stands around the sum when split_k comes, or split_k with reduce = shared",
                  again};
  if (auto refused = require_same_threads(result, *axis, 6)) return *refused;
  if (!ir::is_block(*axis)) {
    const std::int64_t most = largest_extent(*axis, context.target);
    if (auto refused = require_fitting_threads(result, *axis, most, 6)) return *refused;
  }
  return result;
}

StepResult apply_bind(const ir::Program& program, const StepArguments& arguments,
                      const StepContext& context) {
  return or_other_loop(program, arguments, context, bound, {4, 11, 12}, Proposed::outermost);
}

constexpr std::array<std::string_view, 6> names_of_axes{"block_x", "block_y", "block_z",
                                                        "warp",    "lane",    "thread"};
constexpr Parameter parameters[]{loop_parameter("loop", "n.outer", "the loop whose iterations are shared"),
                                 {.name = "axis",
                                  .kind = ParameterKind::word,
                                  .example = "block_x",
                                  .sentence = "who shares them",
                                  .precondition = 9,
                                  .words = names_of_axes}};
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "it is still serial"},
    {3,
     "warp, lane and thread loops have a constant number of iterations that fits the target; a block loop "
     "has no more than the grid can be long, known when a launch begins"},
    {4,
     "its iterations add to different sums: it is a loop over an index of the output, or over the groups "
     "of split_k"},
    {5, "the target is a GPU"},
    {6,
     "no loop of the nest has that axis of blocks, and all that have it are of one length; nested warp, "
     "lane or thread loops share what there is"},
    {7, "thread does not mix with warp and lane"},
    {8,
     "block loops stand outside of others, also of groups that meet between blocks; groups are bound where "
     "they meet: to warps in shared memory, to blocks in a workspace"},
    {9, "the axis is one of the six"},
    {10, "no copy into shared memory is made inside a warp, lane or thread loop, and no groups meet there"},
    {11,
     "a workspace that the loop uses is used nowhere else; shared memory that a block loop writes neither"},
    {12, "neither are registers that it chooses, nor do parts of it share them"}};

}  // namespace

constinit const StepKind bind{
    .name = "bind",
    .sentence = "The blocks, warps, lanes or threads of a launch share the iterations of a loop.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_bind};

}  // namespace weft::steps
