#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

namespace weft::passes {

ir::Program fuse_multiply_add(ir::Program program) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [](const ir::Stmt& stmt) {
    const auto* store = stmt.as<ir::Store>();
    if (store == nullptr || !store->accumulate) return stmt;
    const auto* product = store->value.as<ir::Binary>();
    const DType type = store->value.dtype();
    if (product == nullptr || product->op != ir::BinaryOperator::multiply || !is_float(type)) return stmt;
    const char* fused = type == DType::f64 ? "fma_f64" : "fma_f32";
    const ir::Expr before = ir::load(store->buffer, store->indices);
    return ir::store(store->buffer, store->indices,
                     ir::call(fused, type, {product->left, product->right, before}));
  };
  program.body = rewriter(program.body);
  return program;
}

}  // namespace weft::passes
