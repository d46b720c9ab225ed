// split_k: the iterations of a sum are dealt to groups, each with sums of its own.
#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/split_sum.h>

#include <array>
#include <utility>

namespace weft::steps {
namespace {

constexpr std::int64_t most_groups = 1024;

/// The last group gets what is left.
SumShares equal_shares(const std::string& loop, const Expr& groups) {
  const Expr group = ir::variable(group_loop(loop));
  const auto of = [groups, group](const Expr& iterations) {
    const Expr share = ir::ceil_divide(iterations, groups);
    const Expr skipped = ir::minimum(iterations, group * share);
    return std::pair(skipped, ir::minimum(share, iterations - skipped));
  };
  return {.most = groups, .count = groups, .part = group, .tile = {}, .of = of};
}

/// A sum in a workspace comes from weights that are not stored by rows: another packing gives one in
/// registers.
Reason with_rows_of_weights(Reason refused, const ir::Program& program, const StepContext& context) {
  if (refused.precondition == 4 && !program.workspaces.empty() && context.weights != nullptr)
    refused.accepted += fmt::format(", as weights give that are packed in formats::csr() in place of {}",
                                    context.weights->format().text());
  return refused;
}

/// What a copy that runs ahead brings for the last group to arrive: it would count arrivals too. Empty
/// without.
std::string copied_ahead_of_arrivals(const Stmt& stmt) {
  std::string found;
  ir::each<ir::If>(stmt, [&](const ir::If& branch) {
    if (!is_last_arrival(branch.condition)) return;
    ir::each<ir::Copy>(branch.then, [&](const ir::Copy& copy) {
      if (copy.asynchronous) found = copy.source->name;
    });
  });
  return found;
}

StepResult apply_split_k(const ir::Program& program, const StepArguments& arguments,
                         const StepContext& context) {
  const std::string loop = arguments.text("loop"), word = arguments.text("reduce");
  const Reduction reduction = word == "shared"   ? Reduction::shared
                              : word == "atomic" ? Reduction::atomic
                                                 : Reduction::second_pass;
  if (auto missing = require_loop(program, loop)) return *missing;
  if (const ir::LoopRole role = ir::role_of(program.body, loop);
      ir::is_over_output(role) || role == ir::LoopRole::groups)
    return Reason{3, fmt::format("iterations of {} give different results", loop),
                  fmt::format("a loop over what is summed ({}); of other loops, {} makes such groups",
                              fmt::join(serial_loops(program, false), ", "), split_text(loop, 8)),
                  loop};
  const auto loops = find_loops(program.body, loop);
  if (loops.size() > 1)
    return Reason{2, fmt::format("{} stands in {} places", loop, loops.size()), "one place", loop};
  if (loops.front()->kind != LoopKind::serial)
    return Reason{2, fmt::format("{} is {}", loop, ir::name_of(loops.front()->kind)),
                  "a loop that is still serial", loop};
  for (const std::string& name : loop_names(program.body)) {
    if (ir::role_of(program.body, name) == ir::LoopRole::groups)
      return Reason{2, fmt::format("the sum is split to {} already", name), "a sum that is not split", name};
  }
  StepResult result =
      split_sum(program, loop, equal_shares(loop, arguments.symbol("groups")), reduction, context.step);
  if (const auto* refused = std::get_if<Reason>(&result))
    return with_rows_of_weights(*refused, program, context);
  if (const std::string ahead = copied_ahead_of_arrivals(std::get<ir::Program>(result).body); !ahead.empty())
    return Reason{9, fmt::format("{} is copied ahead, for the results alone", ahead),
                  "that stage with depth = 1, or after split_k, or reduce = shared", ahead};
  if (const std::string again = blocks_that_count_again(std::get<ir::Program>(result).body); !again.empty()) {
    return Reason{
        5,
        fmt::format("{} inside the sum is bound to blocks, which would all count a group's arrival", again),
        fmt::format("{} around {} when it is bound, or reduce = shared", again, loop), again};
  }
  return result;
}

std::vector<std::string> loop_of_groups(const StepArguments& arguments, const Algorithm&) {
  return {group_loop(arguments.text("loop"))};
}

constexpr std::array<std::string_view, 3> reductions{"shared", "atomic", "second_pass"};
constexpr Parameter groups = [] {
  Parameter result = number_parameter("groups", "8", "groups that share the sum", 7, most_groups);
  result.symbolic = true;
  return result;
}();
constexpr Parameter parameters[]{loop_parameter("loop", "k", "the loop over what is summed"),
                                 groups,
                                 {.name = "reduce",
                                  .kind = ParameterKind::word,
                                  .example = "shared",
                                  .sentence = "where the parts of the groups meet",
                                  .precondition = 7,
                                  .required = false,
                                  .named = true,
                                  .words = reductions}};
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "it stands in one place and is serial, and the sum is not split yet"},
    {3, "it is summed over"},
    {4, "its sum is in registers that start as zero"},
    {5,
     "no loop around the sum is vectorized, and none inside is bound to blocks where the groups are blocks"},
    {6,
     "all threads of a block reach the sum as often: conditions on threads stand directly around it, and "
     "no loop around is longer for one thread than for another"},
    {7, "the number of groups is 1 to 1024, and `reduce` one of the three"},
    {8, "between blocks, the loops around the sum have sizes that the launch knows"},
    {9, "between blocks, no copy for the results alone runs ahead"}};

}  // namespace

constinit const StepKind split_k{
    .name = "split_k",
    .sentence =
        "The iterations of a sum are dealt to groups, each with sums of its own, which are added up at the "
        "end.",
    .more =
        "All groups but the last get equal shares, in order; a loop over the groups, \"k.group\", appears. "
        "With `reduce = shared`, bind it to warps: each group leaves its registers in shared memory, then "
        "the first group adds the parts of all groups in order and goes on with the result. Where weights "
        "are baked afterwards, bake_values deals the entries of a block of rows by columns, and all groups "
        "share the rows of the result. With `second_pass`, bind it to block_x, block_y or block_z: each "
        "block leaves its part in a workspace and counts itself; the last of a tile to come adds up all "
        "parts in the order of the groups, so the result is the same every time. With `atomic`, parts are "
        "added together as they come, which takes a workspace of one part instead of all and gives sums "
        "whose last bits may differ from launch to launch. Nobody waits for others, and results are made "
        "once.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_split_k,
    .loops = loop_of_groups};

}  // namespace weft::steps
