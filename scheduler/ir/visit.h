// Walking and rewriting trees.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

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

namespace detail {

template <class Kind, class Nodes>
inline constexpr bool is_kind_of = false;
template <class Kind, class... Kinds>
inline constexpr bool is_kind_of<Kind, std::variant<Kinds...>> = (std::is_same_v<Kind, Kinds> || ...);

/// Stmt or Expr, whichever has nodes of the kind.
template <class Kind>
using TreeOf = std::conditional_t<is_kind_of<Kind, StmtNode::variant>, Stmt, Expr>;

}  // namespace detail

/// Calls `on` with every node of one kind below and including `root`, parents first:
///   each<For>(body, [&](const For& loop) { … });
template <class Kind, class Tree, class On>
void each(const Tree& root, const On& on) {
  using Node = detail::TreeOf<Kind>;
  const std::function<void(const Node&)> look = [&](const Node& node) {
    if (const auto* found = node.template as<Kind>()) on(*found);
  };
  if constexpr (std::is_same_v<Tree, Node>)
    visit(root, look);
  else
    visit(root, {}, look);
}

/// Whether there is a node of the kind that is `wanted`.
template <class Kind, class Tree, class Wanted>
bool any(const Tree& root, const Wanted& wanted) {
  bool found = false;
  each<Kind>(root, [&](const Kind& node) { found = found || wanted(node); });
  return found;
}
template <class Kind, class Tree>
bool any(const Tree& root) {
  return any<Kind>(root, [](const Kind&) { return true; });
}

/// The nodes of the kind that are `wanted`, which live as long as the tree.
template <class Kind, class Tree, class Wanted>
std::vector<const Kind*> find_all(const Tree& root, const Wanted& wanted) {
  std::vector<const Kind*> found;
  each<Kind>(root, [&](const Kind& node) {
    if (wanted(node)) found.push_back(&node);
  });
  return found;
}

/// Calls `on` with the buffer and the indices of every element that is loaded or stored, and of every range
/// of registers.
void each_access(const Stmt& root, const std::function<void(const BufferRef&, const std::vector<Expr>&)>& on);

/// Rebuilds a tree, children first. `on_expr` and `on_stmt` get each rebuilt node and return what stands in
/// its place; either may be empty. What its new children simplify to a part of itself is not given again.
/// Subtrees that did not change are shared, not copied.
struct Rewriter {
  std::function<Expr(const Expr&)> on_expr;
  std::function<Stmt(const Stmt&)> on_stmt;

  Expr operator()(const Expr& expr) const;
  Stmt operator()(const Stmt& stmt) const;
};

/// The tree with what `change` returns in place of every node of one kind, children first. It is given the
/// node and, if it takes that, the same node as a tree, to return it as it is.
template <class Kind, class Tree, class Change>
Tree rewrite(const Tree& tree, const Change& change) {
  using Node = detail::TreeOf<Kind>;
  const auto changed = [&](const Node& node) -> Node {
    const auto* found = node.template as<Kind>();
    if (found == nullptr) return node;
    if constexpr (std::is_invocable_v<Change, const Kind&>)
      return change(*found);
    else
      return change(*found, node);
  };
  Rewriter rewriter;
  if constexpr (std::is_same_v<Node, Stmt>)
    rewriter.on_stmt = changed;
  else
    rewriter.on_expr = changed;
  return rewriter(tree);
}

/// Variables by name become the given expressions. Loops and Lets of those names must not be inside.
using Substitution = std::map<std::string, Expr>;
Expr substitute(const Expr& expr, const Substitution& by_name);
Stmt substitute(const Stmt& stmt, const Substitution& by_name);

/// Loads, stores and copies of `from` use `to`, with the same indices.
Stmt replace_buffer(const Stmt& stmt, const BufferRef& from, const BufferRef& to);
/// The elements of `from` that are loaded or stored, and ranges of its registers, are ones of `to`, where
/// `moved` says.
Stmt replace_buffer(const Stmt& stmt, const BufferRef& from, const BufferRef& to,
                    const std::function<std::vector<Expr>(const std::vector<Expr>&)>& moved);

/// True when the variable occurs.
bool uses(const Expr& expr, const std::string& variable);
bool uses(const Stmt& stmt, const std::string& variable);
bool uses(const Stmt& stmt, const BufferRef& buffer);
/// True when the variable of one of the loops occurs, which are given by name too.
template <class Loops>
bool uses_any(const Expr& expr, const Loops& loops) {
  const auto name_of = overloaded{[](const std::string& name) -> const std::string& { return name; },
                                  [](const For& loop) -> const std::string& { return loop.name; },
                                  [](const auto& entry) -> const std::string& { return entry.first; }};
  for (const auto& loop : loops) {
    if (uses(expr, name_of(loop))) return true;
  }
  return false;
}
/// True when an element of the buffer is loaded.
bool reads(const Expr& expr, const BufferRef& buffer);
bool reads(const Stmt& stmt, const BufferRef& buffer);
/// True when an element of the buffer is stored.
bool stores_to(const Stmt& stmt, const BufferRef& buffer);

}  // namespace weft::ir
