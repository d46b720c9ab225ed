// Integer expressions of the IR as Z3's, for the files of this room that ask it something.
#pragma once

#include <weft/scheduler/ir/node.h>
#include <z3++.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// Integers have no end; conditions that give quotients their meaning are added to the solver.
class Z3Expressions {
 public:
  using OfVariable = std::function<z3::expr(const std::string& name)>;
  using OfLoad = std::function<z3::expr(const ir::Load& load)>;
  using OfCall = std::function<z3::expr(const ir::Call& call)>;
  /// A value that an expression has under a condition.
  struct Case {
    z3::expr condition;
    std::int64_t value;
  };
  /// All values of an expression, one of whose conditions holds; none where they are many or not known.
  using OfCases = std::function<std::vector<Case>(const ir::Expr& expr)>;
  /// InternalError from translation where there is a load or a call and nothing that translates it.
  Z3Expressions(z3::context& context, z3::solver& solver, OfVariable of_variable, OfLoad of_load = {},
                OfCall of_call = {});
  /// From now on products and quotients of what has few values are choices between linear terms, which Z3
  /// decides many times faster.
  void choose_by(OfCases of_cases) { of_cases_ = std::move(of_cases); }

  z3::expr integer(const ir::Expr& expr);
  z3::expr truth(const ir::Expr& expr);
  z3::expr number(std::int64_t value) { return context_.int_val(value); }

 private:
  z3::expr translate(const ir::Expr& expr);
  z3::expr translate(const ir::Binary& e);
  std::optional<z3::expr> by_cases(const ir::Binary& e);
  std::pair<z3::expr, z3::expr> quotient(const z3::expr& a, const z3::expr& b);

  z3::context& context_;
  z3::solver& solver_;
  OfVariable of_variable_;
  OfLoad of_load_;
  OfCall of_call_;
  OfCases of_cases_;
  int quotients_ = 0;
};

}  // namespace weft
