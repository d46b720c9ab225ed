// resident: how many blocks share the registers of a multiprocessor.
#include <fmt/format.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/parameters.h>

namespace weft::steps {
namespace {

constexpr std::int64_t most_resident = 32;  ///< blocks of any multiprocessor, at most

StepResult apply_resident(const ir::Program& program, const StepArguments& arguments,
                          const StepContext& context) {
  const std::int64_t blocks = arguments.number("blocks");
  if (!context.target.is_gpu()) return Reason{1, context.target.name + " has no thread blocks", "a GPU", {}};
  if (blocks > context.target.blocks_per_multiprocessor)
    return Reason{2,
                  fmt::format("blocks = {}", blocks),
                  fmt::format("blocks = a number from 1 to {}", context.target.blocks_per_multiprocessor),
                  {}};
  if (program.resident_blocks > 0)
    return Reason{
        3, fmt::format("resident(blocks = {}) before", program.resident_blocks), "one resident", {}};
  ir::Program result = program;
  result.resident_blocks = blocks;
  return result;
}

constexpr Parameter parameters[]{
    number_parameter("blocks", "1", "thread blocks that a multiprocessor holds; no more than the target can",
                     2, most_resident)};
constexpr Precondition preconditions[]{
    {1, "the target is a GPU"}, {2, "it holds so many blocks"}, {3, "it is done once"}};

}  // namespace

constinit const StepKind resident{
    .name = "resident",
    .sentence =
        "A multiprocessor is to hold so many thread blocks at a time, whose threads share its registers.",
    .more =
        "Without the step the assembler saves registers for as many blocks as it thinks fit, and what it "
        "saves are mostly registers of loads under way: kernels that are launched with few blocks then wait "
        "for one load after another. Blocks that do not fit beside one another are refused when the program "
        "is compiled.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_resident};

}  // namespace weft::steps
