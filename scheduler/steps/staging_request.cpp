#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/loops.h>
#include <weft/scheduler/steps/staging_request.h>

namespace weft::steps {

StagingRequest staging_request_of(const Step& step) {
  StagingRequest request;
  for (const Argument& argument : step.arguments) {
    if (argument.name == "at") {
      request.at = word_of(argument);
    } else if (argument.name == "depth" || argument.name == "parts") {
      const auto* number = std::get_if<std::int64_t>(&argument.value);
      (argument.name == "depth" ? request.depth : request.parts) = number == nullptr ? 0 : *number;
    } else {
      (request.tensor.empty() ? request.tensor : request.scope) = word_of(argument);
    }
  }
  return request;
}

std::optional<Reason> require_reached_together(const ir::Program& program, const std::string& at,
                                               int number) {
  std::optional<Reason> refused;
  ir::visit(program.body, [&](const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || refused) return;
    const bool around = loop->name == at || find_loop(loop->body, at) != nullptr;
    if (around && (ir::is_within_block(loop->kind) || loop->kind == ir::LoopKind::vectorized)) {
      refused = Reason{number,
                       fmt::format("{} is {}, so its iterations do not reach the copy together", loop->name,
                                   ir::name_of(loop->kind)),
                       fmt::format("reorder({}, {}) first, or another place", at, loop->name), loop->name};
    }
  });
  return refused;
}

}  // namespace weft::steps
