// unroll, vectorize, parallel, bind: who runs the iterations of a loop.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/grouped_sum.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/loops.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace weft::steps {
namespace {

using ir::LoopKind;
using ir::Stmt;

constexpr std::int64_t largest_unroll = 1024;  ///< iterations, and statements
constexpr std::int64_t largest_vector = 1024;

ir::Program marked(ir::Program program, const std::string& name, LoopKind kind, int step) {
  program.body = change_loops(program.body, name, [&](const ir::For& loop) {
    ir::For changed = loop;
    changed.kind = kind;
    changed.step = step;
    return ir::for_loop(std::move(changed));
  });
  return program;
}

/// Precondition 1 (the loop exists) and 2 (it is still serial).
std::optional<Reason> require_serial(const ir::Program& program, const std::string& name) {
  if (auto missing = require_loop(program, name)) return missing;
  const LoopKind kind = find_loop(program.body, name)->kind;
  if (kind == LoopKind::serial) return std::nullopt;
  return Reason{2, fmt::format("{} is {} already", name, ir::name_of(kind)), "a loop that is still serial",
                name};
}

/// Precondition 3: a constant extent of at most `largest`.
std::optional<Reason> require_constant(const ir::Program& program, const std::string& name,
                                       std::int64_t largest) {
  const ir::Expr& extent = find_loop(program.body, name)->extent;
  const std::int64_t* value = ir::integer_value(extent);
  if (value != nullptr ? *value <= largest : is_constant_extent(program, extent)) return std::nullopt;
  return Reason{3, fmt::format("{} has {} iterations", name, ir::print(extent)),
                fmt::format("a constant number of at most {}: split {} first", largest, name), name};
}

/// Precondition 4: iterations do not add to the same place.
std::optional<Reason> require_independent(const std::string& name, const StepContext& context) {
  if (is_output_loop(name, context.algorithm)) return std::nullopt;
  return Reason{4, fmt::format("iterations of {} add to the same sums", name),
                "a loop over an index of the output", name};
}

/// Precondition 10: no copy into shared memory inside, which all iterations would have to make together, nor
/// sums that groups hand over there.
std::optional<Reason> require_no_copy(const ir::Program& program, const std::string& name) {
  const auto loops = find_loops(program.body, name);
  const auto any = [&](bool (*holds)(const Stmt&)) {
    return std::any_of(loops.begin(), loops.end(), [&](const ir::For* loop) { return holds(loop->body); });
  };
  if (any(holds_exchange)) {
    return Reason{10, fmt::format("sums of groups are handed over inside {}", name),
                  fmt::format("{} bound or vectorized before split_k", name), name};
  }
  if (!any(holds_copy)) return std::nullopt;
  return Reason{10, fmt::format("a copy into shared memory stands inside {}", name),
                "a loop around the computation alone: stage at a loop outside " + name, name};
}

/// Lines of the program that stand in unrolled loops, each as often as it is written out.
std::int64_t written_out(const Stmt& stmt, std::int64_t copies) {
  if (!stmt.defined()) return 0;
  if (const auto* s = stmt.as<ir::Block>()) {
    std::int64_t sum = 0;
    for (const Stmt& child : s->statements) sum += written_out(child, copies);
    return sum;
  }
  const std::int64_t self = copies > 1 ? copies : 0;
  if (const auto* s = stmt.as<ir::For>()) {
    const std::int64_t* extent = ir::integer_value(s->extent);
    if (s->kind != LoopKind::unrolled || extent == nullptr) return self + written_out(s->body, copies);
    // Nested loops of at most `largest_unroll` iterations each could still overflow.
    constexpr std::int64_t enough = largest_unroll * largest_unroll;
    return written_out(s->body, std::min(enough, copies * *extent));
  }
  if (const auto* s = stmt.as<ir::If>())
    return self + written_out(s->then, copies) + written_out(s->otherwise, copies);
  if (const auto* s = stmt.as<ir::Allocate>()) return written_out(s->body, copies);
  if (const auto* s = stmt.as<ir::Let>()) return self + written_out(s->body, copies);
  return self;
}

/// unroll(x). Preconditions: 1 the loop exists; 2 it is serial; 3 its extent is constant; 5 all unrolled
/// loops together are written out to at most 1024 statements: compilers take seconds for more.
StepResult apply_unroll(const ir::Program& program, const Step& step, const StepContext& context) {
  ir::Program result = program;
  for (const Argument& argument : step.arguments) {
    const std::string& name = word_of(argument);
    if (auto refused = require_serial(result, name)) return *refused;
    if (auto refused = require_constant(result, name, largest_unroll)) return *refused;
    result = marked(std::move(result), name, LoopKind::unrolled, context.step);
    const std::int64_t statements = written_out(result.body, 1);
    if (statements > largest_unroll) {
      return Reason{5, fmt::format("{} statements, written out", statements),
                    fmt::format("at most {}: split {} first and unroll {}.inner", largest_unroll, name, name),
                    name};
    }
  }
  return result;
}

/// vectorize(x): the iterations are elements of a vector. Preconditions: 1 to 3 as unroll; 4 iterations are
/// independent; 5 no other vectorized loop around or inside; 6 ranges of loops inside do not depend on it; 7
/// no loop inside is bound or parallel.
StepResult apply_vectorize(const ir::Program& program, const Step& step, const StepContext& context) {
  const std::string& name = word_of(step.arguments.at(0));
  if (auto refused = require_serial(program, name)) return *refused;
  if (auto refused = require_constant(program, name, largest_vector)) return *refused;
  if (auto refused = require_independent(name, context)) return *refused;
  if (auto refused = require_no_copy(program, name)) return *refused;
  std::optional<Reason> refused;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || refused) return;
    if (loop->name != name) {
      if (loop->kind == LoopKind::vectorized && find_loop(loop->body, name) != nullptr) {
        refused = Reason{5, fmt::format("{} around it is vectorized already", loop->name),
                         "one vectorized loop in a nest", name};
      }
      return;
    }
    ir::visit(loop->body, [&](const Stmt& inside) {
      const auto* inner = inside.as<ir::For>();
      if (inner == nullptr || refused) return;
      if (inner->kind == LoopKind::vectorized) {
        refused = Reason{5, fmt::format("{} inside it is vectorized already", inner->name),
                         "one vectorized loop in a nest", name};
      } else if (ir::uses(inner->begin, name) || ir::uses(inner->extent, name)) {
        refused = Reason{6, fmt::format("the range of {} inside depends on {}", inner->name, name),
                         "a loop whose iterations all do the same: vectorize another index", inner->name};
      } else if (ir::is_bound(inner->kind) || inner->kind == LoopKind::parallel) {
        refused = Reason{7, fmt::format("{} inside it is {}", inner->name, ir::name_of(inner->kind)),
                         "an innermost loop", inner->name};
      }
    });
  });
  if (refused) return *refused;
  return marked(program, name, LoopKind::vectorized, context.step);
}

/// parallel(x): CPU threads share the iterations. Preconditions: 1, 2, 4 as above; 5 the target is a CPU; 6
/// no other parallel loop around or inside.
StepResult apply_parallel(const ir::Program& program, const Step& step, const StepContext& context) {
  const std::string& name = word_of(step.arguments.at(0));
  if (auto refused = require_serial(program, name)) return *refused;
  if (auto refused = require_independent(name, context)) return *refused;
  if (context.target.is_gpu()) {
    return Reason{5, "the target is " + context.target.name,
                  "a CPU target; on a GPU, bind(" + name + ", block_x)", name};
  }
  std::string other;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) return;
    const bool around = loop->kind == LoopKind::parallel && find_loop(loop->body, name) != nullptr;
    const bool inside = loop->name == name && [&] {
      bool found = false;
      ir::visit(loop->body, [&](const Stmt& child) {
        const auto* inner = child.as<ir::For>();
        found = found || (inner != nullptr && inner->kind == LoopKind::parallel);
      });
      return found;
    }();
    if (around || inside) other = loop->name;
  });
  if (!other.empty())
    return Reason{6, "a parallel loop around or inside " + name + " already", "one parallel loop in a nest",
                  other};
  return marked(program, name, LoopKind::parallel, context.step);
}

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
    if (ir::is_block(axis) && ir::is_within_block(loop->kind) && find_loop(loop->body, name) != nullptr) {
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

/// For each loop of an axis the ways it is nested with others of it: those around it, then those inside.
using Nests = std::map<std::string, std::set<std::vector<std::string>>>;

void collect_nests(const Stmt& stmt, LoopKind axis, std::vector<std::string>& around, Nests& nests) {
  if (!stmt.defined()) return;
  const auto inside = [&](const Stmt& child) { collect_nests(child, axis, around, nests); };
  if (const auto* s = stmt.as<ir::For>()) {
    if (s->kind != axis) return inside(s->body);
    // Those inside decide how many warps, lanes or threads an iteration gets.
    std::vector<std::string> nest = around;
    nest.emplace_back("/");
    ir::visit(s->body, [&](const Stmt& child) {
      const auto* loop = child.as<ir::For>();
      if (loop != nullptr && loop->kind == axis &&
          std::find(nest.begin(), nest.end(), loop->name) == nest.end())
        nest.push_back(loop->name);
    });
    nests[s->name].insert(nest);
    around.push_back(s->name);
    inside(s->body);
    around.pop_back();
  } else if (const auto* block = stmt.as<ir::Block>()) {
    for (const Stmt& child : block->statements) inside(child);
  } else if (const auto* condition = stmt.as<ir::If>()) {
    inside(condition->then);
    inside(condition->otherwise);
  } else if (const auto* allocation = stmt.as<ir::Allocate>()) {
    inside(allocation->body);
  } else if (const auto* let = stmt.as<ir::Let>()) {
    inside(let->body);
  }
}

/// Precondition 6 of nested warp, lane and thread loops: a thread has the same iteration wherever the loop
/// stands.
std::optional<Reason> require_same_threads(const ir::Program& program, LoopKind axis) {
  std::vector<std::string> around;
  Nests nests;
  if (!ir::is_block(axis)) collect_nests(program.body, axis, around, nests);
  for (const auto& [name, places] : nests) {
    if (places.size() == 1) continue;
    return Reason{6,
                  fmt::format("{} would be nested with other {} loops in one place than in another", name,
                              ir::name_of(axis)),
                  fmt::format("{} loops that are nested alike wherever they stand", ir::name_of(axis)), name};
  }
  return std::nullopt;
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
  if (is_group_loop(name) && ir::is_block(*axis)) {
    return Reason{8, fmt::format("groups of {} hand their sums over in shared memory", name),
                  "warp: the groups of one block", name};
  }
  if (!is_group_loop(name)) {
    if (auto refused = require_independent(name, context)) return *refused;
  }
  if (auto refused = check_axis(program, name, *axis, context.target)) return *refused;
  if (auto refused = require_own_workspaces(program, name)) return *refused;
  if (auto refused = require_own_registers(program, name)) return *refused;
  ir::Program result = marked(program, name, *axis, context.step);
  if (auto refused = require_same_threads(result, *axis)) return *refused;
  return result;
}

}  // namespace

const StepKind unroll{"unroll", ".unroll(n.inner)", 1, SIZE_MAX, apply_unroll};
const StepKind vectorize{"vectorize", ".vectorize(n.inner)", 1, 1, apply_vectorize};
const StepKind parallel{"parallel", ".parallel(m.outer)", 1, 1, apply_parallel};
const StepKind bind{"bind", ".bind(n.outer, block_x)", 2, 2, apply_bind};

}  // namespace weft::steps
