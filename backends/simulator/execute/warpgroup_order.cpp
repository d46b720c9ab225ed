#include <fmt/format.h>
#include <weft/backends/simulator/execute/warpgroup_order.h>

#include <algorithm>

namespace weft::simulator::matrix {
namespace {

/// The rows of one operation's accumulators, and of A where it is in registers.
template <class F>
void for_each_row(const Code& code, const Operation& operation, std::size_t first, std::size_t end,
                  F function) {
  for (std::size_t i = first; i < end; ++i) {
    const Row row = code.operands[operation.first + i];
    if ((row & constant_row) == 0 && row != no_row) function(row);
  }
}

/// Finds the registers that the kernel's wgmmas work on.
void find_rows(const Code& code, Warp::MatrixState& state) {
  state.slots.assign(code.rows, -1);
  for (const Operation& operation : code.operations) {
    const auto index = static_cast<std::size_t>(operation.instruction);
    if (index >= code.instructions.size()) continue;
    const ptx::Instruction& instruction = *code.instructions[index];
    if (instruction.opcode != "wgmma" || !instruction.has("mma_async")) continue;
    const bool has_registers =
        instruction.operands.size() > 1 && instruction.operands[1].kind == ptx::Operand::Kind::vector;
    const std::size_t end = operation.results + (has_registers ? instruction.operands[1].elements.size() : 0);
    for_each_row(code, operation, 0, end, [&](Row row) {
      if (state.slots[row] >= 0) return;
      state.slots[row] = static_cast<std::int32_t>(state.rows.size());
      state.rows.push_back(row);
    });
  }
  state.values.resize(state.rows.size() * lanes);
  state.is_accumulator.assign(state.rows.size(), false);
}

std::uint32_t* remembered(Warp::MatrixState& state, Row row) {
  return state.values.data() + static_cast<std::size_t>(state.slots[row]) * lanes;
}

std::string_view name_of(const Code& code, Row row) {
  return row < code.register_names.size() ? std::string_view(code.register_names[row]) : "a register";
}

}  // namespace

void fence_registers(Warp& warp) {
  Warp::MatrixState& state = warp.matrix_state;
  if (state.slots.empty()) find_rows(warp.code(), state);
  state.has_fence = true;
  for (const Row row : state.rows) std::copy_n(warp.row(row), lanes, remembered(state, row));
}

void check_registers(Warp& warp, const Operation& operation, bool reads_accumulators, std::size_t first_a,
                     std::size_t count_a) {
  Warp::MatrixState& state = warp.matrix_state;
  const Code& code = warp.code();
  if (!state.has_fence) {
    warp.report(operation, "missing wgmma.fence", "this warp runs a wgmma and ran no wgmma.fence before");
    fence_registers(warp);
  }
  const auto check = [&](Row row, bool is_accumulator) {
    const auto slot = static_cast<std::size_t>(state.slots[row]);
    if (warp.is_in_flight(row)) {
      if (!is_accumulator && state.is_accumulator[slot])
        warp.report(operation, "register in flight",
                    fmt::format("reads {} as part of A while a wgmma that was not waited for owns it",
                                name_of(code, row)));
    } else {
      if ((reads_accumulators || !is_accumulator) && !warp.is_written(row))
        warp.report(operation, "unwritten register",
                    fmt::format("reads {}, which nobody wrote", name_of(code, row)));
      if (!std::equal(warp.row(row), warp.row(row) + lanes, remembered(state, row)))
        warp.report(operation, "missing wgmma.fence",
                    fmt::format("{} was written after the last wgmma.fence", name_of(code, row)));
    }
    if (is_accumulator) state.is_accumulator[slot] = true;
  };
  for_each_row(code, operation, first_a, first_a + count_a, [&](Row row) { check(row, false); });
  for_each_row(code, operation, 0, operation.results, [&](Row row) { check(row, true); });
}

void accept_results(Warp& warp, const Operation& operation) {
  Warp::MatrixState& state = warp.matrix_state;
  for_each_row(warp.code(), operation, 0, operation.results,
               [&](Row row) { std::copy_n(warp.row(row), lanes, remembered(state, row)); });
}

void forget_accumulators(Warp& warp) {
  std::vector<bool>& flags = warp.matrix_state.is_accumulator;
  flags.assign(flags.size(), false);
}

}  // namespace weft::simulator::matrix
