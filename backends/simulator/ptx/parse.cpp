#include <weft/backends/simulator/ptx/body.h>
#include <weft/backends/simulator/ptx/constants.h>
#include <weft/backends/simulator/ptx/declarations.h>
#include <weft/backends/simulator/ptx/functions.h>
#include <weft/backends/simulator/ptx/lexer.h>
#include <weft/backends/simulator/ptx/names.h>
#include <weft/backends/simulator/ptx/parse.h>

namespace weft::simulator::ptx {
namespace {

constexpr std::uint64_t most_files = 65'535;
constexpr std::string_view linkages = "visible extern weak common";
constexpr std::string_view directives =
    ".entry, .func, .global, .const, .shared, .local (after .visible, .extern, .weak or .common), "
    ".address_size, .file, .section, .alias or .pragma";

class ModuleReader {
 public:
  explicit ModuleReader(std::string_view text) : lexer_(text) {}

  Module whole() {
    if (!lexer_.peek().is_dot("version")) lexer_.fail("'.version 8.3': PTX begins with its version");
    lexer_.take();
    version();
    if (!lexer_.peek().is_dot("target")) lexer_.fail("'.target sm_80' after .version");
    lexer_.take();
    target();
    while (lexer_.peek().kind != Token::Kind::end) statement();
    return std::move(module_);
  }

 private:
  void version() {
    const Token token = lexer_.take();
    const std::size_t point = token.text.find('.');
    const auto digits = [](std::string_view text, std::size_t most) {
      return !text.empty() && text.size() <= most &&
             text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (token.kind != Token::Kind::number || point == std::string_view::npos ||
        !digits(token.text.substr(0, point), 2) || !digits(token.text.substr(point + 1), 1))
      fail_at(token, "a version: 8.3");
    for (const char c : token.text) {
      if (c != '.') module_.version = module_.version * 10 + (c - '0');
    }
  }

  void target() {
    do {
      const Token token = lexer_.expect_word("a target: sm_80");
      if (token.text.starts_with("sm_")) {
        if (!module_.target.empty()) fail_at(token, "one architecture");
        module_.target = token.text;
      }
    } while (lexer_.accept(","));
    if (module_.target.empty()) lexer_.fail("',' and an architecture: sm_80");
  }

  void statement() {
    if (lexer_.accept(";")) return;
    // Debug information has labels between functions.
    if (lexer_.peek().is_word() && lexer_.peek_second().is(":")) {
      lexer_.take();
      lexer_.take();
      return;
    }
    const Token token = lexer_.peek();
    if (token.kind != Token::Kind::dot_word) lexer_.fail(directives);
    if (lists(linkages, token.text)) {
      linked();
    } else if (!declaration(false)) {
      lexer_.take();
      directive(token);
    }
  }

  void linked() {
    bool is_extern = false;
    while (lexer_.peek().kind == Token::Kind::dot_word && lists(linkages, lexer_.peek().text))
      is_extern = lexer_.take().text == "extern" || is_extern;
    if (!declaration(is_extern)) lexer_.fail(".entry, .func, .global, .const, .shared or .local");
  }

  /// False, and nothing taken, for a word that declares nothing.
  bool declaration(bool is_extern) {
    const Token token = lexer_.peek();
    if (token.is_dot("entry") || token.is_dot("func")) {
      lexer_.take();
      read_function(lexer_, names_, module_, token.text == "entry");
      return true;
    }
    const Space space = token.kind == Token::Kind::dot_word ? parse_space(token.text) : Space::none;
    if (space == Space::none || space == Space::reg || space == Space::parameter) return false;
    lexer_.take();
    variables(space, is_extern);
    return true;
  }

  void variables(Space space, bool is_extern) {
    const Declarator declarator = read_declarator(lexer_, space);
    const bool takes_initial = !is_extern && (space == Space::global || space == Space::constant);
    do {
      Token token;
      Variable variable = read_variable(lexer_, declarator, names_, takes_initial, token);
      variable.is_extern = is_extern;
      if (variable.bytes == 0 && !is_extern)
        fail_at(token.line, token.shown() + " without a size", "a bound in the brackets, or initial values");
      keep(token, std::move(variable),
           size_of(declarator.type) * static_cast<std::size_t>(declarator.elements));
    } while (lexer_.accept(","));
    lexer_.expect(";", "'=' and initial values, ',' and another variable, or ';'");
  }

  /// `.extern` and the definition of a variable become one.
  void keep(const Token& token, Variable variable, std::size_t step) {
    const Name* const known = names_.find_in_module(token.text);
    if (known != nullptr && known->kind == Name::Kind::variable) {
      Variable& earlier = module_.variables[known->index];
      if (earlier.space == variable.space && (earlier.is_extern || variable.is_extern)) {
        if (earlier.is_extern) earlier = std::move(variable);
        return;
      }
    }
    const auto index = static_cast<int>(module_.variables.size());
    names_.declare(token, {.kind = Name::Kind::variable, .index = index, .step = step});
    module_.variables.push_back(std::move(variable));
  }

  void directive(const Token& token) {
    if (token.text == "address_size") {
      const Token size = lexer_.take();
      if (size.text != "32" && size.text != "64") fail_at(size, "32 or 64");
      module_.address_bits = size.text == "32" ? 32 : 64;
    } else if (token.text == "file") {
      file();
    } else if (token.text == "section") {
      section();
    } else if (token.text == "alias") {
      alias();
    } else if (token.text == "pragma") {
      read_pragma(lexer_);
    } else if (token.text == "loc") {
      read_place(lexer_);
    } else {
      fail_at(token, directives);
    }
  }

  void file() {
    const Token number = lexer_.take();
    const Constant index = read_literal(number);
    if (index.is_real || index.bits > most_files) fail_at(number, "a file number up to 65535");
    if (lexer_.peek().kind != Token::Kind::string) lexer_.fail("the name of the file in quotes");
    if (module_.files.size() <= index.bits) module_.files.resize(index.bits + 1);
    module_.files[index.bits] = lexer_.take().text;
    // A time and a size may follow.
    while (lexer_.accept(",")) read_literal(lexer_.take());
  }

  void section() {
    const int line = lexer_.peek().line;
    const Token name = lexer_.take();
    if (name.kind != Token::Kind::dot_word && !name.is_word())
      fail_at(line, name.shown(), "a section's name");
    lexer_.expect("{", "'{' and the section");
    for (int depth = 1; depth > 0;) {
      const Token token = lexer_.take();
      if (token.kind == Token::Kind::end) fail_at(line, "a section that never ends", "'}'");
      depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
    }
  }

  void alias() {
    const Token name = lexer_.expect_word("the name of a function that was declared without a body");
    lexer_.expect(",", "',' and the function that the name stands for");
    const Token target = lexer_.expect_word("the name of a function");
    lexer_.expect(";", "';' after .alias");
    const Name* const from = names_.find_in_module(name.text);
    const Name* const to = names_.find_in_module(target.text);
    if (from == nullptr || from->kind != Name::Kind::function || !function(*from).is_declared_only ||
        !function(*from).alias_of.empty())
      fail_at(name, "a function that was declared, without a body");
    if (to == nullptr || to->kind != Name::Kind::function || function(*to).is_declared_only)
      fail_at(target, "a function that was defined before");
    function(*from).alias_of = target.text;
  }

  Function& function(const Name& name) { return module_.functions[name.index]; }

  Lexer lexer_;
  Names names_;
  Module module_;
};

}  // namespace

Module parse(std::string_view text) {
  return ModuleReader(text).whole();
}

}  // namespace weft::simulator::ptx
