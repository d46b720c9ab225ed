#include <fmt/format.h>
#include <weft/backends/simulator/ptx/body.h>
#include <weft/backends/simulator/ptx/constants.h>
#include <weft/backends/simulator/ptx/declarations.h>
#include <weft/backends/simulator/ptx/functions.h>

#include <limits>

namespace weft::simulator::ptx {
namespace {

class FunctionReader {
 public:
  FunctionReader(Lexer& lexer, Names& names, Module& module, bool is_entry)
      : lexer_(lexer), names_(names), module_(module) {
    function_.is_entry = is_entry;
  }

  void whole() {
    while (lexer_.peek().is_dot("attribute") || lexer_.peek().is_dot("noreturn")) limit();
    std::vector<Parameter> results;
    if (!function_.is_entry && lexer_.peek().is("(")) results = parameter_list();
    const Token name = lexer_.expect_word("the name of a function");
    function_.name = name.text;
    function_.line = name.line;
    std::vector<Parameter> parameters;
    if (lexer_.peek().is("(")) parameters = parameter_list();
    while (lexer_.peek().kind == Token::Kind::dot_word) limit();
    function_.is_declared_only = lexer_.peek().is(";");
    if (!function_.is_declared_only && !lexer_.peek().is("{"))
      lexer_.fail("'{' and the body, ';' for a declaration, or a limit such as .maxntid");
    const std::size_t place = declare(name);
    names_.begin_function(function_);
    declare_all(results, function_.results);
    declare_all(parameters, function_.parameters);
    if (function_.is_declared_only)
      lexer_.take();
    else
      read_body(lexer_, names_, function_);
    names_.end_function();
    Function& kept = module_.functions[place];
    if (kept.is_declared_only) kept = std::move(function_);
  }

 private:
  struct Parameter {
    Token token;
    Variable variable;
    int elements = 1;
  };

  std::vector<Parameter> parameter_list() {
    std::vector<Parameter> list;
    lexer_.take();
    if (lexer_.accept(")")) return list;
    do {
      const Token space = lexer_.take();
      const bool is_register = space.is_dot("reg") && !function_.is_entry;
      if (!is_register && !space.is_dot("param"))
        fail_at(space, function_.is_entry ? "a .param" : "a .param or .reg");
      const Declarator declarator = read_declarator(lexer_, is_register ? Space::reg : Space::parameter);
      Parameter made;
      made.variable = read_variable(lexer_, declarator, names_, false, made.token);
      made.elements = declarator.elements;
      list.push_back(std::move(made));
    } while (lexer_.accept(","));
    lexer_.expect(")", "',' and another parameter, or ')'");
    return list;
  }

  void declare_all(const std::vector<Parameter>& list, std::vector<Variable>& to) {
    for (const Parameter& parameter : list) {
      to.push_back(parameter.variable);
      if (parameter.token.text == "_") continue;
      if (parameter.variable.space == Space::reg) {
        names_.declare_registers(parameter.token, parameter.variable.type, parameter.elements);
        continue;
      }
      const Name name{
          .kind = Name::Kind::variable,
          .step = size_of(parameter.variable.type) * static_cast<std::size_t>(parameter.elements)};
      to.back().name = Names::resolved(parameter.token.text, names_.declare(parameter.token, name).renamed);
    }
  }

  /// The function's place in the module; a new one unless it was declared before.
  std::size_t declare(const Token& token) {
    if (const Name* const known = names_.find_in_module(token.text);
        known != nullptr && known->kind == Name::Kind::function) {
      const auto place = static_cast<std::size_t>(known->index);
      const Function& earlier = module_.functions[place];
      if (!earlier.is_declared_only && !function_.is_declared_only)
        fail_at(token.line, fmt::format("{}, which line {} defines already", token.shown(), earlier.line),
                "one definition of every function");
      if (earlier.is_entry != function_.is_entry)
        fail_at(token.line, fmt::format("{}, which line {} declares otherwise", token.shown(), earlier.line),
                ".entry or .func in all declarations of a function");
      return place;
    }
    names_.declare(token,
                   {.kind = Name::Kind::function, .index = static_cast<int>(module_.functions.size())});
    Function declared;
    declared.name = token.text;
    declared.is_declared_only = true;
    declared.is_entry = function_.is_entry;
    declared.line = token.line;
    module_.functions.push_back(std::move(declared));
    return module_.functions.size() - 1;
  }

  int number() {
    return static_cast<int>(read_bounded(lexer_, 0, largest_int, "an integer from 0 to 2147483647"));
  }

  std::array<int, 3> extents() {
    std::array<int, 3> made{number(), 1, 1};
    for (std::size_t i = 1; i < made.size() && lexer_.accept(","); ++i) made[i] = number();
    return made;
  }

  void limit() {
    const Token token = lexer_.take();
    if (token.text == "maxntid") {
      function_.max_threads = extents();
    } else if (token.text == "reqntid") {
      function_.required_threads = extents();
    } else if (token.text == "reqnctapercluster") {
      function_.required_cluster = extents();
    } else if (token.text == "minnctapersm") {
      function_.min_blocks = number();
    } else if (token.text == "maxnreg") {
      function_.max_registers = number();
    } else if (lists("maxnctapersm maxclusterrank abi_preserve abi_preserve_control", token.text)) {
      number();
    } else if (token.text == "pragma") {
      read_pragma(lexer_);
    } else if (token.text == "attribute") {
      skip_parentheses(lexer_);
    } else if (!lists("noreturn explicitcluster blocksareclusters", token.text)) {
      fail_at(token,
              ".maxntid .reqntid .minnctapersm .maxnreg .maxnctapersm .reqnctapercluster .explicitcluster "
              ".maxclusterrank .blocksareclusters .noreturn .abi_preserve .pragma .attribute, ';' or '{'");
    }
  }

  Lexer& lexer_;
  Names& names_;
  Module& module_;
  Function function_;
};

}  // namespace

void read_function(Lexer& lexer, Names& names, Module& module, bool is_entry) {
  FunctionReader(lexer, names, module, is_entry).whole();
}

}  // namespace weft::simulator::ptx
