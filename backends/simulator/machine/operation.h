// An instruction ready to run: the handler that its opcode and modifiers chose, and where its operands are.
#pragma once

#include <weft/backends/simulator/ptx/module.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::simulator {

using ptx::Instruction, ptx::Space, ptx::Type;

class Warp;
struct Operation;
class Decoder;

/// Runs one operation for the lanes of `warp.active()`.
using Handler = void (*)(Warp& warp, const Operation& operation);

/// The part of a multiprocessor that an operation keeps busy; the time model has a rate for each.
enum class Pipe : std::uint8_t {
  none,     ///< costs nothing: declarations, moves that the assembler removes
  integer,  ///< add, logic, compare, select
  single,   ///< f32 add, multiply, fused multiply-add
  half,     ///< f16 and bf16 pairs
  wide,     ///< f64
  convert,
  special,  ///< rcp, ex2, sin, ...
  tensor,
  memory,     ///< loads and stores of any space, shuffles
  extension,  ///< what no hardware has; its row of the instruction table says what it costs
  control,    ///< branches, barriers, waits
};

/// Registers live in rows of 32 lanes x 4 bytes. A 64-bit register takes two rows, read as 32 lanes x 8
/// bytes; a predicate is one 32-bit mask in the first word of its row; 8- and 16-bit values lie in the low
/// bits of 4-byte lanes, with zeros above; 128-bit ones take four rows, 32 lanes x 16 bytes. Constants
/// (immediates, addresses of variables) are rows too, filled at decoding.
using Row = std::uint32_t;
constexpr Row constant_row = 0x8000'0000U;  ///< bit set: a row of Code::constants
constexpr Row no_row = 0x7FFF'FFFFU;        ///< the operand `_`

/// Of Operation::flags: a volatile, relaxed, acquire or release access, which does not race with its like.
constexpr std::uint32_t strong_access = 1U << 31;

/// st: behind the address, each lane's registers, of which as many bytes are taken as the type has.
constexpr std::uint32_t stores_lanes = 1U << 30;

/// ld: each lane reads memory for registers of its own.
constexpr std::uint32_t loads_lanes = 1U << 29;

/// and, or: a predicate among the sources that is false, or true, says what the result is, whatever the
/// others.
constexpr std::uint32_t decided_by_false = 1U << 28, decided_by_true = 1U << 27;

/// setp: asks for the sign of the first source alone.
constexpr std::uint32_t asks_sign = 1U << 26;

struct Operation {
  Handler execute = nullptr;
  std::uint32_t first = 0;    ///< into Code::operands
  std::uint16_t count = 0;    ///< operands, vectors and pairs flattened; the base of an address counts as one
  std::uint16_t results = 0;  ///< how many of the first ones are written
  Row guard = no_row;
  bool guard_negated = false;
  bool keeps_undefined =
      false;  ///< copies what nobody wrote without complaint (mov, selp); see Warp::check_sources
  /// Of the first sources: how many give the result its bits, at most one of each source to each bit, where
  /// the sources behind them, which say which, are known. 0: they do not.
  std::uint8_t moved_sources = 0;
  bool reads_result = false;                ///< the results are also sources: accumulators in place
  ptx::Type type = ptx::Type::none;         ///< type of the result
  ptx::Type source_type = ptx::Type::none;  ///< cvt, set: of the source
  ptx::Space space = ptx::Space::none;      ///< space of a memory access; `none` is a generic address
  Pipe pipe = Pipe::integer;
  std::uint8_t elements = 1;  ///< elements of a vector access
  /// Free for the handler: comparison, rounding, shape, ... as its family defines.
  std::uint16_t variant = 0;
  std::uint32_t flags = 0;
  std::int64_t immediate = 0;       ///< branch target
  std::int32_t reconvergence = -1;  ///< where the lanes of a branch meet again
  std::int32_t instruction = 0;     ///< into Code::instructions, for messages
  /// Bytes that the handler takes a lane of each operand to have: 4 (or less), 8, 16, or 1 for a predicate; 0
  /// where it takes what comes. The decoder compares them with the registers.
  std::array<std::uint8_t, 8> lane_bytes{};
};

/// A kernel ready to run. Calls are expanded in place.
struct Code {
  const ptx::Module* module = nullptr;
  const ptx::Function* function = nullptr;
  std::vector<Operation> operations;
  std::vector<Row> operands;
  std::vector<std::uint8_t> operand_bytes;    ///< bytes of a lane; 8 for constants
  std::vector<std::int64_t> operand_offsets;  ///< what stands behind the `+` of addresses
  std::vector<std::uint32_t> constants;       ///< rows of 32 words
  Row rows = 0;                               ///< rows that a warp's registers take
  /// The instruction of each operation (several operations may share one after calls are expanded).
  std::vector<const ptx::Instruction*> instructions;
  std::vector<std::string> register_names;  ///< by row, for messages
  struct Parameter {
    std::string name;
    std::size_t offset = 0, bytes = 0;
  };
  std::vector<Parameter> parameters;
  /// Static variables of shared memory, for messages.
  struct SharedVariable {
    std::string name;
    std::size_t offset = 0, bytes = 0;  ///< dynamic memory has no size of its own
  };
  std::vector<SharedVariable> shared_variables;
  std::vector<std::vector<std::int32_t>> branch_tables;  ///< operations; a brx has its table in `variant`
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;                        ///< static; dynamic shared memory follows
  std::size_t local_bytes = 0;                         ///< a thread
  std::size_t shared_granule = 4, global_granule = 4;  ///< bytes of the narrowest access, at most 4
};

/// One row of a family's table: the opcode, and how its handler is chosen. `choose` looks at the modifiers,
/// sets the fields of the operation that the handler reads (type, variant, flags, results if not 1, pipe) and
/// returns the handler; it returns nullptr for a combination of modifiers that it does not know, which
/// becomes a UserError with the PTX line. The decoder has filled operands (guard, rows, address offsets,
/// space by a modifier such as `shared`, elements by v2/v4/v8) before.
struct Opcode {
  std::string_view name;
  Handler (*choose)(const ptx::Instruction& instruction, Operation& operation);
  /// At least, so that a handler finds those that it reads; 0 where `choose` counts them.
  std::size_t operands = 0;
  /// Of instructions on values: besides its types, words that it has to have and words that it may have, with
  /// blanks between them, and how many types there are. `any_modifiers`: `choose` looks itself.
  std::string_view required = {}, optional = {};
  int types = 1;

  /// Whether modifiers and kinds of operands are those of the row; always where `operands` is 0.
  bool accepts(const ptx::Instruction& instruction) const;
};
constexpr int any_modifiers = -1;

/// Are the modifiers `types` types and, beyond these, only words of `accepted`?
bool has_only(const ptx::Instruction& instruction, int types, std::string_view accepted);
/// Is the first operand a register, or several of them, and has each of the others a value?
bool has_sources(const ptx::Instruction& instruction);

/// The families, each in a file of execute/.
std::span<const Opcode> integer_opcodes();     ///< add, mul, div, min, dp4a ...; on integer types
std::span<const Opcode> bit_opcodes();         ///< logic, shifts, bit fields; and predicates' logic
std::span<const Opcode> carry_opcodes();       ///< with CC.CF
std::span<const Opcode> floating_opcodes();    ///< on f16, f16x2, bf16, bf16x2, f32, f64
std::span<const Opcode> selection_opcodes();   ///< floating min, max, abs, neg, copysign, testp
std::span<const Opcode> comparison_opcodes();  ///< setp, set, selp, slct
std::span<const Opcode> conversion_opcodes();  ///< cvt
std::span<const Opcode> move_opcodes();        ///< mov, cvta, isspacep
std::span<const Opcode> special_opcodes();     ///< rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh
std::span<const Opcode> memory_opcodes();      ///< ld, st, atom, red, prefetch, ldu
std::span<const Opcode> control_opcodes();  ///< bra, brx, ret, exit, bar, fences, trap, nanosleep, setmaxnreg
std::span<const Opcode> warp_opcodes();     ///< shfl, vote, match, redux, activemask, elect
std::span<const Opcode> asynchronous_opcodes();  ///< cp.async, cp.async.bulk, cp.reduce, st.async
std::span<const Opcode> barrier_opcodes();       ///< mbarrier
std::span<const Opcode> matrix_opcodes();        ///< ldmatrix, stmatrix, movmatrix, mma, mma.sp
std::span<const Opcode> warpgroup_opcodes();     ///< wgmma and its fence, commit and wait

std::span<const Opcode> extension_opcodes();  ///< weft.*: rows of the instruction table that no hardware has

/// Makes a kernel ready to run. `addresses` says where the module's global and constant variables are.
/// UserError, with the line, for an instruction that no family knows, a call that cannot be expanded, a
/// missing variable.
Code decode(const ptx::Module& module, const ptx::Function& function,
            const std::map<std::string, std::uint64_t>& addresses);

}  // namespace weft::simulator
