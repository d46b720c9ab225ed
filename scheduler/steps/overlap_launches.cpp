// overlap_launches: a launch begins while the one in front of it in its stream ends.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/scheduler/ir/operand_copy.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>

namespace weft::steps {
namespace {

std::string inputs_of(const Algorithm& algorithm) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < algorithm.operands.size(); ++i)
    if (i != algorithm.output.operand) names.push_back(algorithm.operands[i].name);
  return fmt::format("one of {}, which stays what it is from launch to launch: the weights",
                     fmt::join(names, ", "));
}

/// Precondition 4: its copy is written by a launch in front.
std::optional<Reason> copied_in_front(const ir::Program& program, const StepContext&) {
  const std::string& tensor = program.overlap->tensor;
  const ir::OperandCopy* copy = ir::copied_operand(program, tensor);
  if (copy == nullptr) return std::nullopt;
  return Reason{4,
                fmt::format("{} is {} by a launch in front of the kernel", tensor, ir::name_of(copy->order)),
                fmt::format("{} as the caller has it, or overlap_launches of another input", tensor), tensor};
}

StepResult apply_overlap_launches(const ir::Program& program, const StepArguments& arguments,
                                  const StepContext& context) {
  const std::string tensor = arguments.text("tensor");
  const Algorithm& algorithm = context.algorithm;
  if (!context.target.has(Capability::dependent_launches))
    return Reason{1,
                  context.target.name + " has no launches that wait for one another",
                  fmt::format("a target that has: target_named(\"sm_90\") for the schedule; or leave out {}",
                              arguments.step().cpp()),
                  {}};
  const auto operand = std::ranges::find(algorithm.operands, tensor, &Operand::name);
  if (operand == algorithm.operands.end())
    return Reason{2, "no operand is called " + tensor, inputs_of(algorithm), {}};
  if (&*operand == &algorithm.operands[algorithm.output.operand])
    return Reason{2, tensor + " is the output, which each launch writes", inputs_of(algorithm), {}};
  if (program.overlap) return Reason{3, "launches overlap already", "overlap_launches once", {}};
  ir::Program result = program;
  result.overlap = ir::LaunchOverlap{tensor};
  if (auto refused = copied_in_front(result, context)) return *refused;
  return result;
}

constexpr Parameter parameters[]{tensor_parameter(
    "\"A\"", "what no launch of the stream writes, and may be read before the wait: the weights")};
constexpr Precondition preconditions[]{
    {1, "the target is sm_90 or newer"},
    {2, "the tensor is an input"},
    {3, "it is done once"},
    {4, "the tensor is not transposed or aligned, which a launch would do"}};

}  // namespace

constinit const StepKind overlap_launches{
    .name = "overlap_launches",
    .sentence = "A launch may begin before the one in front of it in its stream has ended.",
    .more =
        "That is programmatic dependent launch. Each block lets the next launch begin at once "
        "(PTX: griddepcontrol.launch_dependents), and each thread waits until the one in front has ended "
        "(griddepcontrol.wait) before it reads or writes anything but the tensor: other operands, results, "
        "workspaces. What is done before that, as setting up barriers and asking for weights, takes no time "
        "of "
        "its own. Kernels are launched with the attribute of it where the driver knows it (CUDA 11.8), and "
        "otherwise one behind the other, with the same results; a captured graph keeps it. Worth it where "
        "kernels of some microseconds follow one another, as of few columns. Whoever writes the tensor "
        "between launches, by a kernel of the same stream, waits for the stream before the next launch. A "
        "later "
        "step that would break 4 is refused.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_overlap_launches,
    .broken = copied_in_front};

}  // namespace weft::steps
