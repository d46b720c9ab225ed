// unroll, vectorize, parallel: who runs the iterations of a loop; and what bind asks as well.
#include <fmt/format.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/annotate.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/other_loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>

namespace weft::steps {

ir::Program marked(ir::Program program, const std::string& name, LoopKind kind, int step) {
  program.body = change_loops(program.body, name, [&](const ir::For& loop) {
    ir::For changed = loop;
    changed.kind = kind;
    changed.step = step;
    return ir::for_loop(std::move(changed));
  });
  return program;
}

std::optional<Reason> require_serial(const ir::Program& program, const std::string& name) {
  if (auto missing = require_loop(program, name)) return missing;
  const LoopKind kind = find_loop(program.body, name)->kind;
  if (kind == LoopKind::serial) return std::nullopt;
  return Reason{2, fmt::format("{} is {} already", name, ir::name_of(kind)),
                fmt::format("a loop that is still serial: {} before that step, and one step for each of "
                            "{}.outer and {}.inner",
                            split_text(name, 2), name, name),
                name};
}

std::optional<Reason> require_constant(const ir::Program& program, const std::string& name,
                                       std::int64_t largest) {
  const auto loops = find_loops(program.body, name);
  const auto other = std::ranges::find_if(loops, [&](const ir::For* loop) {
    const std::int64_t* value = ir::integer_value(loop->extent);
    return value != nullptr ? *value > largest : !ir::is_constant(program, loop->extent);
  });
  if (other == loops.end()) return std::nullopt;
  return Reason{3, fmt::format("{} has {} iterations", name, ir::print((*other)->extent)),
                fmt::format("a constant number of at most {}: {} first, then {}.inner", largest,
                            split_text(name, std::min<std::int64_t>(32, largest)), name),
                name};
}

std::optional<Reason> require_independent(const ir::Program& program, const std::string& name) {
  if (ir::is_over_output(ir::role_of(program.body, name))) return std::nullopt;
  const std::vector<std::string> others = serial_loops(program, true);
  return Reason{4, fmt::format("iterations of {} add to the same sums", name),
                others.empty()
                    ? std::string("a loop over an index of the output that is still serial")
                    : fmt::format("a loop over an index of the output: {}", fmt::join(others, ", ")),
                name};
}

std::optional<Reason> require_no_copy(const ir::Program& program, const std::string& name) {
  const auto any = [&](bool (*holds)(const Stmt&)) {
    return std::ranges::any_of(find_loops(program.body, name),
                               [&](const ir::For* loop) { return holds(loop->body); });
  };
  if (any(holds_exchange))
    return Reason{10, fmt::format("sums of groups are handed over inside {}", name),
                  "a loop in which no groups meet, as all are before split_k", name};
  if (!any(ir::holds_copy)) return std::nullopt;
  return Reason{10, fmt::format("a copy into shared memory stands inside {}", name),
                "a loop around the computation alone: stage at a loop outside " + name, name};
}

namespace {

constexpr std::int64_t largest_unroll = 1024;  ///< iterations, and statements
constexpr std::int64_t largest_vector = 1024;

/// Lines of the program that stand in unrolled loops, each as often as it is written out.
std::int64_t written_out(const Stmt& stmt, std::int64_t copies) {
  const auto* loop = stmt.as<ir::For>();
  const std::int64_t* extent = loop == nullptr ? nullptr : ir::integer_value(loop->extent);
  const bool unrolls = loop != nullptr && loop->kind == LoopKind::unrolled && extent != nullptr;
  // Nested loops of at most `largest_unroll` iterations each could still overflow.
  constexpr std::int64_t enough = largest_unroll * largest_unroll;
  const std::int64_t inside = unrolls ? std::min(enough, copies * *extent) : copies;
  const bool is_line = !unrolls && stmt.as<ir::Sequence>() == nullptr && stmt.as<ir::Allocate>() == nullptr;
  std::int64_t sum = is_line && copies > 1 ? copies : 0;
  // What an instruction does is one line.
  if (stmt.as<ir::TensorOperation>() == nullptr)
    each_child(stmt, [&](const Stmt& child) { sum += written_out(child, inside); });
  return sum;
}

StepResult apply_unroll(const ir::Program& program, const StepArguments& arguments,
                        const StepContext& context) {
  ir::Program result = program;
  for (const std::string& name : arguments.texts("loop")) {
    if (auto refused = require_serial(result, name)) return *refused;
    if (auto refused = require_constant(result, name, largest_unroll)) return *refused;
    result = marked(std::move(result), name, LoopKind::unrolled, context.step);
    const std::int64_t statements = written_out(result.body, 1);
    if (statements > largest_unroll)
      return Reason{5, fmt::format("{} statements, written out", statements),
                    fmt::format("at most {}: split {} first and unroll {}.inner, as by {}", largest_unroll,
                                name, name, split_text(name, 4)),
                    name};
  }
  return result;
}

/// Whether the iterations of the loop are others in each iteration of `name`. One that is run once is a value
/// rather than a loop.
bool depends_on(const ir::For& loop, const std::string& name) {
  const std::int64_t* extent = ir::integer_value(loop.extent);
  const bool once = extent != nullptr && *extent == 1;
  return ir::uses(loop.extent, name) || (!once && ir::uses(loop.begin, name));
}

/// Of the groups of a sum one adds up the parts of all: nothing for a vector.
Stmt with_one_to_add_up(const Stmt& body, const std::string& groups) {
  return change_loops(body, groups, [](const ir::For& loop) {
    ir::For one = loop;
    if (loop.body.as<ir::If>() != nullptr) one.kind = LoopKind::unrolled;
    return ir::for_loop(std::move(one));
  });
}

StepResult vectorized(const ir::Program& program, const StepArguments& arguments,
                      const StepContext& context) {
  const std::string name = arguments.text("loop");
  const bool groups = ir::role_of(program.body, name) == ir::LoopRole::groups;
  if (auto refused = require_serial(program, name)) return *refused;
  if (auto refused = groups ? std::nullopt : require_independent(program, name)) return *refused;
  if (auto refused = require_constant(program, name, largest_vector)) return *refused;
  if (auto refused = require_no_copy(program, name)) return *refused;
  std::optional<Reason> refused;
  ir::each<ir::For>(program.body, [&](const ir::For& loop) {
    if (refused) return;
    if (loop.name != name) {
      if (loop.kind == LoopKind::vectorized && find_loop(loop.body, name) != nullptr)
        refused = Reason{5, fmt::format("{} around it is vectorized already", loop.name),
                         fmt::format("one vectorized loop in a nest: {} in place of {}",
                                     written("vectorize", {name}), written("vectorize", {loop.name})),
                         name};
      return;
    }
    ir::each<ir::For>(loop.body, [&](const ir::For& inner) {
      if (refused) return;
      if (inner.kind == LoopKind::vectorized) {
        refused = Reason{
            5, fmt::format("{} inside it is vectorized already", inner.name),
            fmt::format("one vectorized loop in a nest: leave {} out", written("vectorize", {name})), name};
      } else if (depends_on(inner, name)) {
        refused = Reason{6, fmt::format("the range of {} inside depends on {}", inner.name, name),
                         "a loop whose iterations all do the same", inner.name};
      } else if (ir::is_bound(inner.kind) || inner.kind == LoopKind::parallel) {
        refused = Reason{7, fmt::format("{} inside it is {}", inner.name, ir::name_of(inner.kind)),
                         fmt::format("an innermost loop: {} first", written("reorder", {inner.name, name})),
                         inner.name};
      }
    });
  });
  if (refused) return *refused;
  ir::Program result = marked(program, name, LoopKind::vectorized, context.step);
  if (groups) result.body = with_one_to_add_up(result.body, name);
  return result;
}

StepResult apply_vectorize(const ir::Program& program, const StepArguments& arguments,
                           const StepContext& context) {
  return or_other_loop(program, arguments, context, vectorized, {4, 6}, Proposed::innermost);
}

StepResult apply_parallel(const ir::Program& program, const StepArguments& arguments,
                          const StepContext& context) {
  const std::string name = arguments.text("loop");
  if (auto refused = require_serial(program, name)) return *refused;
  if (auto refused = require_independent(program, name)) return *refused;
  if (context.target.is_gpu())
    return Reason{5, "the target is " + context.target.name,
                  "a CPU target; on a GPU, " + written("bind", {name, "block_x"}), name};
  std::string other;
  const auto is_parallel = [](const ir::For& loop) { return loop.kind == LoopKind::parallel; };
  ir::each<ir::For>(program.body, [&](const ir::For& loop) {
    const bool around = is_parallel(loop) && find_loop(loop.body, name) != nullptr;
    const bool inside = loop.name == name && ir::any<ir::For>(loop.body, is_parallel);
    if (around || inside) other = loop.name;
  });
  if (!other.empty())
    return Reason{6, fmt::format("the parallel loop {} around or inside {} already", other, name),
                  fmt::format("one parallel loop in a nest: leave {} out", written("parallel", {name})),
                  other};
  return marked(program, name, LoopKind::parallel, context.step);
}

constexpr Precondition still_serial{2, "it is still serial"},
    independent{4, "its iterations add to different sums: it is a loop over an index of the output"};

constexpr Parameter unrolled_loops[]{
    {.name = "loop", .example = "n.inner", .sentence = "loops that are written out", .repeated = true}};
constexpr Precondition of_unroll[]{loop_exists,
                                   still_serial,
                                   {3, "it has a constant number of iterations, at most 1024"},
                                   {5,
                                    "all unrolled loops together are written out to at most 1024 "
                                    "statements: compilers take seconds for more"}};

constexpr Parameter vector_loop[]{
    loop_parameter("loop", "n.inner", "the loop whose iterations are elements of a vector")};
constexpr Precondition of_vectorize[]{
    loop_exists,
    still_serial,
    {3, "it has a constant number of iterations, at most 1024"},
    {4,
     "its iterations add to different sums: it is a loop over an index of the output, or over the groups of "
     "split_k"},
    {5, "no other vectorized loop stands around it or inside"},
    {6, "ranges of loops inside, where they are run more than once, do not depend on it"},
    {7, "no loop inside is bound or parallel"},
    {10, "no copy into shared memory is made inside, and no groups meet there"}};

constexpr Parameter parallel_loop[]{
    loop_parameter("loop", "m.outer", "the loop whose iterations CPU threads share")};
constexpr Precondition of_parallel[]{loop_exists,
                                     still_serial,
                                     independent,
                                     {5, "the target is a CPU"},
                                     {6, "no other parallel loop stands around it or inside"}};

}  // namespace

constinit const StepKind unroll{.name = "unroll",
                                .sentence = "Loops are written out, one iteration after the other.",
                                .parameters = unrolled_loops,
                                .preconditions = of_unroll,
                                .apply = apply_unroll};
constinit const StepKind vectorize{.name = "vectorize",
                                   .sentence = "The iterations of a loop become elements of a vector.",
                                   .parameters = vector_loop,
                                   .preconditions = of_vectorize,
                                   .apply = apply_vectorize};
constinit const StepKind parallel{.name = "parallel",
                                  .sentence = "CPU threads share the iterations of a loop.",
                                  .parameters = parallel_loop,
                                  .preconditions = of_parallel,
                                  .apply = apply_parallel};

}  // namespace weft::steps
