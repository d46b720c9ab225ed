// stream_results: what a kernel stores to its output leaves the caches first.
#include <fmt/format.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>

namespace weft::steps {

namespace {

/// The program with an output whose stores stream, and no other buffer's.
ir::Program with_streamed_output(ir::Program program, const std::string& name) {
  const auto output = std::ranges::find(program.buffers, name, &ir::Buffer::name);
  auto streamed = std::make_shared<ir::Buffer>(**output);
  streamed->streams = true;
  program.body = ir::replace_buffer(program.body, *output, streamed);
  *output = streamed;
  return program;
}

StepResult apply_stream_results(const ir::Program& program, const StepArguments& arguments,
                                const StepContext& context) {
  const std::string tensor = arguments.text("tensor");
  const std::string& output = context.algorithm.operands[context.algorithm.output.operand].name;
  if (!context.target.is_gpu())
    return Reason{1,
                  context.target.name + " has no streaming stores",
                  "a GPU target; on the CPU, no stream_results",
                  {}};
  if (tensor != output)
    return Reason{2,
                  fmt::format("{} is not what the program stores", tensor),
                  fmt::format("the output: .stream_results(\"{}\")", output),
                  {}};
  if (ir::streams_results(program))
    return Reason{3, fmt::format("the results of {} stream already", tensor), "stream_results once", {}};
  return with_streamed_output(program, output);
}

constexpr Parameter parameters[]{tensor_parameter("\"C\"", "the output")};
constexpr Precondition preconditions[]{
    {1, "the target is a GPU"}, {2, "the tensor is the output"}, {3, "its results do not stream already"}};

}  // namespace

constinit const StepKind stream_results{
    .name = "stream_results",
    .sentence = "What is stored to the output leaves the caches before what the kernel reads.",
    .more =
        "Stores are marked as streaming (PTX: st.global.cs), so that of all lines in the second cache "
        "theirs are given up first, and what the kernel or the next launch reads again stays. Stores to "
        "workspaces, which the kernel reads again, are not. Worth it where the output is not small beside "
        "that cache; a reader of a small one would find less of it there.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_stream_results};

}  // namespace weft::steps
