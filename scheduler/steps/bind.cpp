// bind: the blocks, warps, lanes or threads of a launch run the iterations of a loop.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/annotate.h>
#include <weft/scheduler/steps/grouped_sum.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/loops.h>
#include <weft/scheduler/steps/thread_nests.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace weft::steps {
namespace {

using ir::LoopKind;
using ir::Stmt;

constexpr std::array axes{LoopKind::block_x, LoopKind::block_y, LoopKind::block_z,
                          LoopKind::warp,    LoopKind::lane,    LoopKind::thread};

std::int64_t largest_extent(LoopKind axis, const Target& target) {
  if (axis == LoopKind::lane) return 32;
  if (axis == LoopKind::warp) return target.threads_per_block / 32;
  return target.threads_per_block;
}

std::optional<Reason> check_axis(const ir::Program& program, const std::string& name, LoopKind axis,
                                 const Target& target) {
  std::optional<Reason> refused;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || refused || loop->name == name) return;
    const bool nested =
        stands_inside(program.body, name, loop->name) || stands_inside(program.body, loop->name, name);
    if (loop->kind == axis && nested && ir::is_block(axis)) {
      refused = Reason{6, fmt::format("{} is bound to {} already", loop->name, ir::name_of(axis)),
                       "one loop of a nest for each of block_x, block_y, block_z", loop->name};
    }
    const bool mixed =
        (axis == LoopKind::thread && (loop->kind == LoopKind::warp || loop->kind == LoopKind::lane)) ||
        (loop->kind == LoopKind::thread && (axis == LoopKind::warp || axis == LoopKind::lane));
    if (mixed && nested) {
      refused = Reason{7, fmt::format("{} is bound to {}", loop->name, ir::name_of(loop->kind)),
                       "either thread, or warp and lane", loop->name};
    }
    if (ir::is_block(axis) && ir::is_within_block(loop->kind) && !is_group_loop(name) &&
        find_loop(loop->body, name) != nullptr) {
      refused = Reason{8, fmt::format("{} around it is bound to {}", loop->name, ir::name_of(loop->kind)),
                       "block loops outside warp, lane and thread loops", loop->name};
    }
  });
  if (refused || ir::is_block(axis)) return refused;
  if (auto copy = require_no_copy(program, name)) return copy;
  return require_constant(program, name, largest_extent(axis, target));
}

/// Precondition 11: what the iterations keep in a workspace, nobody else uses. Threads of different blocks,
/// and those of one block between two loops, do not wait for one another.
std::optional<Reason> require_own_workspaces(const ir::Program& program, const std::string& name) {
  const Stmt rest = change_loops(program.body, name, [](const ir::For&) { return Stmt(); });
  const auto loops = find_loops(program.body, name);
  for (const ir::BufferRef& workspace : program.workspaces) {
    const bool inside = std::any_of(loops.begin(), loops.end(),
                                    [&](const ir::For* loop) { return ir::uses(loop->body, workspace); });
    if (!inside || !rest.defined() || !ir::uses(rest, workspace)) continue;
    return Reason{11,
                  fmt::format("{} is used inside {} and outside of it, by threads that do not wait for it",
                              workspace->name, name),
                  "a loop around every use of " + workspace->name, workspace->name};
  }
  return std::nullopt;
}

/// True when a register of the buffer is chosen by the loop.
bool chooses_register(const Stmt& body, const ir::BufferRef& buffer, const std::string& name) {
  bool found = false;
  const auto look = [&](const ir::BufferRef& used, const std::vector<ir::Expr>& indices) {
    found = found || (used == buffer && std::any_of(indices.begin(), indices.end(),
                                                    [&](const ir::Expr& e) { return ir::uses(e, name); }));
  };
  ir::visit(
      body,
      [&](const Stmt& s) {
        if (const auto* store = s.as<ir::Store>()) look(store->buffer, store->indices);
      },
      [&](const ir::Expr& e) {
        if (const auto* load = e.as<ir::Load>()) look(load->buffer, load->indices);
      });
  return found;
}

/// Precondition 12: registers that the iterations choose are used nowhere else. Iterations become threads,
/// and threads have registers of their own.
std::optional<Reason> require_own_registers(const ir::Program& program, const std::string& name) {
  const Stmt rest = change_loops(program.body, name, [](const ir::For&) { return Stmt(); });
  if (!rest.defined()) return std::nullopt;
  const auto loops = find_loops(program.body, name);
  std::optional<Reason> refused;
  ir::visit(rest, [&](const Stmt& s) {
    const auto* allocation = s.as<ir::Allocate>();
    if (allocation == nullptr || refused || allocation->buffer->scope != ir::Scope::registers) return;
    const ir::BufferRef& buffer = allocation->buffer;
    const bool chosen = std::any_of(loops.begin(), loops.end(), [&](const ir::For* loop) {
      return chooses_register(loop->body, buffer, name);
    });
    if (!chosen || !ir::uses(allocation->body, buffer)) return;
    refused = Reason{
        12, fmt::format("registers of {} are used inside {} and outside of it", buffer->name, name),
        fmt::format("a loop around every use of {}: bind {} before it is written out", buffer->name, name),
        buffer->name};
  });
  return refused;
}

/// bind(x, axis): the blocks, warps, lanes or threads of a launch share the iterations. Preconditions: 1, 2,
/// 4 as above; 3 warp, lane and thread loops have a constant extent that fits the target; 5 the target is a
/// GPU; 6 no loop of the nest has that block axis; nested warp, lane or thread loops share what there is; 10
/// as above; 7 thread does not mix with warp and lane; 8 block loops stand outside, and are none over groups;
/// 9 the axis is one of the six; 11 a workspace that the loop uses is used nowhere else; 12 neither are
/// registers that it chooses.
StepResult apply_bind(const ir::Program& program, const Step& step, const StepContext& context) {
  const std::string& name = word_of(step.arguments.at(0));
  const std::string& word = word_of(step.arguments.at(1));
  if (auto refused = require_serial(program, name)) return *refused;
  const auto axis =
      std::find_if(axes.begin(), axes.end(), [&](LoopKind kind) { return ir::name_of(kind) == word; });
  if (axis == axes.end()) return Reason{9, word, "block_x, block_y, block_z, warp, lane or thread", name};
  if (!context.target.is_gpu()) {
    return Reason{5, "the target is " + context.target.name,
                  "a GPU target; on the CPU, parallel(" + name + ")", name};
  }
  if (is_group_loop(name) && ir::is_block(*axis) != meets_between_blocks(program.body, name)) {
    return ir::is_block(*axis)
               ? Reason{8, fmt::format("groups of {} hand their sums over in shared memory", name),
                        "warp: the groups of one block; split_k with reduce = second_pass for blocks", name}
               : Reason{8, fmt::format("groups of {} hand their sums over between blocks", name),
                        "block_x, block_y or block_z; split_k with reduce = shared for warps", name};
  }
  if (!is_group_loop(name)) {
    if (auto refused = require_independent(name, context)) return *refused;
  }
  if (auto refused = check_axis(program, name, *axis, context.target)) return *refused;
  if (auto refused = require_own_workspaces(program, name)) return *refused;
  if (auto refused = require_own_registers(program, name)) return *refused;
  ir::Program result = marked(program, name, *axis, context.step);
  if (auto refused = require_same_threads(result, *axis, 6)) return *refused;
  return result;
}

}  // namespace

const StepKind bind{"bind", ".bind(n.outer, block_x)", 2, 2, apply_bind};

}  // namespace weft::steps
