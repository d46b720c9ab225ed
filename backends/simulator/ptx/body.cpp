#include <weft/backends/simulator/ptx/body.h>
#include <weft/backends/simulator/ptx/constants.h>
#include <weft/backends/simulator/ptx/declarations.h>
#include <weft/backends/simulator/ptx/operands.h>

#include <limits>
#include <utility>

namespace weft::simulator::ptx {
namespace {

constexpr std::string_view statements =
    "an instruction, a label, '{', '}', or one of .reg .param .local .shared .pragma .loc";

class BodyReader {
 public:
  BodyReader(Lexer& lexer, Names& names, Function& function)
      : lexer_(lexer), names_(names), function_(function), operands_(lexer, names, function) {}

  void whole() {
    const int line = lexer_.peek().line;
    lexer_.expect("{", "'{' and the body of the function");
    for (std::vector<int> open{line}; !open.empty();) {
      if (lexer_.peek().is("{")) {
        open.push_back(lexer_.take().line);
        names_.enter(open.back());
      } else if (lexer_.peek().is("}")) {
        lexer_.take();
        open.pop_back();
        if (!open.empty()) names_.leave();
      } else if (lexer_.peek().kind == Token::Kind::end) {
        lexer_.fail("'}' for the '{' of line " + std::to_string(open.back()));
      } else {
        statement();
      }
    }
  }

 private:
  void statement() {
    const Token& token = lexer_.peek();
    if (lexer_.accept(";")) return;
    if (token.kind == Token::Kind::dot_word) {
      directive();
    } else if (token.is_word() && lexer_.peek_second().is(":")) {
      label();
    } else {
      instruction();
    }
  }

  void directive() {
    const Token token = lexer_.take();
    if (token.text == "reg") {
      read_registers(lexer_, names_);
    } else if (token.text == "param" || token.text == "local" || token.text == "shared") {
      variables(parse_space(token.text));
    } else if (token.text == "extern") {
      const Token space = lexer_.take();
      if (!space.is_dot("shared")) fail_at(space, ".shared after .extern in a function");
      variables(Space::shared, true);
    } else if (token.text == "pragma") {
      used_bytes_ = read_pragma(lexer_);
    } else if (token.text == "loc") {
      place_ = read_place(lexer_);
    } else {
      fail_at(token, statements);
    }
  }

  void variables(Space space, bool is_extern = false) {
    const Declarator declarator = read_declarator(lexer_, space);
    do {
      Token token;
      Variable variable = read_variable(lexer_, declarator, names_, false, token);
      const std::size_t step = size_of(variable.type) * static_cast<std::size_t>(declarator.elements);
      const Name name = names_.declare(token, {.kind = Name::Kind::variable, .step = step});
      variable.name = Names::resolved(token.text, name.renamed);
      variable.is_extern = is_extern;
      if (variable.bytes == 0 && !is_extern)
        fail_at(token.line, token.shown() + " without a size", "a bound in the brackets");
      function_.variables.push_back(std::move(variable));
    } while (lexer_.accept(","));
    lexer_.expect(";", "',' and another variable, or ';'");
  }

  void label() {
    const Token token = lexer_.take();
    lexer_.take();
    if (lexer_.peek().is_dot("branchtargets")) {
      branch_table(token, names_.declare(token, {.kind = Name::Kind::table}));
    } else if (lexer_.peek().is_dot("callprototype") || lexer_.peek().is_dot("calltargets")) {
      names_.declare(token, {.kind = Name::Kind::prototype});
      while (!lexer_.peek().is(";") && lexer_.peek().kind != Token::Kind::end) lexer_.take();
      lexer_.expect(";", "';' after a prototype");
    } else {
      names_.declare(token,
                     {.kind = Name::Kind::label, .index = static_cast<int>(function_.instructions.size())});
    }
  }

  void branch_table(const Token& token, const Name& name) {
    lexer_.take();
    const int owner = static_cast<int>(function_.branch_tables.size());
    Function::BranchTable made{Names::resolved(token.text, name.renamed), {}};
    do {
      const Token target = lexer_.expect_word("a label");
      names_.use_label({target.text, target.line, true, owner, static_cast<int>(made.targets.size())});
      made.targets.push_back(-1);
    } while (lexer_.accept(","));
    lexer_.expect(";", "',' and another label, or ';'");
    function_.branch_tables.push_back(std::move(made));
  }

  void instruction() {
    Instruction made;
    made.line = lexer_.peek().line;
    if (lexer_.accept("@")) {
      made.guard_negated = lexer_.accept("!");
      made.guard = operands_.read_guard();
    }
    const Token opcode = lexer_.expect_word(made.guard < 0 ? statements : "an instruction after its guard");
    if (opcode.text[0] == '%' || opcode.text == "_") fail_at(opcode, statements);
    if (made.guard < 0) made.line = opcode.line;
    made.opcode = opcode.text;
    made.used_bytes = std::exchange(used_bytes_, all_bytes);
    while (lexer_.peek().kind == Token::Kind::dot_word) made.modifiers.emplace_back(lexer_.take().text);
    operands_.read(made);
    function_.instructions.push_back(std::move(made));
    function_.places.push_back(place_);
  }

  Lexer& lexer_;
  Names& names_;
  Function& function_;
  OperandReader operands_;
  Place place_;
  std::uint32_t used_bytes_ = all_bytes;  ///< the next instruction uses these
};

}  // namespace

void read_body(Lexer& lexer, Names& names, Function& function) {
  BodyReader(lexer, names, function).whole();
}

Place read_place(Lexer& lexer) {
  const auto number = [&lexer] {
    const Token token = lexer.take();
    const Constant value = read_literal(token);
    if (value.is_real || value.bits > static_cast<std::uint64_t>(largest_int))
      fail_at(token, "file, line and column as integers");
    return static_cast<int>(value.bits);
  };
  Place place;
  place.file = number();
  place.line = number();
  number();
  while (lexer.accept(",")) {
    const Token word = lexer.expect_word("function_name or inlined_at");
    if (word.text == "function_name") {
      lexer.expect_word("the label of the function's name");
      if (lexer.accept("+")) number();
    } else if (word.text == "inlined_at") {
      for (int i = 0; i < 3; ++i) number();
    } else {
      fail_at(word, "function_name or inlined_at");
    }
  }
  return place;
}

std::uint32_t read_pragma(Lexer& lexer) {
  constexpr std::string_view mask = "used_bytes_mask ";
  std::uint32_t used_bytes = all_bytes;
  do {
    if (lexer.peek().kind != Token::Kind::string) lexer.fail("a string after .pragma");
    const Token text = lexer.take();
    if (text.text.starts_with(mask) && text.text.size() > mask.size()) {
      const Token number{Token::Kind::number, text.text.substr(mask.size()), text.line};
      used_bytes = static_cast<std::uint32_t>(read_literal(number).bits);
    }
  } while (lexer.accept(","));
  lexer.expect(";", "';' after .pragma");
  return used_bytes;
}

}  // namespace weft::simulator::ptx
