// specialize_warps: some warps copy, the others compute.
#include <fmt/format.h>
#include <weft/scheduler/passes/passes.h>
#include <weft/scheduler/passes/roles.h>
#include <weft/scheduler/passes/two_blocks.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace weft::steps {
namespace {

constexpr std::int64_t warps_of_group = 4;
constexpr std::int64_t least_registers = 24, most_registers = 240;

std::optional<Reason> lost_roles(const ir::Program& program, const StepContext& context) {
  const std::int64_t consumers = program.knobs.empty() ? passes::threads_of(program) : 0;
  return passes::why_no_roles(program, *program.roles, consumers, context.target);
}

StepResult apply_specialize_warps(const ir::Program& program, const StepArguments& arguments,
                                  const StepContext& context) {
  const Step& step = arguments.step();
  const std::int64_t producers = arguments.number("producers");
  const std::int64_t own = arguments.number("producer_registers");
  const std::int64_t others = arguments.number("consumer_registers");
  if (!context.target.has(Capability::bulk_copies))
    return Reason{1,
                  context.target.name + " has no barriers that count bytes of copies",
                  fmt::format("a target that has: target_named(\"sm_90a\") for the schedule; or leave out {}",
                              step.cpp()),
                  {}};
  if ((own > 0 || others > 0) && !context.target.has(Capability::register_reallocation))
    return Reason{1,
                  context.target.name + " cannot hand registers over",
                  fmt::format("a target that can: target_named(\"sm_90a\") for the schedule; or "
                              ".specialize_warps(producers = {}), which sets none",
                              producers),
                  {}};
  if (program.roles)
    return Reason{5, "warps have roles already", "one specialize_warps: leave out " + step.cpp(), {}};
  for (const std::int64_t registers : {own, others}) {
    if (registers != 0 && (registers < least_registers || registers % 8 != 0))
      return Reason{4,
                    fmt::format("{} registers", registers),
                    fmt::format("a multiple of 8 from {} to {}, as {}, or 0", least_registers, most_registers,
                                std::max(registers / 8 * 8, least_registers)),
                    {}};
  }
  const ir::WarpRoles roles{static_cast<int>(producers), static_cast<int>(own), static_cast<int>(others)};
  ir::Program result = program;
  result.roles = roles;
  if (auto refused = lost_roles(result, context)) return *refused;
  if (arguments.number("blocks") == 1) return result;
  if (auto roomy = passes::with_room_for_two_blocks(std::move(result))) return *std::move(roomy);
  return Reason{12,
                "a loop without two blocks that an iteration could take",
                "blocks = 1, or leave it out; or weights in formats::mixed()",
                {}};
}

constexpr Parameter producers = [] {
  Parameter result = optional_number("producers", "4", "warps that copy", 3, warps_of_group, warps_of_group);
  result.least = warps_of_group;
  return result;
}();
constexpr Parameter registers(std::string_view name, std::string_view example, std::string_view sentence) {
  Parameter result = optional_number(name, example, sentence, 4, most_registers, 0);
  result.least = 0;
  return result;
}
constexpr Parameter parameters[]{
    producers,
    registers("producer_registers", "40",
              "registers of a thread that copies: a multiple of 8 from 24, or 0 for as they come"),
    registers("consumer_registers", "232", "registers of one that computes, likewise"),
    optional_number("blocks", "2",
                    "blocks of mixed that keep all of their columns an iteration takes: 1 or 2", 12, 2, 1)};
constexpr Precondition preconditions[]{
    {1, "the target is sm_90 or newer; sm_90a, where registers are set"},
    {2, "one loop has staged copies that run ahead"},
    {3, "producers are 4 warps, which is the group whose registers can be set"},
    {4, "numbers of registers are multiples of 8 from 24 to 240, or 0"},
    {5, "it is done once"},
    {6, "what is staged is copied in every iteration, as one piece of a multiple of 16 bytes"},
    {7,
     "what is stitched has runs of 4 bytes or more, so a number of columns that is known, and even where "
     "elements have two bytes; or its lines go along places that numbers choose one by one"},
    {8,
     "the 128 threads share its rows evenly, and one number from the weights chooses each; of places that "
     "numbers choose one by one a line has a multiple of 32, or a power of two below, and there are 4 "
     "buffers at least; of bytes whose columns are neighbours they have 32, 64 or a multiple of 128, in a "
     "multiple of 32 lines, of 64 where they have 32"},
    {9, "the others are whole warps already, of groups of 4 where registers are set"},
    {10,
     "consumers get no more registers than there are: those that every thread of the block begins with, "
     "and those that producers give up of theirs, or they would wait for ever"},
    {11, "no sum is split between blocks that go through tiles, but for .persist(…, deal = …)"},
    {12,
     "two blocks an iteration are those of mixed, whose values are staged as they lie; threads copy rows of "
     "one of them"}};

}  // namespace

constinit const StepKind specialize_warps{
    .name = "specialize_warps",
    .sentence = "Some warps start the copies of the staged loop, the others compute.",
    .more =
        "Beside the warps that loops are bound to come `producers` others, which start all copies, as far "
        "ahead as there are buffers; those that compute wait for a buffer to be full, and say when they "
        "have read it. What is staged arrives by one bulk copy a tile, what is stitched row by row, the "
        "numbers of the rows loaded some iterations ahead; where numbers choose elements, as of X [n, k] "
        "with lists of columns, each warp fills buffers of its own element by element. Of blocks that keep "
        "all of their columns, where others keep two of four, an iteration takes `blocks`, and the tile of "
        "values has room for so many. Registers are handed from the ones to the others. A later step that "
        "would break 2 or 6 to 11 is "
        "refused.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_specialize_warps,
    .broken = lost_roles};

}  // namespace weft::steps
