// Walking and rewriting trees.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <functional>
#include <map>
#include <string>

namespace weft::ir {

/// Joins lambdas into one visitor of a variant.
template <class... Functions>
struct overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
overloaded(Functions...) -> overloaded<Functions...>;

/// Calls `on_stmt` for every statement below and including `root`, parents first, and `on_expr` for every
/// expression in them. Either may be empty.
void visit(const Stmt& root, const std::function<void(const Stmt&)>& on_stmt,
           const std::function<void(const Expr&)>& on_expr = {});
void visit(const Expr& root, const std::function<void(const Expr&)>& on_expr);

/// Rebuilds a tree, children first. `on_expr` and `on_stmt` get each rebuilt node and return what stands in
/// its place; either may be empty. Subtrees that did not change are shared, not copied.
struct Rewriter {
  std::function<Expr(const Expr&)> on_expr;
  std::function<Stmt(const Stmt&)> on_stmt;

  Expr operator()(const Expr& expr) const;
  Stmt operator()(const Stmt& stmt) const;
};

/// Variables by name become the given expressions. Loops and Lets of those names must not be inside.
using Substitution = std::map<std::string, Expr>;
Expr substitute(const Expr& expr, const Substitution& by_name);
Stmt substitute(const Stmt& stmt, const Substitution& by_name);

/// Loads, stores and copies of `from` use `to`, with the same indices.
Stmt replace_buffer(const Stmt& stmt, const BufferRef& from, const BufferRef& to);

/// True when the variable occurs.
bool uses(const Expr& expr, const std::string& variable);
bool uses(const Stmt& stmt, const std::string& variable);
bool uses(const Stmt& stmt, const BufferRef& buffer);

}  // namespace weft::ir
