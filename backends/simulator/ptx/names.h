// The names of a module and of the nested scopes of a function.
#pragma once

#include <weft/backends/simulator/ptx/lexer.h>
#include <weft/backends/simulator/ptx/module.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::simulator::ptx {

struct Name {
  enum class Kind : std::uint8_t { reg, registers, variable, function, label, table, prototype };
  Kind kind = Kind::reg;
  std::uint8_t elements = 1;  ///< registers of a vector (`registers`), the first at `index`
  int index = -1;             ///< number of a register, the instruction after a label, a function
  int line = 0;
  int renamed = 0;       ///< not 0: several scopes declare the name, see Names::resolved
  std::size_t step = 1;  ///< bytes of an element of a variable
};

/// A label's name used where the label may still follow: an operand of an instruction, or an entry of a
/// branch table.
struct LabelUse {
  std::string_view name;
  int line = 0;
  bool is_table = false;
  int owner = 0;  ///< instruction or table
  int entry = 0;  ///< operand or target
};

/// Names are looked up from the innermost scope outwards, at a cost that does not grow with their depth. Keys
/// point into the text.
class Names {
 public:
  /// Registers go to `function`, labels into its operands and tables, until end_function().
  void begin_function(Function& function);
  void end_function();
  void enter(int line);
  void leave();

  /// Declares a name in the innermost scope; UserError if it has it already. Gives what was stored, with
  /// `renamed` set if another scope of the function or the module has the name too.
  Name declare(const Token& token, Name name);
  void declare_registers(const Token& token, Type type, int elements);
  /// %r<10>. Its registers come into being when they are used, so a range costs nothing.
  void declare_range(const Token& prefix, Type type, std::uint32_t count);
  /// Null for a name that no scope has.
  const Name* find(const Token& token);
  const Name* find_in_module(std::string_view text) const;
  void use_label(const LabelUse& use) { scopes_.back().uses.push_back(use); }

  /// The name under which the function keeps it: as written, with #2 and so on where scopes share it.
  static std::string resolved(std::string_view text, int renamed);

 private:
  struct Bound {
    Name name;
    std::size_t depth = 0;
  };
  struct Range {
    Type type = Type::none;
    std::uint32_t count = 0;
    std::size_t depth = 0;
    int line = 0;
    std::uint32_t least_single = ~0U;  ///< smallest number that a single register with the prefix has
  };
  struct Scope {
    std::vector<std::string_view> names, ranges;
    std::vector<LabelUse> uses;
    std::size_t deepest_range = 0;  ///< depth of the innermost scope that has ranges, this one or outside it
  };

  std::size_t depth() const { return scopes_.size(); }
  int add_register(std::string_view text, int renamed, Type type);
  Range& range_here(std::string_view prefix);
  void demand_outside_ranges(const Token& token);
  const Name* make_from_range(const Token& token, std::size_t least_depth);
  bool settle(const LabelUse& use);

  std::unordered_map<std::string_view, std::vector<Bound>> bound_;
  std::unordered_map<std::string_view, std::vector<Range>> ranges_;
  std::unordered_map<std::string_view, int> taken_;  ///< names that the function has used, and how often
  std::vector<Scope> scopes_{1};
  Function* function_ = nullptr;
};

}  // namespace weft::simulator::ptx
