#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <utility>

namespace weft::ir {

void visit(const Expr& root, const std::function<void(const Expr&)>& on_expr) {
  if (!root.defined()) return;
  on_expr(root);
  each_child(root, [&](const Expr& child) { visit(child, on_expr); });
}

void visit(const Stmt& root, const std::function<void(const Stmt&)>& on_stmt,
           const std::function<void(const Expr&)>& on_expr) {
  if (!root.defined()) return;
  if (on_stmt) on_stmt(root);
  if (on_expr) each_child(root, [&](const Expr& child) { visit(child, on_expr); });
  each_child(root, [&](const Stmt& child) { visit(child, on_stmt, on_expr); });
}

Expr Rewriter::operator()(const Expr& expr) const {
  if (!expr.defined() || !on_expr) return expr;
  const Expr rebuilt = with_children(expr, [this](const Expr& child) { return (*this)(child); });
  // What is of another kind now is a number or a part of what stood here, which was rewritten already: x of
  // (x + 2) - 2 must not become what stands for x once more.
  return rebuilt.node().index() == expr.node().index() ? on_expr(rebuilt) : rebuilt;
}

Stmt Rewriter::operator()(const Stmt& stmt) const {
  bool chosen = false;  // a branch is all that is left of a choice
  const auto statement = [this](const Stmt& child) { return (*this)(child); };
  const auto expression = [&](const Expr& child) {
    Expr changed = (*this)(child);
    chosen = chosen || (stmt.as<If>() != nullptr && integer_value(changed) != nullptr);
    return changed;
  };
  const Stmt rebuilt =
      on_expr ? with_children(stmt, overloaded{expression, statement}) : with_children(stmt, statement);
  if (!on_stmt || !rebuilt.defined()) return rebuilt;
  // What is left of a block with one statement, too, was rewritten already.
  const bool is_part = chosen || rebuilt.node().index() != stmt.node().index();
  return is_part ? rebuilt : on_stmt(rebuilt);
}

namespace {

template <class Tree>
Tree substituted(const Tree& tree, const Substitution& by_name) {
  return rewrite<Variable>(tree, [&](const Variable& variable, const Expr& expr) {
    const auto found = by_name.find(variable.name);
    return found == by_name.end() ? expr : found->second;
  });
}

}  // namespace

Expr substitute(const Expr& expr, const Substitution& by_name) {
  return substituted(expr, by_name);
}
Stmt substitute(const Stmt& stmt, const Substitution& by_name) {
  return substituted(stmt, by_name);
}

void each_access(const Stmt& root,
                 const std::function<void(const BufferRef&, const std::vector<Expr>&)>& on) {
  visit(
      root,
      [&](const Stmt& stmt) {
        if (const auto* store = stmt.as<Store>()) on(store->buffer, store->indices);
        if (const auto* product = stmt.as<SparseProduct>()) {
          on(product->dense, product->of_dense);
          on(product->sums, product->of_sums);
        }
        const auto* execute = stmt.as<Execute>();
        if (execute == nullptr) return;
        for (const auto* ranges : {&execute->results, &execute->inputs}) {
          for (const RegisterRange& range : *ranges) on(range.buffer, range.indices);
        }
      },
      [&](const Expr& expr) {
        if (const auto* load = expr.as<Load>()) on(load->buffer, load->indices);
      });
}

Stmt replace_buffer(const Stmt& stmt, const BufferRef& from, const BufferRef& to) {
  const auto buffer = [&](const BufferRef& used) { return used == from ? to : used; };
  Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& expr) { return with_children(expr, buffer); };
  rewriter.on_stmt = [&](const Stmt& child) { return with_children(child, buffer); };
  return rewriter(stmt);
}

Stmt replace_buffer(const Stmt& stmt, const BufferRef& from, const BufferRef& to,
                    const std::function<std::vector<Expr>(const std::vector<Expr>&)>& moved) {
  const auto replace = [&](auto& node) {
    if (node.buffer != from) return;
    node.indices = moved(node.indices);
    node.buffer = to;
  };
  const auto changed = [&](auto node) {
    replace(node);
    return build(std::move(node));
  };
  Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& expr) {
    const auto* load = expr.as<Load>();
    return load != nullptr && load->buffer == from ? changed(*load) : expr;
  };
  rewriter.on_stmt = [&](const Stmt& child) {
    const auto* store = child.as<Store>();
    if (store != nullptr && store->buffer == from) return changed(*store);
    const auto* product = child.as<SparseProduct>();
    if (product != nullptr && (product->dense == from || product->sums == from)) {
      SparseProduct result = *product;
      const auto replace_in = [&](BufferRef& buffer, std::vector<Expr>& indices) {
        if (buffer != from) return;
        indices = moved(indices);
        buffer = to;
      };
      replace_in(result.dense, result.of_dense);
      replace_in(result.sums, result.of_sums);
      return build(std::move(result));
    }
    const auto* execute = child.as<Execute>();
    if (execute == nullptr) return child;
    Execute result = *execute;
    for (auto* ranges : {&result.results, &result.inputs}) std::ranges::for_each(*ranges, replace);
    return build(std::move(result));
  };
  return rewriter(stmt);
}

bool uses(const Expr& expr, const std::string& variable) {
  if (const auto* e = expr.as<Variable>()) return e->name == variable;
  return expr.defined() && any_child(expr, [&](const Expr& child) { return uses(child, variable); });
}

bool uses(const Stmt& stmt, const std::string& variable) {
  const auto inside = [&](const auto& child) { return uses(child, variable); };
  return stmt.defined() && any_child(stmt, overloaded{[&](const Expr& child) { return inside(child); },
                                                      [&](const Stmt& child) { return inside(child); }});
}

namespace {

template <class Tree>
bool holds(const Tree& tree, const BufferRef& buffer) {
  return any_child(tree, overloaded{[&](const BufferRef& used) { return used == buffer; },
                                    [&](const Expr& child) { return holds(child, buffer); },
                                    [&](const Stmt& child) { return holds(child, buffer); }});
}

}  // namespace

bool uses(const Stmt& stmt, const BufferRef& buffer) {
  return stmt.defined() && holds(stmt, buffer);
}

bool reads(const Expr& expr, const BufferRef& buffer) {
  return any<Load>(expr, [&](const Load& load) { return load.buffer == buffer; });
}
bool reads(const Stmt& stmt, const BufferRef& buffer) {
  return any<Load>(stmt, [&](const Load& load) { return load.buffer == buffer; }) ||
         any<SparseProduct>(stmt, [&](const SparseProduct& product) {
           return product.dense == buffer || product.sums == buffer;
         });
}
bool stores_to(const Stmt& stmt, const BufferRef& buffer) {
  return any<Store>(stmt, [&](const Store& store) { return store.buffer == buffer; }) ||
         any<SparseProduct>(stmt, [&](const SparseProduct& product) { return product.sums == buffer; });
}

namespace {

bool alike(const Constant& a, const Constant& b) {
  // Bits decide, so that -0.0 differs from 0.0.
  return a.dtype == b.dtype && a.integer == b.integer &&
         __builtin_memcmp(&a.real, &b.real, sizeof a.real) == 0;
}
bool alike(const Variable& a, const Variable& b) {
  return a.name == b.name;
}
bool alike(const Unary& a, const Unary& b) {
  return a.op == b.op;
}
bool alike(const Binary& a, const Binary& b) {
  return a.op == b.op;
}
bool alike(const Cast& a, const Cast& b) {
  return a.dtype == b.dtype;
}
bool alike(const Call& a, const Call& b) {
  return a.instruction == b.instruction && a.dtype == b.dtype;
}
bool alike(const Load&, const Load&) {
  return true;
}
bool alike(const Select&, const Select&) {
  return true;
}

}  // namespace

bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [](const Expr& one, const Expr& other) { return same(one, other); });
}

bool contains(const std::vector<Expr>& list, const Expr& expr) {
  return std::ranges::any_of(list, [&](const Expr& each) { return same(each, expr); });
}

bool same(const Expr& a, const Expr& b) {
  if (a.identity() == b.identity()) return true;
  if (!a.defined() || !b.defined() || a.node().index() != b.node().index()) return false;
  const auto same_child = overloaded{[](const BufferRef& x, const BufferRef& y) { return x == y; },
                                     [](const auto& x, const auto& y) { return same(x, y); }};
  return std::visit(
      [&](const auto& x) {
        const auto& y = *b.as<std::remove_cvref_t<decltype(x)>>();
        return alike(x, y) && have_same_children(x, y, same_child);
      },
      a.node().kind());
}

}  // namespace weft::ir
