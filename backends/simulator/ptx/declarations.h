// Variables: of a module, of a function's body, and parameters.
#pragma once

#include <weft/backends/simulator/ptx/lexer.h>
#include <weft/backends/simulator/ptx/module.h>
#include <weft/backends/simulator/ptx/names.h>

namespace weft::simulator::ptx {

/// What stands between a state space and a name: .align 16 .v4 .f32, .ptr .global .align 8, .attribute(...).
struct Declarator {
  Space space = Space::none;
  Type type = Type::none;
  int elements = 1;  ///< 2 with .v2, 4 with .v4
  std::size_t alignment = 0;
  bool is_opaque = false;  ///< .texref and its like: a handle of 8 bytes
};

/// The space that a directive names; none for other words.
Space parse_space(std::string_view word);

/// Reads the declarator after its state space was taken.
Declarator read_declarator(Lexer& lexer, Space space);

/// Reads name, array bounds and, where `takes_initial`, the initial values of one variable. `name` gets the
/// name as it stands in the text; nothing is declared.
Variable read_variable(Lexer& lexer, const Declarator& declarator, const Names& names, bool takes_initial,
                       Token& name);

/// Takes (...) and whatever stands inside.
void skip_parentheses(Lexer& lexer);

/// Reads the registers after ".reg": a type and names, ranges as %r<10>, until the semicolon.
void read_registers(Lexer& lexer, Names& names);

}  // namespace weft::simulator::ptx
