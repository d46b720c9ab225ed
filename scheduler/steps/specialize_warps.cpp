// specialize_warps: some warps copy, the others compute.
#include <fmt/format.h>
#include <weft/scheduler/passes/passes.h>
#include <weft/scheduler/passes/roles.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/streamed_output.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace weft::steps {
namespace {

constexpr std::int64_t warps_of_group = 4;
constexpr std::array<std::string_view, 3> names_of_arguments{"producers", "producer_registers",
                                                             "consumer_registers"};

std::int64_t number_of(const Step& step, const std::string& name, std::int64_t otherwise) {
  for (const Argument& argument : step.arguments) {
    if (argument.name != name) continue;
    const auto* value = std::get_if<std::int64_t>(&argument.value);
    return value == nullptr ? -1 : *value;
  }
  return otherwise;
}

/// specialize_warps(producers = 4, producer_registers = 40, consumer_registers = 232): beside the warps that
/// loops are bound to come `producers` others, which start all copies of the staged loop, as far ahead as
/// there are buffers; those that compute wait for a buffer to be full, and say when they have read it. What
/// is staged arrives by one bulk copy a tile, what is stitched row by row, the numbers of the rows loaded
/// some iterations ahead. Registers are handed from the ones to the others. Preconditions: 1 the target is
/// sm_90 or newer; 2 one loop has staged copies that run ahead; 3 producers are 4 warps, which is the group
/// whose registers can be set; 4 numbers of registers are multiples of 8 from 24 to 240, or 0 for as they
/// come; 5 it is done once; 6 what is staged is copied in every iteration, as one piece of a multiple of 16
/// bytes; 7 what is stitched has runs of 4 bytes or more, so a number of columns that is known, and even
/// where elements have two bytes; 8 the 128 threads share its rows evenly, and one number from the weights
/// chooses each; 9 the others are whole warps already, of groups of 4 where registers are set; 10 consumers
/// get no more registers than there are: those that every thread of the block begins with, and those that
/// producers give up of theirs, or they would wait for ever; 11 no sum is split between blocks. Steps behind
/// it may break 2 and 6 to 11: then compiling throws UserError.
StepResult apply_specialize_warps(const ir::Program& program, const Step& step, const StepContext& context) {
  const std::int64_t producers = number_of(step, "producers", warps_of_group);
  const std::int64_t own = number_of(step, "producer_registers", 0);
  const std::int64_t others = number_of(step, "consumer_registers", 0);
  for (const Argument& argument : step.arguments) {
    if (std::ranges::find(names_of_arguments, argument.name) == names_of_arguments.end())
      return Reason{3,
                    fmt::format("an argument called \"{}\"", argument.name),
                    fmt::format("{}", fmt::join(names_of_arguments, ", ")),
                    {}};
  }
  if (!context.target.is_gpu() || context.target.sm < 90)
    return Reason{1,
                  context.target.name + " has no barriers that count bytes of copies",
                  fmt::format("a target that has: target_named(\"sm_90a\") for the schedule; or leave out {}",
                              step.cpp()),
                  {}};
  if (program.roles)
    return Reason{5, "warps have roles already", "one specialize_warps: leave out " + step.cpp(), {}};
  if (producers != warps_of_group)
    return Reason{3, fmt::format("producers = {}", producers), "producers = 4", {}};
  for (const std::int64_t registers : {own, others}) {
    if (registers != 0 && (registers < 24 || registers > 240 || registers % 8 != 0))
      return Reason{4,
                    fmt::format("{} registers", registers),
                    fmt::format("a multiple of 8 from 24 to 240, as {}, or 0",
                                std::clamp<std::int64_t>(registers / 8 * 8, 24, 240)),
                    {}};
  }
  const ir::WarpRoles roles{static_cast<int>(producers), static_cast<int>(own), static_cast<int>(others)};
  const std::int64_t consumers = program.knobs.empty() ? passes::threads_of(program) : 0;
  if (auto refused = passes::why_no_roles(program, roles, consumers, context.target)) return *refused;
  ir::Program result = program;
  result.roles = roles;
  return with_streamed_output(std::move(result), context.algorithm);
}

}  // namespace

const StepKind specialize_warps{"specialize_warps", ".specialize_warps(producers = 4)", 1, 3,
                                apply_specialize_warps};

}  // namespace weft::steps
