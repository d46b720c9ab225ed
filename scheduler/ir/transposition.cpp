#include <weft/scheduler/ir/transposition.h>

#include <numeric>
#include <utility>

namespace weft::ir {

std::int64_t elements_of_vector(const Buffer& buffer) {
  constexpr std::int64_t bytes = 16;
  return bytes / element_bytes(buffer);
}

Transposition transposition_of(const BufferRef& given, bool is_output, bool last_outermost) {
  std::vector<Expr> shape = in_order(given->shape, last_outermost);
  const std::int64_t width = elements_of_vector(*given);
  shape.back() = ceil_divide(shape.back(), width) * width;
  auto ordered = std::make_shared<Buffer>(*make_buffer(given->name, given->dtype, Scope::global,
                                                       given->access, std::move(shape), given->non_negative));
  ordered->tensor = given->tensor;
  return {given, ordered, last_outermost, is_output};
}

const Transposition* transposed_operand(const Program& program, const std::string& name) {
  const auto found =
      std::ranges::find(program.transposed, name, [](const Transposition& each) { return each.given->name; });
  return found == program.transposed.end() ? nullptr : &*found;
}

std::size_t dimension_in(const Program& program, const std::string& operand, std::size_t dimension) {
  const Transposition* transposed = transposed_operand(program, operand);
  if (transposed == nullptr) return dimension;
  std::vector<std::size_t> numbers(transposed->given->shape.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  numbers = in_order(numbers, transposed->last_outermost);
  return static_cast<std::size_t>(std::ranges::find(numbers, dimension) - numbers.begin());
}

std::string name_of_copy(const Transposition& transposition) {
  return transposition.given->name + ".transposed";
}

Expr asked_of_copy(const Program& program, const std::vector<Expr>& indices, const BufferRef& buffer,
                   const Expr& condition) {
  const auto* less = as_binary(condition, BinaryOperator::less);
  const Transposition* transposed = transposed_operand(program, buffer->name);
  if (less == nullptr || transposed == nullptr || transposed->is_output ||
      !same(less->left, indices.back()) || !same(less->right, transposed->given->shape[0]))
    return condition;
  return less->left < buffer->shape.back();
}

}  // namespace weft::ir
