#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

namespace weft::passes {

ir::Program fuse_multiply_add(ir::Program program) {
  program.body = ir::rewrite<ir::Store>(program.body, [](const ir::Store& store, const ir::Stmt& stmt) {
    const auto* product = ir::as_binary(store.value, ir::BinaryOperator::multiply);
    const DType type = store.value.dtype();
    if (!store.accumulate || product == nullptr || !is_float(type)) return stmt;
    const char* fused = type == DType::f64 ? "fma_f64" : "fma_f32";
    const ir::Expr before = ir::load(store.buffer, store.indices);
    return ir::store(store.buffer, store.indices,
                     ir::call(fused, type, {product->left, product->right, before}));
  });
  return program;
}

}  // namespace weft::passes
