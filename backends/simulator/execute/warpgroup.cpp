// wgmma: asynchronous products of four warps. Each warp computes its own 16 of the 64 rows.
#include <weft/backends/simulator/execute/matrix_fragments.h>
#include <weft/backends/simulator/execute/matrix_modifiers.h>
#include <weft/backends/simulator/execute/matrix_multiply.h>
#include <weft/backends/simulator/execute/warpgroup_operand.h>
#include <weft/backends/simulator/execute/warpgroup_order.h>

#include <algorithm>
#include <array>
#include <memory>

namespace weft::simulator {
namespace matrix {
namespace {

constexpr int rows_of_warpgroup = 64;
constexpr int registers_of_a = 4;
constexpr std::uint16_t a_in_registers = 1U << 15;  ///< of Operation::variant; the rest is N

/// What an instruction takes along when it is issued; accumulators and registers of A are read when it is
/// done.
struct Issue {
  const Operation* operation = nullptr;
  std::uint64_t a = 0, b = 0;  ///< descriptors
  bool adds = false;           ///< scale-d: D += A * B, not D = A * B
  bool negates = false;
  bool is_a_mn_major = false, is_b_mn_major = false;
  std::shared_ptr<const Positions> positions;  ///< of a sparse A
};

template <Element a_type, Element b_type, Sum sum>
void perform(Warp& warp, const Issue& issue) {
  using T = Number<a_type>;
  static constexpr Positions no_positions{};
  const Operation& operation = *issue.operation;
  const Shape shape = Shape::of(operation);
  const int blocks = (operation.variant & 0xFFF) / columns_of_block;
  RowsOfA<T> a;
  if ((operation.variant & a_in_registers) != 0) {
    read_a<a_type>(warp, operation, operation.results, shape, a);
  } else {
    SharedOperand from(issue.a, issue.is_a_mn_major, bytes_of(a_type), shape.stored(), warp.index() % 4 * 2,
                       2);
    from.reach(warp, operation);
    for (int half = 0; half < 2; ++half)
      from.read<a_type>(half, a.data() + half * 8 * most_stored, most_stored, 1);
  }
  if (issue.negates)
    for (T& value : a) value = -value;
  SharedOperand from(issue.b, issue.is_b_mn_major, bytes_of(b_type), shape.inner, 0, blocks);
  from.reach(warp, operation);
  BlockOfB<T> b;
  BlockOfD<T> d;
  for (int block = 0; block < blocks; ++block) {
    const auto first =
        static_cast<std::size_t>(block) * static_cast<std::size_t>(registers_of(sum, shape.rows));
    from.read<b_type>(block, b.data(), 1, columns_of_block);
    if (issue.adds)
      start_sums<sum>(warp, operation, first, shape.rows, d);
    else
      d.fill(0);
    add_product(shape, a, issue.positions == nullptr ? no_positions : *issue.positions, b, d);
    finish_sums<sum>(warp, operation, issue.adds ? first : no_sums, first, shape, d);
  }
  accept_results(warp, operation);
}

/// A value that all lanes have to agree on.
template <class T>
T uniform(Warp& warp, const Operation& operation, std::size_t which, std::string_view what) {
  const T* const values = warp.source<T>(operation, which);
  if (std::any_of(values, values + lanes, [values](T value) { return value != *values; }))
    warp.report(operation, "not uniform", std::string(what) + " differs between the lanes of a warp");
  return *values;
}

/// Operands: D, A (registers or a descriptor), the descriptor of B, metadata and selector where A is sparse,
/// scale-d, and as the types have them the signs of A and B and their transpositions.
template <Element a_type, Element b_type, Sum sum>
void issue(Warp& warp, const Operation& operation) {
  if (!whole_warp(warp, operation)) return;
  const Shape shape = Shape::of(operation);
  const bool has_registers = (operation.variant & a_in_registers) != 0;
  Issue issue;
  issue.operation = &operation;
  const std::size_t first_a = operation.results;
  std::size_t next = first_a + (has_registers ? registers_of_a : 1);
  if (!has_registers) issue.a = uniform<std::uint64_t>(warp, operation, first_a, "the descriptor of A");
  issue.b = uniform<std::uint64_t>(warp, operation, next++, "the descriptor of B");
  if (shape.is_sparse) {
    auto positions = std::make_shared<Positions>();
    read_metadata(warp, operation, shape, a_type, warp.source<std::uint32_t>(operation, next),
                  *warp.source<std::uint32_t>(operation, next + 1), *positions);
    issue.positions = std::move(positions);
    next += 2;
  }
  const Mask scale = warp.mask(operation, next++);
  if (scale != 0 && scale != all_lanes)
    warp.report(operation, "not uniform", "scale-d differs between the lanes of a warp");
  issue.adds = scale != 0;
  const auto constant = [&] {
    return static_cast<std::int32_t>(*warp.source<std::uint32_t>(operation, next++));
  };
  if constexpr (!is_integer(a_type)) {
    const std::int32_t sign_a = constant(), sign_b = constant();
    issue.negates = (sign_a < 0) != (sign_b < 0);
  }
  if constexpr (bytes_of(a_type) == 2) {
    if (!has_registers) issue.is_a_mn_major = constant() != 0;
    issue.is_b_mn_major = constant() != 0;
  }
  const std::size_t count_a = has_registers ? registers_of_a : 0;
  check_registers(warp, operation, issue.adds, first_a, count_a);
  Work work;
  work.operation = &operation;
  work.perform = [issue](Warp& later) { perform<a_type, b_type, sum>(later, issue); };
  for (std::size_t i = 0; i < operation.results + count_a; ++i)
    if (!warp.is_sink(operation, i)) work.registers.push_back(warp.operand(operation, i));
  warp.start(Queue::matrix, std::move(work));
}

template <Element a, Element b>
Handler floating(Sum sum) {
  if (sum == Sum::f32) return issue<a, b, Sum::f32>;
  if constexpr (a != Element::bf16 && a != Element::tf32)
    if (sum == Sum::f16) return issue<a, b, Sum::f16>;
  return nullptr;
}

Handler choose_handler(Element a, Element b, Sum sum) {
  constexpr auto s8 = Element::s8, u8 = Element::u8, e4m3 = Element::e4m3, e5m2 = Element::e5m2;
  if (is_integer(a) != (sum == Sum::s32)) return nullptr;
  switch (a) {
    case Element::f16:
      return floating<Element::f16, Element::f16>(sum);
    case Element::bf16:
      return floating<Element::bf16, Element::bf16>(sum);
    case Element::tf32:
      return floating<Element::tf32, Element::tf32>(sum);
    case s8:
      return b == s8 ? issue<s8, s8, Sum::s32> : issue<s8, u8, Sum::s32>;
    case u8:
      return b == s8 ? issue<u8, s8, Sum::s32> : issue<u8, u8, Sum::s32>;
    case e4m3:
      return b == e4m3 ? floating<e4m3, e4m3>(sum) : floating<e4m3, e5m2>(sum);
    case e5m2:
      return b == e4m3 ? floating<e5m2, e4m3>(sum) : floating<e5m2, e5m2>(sum);
    case Element::f64:
      break;
  }
  return nullptr;
}

bool has_shape(const Modifiers& modifiers, Element element) {
  constexpr int bytes_of_row = 32, most_columns = 256;
  if (modifiers.rows != rows_of_warpgroup || modifiers.columns > most_columns) return false;
  if (modifiers.columns % (is_integer(element) && modifiers.columns > 32 ? 16 : 8) != 0) return false;
  if (modifiers.saturates && !is_integer(element)) return false;
  return modifiers.inner * bytes_of(element) == bytes_of_row * (modifiers.is_sparse ? 2 : 1);
}

Handler choose_product(const ptx::Instruction& instruction, Operation& operation) {
  const auto modifiers = read_modifiers(instruction);
  if (!modifiers || modifiers->types.size() != 3 || instruction.operands.size() < 2) return nullptr;
  const auto sum = sum_of(modifiers->types[0]);
  const auto a = element_of(modifiers->types[1]), b = element_of(modifiers->types[2]);
  if (!sum || !a || !b || !can_multiply(*a, *b) || !has_shape(*modifiers, *a)) return nullptr;
  const Shape shape{.inner = modifiers->inner,
                    .is_sparse = modifiers->is_sparse,
                    .is_ordered = true,
                    .saturates = modifiers->saturates};
  const bool has_registers = instruction.operands[1].kind == ptx::Operand::Kind::vector;
  const int of_d = modifiers->columns / columns_of_block * registers_of(*sum, shape.rows);
  const int signs = is_integer(*a) ? 0 : 2;
  const int transpositions = bytes_of(*a) != 2 ? 0 : has_registers ? 1 : 2;
  const int count = of_d + (has_registers ? registers_of_a : 1) + 1 + (shape.is_sparse ? 2 : 0) + 1 + signs +
                    transpositions;
  if (operation.count != count) return nullptr;
  operation.flags = shape.flags();
  operation.variant = static_cast<std::uint16_t>(modifiers->columns | (has_registers ? a_in_registers : 0));
  operation.results = static_cast<std::uint16_t>(of_d);
  operation.reads_result = true;
  operation.type = *sum == Sum::f32 ? ptx::Type::f32 : ptx::Type::b32;
  operation.pipe = Pipe::tensor;
  return choose_handler(*a, *b, *sum);
}

void fence(Warp& warp, const Operation& operation) {
  if (whole_warp(warp, operation)) fence_registers(warp);
}

void commit(Warp& warp, const Operation& operation) {
  if (whole_warp(warp, operation)) warp.commit(Queue::matrix);
}

void wait(Warp& warp, const Operation& operation) {
  if (!whole_warp(warp, operation)) return;
  const auto groups = static_cast<int>(*warp.source<std::uint32_t>(operation, 0));
  warp.wait(Queue::matrix, groups);
  if (groups == 0) forget_accumulators(warp);
}

Handler choose(const ptx::Instruction& instruction, Operation& operation) {
  if (instruction.has("mma_async")) return choose_product(instruction, operation);
  operation.results = 0;
  operation.pipe = Pipe::control;
  if (instruction.has("fence")) return fence;
  if (instruction.has("commit_group")) return commit;
  return instruction.has("wait_group") && operation.count == 1 ? wait : nullptr;
}

constexpr std::array<Opcode, 1> opcodes{{{"wgmma", choose}}};

}  // namespace
}  // namespace matrix

std::span<const Opcode> warpgroup_opcodes() {
  return matrix::opcodes;
}

}  // namespace weft::simulator
