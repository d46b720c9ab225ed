#include <fmt/format.h>
#include <weft/backends/simulator/ptx/constants.h>
#include <weft/backends/simulator/ptx/module.h>

#include <bit>
#include <charconv>

namespace weft::simulator::ptx {
namespace {

constexpr int deepest = 64;  // parentheses and signs in a constant expression
constexpr std::string_view literals =
    "an integer (12, 0x1F, 017, 0b101, with U if unsigned), a decimal real, 0f and 8 hexadecimal digits or "
    "0d and 16";

Constant integer(std::uint64_t bits, bool is_unsigned) {
  return {bits, is_unsigned, false, false};
}

std::uint64_t digits_to_bits(const Token& token, std::string_view digits, int base) {
  std::uint64_t bits = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, base);
  if (error == std::errc::result_out_of_range) fail_at(token, "an integer of at most 64 bits");
  if (error != std::errc() || stop != digits.data() + digits.size()) fail_at(token, literals);
  return bits;
}

Constant real_literal(const Token& token) {
  double value = 0;
  const std::string_view digits = token.text;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || stop != digits.data() + digits.size()) fail_at(token, literals);
  return {std::bit_cast<std::uint64_t>(value), false, true, false};
}

int precedence(const Token& token) {
  if (token.kind != Token::Kind::punctuation) return 0;
  constexpr std::string_view levels[] = {"||",    "&&",        "|",     "^",   "&",
                                         "== !=", "< > <= >=", "<< >>", "+ -", "* / %"};
  for (int level = 0; level < static_cast<int>(std::size(levels)); ++level)
    if (lists(levels[level], token.text)) return level + 1;
  return 0;
}

std::uint64_t divided(std::uint64_t left, std::uint64_t right, bool is_unsigned, bool wants_rest) {
  if (is_unsigned) return wants_rest ? left % right : left / right;
  // The quotient of the least number and -1 does not fit; hardware and compilers wrap.
  if (right == ~std::uint64_t{0}) return wants_rest ? 0 : 0 - left;
  const auto first = static_cast<std::int64_t>(left), second = static_cast<std::int64_t>(right);
  return static_cast<std::uint64_t>(wants_rest ? first % second : first / second);
}

std::uint64_t shifted(const Constant& left, std::uint64_t by, bool to_left) {
  if (to_left) return by > 63 ? 0 : left.bits << by;
  if (left.is_unsigned) return by > 63 ? 0 : left.bits >> by;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(left.bits) >> std::min<std::uint64_t>(by, 63));
}

Constant compared(const Constant& left, const Constant& right, std::string_view mark) {
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  // Signed order is unsigned order with the sign bits turned.
  const std::uint64_t turn = is_unsigned ? 0 : std::uint64_t{1} << 63U;
  const std::uint64_t first = left.bits ^ turn, second = right.bits ^ turn;
  const bool result = mark == "=="   ? first == second
                      : mark == "!=" ? first != second
                      : mark == "<"  ? first < second
                      : mark == ">"  ? first > second
                      : mark == "<=" ? first <= second
                                     : first >= second;
  return integer(result ? 1 : 0, false);
}

Constant combined(const Constant& left, const Token& mark, const Constant& right) {
  const std::string_view text = mark.text;
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  if (text == "<<" || text == ">>") return integer(shifted(left, right.bits, text == "<<"), left.is_unsigned);
  if (text == "&&") return integer(left.bits != 0 && right.bits != 0 ? 1 : 0, false);
  if (text == "||") return integer(left.bits != 0 || right.bits != 0 ? 1 : 0, false);
  switch (text[0]) {
    case '+': return integer(left.bits + right.bits, is_unsigned);
    case '-': return integer(left.bits - right.bits, is_unsigned);
    case '*': return integer(left.bits * right.bits, is_unsigned);
    case '/':
    case '%':
      if (right.bits == 0) fail_at(mark.line, "a division by zero", "a divisor that is not zero");
      return integer(divided(left.bits, right.bits, is_unsigned, text == "%"), is_unsigned);
    case '|': return integer(left.bits | right.bits, is_unsigned);
    case '&': return integer(left.bits & right.bits, is_unsigned);
    case '^': return integer(left.bits ^ right.bits, is_unsigned);
    default: return compared(left, right, text);
  }
}

class Expression {
 public:
  explicit Expression(Lexer& lexer) : lexer_(lexer) {}

  Constant whole() {
    const Constant condition = operators(1);
    if (!lexer_.peek().is("?")) return condition;
    demand_integer(condition, lexer_.take().line);
    const Constant yes = nested();
    lexer_.expect(":", "':' and the other value of the condition");
    const Constant no = nested();
    return condition.bits != 0 ? yes : no;
  }

 private:
  static void demand_integer(const Constant& value, int line) {
    if (value.is_real) fail_at(line, "a real number in a constant expression", "integers");
  }

  Constant nested() {
    if (++depth_ > deepest)
      fail_at(lexer_.peek().line, fmt::format("a constant expression nested deeper than {}", deepest),
              fmt::format("at most {} levels", deepest));
    const Constant value = whole();
    --depth_;
    return value;
  }

  Constant operators(int least) {
    Constant left = unary();
    while (true) {
      const int level = precedence(lexer_.peek());
      if (level < least || level == 0) return left;
      const Token mark = lexer_.take();
      const Constant right = operators(level + 1);
      demand_integer(left, mark.line);
      demand_integer(right, mark.line);
      left = combined(left, mark, right);
    }
  }

  Constant unary() {
    std::string signs;
    while (lexer_.peek().is("-") || lexer_.peek().is("+") || lexer_.peek().is("~") || lexer_.peek().is("!"))
      signs += lexer_.take().text;
    const int line = lexer_.peek().line;
    Constant value = primary();
    for (auto sign = signs.rbegin(); sign != signs.rend(); ++sign) value = signed_by(*sign, value, line);
    return value;
  }

  static Constant signed_by(char sign, const Constant& value, int line) {
    if (sign == '+') return value;
    if (value.is_real && sign == '-') {
      Constant turned = value;
      turned.bits ^= std::uint64_t{1} << (value.is_single ? 31U : 63U);
      return turned;
    }
    demand_integer(value, line);
    if (sign == '-') return integer(0 - value.bits, value.is_unsigned);
    return sign == '~' ? integer(~value.bits, value.is_unsigned) : integer(value.bits == 0 ? 1 : 0, false);
  }

  Constant primary() {
    if (lexer_.accept("(")) {
      if (lexer_.peek().is_dot("s64") || lexer_.peek().is_dot("u64")) return cast();
      const Constant value = nested();
      lexer_.expect(")", "')'");
      return value;
    }
    if (lexer_.peek().is_word() && lexer_.peek().text == "WARP_SZ") {
      lexer_.take();
      return integer(32, false);
    }
    if (lexer_.peek().kind != Token::Kind::number) lexer_.fail("a constant: " + std::string(literals));
    return read_literal(lexer_.take());
  }

  Constant cast() {
    const Token type = lexer_.take();
    lexer_.expect(")", "')' after the type of a cast");
    if (++depth_ > deepest) fail_at(type.line, "too many casts in a row", "a shorter constant expression");
    Constant value = unary();
    --depth_;
    demand_integer(value, type.line);
    value.is_unsigned = type.text == "u64";
    return value;
  }

  Lexer& lexer_;
  int depth_ = 0;
};

}  // namespace

Constant read_literal(const Token& token) {
  if (token.kind != Token::Kind::number) fail_at(token, literals);
  std::string_view text = token.text;
  const char kind = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  if (kind == 'f' || kind == 'd') {
    if (text.size() != (kind == 'f' ? 10U : 18U)) fail_at(token, literals);
    return {digits_to_bits(token, text.substr(2), 16), false, true, kind == 'f'};
  }
  const bool is_decimal = kind != 'x' && kind != 'b';
  if (is_decimal && text.find_first_of(".eE") != std::string_view::npos) return real_literal(token);
  const bool says_unsigned = text.back() == 'U' || text.back() == 'u';
  if (says_unsigned) text.remove_suffix(1);
  int base = 10;
  if (!is_decimal) {
    base = kind == 'x' ? 16 : 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  const std::uint64_t bits = digits_to_bits(token, text, base);
  return integer(bits, says_unsigned || (bits >> 63U) != 0);
}

Constant read_constant(Lexer& lexer) {
  return Expression(lexer).whole();
}

std::uint64_t read_integer(Lexer& lexer) {
  const Token first = lexer.peek();
  const Constant value = read_constant(lexer);
  if (value.is_real) fail_at(first, "an integer");
  return value.bits;
}

std::int64_t read_bounded(Lexer& lexer, std::int64_t least, std::int64_t most, std::string_view accepted) {
  const Token first = lexer.peek();
  const Constant value = read_constant(lexer);
  const auto bits = static_cast<std::int64_t>(value.bits);
  if (value.is_real || (value.is_unsigned && bits < 0) || bits < least || bits > most)
    fail_at(first, accepted);
  return bits;
}

bool starts_constant(const Token& token) {
  return token.kind == Token::Kind::number || token.is("(") || token.is("-") || token.is("+") ||
         token.is("~") || (token.is_word() && token.text == "WARP_SZ");
}

}  // namespace weft::simulator::ptx
