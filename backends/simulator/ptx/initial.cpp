#include <fmt/format.h>
#include <weft/backends/simulator/ptx/constants.h>
#include <weft/backends/simulator/ptx/initial.h>

#include <bit>

namespace weft::simulator::ptx {
namespace {

class InitialReader {
 public:
  InitialReader(Lexer& lexer, const Names& names, std::vector<std::uint64_t>& bounds, Variable& variable)
      : lexer_(lexer), names_(names), bounds_(bounds), variable_(variable), bytes_(size_of(variable.type)) {}

  void whole() {
    if (bounds_.empty()) {
      // A scalar may stand in braces too.
      const bool has_braces = lexer_.accept("{");
      value(0);
      if (has_braces) lexer_.expect("}", "'}': a scalar has one value");
      return;
    }
    if (lexer_.peek().kind == Token::Kind::string) lexer_.fail("values in braces; a string as its bytes");
    std::uint64_t step = 1;
    for (std::size_t i = 1; i < bounds_.size(); ++i) step *= bounds_[i];
    level(0, 0, step);
  }

 private:
  /// One pair of braces: element `first` onwards, `step` elements of the variable an entry.
  void level(std::size_t dimension, std::uint64_t first, std::uint64_t step) {
    lexer_.expect("{", "'{' and the values of an array");
    std::uint64_t count = 0;
    const bool is_open = bounds_[dimension] == 0;
    while (!lexer_.peek().is("}")) {
      if (!is_open && count == bounds_[dimension])
        lexer_.fail(fmt::format("'}}': there are {} values already, as many as the bound", count));
      const std::uint64_t at = first + count * step;
      if (dimension + 1 == bounds_.size())
        value(at);
      else
        level(dimension + 1, at, step / bounds_[dimension + 1]);
      ++count;
      if (!lexer_.accept(",")) break;
    }
    lexer_.expect("}", "',' and another value, or '}'");
    if (is_open) bounds_[dimension] = count;
  }

  void value(std::uint64_t element) {
    const std::size_t offset = element * bytes_;
    const Token& token = lexer_.peek();
    const bool is_mask = token.kind == Token::Kind::number && lexer_.peek_second().is("(");
    if (is_mask) {
      masked(offset);
    } else if (token.is_word() && token.text != "WARP_SZ") {
      reference(offset, bytes_, 0);
    } else {
      number(offset);
    }
  }

  /// 0xFF00(name): one byte of an address.
  void masked(std::size_t offset) {
    const Token token = lexer_.take();
    const std::uint64_t mask = read_literal(token).bits;
    const int shift = mask == 0 ? 0 : std::countr_zero(mask);
    if (shift % 8 != 0 || mask != std::uint64_t{0xFF} << shift || bytes_ != 1)
      fail_at(token.line, token.shown() + " before '('",
              "0xFF, 0xFF00 ... for a byte of an address, in a .b8");
    lexer_.expect("(", "'('");
    reference(offset, 1, shift);
    lexer_.expect(")", "')'");
  }

  void reference(std::size_t offset, std::size_t bytes, int shift) {
    if (shift == 0 && bytes < 4 && bytes_ != 1)
      lexer_.fail("a number: the element is too narrow for an address");
    Variable::Reference made{offset, bytes, shift, {}, 0, false};
    Token name = lexer_.expect_word("a value: a number, or the name of a variable or function");
    if (name.text == "generic" && lexer_.accept("(")) {
      made.is_generic = true;
      name = lexer_.expect_word("the name of a variable or function");
      lexer_.expect(")", "')' after generic(name");
    }
    const Name* const known = names_.find_in_module(name.text);
    if (known == nullptr)
      fail_at(name.line, name.shown() + ", which is not declared", "a variable or function declared before");
    made.symbol = name.text;
    if (lexer_.peek().is("+") || lexer_.peek().is("-"))
      made.addend = static_cast<std::int64_t>(read_integer(lexer_));
    reserve(offset + bytes_);
    variable_.references.push_back(std::move(made));
  }

  void number(std::size_t offset) {
    const Token token = lexer_.peek();
    const Constant constant = read_constant(lexer_);
    const std::uint64_t bits = bits_of(constant, token);
    reserve(offset + bytes_);
    for (std::size_t i = 0; i < bytes_ && i < sizeof bits; ++i)
      variable_.initial[offset + i] = static_cast<std::byte>(bits >> (8 * i));
  }

  std::uint64_t bits_of(const Constant& constant, const Token& token) const {
    const bool wants_real = variable_.type == Type::f32 || variable_.type == Type::f64;
    if (!constant.is_real && !wants_real) return constant.bits;
    // Bits of a real in an untyped element of its size stay as they are.
    if (constant.is_real && constant.is_single && bytes_ == 4) return constant.bits;
    if (constant.is_real && !constant.is_single && bytes_ == 8) return constant.bits;
    if (!wants_real) fail_at(token, "an integer, or the bits of a real of this size");
    const double value = !constant.is_real ? integer_value(constant)
                         : constant.is_single
                             ? std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits))
                             : std::bit_cast<double>(constant.bits);
    return bytes_ == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                       : std::bit_cast<std::uint64_t>(value);
  }

  static double integer_value(const Constant& constant) {
    return constant.is_unsigned ? static_cast<double>(constant.bits)
                                : static_cast<double>(static_cast<std::int64_t>(constant.bits));
  }

  void reserve(std::size_t bytes) {
    ++values_;
    if (bytes > gap_allowed + most_bytes_a_value * values_)
      lexer_.fail("initial values without large gaps between them");
    if (variable_.initial.size() < bytes) variable_.initial.resize(bytes);
  }

  // Rows of a matrix may be left short, but memory stays in proportion to the text.
  static constexpr std::size_t gap_allowed = 4096, most_bytes_a_value = 64;
  std::size_t values_ = 0;
  Lexer& lexer_;
  const Names& names_;
  std::vector<std::uint64_t>& bounds_;
  Variable& variable_;
  std::size_t bytes_;
};

}  // namespace

void read_initial(Lexer& lexer, const Names& names, std::vector<std::uint64_t>& bounds, Variable& variable) {
  InitialReader(lexer, names, bounds, variable).whole();
}

}  // namespace weft::simulator::ptx
