// wgmma: asynchronous products of four warps. Each warp computes its own 16 of the 64 rows.
#include <weft/backends/simulator/execute/matrix_fragments.h>
#include <weft/backends/simulator/execute/matrix_modifiers.h>
#include <weft/backends/simulator/execute/matrix_multiply.h>
#include <weft/backends/simulator/execute/warpgroup_operand.h>
#include <weft/backends/simulator/execute/warpgroup_order.h>

#include <algorithm>
#include <memory>

namespace weft::simulator {
namespace matrix {
namespace {

constexpr int rows_of_warpgroup = 64;
constexpr int registers_of_a = 4;
constexpr std::uint16_t a_in_registers = 1U << 15;  ///< bit of Operation::variant; the rest is N

/// What an instruction takes along when it is issued; accumulators and registers of A are read when it is
/// done.
struct Issue {
  const Operation* operation = nullptr;
  std::uint64_t a = 0, b = 0;  ///< descriptors
  bool adds = false;           ///< scale-d: D += A * B, not D = A * B
  bool negates = false;
  bool is_a_mn_major = false, is_b_mn_major = false;
  std::shared_ptr<const Positions> positions;  ///< where the elements of a sparse A stand in k
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
  Work work{&operation, [issue](Warp& later) { perform<a_type, b_type, sum>(later, issue); }, {}};
  for (std::size_t i = 0; i < operation.results + count_a; ++i)
    if (!warp.is_sink(operation, i)) work.registers.push_back(warp.operand(operation, i));
  warp.start(Queue::matrix, std::move(work));
}

bool has_shape(const Modifiers& modifiers, Element element) {
  constexpr int bytes_of_row = 32, most_columns = 256;
  const Shape& shape = modifiers.shape;
  if (shape.rows != rows_of_warpgroup || modifiers.columns > most_columns) return false;
  if (modifiers.columns % (is_integer(element) && modifiers.columns > 32 ? 16 : 8) != 0) return false;
  if (shape.saturates && !is_integer(element)) return false;
  return shape.inner * bytes_of(element) == bytes_of_row * (shape.is_sparse ? 2 : 1);
}

Handler choose_product(const ptx::Instruction& instruction, Operation& operation) {
  const auto modifiers = read_modifiers(instruction);
  if (!modifiers || modifiers->types.size() != 3 || instruction.operands.size() < 2) return nullptr;
  const auto sum = sum_of(modifiers->types[0]);
  const auto a = element_of(modifiers->types[1]), b = element_of(modifiers->types[2]);
  if (!sum || !a || !b || !has_shape(*modifiers, *a)) return nullptr;
  Shape shape = modifiers->shape;
  shape.rows = rows_of_warp;
  shape.is_ordered = true;
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
  return for_product(*a, *b, *sum, []<Element a_type, Element b_type, Sum sum_type>() -> Handler {
    if constexpr (a_type == Element::f64)
      return nullptr;
    else
      return issue<a_type, b_type, sum_type>;
  });
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

constexpr Opcode opcodes[] = {{"wgmma", choose}};

}  // namespace
}  // namespace matrix

std::span<const Opcode> warpgroup_opcodes() {
  return matrix::opcodes;
}

}  // namespace weft::simulator
