#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/other_loops.h>

#include <algorithm>

namespace weft::steps {

Reason with_other_loop(Reason refused, const ir::Program& program, const Step& step,
                       const StepContext& context,
                       StepResult (*apply)(const ir::Program&, const Step&, const StepContext&),
                       Proposed proposed) {
  std::vector<std::string> names = loop_names(program.body);
  if (proposed == Proposed::innermost) std::ranges::reverse(names);
  Step other = step;
  for (const std::string& name : names) {
    other.arguments.front().value = name;
    if (!std::holds_alternative<ir::Program>(apply(program, other, context))) continue;
    refused.accepted += ": " + other.cpp();
    return refused;
  }
  return refused;
}

}  // namespace weft::steps
