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

template <Element element>
Handler floating(Sum sum) {
  if (sum == Sum::f32) return multiply<element, element, Sum::f32>;
  if constexpr (element == Element::f16)
    if (sum == Sum::f16) return multiply<element, element, Sum::f16>;
  return nullptr;
}

template <Element a, Element b>
Handler quarter(Sum sum) {
  if (sum == Sum::f32) return multiply<a, b, Sum::f32>;
  return sum == Sum::f16 ? multiply<a, b, Sum::f16> : nullptr;
}

Handler choose_handler(Element a, Element b, Sum sum) {
  constexpr auto s8 = Element::s8, u8 = Element::u8, e4m3 = Element::e4m3, e5m2 = Element::e5m2;
  switch (a) {
    case Element::f16:
      return floating<Element::f16>(sum);
    case Element::bf16:
      return floating<Element::bf16>(sum);
    case Element::tf32:
      return floating<Element::tf32>(sum);
    case Element::f64:
      return sum == Sum::f64 ? multiply<Element::f64, Element::f64, Sum::f64> : nullptr;
    case s8:
      if (sum != Sum::s32) return nullptr;
      return b == s8 ? multiply<s8, s8, Sum::s32> : multiply<s8, u8, Sum::s32>;
    case u8:
      if (sum != Sum::s32) return nullptr;
      return b == s8 ? multiply<u8, s8, Sum::s32> : multiply<u8, u8, Sum::s32>;
    case e4m3:
      return b == e4m3 ? quarter<e4m3, e4m3>(sum) : quarter<e4m3, e5m2>(sum);
    case e5m2:
      return b == e4m3 ? quarter<e5m2, e4m3>(sum) : quarter<e5m2, e5m2>(sum);
  }
  return nullptr;
}

/// Shapes by the bytes of a row of A that are stored, as the ISA's tables have them.
bool has_shape(const Modifiers& modifiers, Element element) {
  const int bytes = modifiers.inner * bytes_of(element) / (modifiers.is_sparse ? 2 : 1);
  if (modifiers.columns != columns_of_block || !modifiers.is_row_by_column) return false;
  if (modifiers.saturates && !is_integer(element)) return false;
  if (element == Element::f64)
    return !modifiers.is_sparse &&
           (modifiers.rows == 8 ? bytes == 32
                                : modifiers.rows == 16 && (bytes == 32 || bytes == 64 || bytes == 128));
  if (modifiers.rows == 8) return is_integer(element) && !modifiers.is_sparse && bytes == 16;
  const bool is_quarter = element == Element::e4m3 || element == Element::e5m2;
  return modifiers.rows == 16 && (bytes == 32 || (bytes == 16 && !(is_quarter && modifiers.is_sparse)));
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
  if (!sum || !a || !b || types[3] != types[0] || !can_multiply(*a, *b) || !has_shape(*modifiers, *a))
    return nullptr;
  const Shape shape{.inner = modifiers->inner,
                    .rows = modifiers->rows,
                    .is_sparse = modifiers->is_sparse,
                    .is_ordered = modifiers->is_ordered,
                    .saturates = modifiers->saturates};
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
  return choose_handler(*a, *b, *sum);
}

}  // namespace weft::simulator::matrix
