// peel: the first or last iterations of a loop stand by themselves.
#include <fmt/format.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/annotate.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>

namespace weft::steps {
namespace {

constexpr std::int64_t most_peeled = 64;

/// The sum, or more, where quotients that are taken whole times have gone: n / f * f is at most n.
Expr without_quotients(const Expr& sum) {
  Expr most = 0;
  const ir::Linear parts = ir::linear(sum);
  for (const ir::Linear::Term& term : parts.terms) {
    const auto* quotient = ir::as_binary(term.atom, ir::BinaryOperator::divide);
    const std::int64_t* divisor = quotient == nullptr ? nullptr : ir::integer_value(quotient->right);
    const bool whole = divisor != nullptr && term.coefficient > 0 && term.coefficient % *divisor == 0;
    most = most + (whole ? quotient->left * (term.coefficient / *divisor) : term.atom * term.coefficient);
  }
  return ir::linear(most + parts.constant).expr();
}

/// Whether the condition holds in every iteration up to that one. Of an extent that only the launch knows,
/// ranges of constants cannot tell.
bool holds_up_to(const Expr& condition, const std::string& name, const Expr& last, const ir::Ranges& inside) {
  const ir::Binary* comparison = ir::inequality(condition);
  if (comparison == nullptr) return false;
  const ir::Linear sum = ir::linear(comparison->left - comparison->right);
  const std::int64_t times = sum.coefficient_of(name);
  const Expr others = sum.expr() - ir::variable(name) * times;
  if (times <= 0 || ir::uses(ir::linear(others).expr(), name)) return false;
  const Expr most = without_quotients(others + last * times);
  return ir::always(ir::binary(comparison->op, most, 0), inside);
}

/// The body where every iteration is at most that one.
Stmt body_up_to(const ir::For& loop, const Expr& last) {
  const ir::Ranges inside = ir::loop_ranges(loop.body);
  return ir::rewrite<ir::If>(loop.body, [&](const ir::If& branch, const Stmt& s) {
    std::vector<Expr> parts = ir::conjuncts_of(branch.condition);
    const auto dropped =
        std::erase_if(parts, [&](const Expr& part) { return holds_up_to(part, loop.name, last, inside); });
    return dropped == 0 ? s : ir::if_then(ir::all_of(parts), branch.then, branch.otherwise);
  });
}

/// for x in b .. b+e: body
///   becomes
/// for x in b .. b+f: body, for x in b+f .. b+e-l: body, for x in b+e-l .. b+e: body
Stmt peeled(const ir::For& loop, std::int64_t from_begin, std::int64_t from_end, int step) {
  const Expr first = ir::minimum(from_begin, loop.extent);
  const Expr last = ir::minimum(from_end, loop.extent - first);
  const Expr middle = loop.extent - first - last;
  const auto part = [&](const Expr& begin, const Expr& extent, const Stmt& body) {
    ir::For result = loop;
    result.begin = begin;
    result.extent = extent;
    result.step = step;
    return ir::for_loop(std::move(result), body);
  };
  const Expr last_of_middle = loop.begin + loop.extent - (from_end + 1);
  const Stmt body = from_end > 0 ? body_up_to(loop, last_of_middle) : loop.body;
  std::vector<Stmt> parts;
  if (from_begin > 0) parts.push_back(part(loop.begin, first, loop.body));
  parts.push_back(part(loop.begin + first, middle, body));
  if (from_end > 0) parts.push_back(part(loop.begin + first + middle, last, loop.body));
  return ir::block(std::move(parts));
}

std::optional<Reason> check_loop(const ir::For& loop, std::int64_t peeled) {
  if (loop.role == ir::LoopRole::groups)
    return Reason{10, fmt::format("groups that share a sum meet in {}", loop.name),
                  "a loop around the groups or inside of them", loop.name};
  if (ir::any<ir::TensorOperation>(loop.body))
    return Reason{4, fmt::format("an instruction multiplies matrices inside {}", loop.name),
                  fmt::format("{} before tensorize", written("peel", {loop.name})), loop.name};
  const std::int64_t* extent = ir::integer_value(loop.extent);
  if (extent == nullptr || *extent > peeled) return std::nullopt;
  if (*extent == 1)
    return Reason{
        3, fmt::format("{} has 1 iteration, which would be peeled", loop.name),
        "a loop of two iterations or more, as a smaller factor of .split makes; or no peel: the one "
        "iteration stands by itself already",
        loop.name};
  return Reason{3, fmt::format("{} has {} iterations, and {} are to be peeled", loop.name, *extent, peeled),
                fmt::format("fewer of them: .peel({}, from_end = 1)", loop_text(loop.name)), loop.name};
}

StepResult apply_peel(const ir::Program& program, const StepArguments& arguments,
                      const StepContext& context) {
  const std::string name = arguments.text("loop");
  const std::int64_t from_begin = arguments.number("from_begin"), from_end = arguments.number("from_end");
  if (auto refused = require_serial(program, name)) return *refused;
  if (from_begin + from_end == 0)
    return Reason{3, fmt::format("no iteration of {} is to be peeled", name),
                  fmt::format(".peel({}, from_end = 1), or from_begin = 1", loop_text(name)), name};
  for (const ir::For* loop : find_loops(program.body, name)) {
    if (auto refused = check_loop(*loop, from_begin + from_end)) return *refused;
  }
  if (auto refused = require_no_copy(program, name)) return *refused;
  ir::Program result = program;
  result.body = change_loops(program.body, name, [&](const ir::For& loop) {
    return peeled(loop, from_begin, from_end, context.step);
  });
  return result;
}

constexpr Parameter iterations(std::string_view name, std::string_view example, std::string_view sentence) {
  Parameter result = optional_number(name, example, sentence, 3, most_peeled, 0);
  result.least = 0;
  return result;
}
constexpr Parameter cut_loop = [] {
  Parameter result = loop_parameter("loop", "n.outer", "the loop whose iterations are peeled");
  result.by_extent = true;
  return result;
}();
constexpr Parameter parameters[]{
    cut_loop, iterations("from_begin", "1", "how many of the first ones stand in front of the others"),
    iterations("from_end", "1", "how many of the last ones stand behind the others")};
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "it is still serial"},
    {3, "one iteration or more is peeled, and one is left where their number is known"},
    {4, "no instruction multiplies matrices inside"},
    {10, "no copy into shared memory is made inside, and no groups meet there or in the loop itself"}};

}  // namespace

constinit const StepKind peel{
    .name = "peel",
    .sentence = "The first or the last iterations of a loop stand by themselves, in loops of the same name.",
    .more =
        "Conditions that they alone can break, such as those at the end of a dimension that a split does not "
        "divide, fall away in the others: for a size of the launch too, where one iteration at the end is "
        "peeled of the outer loop. Later steps that name the loop mean all parts.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_peel};

}  // namespace weft::steps
