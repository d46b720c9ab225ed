#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/other_loops.h>

#include <algorithm>

namespace weft::steps {

StepResult or_other_loop(const ir::Program& program, const StepArguments& arguments,
                         const StepContext& context,
                         StepResult (*apply)(const ir::Program&, const StepArguments&, const StepContext&),
                         std::initializer_list<int> preconditions, Proposed proposed) {
  StepResult result = apply(program, arguments, context);
  auto* refused = std::get_if<Reason>(&result);
  if (refused == nullptr || std::ranges::find(preconditions, refused->precondition) == preconditions.end())
    return result;
  std::vector<std::string> names = loop_names(program.body);
  if (proposed == Proposed::innermost) std::ranges::reverse(names);
  Step other = arguments.step();
  for (const std::string& name : names) {
    other.arguments.front().value = name;
    if (!std::holds_alternative<ir::Program>(apply(program, StepArguments(arguments.kind(), other), context)))
      continue;
    refused->accepted += ": " + other.cpp();
    break;
  }
  return result;
}

}  // namespace weft::steps
