#include <fmt/format.h>
#include <weft/backends/simulator/execute/matrix_fragments.h>
#include <weft/backends/simulator/execute/matrix_modifiers.h>
#include <weft/backends/simulator/execute/matrix_multiply.h>

namespace weft::simulator::matrix {
namespace {

/// Operands: the registers of D, A, B and C; metadata and selector where A is sparse.
template <Element a_type, Element b_type, Sum sum>
void multiply(Warp& warp, const Operation& operation) {
  if (!whole_warp(warp, operation)) return;
  using T = Number<a_type>;
  const Shape shape = Shape::of(operation);
  const std::size_t first_a = operation.results;
  const std::size_t first_b = first_a + (operation.variant & 0xFFU);
  const std::size_t first_c = first_b + (operation.variant >> 8);
  RowsOfA<T> a;
  BlockOfB<T> b;
  BlockOfD<T> d;
  Positions positions;
  read_a<a_type>(warp, operation, first_a, shape, a);
  read_b<b_type>(warp, operation, first_b, shape, b);
  if (shape.is_sparse) {
    const std::size_t metadata = first_c + operation.results;
    read_metadata(warp, operation, shape, a_type, warp.source<std::uint32_t>(operation, metadata),
                  *warp.source<std::uint32_t>(operation, metadata + 1), positions);
  }
  start_sums<sum>(warp, operation, first_c, shape.rows, d);
  if constexpr (sum == Sum::f64)
    add_fused_product(shape, a, b, d);
  else
    add_product(shape, a, positions, b, d);
  finish_sums<sum>(warp, operation, first_c, 0, shape, d);
}

/// Shapes by the bytes of a row of A that are stored, as the ISA's tables have them.
bool has_shape(const Modifiers& modifiers, Element element) {
  const Shape& shape = modifiers.shape;
  const int bytes = shape.inner * bytes_of(element) / (shape.is_sparse ? 2 : 1);
  if (modifiers.columns != columns_of_block || !modifiers.is_row_by_column) return false;
  if (shape.saturates && !is_integer(element)) return false;
  if (element == Element::f64)
    return !shape.is_sparse &&
           (shape.rows == 8 ? bytes == 32 : shape.rows == 16 && (bytes == 32 || bytes == 64 || bytes == 128));
  if (shape.rows == 8) return is_integer(element) && !shape.is_sparse && bytes == 16;
  const bool is_quarter = element == Element::e4m3 || element == Element::e5m2;
  return shape.rows == 16 && (bytes == 32 || (bytes == 16 && !(is_quarter && shape.is_sparse)));
}

}  // namespace

bool whole_warp(Warp& warp, const Operation& operation) {
  if (warp.active() == all_lanes) return true;
  warp.report(
      operation, "partial warp",
      fmt::format("only the lanes of mask {:#010x} run an instruction that needs all 32", warp.active()));
  return false;
}

Handler choose_multiply(const ptx::Instruction& instruction, Operation& operation) {
  const auto modifiers = read_modifiers(instruction);
  if (!modifiers || modifiers->types.size() != 4) return nullptr;
  const auto& types = modifiers->types;
  const auto sum = sum_of(types[0]);
  const auto a = element_of(types[1]), b = element_of(types[2]);
  if (!sum || !a || !b || types[3] != types[0] || !has_shape(*modifiers, *a)) return nullptr;
  const Shape& shape = modifiers->shape;
  const int of_register = 4 * (*a == Element::f64 ? 8 : 4);  // bytes of a row in a register of four lanes
  const int of_a = shape.stored() * bytes_of(*a) / of_register * (shape.rows / 8);
  const int of_b = shape.inner * bytes_of(*b) / of_register;
  const int of_d = registers_of(*sum, shape.rows);
  if (operation.count != 2 * of_d + of_a + of_b + (shape.is_sparse ? 2 : 0)) return nullptr;
  operation.flags = shape.flags();
  operation.variant = static_cast<std::uint16_t>(of_a | of_b << 8);
  operation.results = static_cast<std::uint16_t>(of_d);
  operation.type = *sum == Sum::f64 ? ptx::Type::f64 : *sum == Sum::f32 ? ptx::Type::f32 : ptx::Type::b32;
  operation.pipe = Pipe::tensor;
  return for_product(*a, *b, *sum, []<Element a_type, Element b_type, Sum sum_type>() -> Handler {
    return multiply<a_type, b_type, sum_type>;
  });
}

}  // namespace weft::simulator::matrix
