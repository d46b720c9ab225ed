#include <fmt/format.h>
#include <weft/backends/simulator/ptx/constants.h>
#include <weft/backends/simulator/ptx/operands.h>

#include <utility>

namespace weft::simulator::ptx {
namespace {

using Kind = Operand::Kind;

constexpr std::string_view operand_forms =
    "an operand: a register, a constant, a name, [address], {a, b}, p|q, !p or _";
constexpr std::string_view after_operand = "',' and another operand, or ';'";

Operand of_kind(Kind kind) {
  Operand made;
  made.kind = kind;
  return made;
}

int component_index(std::string_view word) {
  constexpr std::string_view positions_and_colours = "xyzwrgba";
  const std::size_t found = word.size() == 1 ? positions_and_colours.find(word[0]) : std::string_view::npos;
  return found == std::string_view::npos ? -1 : static_cast<int>(found % 4);
}

bool starts_offset(const Token& token) {
  return token.is("+") || token.is("-");
}

[[noreturn]] void fail_undeclared(const Token& token) {
  const bool is_register = token.text[0] == '%';
  fail_at(
      token.line,
      fmt::format("{} {}, which is not declared", is_register ? "the register" : "the name", token.shown()),
      is_register ? "a register that .reg declares in this block or around it, or a special register"
                  : "a variable, parameter, register or function declared before");
}

}  // namespace

int OperandReader::read_guard() {
  const Token token = lexer_.expect_word("a predicate register after '@'");
  const Name* const name = names_.find(token);
  if (name == nullptr) fail_undeclared(token);
  if (name->kind != Name::Kind::reg || function_.registers[name->index].type != Type::pred)
    fail_at(token.line, token.shown() + " as a guard", "a register of type .pred");
  return name->index;
}

void OperandReader::read(Instruction& instruction) {
  if (instruction.opcode == "call")
    read_call(instruction);
  else
    read_list(instruction);
  lexer_.expect(";", after_operand);
}

void OperandReader::read_list(Instruction& instruction) {
  if (lexer_.peek().is(";")) return;
  const std::string& opcode = instruction.opcode;
  const bool moves_address = opcode == "mov" || opcode == "cvta";
  do {
    if (opcode == "bra") {
      instruction.operands.push_back(label());
    } else if (opcode == "brx" && instruction.operands.size() == 1) {
      instruction.operands.push_back(table());
    } else {
      instruction.operands.push_back(operand(moves_address));
    }
  } while (lexer_.accept(","));
}

Operand OperandReader::label() {
  if (function_.instructions.size() >= 0x7FFF'FFFFU) lexer_.fail("fewer instructions");
  const Token token = lexer_.expect_word("a label");
  names_.use_label({token.text, token.line, false, static_cast<int>(function_.instructions.size()), 0});
  return of_kind(Kind::label);
}

Operand OperandReader::table() {
  const Token token = lexer_.expect_word("the name of a .branchtargets list");
  const Name* const name = names_.find(token);
  if (name == nullptr || name->kind != Name::Kind::table)
    fail_at(token, "the name of a .branchtargets list that stands before");
  Operand made = of_kind(Kind::symbol);
  made.name = Names::resolved(token.text, name->renamed);
  return made;
}

Operand OperandReader::operand(bool moves_address) {
  if (lexer_.peek().is("[")) return address();
  if (lexer_.peek().is("{")) return braces();
  const Token first = lexer_.peek();
  Operand made = simple();
  if (made.kind == Kind::symbol && lexer_.peek().is("["))
    return element_of(std::move(made), first, moves_address);
  if (!lexer_.peek().is("|")) return made;
  if (made.kind != Kind::reg && made.kind != Kind::sink) lexer_.fail(after_operand);
  lexer_.take();
  Operand pair = of_kind(Kind::pair);
  pair.elements.push_back(std::move(made));
  const Token second = lexer_.peek();
  pair.elements.push_back(simple());
  if (pair.elements[1].kind != Kind::reg && pair.elements[1].kind != Kind::sink)
    fail_at(second, "a register or _ after '|'");
  return pair;
}

/// What may stand inside braces too.
Operand OperandReader::simple() {
  const Token& token = lexer_.peek();
  if (token.is("!") ||
      (token.is("-") && lexer_.peek_second().is_word() && lexer_.peek_second().text != "WARP_SZ"))
    return negated();
  if (starts_constant(token)) return number();
  if (!token.is_word()) lexer_.fail(operand_forms);
  return named(lexer_.take());
}

Operand OperandReader::negated() {
  lexer_.take();
  const Token token = lexer_.expect_word("a register");
  Operand made = named(token);
  if (made.kind != Kind::reg) fail_at(token, "a register after '!' or '-'");
  made.negated = true;
  return made;
}

Operand OperandReader::number() {
  const Constant constant = read_constant(lexer_);
  Operand made = of_kind(constant.is_real ? Kind::real : Kind::integer);
  made.bits = constant.bits;
  made.is_single = constant.is_single;
  return made;
}

Operand OperandReader::named(const Token& token) {
  if (token.text == "_") return of_kind(Kind::sink);
  if (const Name* const name = names_.find(token)) return known(token, *name);
  return special(token);
}

Operand OperandReader::known(const Token& token, const Name& name) {
  switch (name.kind) {
    case Name::Kind::reg: {
      if (lexer_.peek().kind == Token::Kind::dot_word)
        lexer_.fail("',' or ';': only vector registers have components, and video instructions are not read");
      Operand made = of_kind(Kind::reg);
      made.index = name.index;
      return made;
    }
    case Name::Kind::registers: return component(token, name);
    case Name::Kind::variable:
    case Name::Kind::function: return symbol(token, name);
    default: fail_at(token.line, token.shown() + ", a label", operand_forms);
  }
}

/// Of a vector register: one component, or all of them as a vector.
Operand OperandReader::component(const Token& token, const Name& name) {
  if (lexer_.peek().kind == Token::Kind::dot_word) {
    const Token word = lexer_.take();
    const int index = component_index(word.text);
    if (index < 0 || index >= name.elements)
      fail_at(word.line, fmt::format("{}.{}", token.text, word.text),
              fmt::format("one of the {} components .x .y .z .w", name.elements));
    Operand made = of_kind(Kind::reg);
    made.index = name.index + index;
    return made;
  }
  Operand all = of_kind(Kind::vector);
  for (int element = 0; element < name.elements; ++element) {
    all.elements.push_back(of_kind(Kind::reg));
    all.elements.back().index = name.index + element;
  }
  return all;
}

Operand OperandReader::special(const Token& token) {
  bool has_dimensions = false;
  if (!is_special_register(token.text, has_dimensions)) fail_undeclared(token);
  Operand made = of_kind(Kind::special);
  made.name = token.text;
  if (lexer_.peek().kind == Token::Kind::dot_word) {
    const Token word = lexer_.take();
    if (!has_dimensions || component_index(word.text) < 0)
      fail_at(word.line, fmt::format("{}.{}", token.text, word.text),
              has_dimensions ? "the component .x, .y or .z" : "',' or ';': this register has no components");
    made.name += fmt::format(".{}", "xyzw"[component_index(word.text)]);
  }
  return made;
}

Operand OperandReader::symbol(const Token& token, const Name& name) {
  Operand made = of_kind(Kind::symbol);
  made.name = Names::resolved(token.text, name.renamed);
  if (starts_offset(lexer_.peek())) made.offset = static_cast<std::int64_t>(read_integer(lexer_));
  return made;
}

/// name[3]: an element of an array. Its address for mov, what lies there for the others.
Operand OperandReader::element_of(Operand base, const Token& token, bool moves_address) {
  const Name* const name = names_.find(token);
  if (name == nullptr || name->kind != Name::Kind::variable) lexer_.fail(after_operand);
  lexer_.take();
  if (lexer_.peek().is_word() && !starts_constant(lexer_.peek()))
    lexer_.fail("a constant index; an address in a register as [register]");
  const std::int64_t index =
      read_bounded(lexer_, -(std::int64_t{1} << 40), std::int64_t{1} << 40, "an index");
  lexer_.expect("]", "']' after the index");
  base.offset += index * static_cast<std::int64_t>(name->step);
  if (moves_address) return base;
  Operand made = of_kind(Kind::address);
  made.offset = std::exchange(base.offset, 0);
  made.elements.push_back(std::move(base));
  return made;
}

/// Operands between a mark that comes next and `closing`; `accepted` says what may stand after one.
Operand OperandReader::list(std::string_view closing, std::string_view accepted) {
  lexer_.take();
  Operand made = of_kind(Kind::vector);
  if (lexer_.accept(closing)) return made;
  do {
    made.elements.push_back(simple());
  } while (lexer_.accept(","));
  lexer_.expect(closing, accepted);
  return made;
}

Operand OperandReader::braces() {
  return list("}", "',' and another element, or '}'");
}

Operand OperandReader::argument_list() {
  return list(")", "',' and another argument, or ')'");
}

Operand OperandReader::address() {
  lexer_.take();
  const Token first = lexer_.peek();
  Operand made = of_kind(Kind::address);
  Operand base = simple();
  if (base.negated || (base.kind != Kind::reg && base.kind != Kind::integer && base.kind != Kind::symbol))
    fail_at(first, "an address: a register, a name or an integer, and an offset");
  made.offset = std::exchange(base.offset, 0);
  if (base.kind == Kind::reg && starts_offset(lexer_.peek()))
    made.offset = static_cast<std::int64_t>(read_integer(lexer_));
  made.elements.push_back(std::move(base));
  if (lexer_.peek().is(",")) return tensor(std::move(made));
  lexer_.expect("]", "'+' and an offset, ',' and coordinates, or ']'");
  return made;
}

/// [map, {c0, c1}]: the coordinates as further elements; another vector after them stays one.
Operand OperandReader::tensor(Operand made) {
  made.kind = Kind::tensor;
  bool has_coordinates = false;
  while (lexer_.accept(",")) {
    if (!lexer_.peek().is("{")) {
      made.elements.push_back(simple());
      continue;
    }
    Operand part = braces();
    if (has_coordinates) {
      made.elements.push_back(std::move(part));
      continue;
    }
    has_coordinates = true;
    for (Operand& coordinate : part.elements) made.elements.push_back(std::move(coordinate));
  }
  lexer_.expect("]", "',' and another part of the address, or ']'");
  return made;
}

void OperandReader::read_call(Instruction& instruction) {
  Operand results = of_kind(Kind::vector), arguments = of_kind(Kind::vector);
  if (lexer_.peek().is("(")) {
    results = argument_list();
    lexer_.expect(",", "',' and the function after the results of a call");
  }
  Operand function = callee();
  bool has_prototype = false;
  if (lexer_.accept(",")) {
    if (lexer_.peek().is("(")) {
      arguments = argument_list();
      has_prototype = lexer_.accept(",");
    } else {
      has_prototype = true;
    }
  }
  for (Operand* const part : {&results, &function, &arguments})
    instruction.operands.push_back(std::move(*part));
  if (!has_prototype) return;
  const Token token = lexer_.expect_word("the name of a .callprototype or .calltargets");
  const Name* const name = names_.find(token);
  if (name == nullptr || (name->kind != Name::Kind::prototype && name->kind != Name::Kind::function))
    fail_at(token, "the name of a .callprototype or .calltargets that stands before");
  Operand prototype = of_kind(Kind::symbol);
  prototype.name = Names::resolved(token.text, name->renamed);
  instruction.operands.push_back(std::move(prototype));
}

Operand OperandReader::callee() {
  const Token token = lexer_.expect_word("the function to call: its name, or a register");
  Operand made = named(token);
  const Name* const name = names_.find(token);
  const bool is_function = name != nullptr && name->kind == Name::Kind::function && made.offset == 0;
  if (made.kind != Kind::reg && !is_function)
    fail_at(token, "a function that was declared before, or a register");
  return made;
}

}  // namespace weft::simulator::ptx
