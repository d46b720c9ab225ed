// Operands and calls: PTX ISA, chapter 6.
#pragma once

#include <weft/backends/simulator/ptx/lexer.h>
#include <weft/backends/simulator/ptx/module.h>
#include <weft/backends/simulator/ptx/names.h>

namespace weft::simulator::ptx {

/// Reads the operands of one instruction of `function`.
class OperandReader {
 public:
  OperandReader(Lexer& lexer, Names& names, const Function& function)
      : lexer_(lexer), names_(names), function_(function) {}

  /// All operands, until the semicolon. A branch's label is noted in `names` as a use by the instruction
  /// that will be the function's next one.
  void read(Instruction& instruction);
  /// A predicate register, of a guard.
  int read_guard();

 private:
  void read_list(Instruction& instruction);
  void read_call(Instruction& instruction);
  Operand operand(bool moves_address);
  Operand simple();
  Operand negated();
  Operand number();
  Operand named(const Token& token);
  Operand known(const Token& token, const Name& name);
  Operand component(const Token& token, const Name& name);
  Operand special(const Token& token);
  Operand symbol(const Token& token, const Name& name);
  Operand element_of(Operand base, const Token& token, bool moves_address);
  Operand list(std::string_view closing, std::string_view accepted);
  Operand braces();
  Operand address();
  Operand tensor(Operand base);
  Operand argument_list();
  Operand callee();
  Operand label();
  Operand table();

  Lexer& lexer_;
  Names& names_;
  const Function& function_;
};

/// Is this the name of a special register, "%tid" or "%laneid"? `dimensions`: does it have .x, .y, .z?
bool is_special_register(std::string_view name, bool& has_dimensions);

}  // namespace weft::simulator::ptx
