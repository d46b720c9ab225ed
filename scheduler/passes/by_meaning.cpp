#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

namespace weft::passes {

ir::Program run_by_meaning(ir::Program program) {
  program.body = ir::rewrite<ir::TensorOperation>(program.body, [](const ir::TensorOperation& operation) {
    return operation.pending < 0 ? ir::Stmt() : operation.meaning;
  });
  return program;
}

}  // namespace weft::passes
