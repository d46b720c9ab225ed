#include <fmt/format.h>
#include <weft/backends/simulator/ptx/constants.h>
#include <weft/backends/simulator/ptx/declarations.h>
#include <weft/backends/simulator/ptx/initial.h>

namespace weft::simulator::ptx {
namespace {

constexpr std::uint64_t most_registers = 4'000'000;  // registers of one range; the ISA has no bound
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 48U;
constexpr std::size_t most_bounds = 16;
constexpr std::string_view types = "a type: .pred, .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16 to .f64";

bool is_opaque_type(std::string_view word) {
  return word == "texref" || word == "surfref" || word == "samplerref";
}

std::size_t read_alignment(Lexer& lexer) {
  const Token token = lexer.peek();
  const std::int64_t value = read_bounded(lexer, 1, 1 << 20, "an alignment: a power of two up to 1048576");
  if ((value & (value - 1)) != 0) fail_at(token, "an alignment: a power of two");
  return static_cast<std::size_t>(value);
}

/// .ptr .global .align 8: what a pointer parameter points to. Nothing here needs it.
void skip_pointer(Lexer& lexer) {
  while (true) {
    const Token& token = lexer.peek();
    if (token.is_dot("align")) {
      lexer.take();
      read_alignment(lexer);
    } else if (token.is_dot("const") || token.is_dot("global") || token.is_dot("local") ||
               token.is_dot("shared")) {
      lexer.take();
    } else {
      return;
    }
  }
}

std::vector<std::uint64_t> read_bounds(Lexer& lexer) {
  std::vector<std::uint64_t> bounds;
  while (lexer.peek().is("[")) {
    lexer.take();
    if (bounds.size() == most_bounds) lexer.fail(fmt::format("at most {} bounds", most_bounds));
    if (lexer.peek().is("]")) {
      if (!bounds.empty()) lexer.fail("a bound: only the first may be left open");
      bounds.push_back(0);
    } else {
      bounds.push_back(static_cast<std::uint64_t>(
          read_bounded(lexer, 1, static_cast<std::int64_t>(most_bytes), "an array bound from 1 to 2^48")));
    }
    lexer.expect("]", "']' after an array bound");
  }
  return bounds;
}

std::size_t bytes_of(const std::vector<std::uint64_t>& bounds, std::size_t element, int line) {
  std::uint64_t bytes = element;
  for (const std::uint64_t bound : bounds) {
    if (bound != 0 && bytes > most_bytes / bound)
      fail_at(line, "a variable larger than 2^48 bytes", "a size that a device can have");
    bytes *= bound;
  }
  return bytes;
}

}  // namespace

void skip_parentheses(Lexer& lexer) {
  const int line = lexer.peek().line;
  lexer.expect("(", "'('");
  for (int depth = 1; depth > 0;) {
    const Token token = lexer.take();
    if (token.kind == Token::Kind::end) fail_at(line, "'(' without its ')'", "')'");
    depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
  }
}

Space parse_space(std::string_view word) {
  if (word == "reg") return Space::reg;
  if (word == "param") return Space::parameter;
  if (word == "const") return Space::constant;
  if (word == "global") return Space::global;
  if (word == "shared") return Space::shared;
  return word == "local" ? Space::local : Space::none;
}

Declarator read_declarator(Lexer& lexer, Space space) {
  Declarator made;
  made.space = space;
  while (lexer.peek().kind == Token::Kind::dot_word) {
    const Token token = lexer.take();
    if (token.text == "align") {
      made.alignment = read_alignment(lexer);
    } else if (token.text == "attribute") {
      skip_parentheses(lexer);
    } else if (token.text == "ptr") {
      skip_pointer(lexer);
    } else if (token.text == "v2" || token.text == "v4") {
      made.elements = token.text == "v2" ? 2 : 4;
    } else if (made.type == Type::none && is_opaque_type(token.text)) {
      made.type = Type::b64;
      made.is_opaque = true;
    } else if (const Type type = parse_type(token.text); type != Type::none && made.type == Type::none) {
      made.type = type;
    } else {
      fail_at(token, std::string(types) + "; .align N; .v2 or .v4; .attribute(...); .ptr");
    }
  }
  if (made.type == Type::none) lexer.fail(types);
  return made;
}

Variable read_variable(Lexer& lexer, const Declarator& declarator, const Names& names, bool takes_initial,
                       Token& name) {
  name = lexer.expect_word("the name of a variable");
  Variable made;
  made.name = name.text;
  made.line = name.line;
  made.space = declarator.space;
  made.type = declarator.type;
  if (made.type == Type::pred && made.space != Space::reg)
    fail_at(name.line, "a predicate in memory: " + name.shown(), "predicates in registers only");
  const std::size_t element = size_of(made.type) * static_cast<std::size_t>(declarator.elements);
  made.alignment = declarator.alignment == 0 ? element : declarator.alignment;
  std::vector<std::uint64_t> bounds = read_bounds(lexer);
  bytes_of(bounds, element, name.line);
  if (lexer.peek().is("=")) {
    if (!takes_initial || declarator.is_opaque)
      lexer.fail("';' or ',': only .global and .const variables have initial values");
    lexer.take();
    if (declarator.elements > 1) bounds.push_back(static_cast<std::uint64_t>(declarator.elements));
    read_initial(lexer, names, bounds, made);
    if (declarator.elements > 1) bounds.pop_back();
    made.bytes = bytes_of(bounds, element, name.line);
    // Values that are all zero are what memory holds anyway, but they were given: `initial` stays.
    return made;
  }
  const bool is_open = !bounds.empty() && bounds[0] == 0;
  made.bytes = is_open ? 0 : bytes_of(bounds, element, name.line);
  return made;
}

void read_registers(Lexer& lexer, Names& names) {
  const Declarator declarator = read_declarator(lexer, Space::reg);
  do {
    const Token name = lexer.expect_word("the name of a register");
    if (name.text == "_") fail_at(name.line, "'_'", "the name of a register");
    if (!lexer.accept("<")) {
      names.declare_registers(name, declarator.type, declarator.elements);
      continue;
    }
    // Not an expression: '>' would be taken for a comparison.
    const Token number = lexer.take();
    const Constant count = read_literal(number);
    if (count.is_real || count.bits < 1 || count.bits > most_registers)
      fail_at(number, fmt::format("a number of registers from 1 to {}", most_registers));
    lexer.expect(">", "'>' after the number of registers");
    if (declarator.elements > 1) fail_at(name.line, "a range of vector registers", "a range of scalars");
    names.declare_range(name, declarator.type, static_cast<std::uint32_t>(count.bits));
  } while (lexer.accept(","));
  lexer.expect(";", "',' and another register, or ';'");
}

}  // namespace weft::simulator::ptx
