#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/launch_sizes.h>
#include <weft/scheduler/steps/parts/known_weights.h>

namespace weft::steps {

KnownWeights::KnownWeights(const ir::Program& program, const std::string& operand,
                           const SparseTensor& weights) {
  for (const SparseTensor::NamedArray& named : weights.arrays()) {
    const std::string name = array_buffer_name(operand, named.name);
    for (const ir::BufferRef& buffer : program.buffers) {
      if (buffer->name == name) arrays_[buffer.get()] = &named.array;
    }
  }
  for (const ir::ConstantBuffer& constant : program.constants)
    constants_[constant.buffer.get()] = constant.numbers;
  values_ = &weights.array("values");
  if (const auto name = weights.row_order()) row_order_ = &weights.array(*name);
  columns_.assign(values_->size(), -1);
  weights.walk(
      [&](std::int64_t, std::int64_t column, std::int64_t position) { columns_[position] = column; });
}

bool KnownWeights::is_row_order(const ir::BufferRef& buffer) const {
  const auto found = arrays_.find(buffer.get());
  return found != arrays_.end() && found->second == row_order_;
}

bool KnownWeights::are_read_by(const ir::Stmt& stmt) const {
  return ir::any<ir::Load>(stmt, [&](const ir::Load& load) { return is_value(load); });
}

bool KnownWeights::is_value(const ir::Load& load) const {
  const auto found = arrays_.find(load.buffer.get());
  return found != arrays_.end() && found->second == values_;
}

std::vector<std::int32_t> KnownWeights::numbers_of(const ir::BufferRef& buffer) const {
  const auto numbers = arrays_.at(buffer.get())->as<std::int32_t>();
  return {numbers.begin(), numbers.end()};
}

Expr KnownWeights::place_of(const ir::Load& load) {
  return ir::swizzled(*load.buffer, ir::offset_of(*load.buffer, load.indices));
}

Expr KnownWeights::element(const ir::Load& load) const {
  const Expr place = place_of(load);
  const std::int64_t* index = ir::integer_value(place);
  if (const auto constant = constants_.find(load.buffer.get());
      constant != constants_.end() && index != nullptr && *index >= 0 &&
      *index < static_cast<std::int64_t>(constant->second.size()))
    return constant->second[*index];
  const auto found = arrays_.find(load.buffer.get());
  if (found == arrays_.end() || index == nullptr || *index < 0 || *index >= found->second->size()) return {};
  const DType type = load.buffer->dtype;
  return is_float(type) ? ir::constant(type, found->second->get(*index)) : found->second->get_integer(*index);
}

Expr KnownWeights::fold(const Expr& expr, const Variables& variables) const {
  ir::Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& e) {
    if (const auto* variable = e.as<ir::Variable>()) {
      const auto found = variables.find(variable->name);
      return found == variables.end() ? e : found->second;
    }
    if (const auto* load = e.as<ir::Load>()) {
      const Expr known = element(*load);
      return known.defined() ? known : e;
    }
    const auto* cast = e.as<ir::Cast>();
    const auto* constant = cast == nullptr ? nullptr : cast->operand.as<ir::Constant>();
    if (constant == nullptr || !is_float(cast->dtype)) return e;
    if (!is_float(constant->dtype)) return ir::constant(cast->dtype, static_cast<double>(constant->integer));
    const bool widens = size_of(cast->dtype) > size_of(constant->dtype);
    return widens ? ir::constant(cast->dtype, constant->real) : e;
  };
  return rewriter(expr);
}

std::optional<std::int64_t> KnownWeights::integer(const Expr& expr, const Variables& variables) const {
  const Expr folded = fold(expr, variables);
  const std::int64_t* value = ir::integer_value(folded);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

Expr KnownWeights::position(const Expr& expr) const {
  const auto values = ir::find_all<ir::Load>(expr, [&](const ir::Load& load) { return is_value(load); });
  return values.size() == 1 ? place_of(*values.front()) : Expr();
}

}  // namespace weft::steps
