// The instruction table, shared by every back end: an instruction is what it means, what it is called in PTX
// and CUDA C++, and the oldest architecture that has it.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/hardware/tensor_instructions.h>
#include <weft/scheduler/ir/node.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// lowest_sm of an instruction that no GPU has: the CPU and the simulator run it by its meaning.
constexpr int simulated_only = -2;

/// One row, of a family in instructions/. Operands are numbered from 1 in the texts, $0 is the result.
struct Instruction {
  std::string_view name;  ///< what Call::instruction says
  DType result = DType::i64;
  std::vector<DType> operands;
  std::string_view ptx = {};      ///< "fma.rn.f32 $0, $1, $2, $3;"
  std::string_view cuda = {};     ///< a C++ expression: "__fmaf_rn($1, $2, $3)"
  std::string_view llvm = {};     ///< LLVM intrinsic of the same meaning; empty: inline PTX
  std::string_view library = {};  ///< C function of the same meaning, for the CPU; may be empty
  int lowest_sm = 0;              ///< 75, 80, 90; 0: every one. -1: on no GPU; or simulated_only
  /// The value in terms of other expressions. Null for what only a device knows (thread and block indices).
  ir::Expr (*meaning)(std::span<const ir::Expr> operands) = nullptr;
  /// Of a simulated_only row, for the time model: clocks of a multiprocessor's pipe that a warp's instruction
  /// takes, and clocks until its result can be used.
  double clocks = 0;
  double latency = 0;
  /// Rows that ir::Execute names. #i in the text is argument i, a constant.
  bool effect = false;
  int results = 0;                    ///< registers of type `result` that are written, $0 on
  bool reads_results = false;         ///< they are read first
  bool only_registers = false;        ///< nothing else is read or written
  std::string_view ptx_version = {};  ///< that has it, where targets ask for an older one; empty: any
  std::int64_t below = 0;  ///< beyond 0: the result is 0 or more and below; all that proofs look at
  std::optional<Capability> needs = {};       ///< beyond lowest_sm, where .tensorize() asks
  std::optional<TensorProduct> product = {};  ///< what it computes of tiles
};

/// The row `last_arrival(place, count, threads)`: the condition of an If, and nothing else, whose place is a
/// Load of an i32 workspace between blocks. All threads of a block, or the first `threads` of it where that
/// is not 0, reach it and get the same answer: true for the last of `count` blocks that come there, which
/// then may read what the others wrote before they came. The place is zero before the first comes and after
/// the last. Nobody waits.
inline constexpr std::string_view last_arrival = "last_arrival";
bool is_last_arrival(const ir::Expr& condition);
/// All threads of a block arrive.
ir::Expr arrival_of_block(ir::Expr place, ir::Expr count);
/// The same, of its first threads alone.
ir::Expr arrival_of_some(const ir::Call& of_block, std::int64_t threads);
/// Whether it is one of those.
bool is_arrival_of_some(const ir::Expr& condition);
/// Whether such a condition stands inside.
bool holds_arrival(const ir::Stmt& stmt);

/// The row `kept_slot(word, row, place)`: which slot of its block a kept place of 2:4 sparsity is, from the
/// word that has its code (formats/kept_slots.h). `row` counts from the first of the group.
inline constexpr std::string_view kept_slot = "kept_slot";

/// The row `set_bit(low, high, number)`: the place of a set bit of a 64-bit word in two halves, the bits
/// being numbered from the lowest; and the row `count_bits(x)`: how many bits are set of a number below
/// 65536.
inline constexpr std::string_view set_bit = "set_bit";
inline constexpr std::string_view count_bits = "count_bits";

/// The row `word_bit(word, number)`: whether that bit of 32 is set; and the row `word_bits(word, first,
/// last)`: how many are, of those from the first on and before the last.
inline constexpr std::string_view word_bit = "word_bit";
inline constexpr std::string_view word_bits = "word_bits";

/// The effect row `join_halves`: one register of the lower (0) or the upper (1) halves of two.
inline constexpr std::string_view join_halves = "join_halves";

/// The effect rows of a warp: the largest and the least of a number of each lane.
inline constexpr std::string_view warp_maximum = "warp_maximum", warp_minimum = "warp_minimum";

/// Every row, family after family.
std::span<const Instruction> instructions();
/// The row of that name; InternalError when there is none.
const Instruction& instruction(std::string_view name);
/// UserError about the kernel where it calls what no such GPU has.
void require_instructions(const std::string& kernel, const ir::Stmt& body, const Target& target);

}  // namespace weft
