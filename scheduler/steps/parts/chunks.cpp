#include <fmt/format.h>
#include <weft/scheduler/ir/operand_copy.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/chunks.h>
#include <weft/scheduler/steps/parts/loops.h>

namespace weft::steps {

Expr Chunks::placed(const Expr& expr, std::int64_t column) const {
  return ir::rewrite<ir::Load>(expr, [&](const ir::Load& load, const Expr& e) {
    const auto at = summed.find(load.buffer->name);
    if (at == summed.end()) return e;
    std::vector<Expr> indices = load.indices;
    const std::int64_t* place = ir::integer_value(indices[at->second]);
    if (place == nullptr || *place != column) return e;
    indices[at->second] = ir::variable(loop.name) * columns + column % columns;
    return ir::load(load.buffer, std::move(indices));
  });
}

std::variant<Chunks, Reason> chunks_of(const ir::Program& program, const StepContext& context,
                                       const std::string& rows, std::int64_t columns) {
  const auto refuse = [&](const std::string& found) {
    return Reason{8, found, "chunks of a sum over one index that no groups share", rows};
  };
  std::string sum;
  for (const IndexVariable& index : context.algorithm.indices) {
    if (!index.reduction) continue;
    if (!sum.empty()) return refuse(fmt::format("a sum over {} and {}", sum, index.name));
    sum = index.name;
  }
  Chunks chunks;
  chunks.columns = columns;
  for (const TensorAccess& factor : context.algorithm.factors) {
    const Operand& operand = context.algorithm.operands[factor.operand];
    if (operand.storage == Storage::sparse) continue;
    for (std::size_t i = 0; i < factor.indices.size(); ++i) {
      const std::string* name = factor.indices[i].plain();
      if (name != nullptr && *name == sum)
        chunks.summed[operand.name] = ir::dimension_in(program, operand.name, i);
    }
  }
  // A chunk may be as long as a number can be.
  const std::int64_t count = (context.weights->columns() - 1) / columns + 1;
  chunks.loop = ir::For{
      sum + std::string(chunk_suffix), 0, count, LoopKind::unrolled, context.step, {}, ir::LoopRole::sum};
  if (find_loop(program.body, chunks.loop.name) != nullptr)
    return refuse(fmt::format("a loop is called {} already", chunks.loop.name));
  return chunks;
}

}  // namespace weft::steps
