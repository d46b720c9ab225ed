#include <weft/scheduler/build_program.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/coordinates.h>

namespace weft::steps {

Coordinates::Coordinates(const StepContext& context) {
  const Operand* sparse = context.algorithm.sparse_operand();
  if (sparse == nullptr || context.weights == nullptr) return;
  for (const Level& level : context.weights->levels()) {
    if (level.index.empty() || level.padded || level.dimension == Dimension::none) continue;
    const bool row = level.dimension == Dimension::row;
    const std::int64_t extent = row ? context.weights->rows() : context.weights->columns();
    if (extent < 1) continue;
    by_buffer_[array_buffer_name(sparse->name, level.index)] = {0, (extent - 1) / level.stride};
  }
}

ir::Expr Coordinates::named(const ir::Expr& expr, ir::Ranges& ranges) const {
  ir::Rewriter rewriter;
  rewriter.on_expr = [&](const ir::Expr& e) {
    const auto* load = e.as<ir::Load>();
    const auto found = load == nullptr ? by_buffer_.end() : by_buffer_.find(load->buffer->name);
    if (found == by_buffer_.end()) return e;
    const std::string name = ir::print(e);
    ranges[name] = found->second;
    return ir::variable(name);
  };
  return rewriter(expr);
}

}  // namespace weft::steps
