#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/other_loops.h>

#include <algorithm>

namespace weft::steps {

Reason with_other_loop(Reason refused, const ir::Program& program, const StepArguments& arguments,
                       const StepContext& context,
                       StepResult (*apply)(const ir::Program&, const StepArguments&, const StepContext&),
                       Proposed proposed) {
  std::vector<std::string> names = loop_names(program.body);
  if (proposed == Proposed::innermost) std::ranges::reverse(names);
  Step other = arguments.step();
  for (const std::string& name : names) {
    other.arguments.front().value = name;
    if (!std::holds_alternative<ir::Program>(apply(program, StepArguments(arguments.kind(), other), context)))
      continue;
    refused.accepted += ": " + other.cpp();
    return refused;
  }
  return refused;
}

}  // namespace weft::steps
