// split and tile.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/reorder.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

namespace weft::steps {
namespace {

/// for x in b .. b+e: body
///   becomes
/// for x.outer in 0 .. ceil(e / f): for x.inner in 0 .. f: if f*x.outer + x.inner < e: body[x := b +
/// f*x.outer + x.inner]
Stmt split_loop(const ir::For& loop, const Expr& factor, int step) {
  const auto parts = split_names(loop.name);
  const Expr outer = ir::variable(parts[0]), inner = ir::variable(parts[1]);
  const Expr place = outer * factor + inner;
  Stmt body = ir::substitute(loop.body, {{loop.name, loop.begin + place}});
  body = ir::if_then(place < loop.extent, body);
  body = ir::for_range(inner, factor, LoopKind::serial, step, body, loop.role);
  return ir::for_range(outer, ir::ceil_divide(loop.extent, factor), LoopKind::serial, step, body, loop.role);
}

/// Up to here a factor is taken whatever the loop needs: what lanes, vectors and tiles are made for.
constexpr std::int64_t always_fitting = 1024;
/// Of a loop whose iterations only the launch or the weights know.
constexpr std::int64_t largest_of_unknown = 16'384;
/// Places beyond the end of a loop of more iterations than that, which numbers of 32 bits hold.
constexpr std::int64_t largest_of_all = std::int64_t{1} << 30, largest_beyond = 65'536;

/// How many iterations the loop has at most, as far as that is known.
std::optional<std::int64_t> most_iterations(const ir::Program& program, const ir::For& loop,
                                            const StepContext& context) {
  ir::Ranges ranges;
  for (const ir::Knob& knob : program.knobs) ranges[knob.name] = {1, *std::ranges::max_element(knob.values)};
  if (const auto most = ir::range_of(loop.extent, ranges).maximum) return most;
  if (!ir::any<ir::Load>(loop.extent) || context.weights == nullptr || context.algorithm.takes_any_weights())
    return std::nullopt;
  return std::max(context.weights->rows(), context.weights->columns());
}

/// Precondition 3: more than the loop needs would only be gone through in vain.
std::optional<Reason> check_factor(const ir::Program& program, const ir::For& loop, const Argument& argument,
                                   const StepContext& context) {
  const auto needed = most_iterations(program, loop, context);
  std::int64_t largest = largest_of_unknown;
  if (needed) {
    const auto whole = static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(*needed, 1, largest_of_all))));
    largest = std::max(always_fitting, *needed > largest_of_all ? largest_beyond : whole);
  }
  return require_range(
      argument, 1, largest,
      {3,
       {},
       fmt::format("a factor from 1 to {}{}: {}", largest,
                   needed ? fmt::format(", because {} has {} iterations", loop.name, *needed) : std::string(),
                   split_text(loop.name, std::min<std::int64_t>(64, largest))),
       loop.name});
}

/// What says of a loop that is no longer serial who runs it, as steps of a loop that is split before.
std::string split_before(const ir::For& loop, const Argument& argument) {
  const std::string split = Step{"split", {argument}, {}}.cpp();
  const std::string outer = loop.name + ".outer", inner = loop.name + ".inner", kind(name_of(loop.kind));
  if (loop.kind == LoopKind::parallel) return split + written("parallel", {outer});
  if (ir::is_bound(loop.kind))
    return split + written("bind", {ir::is_block(loop.kind) ? outer : inner, kind});
  return split + written(loop.kind == LoopKind::vectorized ? "vectorize" : "unroll", {inner});
}

StepResult split_one(ir::Program program, const Argument& argument, const StepContext& context) {
  if (auto missing = require_loop(program, argument.name)) return *missing;
  const ir::For& loop = *find_loop(program.body, argument.name);
  if (loop.kind != LoopKind::serial)
    return Reason{2, fmt::format("{} is {} already", loop.name, name_of(loop.kind)),
                  fmt::format("a serial loop, split before the step that makes it {}: {}", name_of(loop.kind),
                              split_before(loop, argument)),
                  loop.name};
  if (auto refused = check_factor(program, loop, argument, context)) return *refused;
  const Expr factor = symbol_of(argument);
  program.body = change_loops(program.body, argument.name,
                              [&](const ir::For& found) { return split_loop(found, factor, context.step); });
  return program;
}

StepResult apply_split(const ir::Program& program, const StepArguments& arguments,
                       const StepContext& context) {
  ir::Program result = program;
  for (const Argument& argument : arguments.step().arguments) {
    StepResult next = split_one(std::move(result), argument, context);
    if (std::holds_alternative<Reason>(next)) return next;
    result = std::get<ir::Program>(std::move(next));
  }
  return result;
}

/// Of tile, in their order: x.outer, y.outer, x.inner, y.inner; of split, x.outer, x.inner, y.outer, y.inner.
std::vector<std::string> loops_of_tile(const StepArguments& arguments, const Algorithm&) {
  std::vector<std::string> loops;
  for (const std::size_t part : {0, 1}) {
    for (const Argument& argument : arguments.step().arguments)
      loops.push_back(split_names(argument.name)[part]);
  }
  return loops;
}

std::vector<std::string> loops_of_split(const StepArguments& arguments, const Algorithm&) {
  std::vector<std::string> loops;
  for (const Argument& argument : arguments.step().arguments)
    std::ranges::copy(split_names(argument.name), std::back_inserter(loops));
  return loops;
}

StepResult apply_tile(const ir::Program& program, const StepArguments& arguments,
                      const StepContext& context) {
  StepResult split_up = apply_split(program, arguments, context);
  if (std::holds_alternative<Reason>(split_up)) return split_up;
  StepResult result =
      reorder_loops(std::get<ir::Program>(split_up), loops_of_tile(arguments, context.algorithm));
  if (auto* reason = std::get_if<Reason>(&result)) {
    reason->precondition = 4;
    const Step pairs{"split", arguments.step().arguments, {}};
    reason->accepted += fmt::format("; {} makes the same loops and keeps each pair together", pairs.cpp());
  }
  return result;
}

constexpr Parameter factors(std::string_view example) {
  return {.name = "factor",
          .kind = ParameterKind::factor,
          .example = example,
          .sentence = "a loop and the iterations of its inner part; the most depends on the loop",
          .precondition = 3,
          .repeated = true,
          .most = largest_of_all,
          .symbolic = true};
}
constexpr Parameter split_parameters[]{factors("n = 64")}, tile_parameters[]{factors("m = 4, n = 64")};
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "it is still serial"},
    {3,
     "the factor is at least 1, and no more than the loop can need: 1024 or its iterations rounded up to a "
     "power of two; 16,384 where those are not known"},
    {4, "what reorder asks for the order x.outer, y.outer, x.inner, y.inner"}};

}  // namespace

constinit const StepKind split{
    .name = "split",
    .sentence =
        "Each loop x becomes two, x.outer and x.inner, the inner one of as many iterations as are given.",
    .more = "Where the number does not divide the loop, a condition keeps out what lies beyond its end.",
    .parameters = split_parameters,
    .preconditions = std::span(preconditions).first(3),
    .apply = apply_split,
    .loops = loops_of_split};
constinit const StepKind tile{
    .name = "tile",
    .sentence = "Splits each loop, and orders all outer ones around all inner ones.",
    .more = "The order is x.outer, y.outer, x.inner, y.inner, as the loops are given.",
    .parameters = tile_parameters,
    .preconditions = preconditions,
    .apply = apply_tile,
    .loops = loops_of_tile};

}  // namespace weft::steps
