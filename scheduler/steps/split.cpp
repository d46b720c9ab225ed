// split and tile.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/loops.h>
#include <weft/scheduler/steps/reorder.h>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

/// for x in b .. b+e: body
///   becomes
/// for x.outer in 0 .. ceil(e / f): for x.inner in 0 .. f: if f*x.outer + x.inner < e: body[x := b +
/// f*x.outer + x.inner]
Stmt split_loop(const ir::For& loop, const Expr& factor, int step) {
  const Expr outer = ir::variable(loop.name + ".outer");
  const Expr inner = ir::variable(loop.name + ".inner");
  const Expr place = outer * factor + inner;
  Stmt body = ir::substitute(loop.body, {{loop.name, loop.begin + place}});
  body = ir::if_then(place < loop.extent, body);
  const ir::For inside{loop.name + ".inner", ir::integer(0), factor, ir::LoopKind::serial, step, body};
  return ir::for_loop({loop.name + ".outer", ir::integer(0), ir::ceil_divide(loop.extent, factor),
                       ir::LoopKind::serial, step, ir::for_loop(inside)});
}

/// Preconditions: 1 the loop exists; 2 it is still serial; 3 the factor is at least 1.
StepResult split_one(ir::Program program, const Argument& argument, const StepContext& context) {
  if (auto missing = require_loop(program, argument.name)) return *missing;
  const ir::For& loop = *find_loop(program.body, argument.name);
  if (loop.kind != ir::LoopKind::serial) {
    return Reason{2, fmt::format("{} is {} already", loop.name, name_of(loop.kind)),
                  "a serial loop: split it first", loop.name};
  }
  const auto* number = std::get_if<std::int64_t>(&argument.value);
  if (number != nullptr && *number < 1) {
    return Reason{3, fmt::format("{} = {}", argument.name, *number), "a factor of at least 1", loop.name};
  }
  const Expr factor = factor_of(program, argument);
  program.body = change_loops(program.body, argument.name,
                              [&](const ir::For& found) { return split_loop(found, factor, context.step); });
  return program;
}

/// split(x = f, …): each named loop becomes two, x.outer and x.inner, the inner of f iterations. A tail is
/// guarded.
StepResult apply_split(const ir::Program& program, const Step& step, const StepContext& context) {
  ir::Program result = program;
  for (const Argument& argument : step.arguments) {
    StepResult next = split_one(std::move(result), argument, context);
    if (std::holds_alternative<Reason>(next)) return next;
    result = std::get<ir::Program>(std::move(next));
  }
  return result;
}

/// tile(x = f, y = g, …): splits each loop and orders x.outer, y.outer, …, x.inner, y.inner, …
/// Preconditions: those of split (1 to 3) and, as 4, those of reorder.
StepResult apply_tile(const ir::Program& program, const Step& step, const StepContext& context) {
  StepResult split_up = apply_split(program, step, context);
  if (std::holds_alternative<Reason>(split_up)) return split_up;
  std::vector<std::string> order;
  for (const char* suffix : {".outer", ".inner"}) {
    for (const Argument& argument : step.arguments) order.push_back(argument.name + suffix);
  }
  StepResult result = reorder_loops(std::get<ir::Program>(split_up), order);
  if (auto* reason = std::get_if<Reason>(&result)) {
    reason->precondition = 4;
    reason->accepted += " (tile orders the outer loops first; split keeps each pair together)";
  }
  return result;
}

}  // namespace

const StepKind split{"split", ".split(n = 64)", 1, SIZE_MAX, apply_split};
const StepKind tile{"tile", ".tile(m = 4, n = 64)", 1, SIZE_MAX, apply_tile};

}  // namespace weft::steps
