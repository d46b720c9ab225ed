// fuse: loops that stand directly inside one another become one.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/other_steps.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>

namespace weft::steps {
namespace {

/// Why the loop and the one inside it cannot be one, in one of the places where they stand.
std::optional<Reason> check_pair(const ir::For& outer, const std::string& name) {
  if (name == outer.name)
    return Reason{3, fmt::format("{} twice", name), "loops of which each is named once", name};
  const auto* inner = outer.body.as<ir::For>();
  if (inner == nullptr || inner->name != name)
    return Reason{3, fmt::format("{} is not all that {} has inside", name, outer.name),
                  fmt::format("{} directly inside {}, wherever they stand", name, outer.name), outer.name};
  for (const ir::For* loop : {&outer, inner}) {
    if (loop->kind != LoopKind::serial)
      return Reason{2, fmt::format("{} is {} already", loop->name, name_of(loop->kind)),
                    "both loops still serial", loop->name};
  }
  for (const ir::For* loop : {&outer, inner}) {
    if (loop->role == ir::LoopRole::groups)
      return Reason{6, fmt::format("groups that share a sum meet in {}", loop->name),
                    "loops around the groups or inside of them, fused before split_k", loop->name};
  }
  if (ir::uses(inner->begin, outer.name) || ir::uses(inner->extent, outer.name))
    return Reason{4,
                  fmt::format("{} runs over {} .. {}, which depends on {}", name, ir::print(inner->begin),
                              ir::print(inner->begin + inner->extent), outer.name),
                  "a range that is the same in every iteration", name};
  return std::nullopt;
}

ir::LoopRole fused_role(ir::LoopRole outer, ir::LoopRole inner) {
  using enum ir::LoopRole;
  if (outer == inner || (is_over_output(outer) && is_over_output(inner))) return outer;
  return outer == stored_rows || inner == stored_rows ? stored_rows : sum;
}

/// for x in b .. b+e: for y in c .. c+f: body
///   becomes
/// for x_y in 0 .. e*f: body[x := b + x_y / f, y := c + x_y % f]
/// A group that has no iterations left divides by 1 in place of 0, where nothing runs.
Stmt fused(const ir::For& outer, const std::string& name, int step) {
  const auto& inner = *outer.body.as<ir::For>();
  const Expr number = ir::variable(name);
  const Expr of_inner = ir::maximum(inner.extent, 1);
  const ir::Substitution places{{outer.name, outer.begin + number / of_inner},
                                {inner.name, inner.begin + number % of_inner}};
  return ir::for_range(number, outer.extent * inner.extent, LoopKind::serial, step,
                       ir::substitute(inner.body, places), fused_role(outer.role, inner.role));
}

/// "p_q"; "p__q" where a loop over what is summed, or a piece of it, is called so.
std::string fused_name(const std::string& outer, const std::string& inner, const Algorithm& algorithm) {
  const std::string plain = outer + "_" + inner;
  const auto is_of = [](const std::string& name, const std::string& index) {
    return name == index || name.starts_with(index + ".");
  };
  const bool taken = std::ranges::any_of(algorithm.indices, [&](const IndexVariable& index) {
    return index.reduction && is_of(plain, index.name) && !is_of(outer, index.name);
  });
  return taken ? outer + "__" + inner : plain;
}

/// ": .reorder(m, p, q) first", where that puts the loops directly inside one another; why nothing does,
/// where a sum begins and ends between them.
std::string order_before(const ir::Program& program, const std::string& outer, const std::string& inner,
                         const StepContext& context) {
  if (!ir::is_over_output(ir::role_of(program.body, inner)) &&
      ir::is_over_output(ir::role_of(program.body, outer)))
    return fmt::format("; not {}, whose sums begin and end inside {}", inner, outer);
  std::vector<std::string> order;
  for (const std::string& name : loop_names(program.body)) {
    if (stands_inside(program.body, name, outer) && stands_inside(program.body, inner, name))
      order.push_back(name);
  }
  if (order.empty()) return {};
  order.insert(order.end(), {outer, inner});
  Step reorder{"reorder", {}, {}};
  for (const std::string& name : order) reorder.arguments.push_back({{}, name});
  const StepResult result = applied(program, reorder, context);
  return std::holds_alternative<Reason>(result) ? std::string() : ": " + reorder.cpp() + " first";
}

StepResult fuse_two(ir::Program program, const std::string& outer, const std::string& inner,
                    const std::string& name, const StepContext& context) {
  for (const std::string& loop : {outer, inner}) {
    if (auto missing = require_loop(program, loop)) return *missing;
  }
  const auto outers = find_loops(program.body, outer);
  for (const ir::For* loop : outers) {
    auto refused = check_pair(*loop, inner);
    if (!refused) continue;
    if (stands_inside(program.body, outer, inner))
      refused->accepted += fmt::format(": {}", written("fuse", {inner, outer}));
    else
      refused->accepted += order_before(program, outer, inner, context);
    return *refused;
  }
  if (find_loops(program.body, inner).size() != outers.size())
    return Reason{3, fmt::format("{} also stands where {} does not", inner, outer),
                  fmt::format("{} directly inside {}, wherever they stand: reorder first", inner, outer),
                  inner};
  if (const std::string taken = variable_called(program, name); !taken.empty())
    return Reason{5, fmt::format("{} is called {} already", taken, name),
                  fmt::format("another name for it: both loops together are called {}", name), name};
  program.body =
      change_loops(program.body, outer, [&](const ir::For& loop) { return fused(loop, name, context.step); });
  return program;
}

StepResult apply_fuse(const ir::Program& program, const StepArguments& arguments,
                      const StepContext& context) {
  ir::Program result = program;
  std::string fused_so_far = arguments.text("outer");
  for (const std::string& next : arguments.texts("inner")) {
    std::string name = fused_name(fused_so_far, next, context.algorithm);
    StepResult both = fuse_two(std::move(result), fused_so_far, next, name, context);
    if (std::holds_alternative<Reason>(both)) return both;
    result = std::get<ir::Program>(std::move(both));
    fused_so_far = std::move(name);
  }
  return result;
}

std::vector<std::string> fused_loop(const StepArguments& arguments, const Algorithm& algorithm) {
  std::string name = arguments.text("outer");
  for (const std::string& next : arguments.texts("inner")) name = fused_name(name, next, algorithm);
  return {name};
}

constexpr Parameter parameters[]{
    loop_parameter("outer", "p", "the outermost loop"),
    {.name = "inner", .example = "q", .sentence = "those inside it, from outside in", .repeated = true}};
constexpr Precondition preconditions[]{loops_exist,
                                       {2, "they are serial"},
                                       {3, "each is all that the one before has inside, in all places"},
                                       {4, "the range of none depends on another"},
                                       {5, "nothing in the program has the new name"},
                                       {6, "none is a loop over the groups of a sum that was split"}};

}  // namespace

constinit const StepKind fuse{
    .name = "fuse",
    .sentence = "Loops that stand one directly inside the other become one loop, called \"x_y\" after them.",
    .more =
        "Its iterations go through theirs in the same order. So the pixels and images of a convolution "
        "become the columns of a product. The name is \"x__y\" where \"x_y\" would read as something else.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_fuse,
    .loops = fused_loop};

}  // namespace weft::steps
