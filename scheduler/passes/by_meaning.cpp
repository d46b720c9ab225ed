#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

namespace weft::passes {

ir::Program run_by_meaning(ir::Program program) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [](const ir::Stmt& s) {
    const auto* operation = s.as<ir::TensorOperation>();
    return operation == nullptr ? s : operation->pending < 0 ? ir::Stmt() : operation->meaning;
  };
  program.body = rewriter(program.body);
  return program;
}

}  // namespace weft::passes
