// stream_results: what a kernel stores leaves the caches first.
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/loops.h>

namespace weft::steps {
namespace {

/// stream_results(C): stores to C are marked as streaming (PTX: st.global.cs), so that of all lines in the
/// second cache theirs are given up first, and what the kernel or the next launch reads again stays. Worth it
/// where C is not small beside that cache; a reader of a small C would find less of it there. Preconditions:
/// 1 the target is a GPU; 2 C is the output; 3 its results do not stream already.
StepResult apply_stream_results(const ir::Program& program, const Step& step, const StepContext& context) {
  const std::string& tensor = word_of(step.arguments.at(0));
  const std::string& output = context.algorithm.operands.back().name;
  if (!context.target.is_gpu()) return Reason{1, context.target.name + " has no such stores", "a GPU", {}};
  if (tensor != output) return Reason{2, tensor, output, {}};
  if (program.streams_results) return Reason{3, "the results of " + tensor + " stream", "one of it", {}};
  ir::Program result = program;
  result.streams_results = true;
  return result;
}

}  // namespace

const StepKind stream_results{"stream_results", ".stream_results(C)", 1, 1, apply_stream_results};

}  // namespace weft::steps
