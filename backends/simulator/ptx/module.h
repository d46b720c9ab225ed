// PTX as it was read: what a module declares and the instructions of its functions, names resolved, nothing
// interpreted. PTX ISA, chapters 4 to 6 and 11.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace weft::simulator::ptx {

/// The fundamental types and the packed and alternate ones. `none`: the text names no type.
enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  e4m3x2,
  e5m2x2,
};

/// Bytes of a value; 0 for none, 1 for pred.
std::size_t size_of(Type type);
/// ".f16x2" without its dot, and back. parse_type gives `none` for a word that is no type.
std::string_view name_of(Type type);
Type parse_type(std::string_view word);

/// Whether a word is in a list with blanks between its words.
bool lists(std::string_view words, std::string_view word);

enum class Space : std::uint8_t { none, reg, parameter, constant, global, shared, local };

struct Register {
  std::string name;  ///< as written: "%f3". Registers of nested scopes are made distinct
  Type type = Type::none;
};

/// A variable in memory: module-level, of a function, or a parameter.
struct Variable {
  std::string name;
  Space space = Space::none;
  Type type = Type::none;     ///< type of an element
  std::size_t alignment = 1;  ///< bytes
  std::size_t bytes = 0;      ///< 0 for `extern .shared name[]`, whose size the launch gives
  bool is_extern = false;
  /// The first bytes; zeros follow. Empty: none given (global and constant memory start as zeros).
  std::vector<std::byte> initial;
  /// Addresses within `initial`, which the machine fills in: the low `bytes` bytes, from `offset` on, of
  /// (address of `symbol` + `addend`) >> `shift`.
  struct Reference {
    std::size_t offset = 0, bytes = 0;
    int shift = 0;  ///< bits
    std::string symbol;
    std::int64_t addend = 0;
    bool is_generic = false;  ///< generic(symbol): in the generic space, not in the symbol's own
  };
  std::vector<Reference> references;
  int line = 0;
};

/// One operand of an instruction.
struct Operand {
  enum class Kind : std::uint8_t {
    reg,      ///< `index` into Function::registers
    integer,  ///< `bits`: two's complement in 64 bits
    real,     ///< `bits`: of an f64; `is_single`: the text gave the bits of an f32 (0fXXXXXXXX), in `bits`
    special,  ///< %tid.x and the like: `name`
    symbol,   ///< a variable's or function's name as a value: `name`, plus `offset`
    address,  ///< [elements[0] + offset]; elements[0] is a reg, an integer or a symbol
    label,    ///< `index` of the instruction that it stands before
    vector,   ///< {elements...}
    tensor,   ///< [elements[0], {elements[1]...}] of the tensor copies; a third part (im2col) follows as a
              ///< vector
    pair,     ///< p|q: elements[0] and elements[1]
    sink,     ///< _
  };
  Kind kind = Kind::sink;
  bool negated = false;  ///< !p, or -x before a register
  bool is_single = false;
  int index = -1;
  std::uint64_t bits = 0;
  std::int64_t offset = 0;
  std::string name;
  std::vector<Operand> elements;
};

/// Of what the text counts and this program keeps as an int.
constexpr std::int64_t largest_int = std::numeric_limits<int>::max();
/// Of Instruction::used_bytes: a load that uses all that it reads.
constexpr std::uint32_t all_bytes = ~std::uint32_t{0};

struct Instruction {
  int line = 0;
  std::string opcode;  ///< "ld", "mma", "wgmma"
  std::vector<std::string>
      modifiers;   ///< what follows it, dots removed: {"global", "nc", "v4", "f32"}, "shared::cta" whole
  int guard = -1;  ///< register of @p, or -1
  bool guard_negated = false;
  std::uint32_t used_bytes = all_bytes;  ///< a bit for each byte that a load reads
  /// A call has always three: a vector of results, the function (a symbol or a reg), a vector of arguments; a
  /// fourth, when given, is a symbol that names the prototype.
  std::vector<Operand> operands;

  bool has(std::string_view modifier) const;
  /// The last modifier that is a type, or the first when there are several (cvt.DEST.SOURCE); none without.
  Type type() const;
  /// The type modifiers, in order.
  std::vector<Type> types() const;
  std::string text() const;  ///< "ld.global.nc.v4.f32", for messages
};

/// Where an instruction came from: .loc of the debug information, for the report.
struct Place {
  int file = -1;  ///< into Module::files
  int line = 0;
};

/// A kernel (.entry) or a function (.func).
struct Function {
  std::string name;
  bool is_entry = false;
  bool is_declared_only = false;
  std::vector<Variable> results;  ///< what a .func returns, in registers and .param space alike
  std::vector<Variable> parameters;
  std::vector<Register> registers;  ///< `results` and `parameters` of register space are here too, by name
  std::vector<Variable> variables;  ///< .shared, .local and .param variables of the body
  std::vector<Instruction> instructions;
  std::vector<Place> places;  ///< one an instruction
  /// `brx.idx` tables: name and the instructions that its labels stand before.
  struct BranchTable {
    std::string name;
    std::vector<int> targets;
  };
  std::vector<BranchTable> branch_tables;
  /// .maxntid / .reqntid, .minnctapersm, .maxnreg, .reqnctapercluster; zeros where not given.
  std::array<int, 3> max_threads{};
  std::array<int, 3> required_threads{};
  std::array<int, 3> required_cluster{};
  int min_blocks = 0;
  int max_registers = 0;
  std::string alias_of;  ///< .alias: the function that this name stands for; Module::find goes there
  int line = 0;
};

struct Module {
  int version = 0;     ///< 83 for .version 8.3
  std::string target;  ///< "sm_90a"
  int address_bits = 64;
  std::vector<std::string> files;  ///< names that .file gives, by number
  std::vector<Variable> variables;
  std::vector<Function> functions;

  /// The function of this name, its definition where there is one; null without.
  const Function* find(std::string_view name) const;
};

}  // namespace weft::simulator::ptx
