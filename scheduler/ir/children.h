// What a node is made of: one line for each kind, from which all walks over trees follow.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft::ir {

/// The members that are expressions, statements or buffers, or lists of them, in the order in which they are
/// met. A buffer that is declared is no child. A kind without a line here does not compile.
template <class Kind>
inline constexpr int children = 0;
template <>
inline constexpr std::tuple<> children<Constant>{};
template <>
inline constexpr std::tuple<> children<Variable>{};
template <>
inline constexpr std::tuple children<Load>{&Load::buffer, &Load::indices};
template <>
inline constexpr std::tuple children<Unary>{&Unary::operand};
template <>
inline constexpr std::tuple children<Binary>{&Binary::left, &Binary::right};
template <>
inline constexpr std::tuple children<Select>{&Select::condition, &Select::when_true, &Select::when_false};
template <>
inline constexpr std::tuple children<Cast>{&Cast::operand};
template <>
inline constexpr std::tuple children<Call>{&Call::arguments};
template <>
inline constexpr std::tuple children<For>{&For::begin, &For::extent, &For::body};
template <>
inline constexpr std::tuple children<Store>{&Store::buffer, &Store::indices, &Store::value};
template <>
inline constexpr std::tuple children<Sequence>{&Sequence::statements};
template <>
inline constexpr std::tuple children<If>{&If::condition, &If::then, &If::otherwise};
template <>
inline constexpr std::tuple children<Allocate>{&Allocate::body};
template <>
inline constexpr std::tuple children<Let>{&Let::value, &Let::body};
template <>
inline constexpr std::tuple children<Copy>{&Copy::destination,  &Copy::source,  &Copy::destination_begin,
                                           &Copy::source_begin, &Copy::extents, &Copy::inside};
template <>
inline constexpr std::tuple<> children<CopyGroup>{};
template <>
inline constexpr std::tuple<> children<Barrier>{};
template <>
inline constexpr std::tuple children<TensorOperation>{&TensorOperation::meaning};
template <>
inline constexpr std::tuple children<RegisterRange>{&RegisterRange::buffer, &RegisterRange::indices};
template <>
inline constexpr std::tuple children<Execute>{&Execute::results, &Execute::inputs, &Execute::arguments};
template <>
inline constexpr std::tuple children<SparseProduct>{&SparseProduct::dense, &SparseProduct::of_dense,
                                                    &SparseProduct::sums, &SparseProduct::of_sums};

/// The node that the functions of node.h build of the parts: constants fold, and what is empty goes.
Expr build(ExprNode node);
Stmt build(StmtNode node);

namespace detail {

inline bool is_there(const BufferRef& buffer) {
  return buffer != nullptr;
}
template <class Tree>
bool is_there(const Tree& tree) {
  return tree.defined();
}

inline const Buffer* identity_of(const BufferRef& buffer) {
  return buffer.get();
}
template <class Tree>
const auto* identity_of(const Tree& tree) {
  return tree.identity();
}

template <class Part, class Found>
bool any_part(const Part& part, const Found& found);

template <class Node, class Found>
bool any_member(const Node& node, const Found& found) {
  return std::apply([&](auto... member) { return (any_part(node.*member, found) || ...); }, children<Node>);
}

template <class Part, class Found>
bool any_part(const Part& part, const Found& found) {
  if constexpr (std::is_invocable_v<const Found&, const Part&>) {
    return is_there(part) && found(part);
  } else if constexpr (requires { part.size(); }) {
    for (const auto& item : part) {
      if (any_part(item, found)) return true;
    }
    return false;
  } else if constexpr (std::is_same_v<Part, RegisterRange>) {
    return any_member(part, found);
  } else {
    return false;
  }
}

template <class Node, class Place, class Change>
void change_part(const Node& node, std::optional<Node>& result, const Place& place, const Change& change);

/// `at(node)` is the part of the node, or of the result, whose children are changed.
template <class Node, class At, class Change>
void change_children(const Node& node, std::optional<Node>& result, const At& at, const Change& change) {
  using Kind = std::remove_cvref_t<decltype(at(node))>;
  const auto change_member = [&](auto member) {
    change_part(node, result, [&at, member](auto& n) -> auto& { return at(n).*member; }, change);
  };
  std::apply([&](auto... member) { (change_member(member), ...); }, children<Kind>);
}

template <class Node, class Place, class Change>
void change_part(const Node& node, std::optional<Node>& result, const Place& place, const Change& change) {
  const auto& part = place(node);
  using Part = std::remove_cvref_t<decltype(part)>;
  if constexpr (std::is_invocable_v<const Change&, const Part&>) {
    if (!is_there(part)) return;
    Part now = change(part);
    if (identity_of(now) == identity_of(part)) return;
    if (!result) result = node;
    place(*result) = std::move(now);
  } else if constexpr (requires { part.size(); }) {
    for (std::size_t i = 0; i < part.size(); ++i)
      change_part(node, result, [&place, i](auto& n) -> auto& { return place(n)[i]; }, change);
  } else if constexpr (std::is_same_v<Part, RegisterRange>) {
    change_children(node, result, place, change);
  }
}

}  // namespace detail

/// Whether `found(child)` holds for a child of the node, of those that it takes: a `const Expr&`, a `const
/// Stmt&` or a `const BufferRef&`. The search ends there.
template <class Node, class Found>
bool any_child(const Node& node, const Found& found) {
  if constexpr (requires { node.identity(); }) {
    return std::visit([&](const auto& kind) { return detail::any_member(kind, found); }, node.node().kind());
  } else {
    return detail::any_member(node, found);
  }
}

/// Calls `call` with each child that it takes.
template <class Node, class Call>
void each_child(const Node& node, const Call& call) {
  const auto none = [&](const auto& child)
    requires std::is_invocable_v<const Call&, decltype(child)>
  {
    call(child);
    return false;
  };
  any_child(node, none);
}

/// The expression or statement with `change(child)` in place of each child that `change` takes. Where nothing
/// changes, and of most of a program nothing does, it is returned as it is: a copy takes longer than looking.
template <class Tree, class Change>
Tree with_children(const Tree& tree, const Change& change) {
  if (!tree.defined()) return tree;
  const auto changed = [&](const auto& node) {
    std::optional<std::remove_cvref_t<decltype(node)>> result;
    detail::change_children(node, result, [](auto& n) -> auto& { return n; }, change);
    return result ? build(*std::move(result)) : tree;
  };
  return std::visit(changed, tree.node().kind());
}

/// Whether two nodes of a kind have the same children, as `same(a, b)` says of two.
template <class Node, class Same>
bool have_same_children(const Node& a, const Node& b, const Same& same) {
  return std::apply([&](auto... member) { return (same(a.*member, b.*member) && ...); }, children<Node>);
}

}  // namespace weft::ir
