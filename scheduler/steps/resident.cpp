// resident: how many blocks share the registers of a multiprocessor.
#include <fmt/format.h>
#include <weft/scheduler/steps/list.h>

namespace weft::steps {
namespace {

/// resident(blocks = 1): a multiprocessor is to hold that many thread blocks at a time, and its registers are
/// shared out among their threads. Without the step the assembler saves registers for as many blocks as it
/// thinks fit, and what it saves are mostly registers of loads under way: kernels that are launched with few
/// blocks then wait for one load after another. Preconditions: 1 the target is a GPU; 2 it holds so many
/// blocks; 3 it is done once. Blocks that do not fit beside one another are refused when the program is
/// compiled.
StepResult apply_resident(const ir::Program& program, const Step& step, const StepContext& context) {
  const Argument& number = step.arguments.at(0);
  const auto* blocks = std::get_if<std::int64_t>(&number.value);
  if (!context.target.is_gpu()) return Reason{1, context.target.name + " has no thread blocks", "a GPU", {}};
  if (number.name != "blocks" || blocks == nullptr || *blocks < 1 ||
      *blocks > context.target.blocks_per_multiprocessor)
    return Reason{2,
                  step.cpp(),
                  fmt::format("blocks = a number from 1 to {}", context.target.blocks_per_multiprocessor),
                  {}};
  if (program.resident_blocks > 0)
    return Reason{
        3, fmt::format("resident(blocks = {}) before", program.resident_blocks), "one resident", {}};
  ir::Program result = program;
  result.resident_blocks = *blocks;
  return result;
}

}  // namespace

const StepKind resident{"resident", ".resident(blocks = 1)", 1, 1, apply_resident};

}  // namespace weft::steps
