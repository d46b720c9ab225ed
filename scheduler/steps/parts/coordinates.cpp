#include <weft/formats/level_kind.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/steps/parts/coordinates.h>

#include <map>
#include <utility>

namespace weft::steps {

Coordinates::Coordinates(const StepContext& context) {
  const Operand* sparse = context.algorithm.sparse_operand();
  if (sparse == nullptr || context.weights == nullptr || context.algorithm.takes_any_weights()) return;
  std::map<Dimension, std::int64_t> extents{{Dimension::row, context.weights->rows()},
                                            {Dimension::column, context.weights->columns()}};
  for (const Level& level : context.weights->levels()) {
    if (level.dimension == Dimension::none) continue;
    // Coordinates inside a block end with it.
    const std::int64_t extent = std::exchange(extents.at(level.dimension), level.stride);
    if (level.index.empty() || !level_kind(level.kind).listed || extent < 1) continue;
    constexpr std::int64_t most_of_byte = 255;
    const bool in_bytes = level.kind == LevelKind::singleton && level.extent > 0;
    by_buffer_[array_buffer_name(sparse->name, level.index)] = {
        level.padded ? -1 : 0, in_bytes ? most_of_byte : (extent - 1) / level.stride};
  }
}

ir::Expr Coordinates::named(const ir::Expr& expr, ir::Ranges& ranges) const {
  return ir::rewrite<ir::Load>(expr, [&](const ir::Load& load, const ir::Expr& e) {
    const auto found = by_buffer_.find(load.buffer->name);
    if (found == by_buffer_.end()) return e;
    const std::string name = ir::print(e);
    ranges[name] = found->second;
    return ir::variable(name);
  });
}

}  // namespace weft::steps
