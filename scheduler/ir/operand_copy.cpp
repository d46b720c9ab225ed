#include <fmt/format.h>
#include <weft/scheduler/ir/operand_copy.h>

#include <numeric>
#include <utility>

namespace weft::ir {
namespace {

/// The caller's dimensions, by their numbers, in the order of the copy.
std::vector<std::size_t> dimensions_of(const OperandCopy& copy) {
  std::vector<std::size_t> numbers(copy.given->shape.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return in_order(std::move(numbers), copy.order);
}

}  // namespace

std::int64_t elements_of_vector(const Buffer& buffer) {
  constexpr std::int64_t bytes = 16;
  return bytes / element_bytes(buffer);
}

OperandCopy operand_copy_of(const BufferRef& given, bool is_output, CopyOrder order) {
  std::vector<Expr> shape = in_order(given->shape, order);
  const std::int64_t width = elements_of_vector(*given);
  // Lines of images stay behind one another, so that they can be one.
  if (order != CopyOrder::last_outermost) shape.back() = ceil_divide(shape.back(), width) * width;
  auto ordered = std::make_shared<Buffer>(*make_buffer(given->name, given->dtype, Scope::global,
                                                       given->access, std::move(shape), given->non_negative));
  ordered->tensor = given->tensor;
  return {given, ordered, order, is_output};
}

const OperandCopy* copied_operand(const Program& program, const std::string& name) {
  const auto found =
      std::ranges::find(program.copied, name, [](const OperandCopy& each) { return each.given->name; });
  return found == program.copied.end() ? nullptr : &*found;
}

std::size_t dimension_in(const Program& program, const std::string& operand, std::size_t dimension) {
  const OperandCopy* copy = copied_operand(program, operand);
  if (copy == nullptr) return dimension;
  const std::vector<std::size_t> numbers = dimensions_of(*copy);
  return static_cast<std::size_t>(std::ranges::find(numbers, dimension) - numbers.begin());
}

std::size_t innermost_of(const OperandCopy& copy) {
  return dimensions_of(copy).back();
}

std::string_view name_of(CopyOrder order) {
  return order == CopyOrder::none ? "aligned" : "transposed";
}

std::string name_of_copy(const OperandCopy& copy) {
  return fmt::format("{}.{}", copy.given->name, name_of(copy.order));
}

Expr asked_of_copy(const Program& program, const std::vector<Expr>& indices, const BufferRef& buffer,
                   const Expr& condition) {
  const auto* less = as_binary(condition, BinaryOperator::less);
  const OperandCopy* copy = copied_operand(program, buffer->name);
  if (less == nullptr || copy == nullptr || copy->is_output || !same(less->left, indices.back()) ||
      !same(less->right, copy->given->shape[innermost_of(*copy)]))
    return condition;
  return less->left < buffer->shape.back();
}

}  // namespace weft::ir
