// Elements of buffers, and functions made from the instruction table.
#include <weft/backends/cuda/source_expression.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/passes/shared_arrays.h>

#include <functional>
#include <utility>

namespace weft::cuda {
namespace {

/// Whether the buffer is declared with its shape, so that its elements are named by their indices.
bool has_plain_shape(const ir::Buffer& buffer) {
  if (buffer.swizzle != 0) return false;
  ir::Expr stride = 1;
  for (std::size_t i = buffer.shape.size(); i-- > 0;) {
    if (ir::integer_value(buffer.shape[i]) == nullptr || !ir::same(buffer.strides[i], stride)) return false;
    stride = stride * buffer.shape[i];
  }
  return true;
}

/// How often each node is used in an expression, and the order in which they are computed.
struct Uses {
  std::map<const ir::ExprNode*, int> count;
  std::vector<ir::Expr> order;

  void add(const ir::Expr& expr) {
    if (++count[expr.identity()] > 1) return;
    each_child(expr, [&](const ir::Expr& child) { add(child); });
    order.push_back(expr);
  }
};

}  // namespace

std::string Expressions::local_shape(const ir::Buffer& buffer) const {
  const std::int64_t count = elements_of_local(buffer);
  if (count == 1) return {};
  if (!has_plain_shape(buffer)) return "[" + std::to_string(count) + "]";
  std::string shape;
  for (const ir::Expr& extent : buffer.shape) shape += "[" + std::to_string(*ir::integer_value(extent)) + "]";
  return shape;
}

std::string Expressions::element(const ir::BufferRef& buffer, const std::vector<ir::Expr>& indices) {
  if (!replacements_.empty()) {
    const ir::Expr offset = ir::offset_of(*buffer, indices);
    for (const Replacement& each : replacements_) {
      if (each.buffer == buffer && ir::same(each.offset, offset)) return each.text;
    }
  }
  const bool local = buffer->scope != ir::Scope::global;
  std::string result = name_of(*buffer);
  if (local && elements_of_local(*buffer) == 1) return result;
  if (local && has_plain_shape(*buffer)) {
    for (const ir::Expr& index : indices) result += "[" + text(index, Precedence::lowest, Form::any) + "]";
    return result;
  }
  const ir::Expr place = ir::swizzled(*buffer, ir::offset_of(*buffer, indices));
  return result + "[" + text(place, Precedence::lowest, Form::any) + "]";
}

std::string Expressions::type_of_value(DType dtype) {
  helpers_.need_type(dtype);
  if (dtype == DType::boolean) return "bool";
  return is_float(dtype) ? std::string(type_in_memory(dtype)) : index_type();
}

/// The meaning of a row as a device function. What is used twice, and each call inside another, gets a line
/// of its own.
void Expressions::define_function(const std::string& name) {
  if (helpers_.has_function(name)) return;
  const Instruction& row = instruction(name);
  static constexpr std::string_view letters = "abcdefgh";
  std::vector<ir::Expr> operands;
  std::string parameters;
  Names outer = std::exchange(names_, Names());
  auto replacements = std::exchange(replacements_, {});
  // Parameters may be called as variables of the program are, and have other values.
  auto ranges = std::exchange(ranges_, {});
  for (std::size_t i = 0; i < row.operands.size(); ++i) {
    const std::string operand = row.operands.size() == 1 ? "x" : std::string(1, letters.at(i));
    operands.push_back(ir::variable(operand, row.operands[i]));
    parameters += (i == 0 ? "" : ", ") + type_of_value(row.operands[i]) + " " + name_of(operand);
  }
  const ir::Expr meaning = row.meaning(operands);
  Uses uses;
  uses.add(meaning);
  std::string body;
  std::map<const ir::ExprNode*, ir::Expr> named;
  const std::function<ir::Expr(const ir::Expr&)> shorten = [&](const ir::Expr& expr) -> ir::Expr {
    if (const auto found = named.find(expr.identity()); found != named.end()) return found->second;
    return with_children(expr, shorten);
  };
  for (const ir::Expr& expr : uses.order) {
    const bool leaf = expr.as<ir::Constant>() != nullptr || expr.as<ir::Variable>() != nullptr;
    const bool wanted = uses.count[expr.identity()] > 1 || expr.as<ir::Call>() != nullptr;
    if (leaf || !wanted || expr.identity() == meaning.identity()) continue;
    const ir::Expr value = shorten(expr);
    const std::string line = "const " + type_of_value(expr.dtype()) + " ";
    const ir::Expr variable = ir::variable("t" + std::to_string(named.size() + 1), expr.dtype());
    body += wrapped(line + name_of(*variable.as<ir::Variable>()) + " = " + text(value) + ";", 2);
    named.emplace(expr.identity(), variable);
  }
  body += wrapped("return " + text(shorten(meaning)) + ";", 2);
  const std::string result = type_of_value(row.result);
  names_ = std::move(outer);
  replacements_ = std::move(replacements);
  ranges_ = std::move(ranges);
  helpers_.add_function(
      name, "__device__ __forceinline__ " + result + " " + name + "(" + parameters + ") {\n" + body + "}\n");
}

}  // namespace weft::cuda
