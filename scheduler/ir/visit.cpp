#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace weft::ir {
namespace {

template <class Call>
void each_expr_of(const StmtNode& node, const Call& call) {
  const auto all = [&](const std::vector<Expr>& exprs) {
    for (const Expr& expr : exprs) call(expr);
  };
  std::visit(overloaded{
                 [&](const For& s) { call(s.begin), call(s.extent); },
                 [&](const Store& s) { all(s.indices), call(s.value); },
                 [&](const If& s) { call(s.condition); },
                 [&](const Let& s) { call(s.value); },
                 [&](const Copy& s) {
                   all(s.destination_begin), all(s.source_begin), all(s.extents);
                   if (s.inside.defined()) call(s.inside);
                 },
                 [](const CopyGroup&) {},
                 [](const TensorOperation&) {},
                 [&](const Execute& s) {
                   for (const auto* ranges : {&s.results, &s.inputs}) {
                     for (const RegisterRange& range : *ranges) all(range.indices);
                   }
                   all(s.arguments);
                 },
                 [](const Block&) {},
                 [](const Allocate&) {},
                 [](const Barrier&) {},
             },
             node.kind());
}

bool unchanged(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].identity() != b[i].identity()) return false;
  }
  return true;
}

/// What `rewrite` makes of the items, if any differs from what it was: most of a program does not, and a copy
/// takes longer than looking.
template <class Item, class Rewrite>
std::optional<std::vector<Item>> changed(const std::vector<Item>& items, const Rewrite& rewrite) {
  std::optional<std::vector<Item>> result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Item item = rewrite(items[i]);
    if (!result && item.identity() != items[i].identity()) result = items;
    if (result) (*result)[i] = std::move(item);
  }
  return result;
}

}  // namespace

void visit(const Expr& root, const std::function<void(const Expr&)>& on_expr) {
  if (!root.defined()) return;
  on_expr(root);
  std::visit(overloaded{
                 [](const Constant&) {},
                 [](const Variable&) {},
                 [&](const Load& e) {
                   for (const Expr& index : e.indices) visit(index, on_expr);
                 },
                 [&](const Unary& e) { visit(e.operand, on_expr); },
                 [&](const Binary& e) { visit(e.left, on_expr), visit(e.right, on_expr); },
                 [&](const Select& e) {
                   visit(e.condition, on_expr), visit(e.when_true, on_expr), visit(e.when_false, on_expr);
                 },
                 [&](const Cast& e) { visit(e.operand, on_expr); },
                 [&](const Call& e) {
                   for (const Expr& argument : e.arguments) visit(argument, on_expr);
                 },
             },
             root.node().kind());
}

void visit(const Stmt& root, const std::function<void(const Stmt&)>& on_stmt,
           const std::function<void(const Expr&)>& on_expr) {
  if (!root.defined()) return;
  if (on_stmt) on_stmt(root);
  if (on_expr) each_expr_of(root.node(), [&](const Expr& expr) { visit(expr, on_expr); });
  std::visit(overloaded{
                 [&](const For& s) { visit(s.body, on_stmt, on_expr); },
                 [&](const Block& s) {
                   for (const Stmt& child : s.statements) visit(child, on_stmt, on_expr);
                 },
                 [&](const If& s) { visit(s.then, on_stmt, on_expr), visit(s.otherwise, on_stmt, on_expr); },
                 [&](const Allocate& s) { visit(s.body, on_stmt, on_expr); },
                 [&](const Let& s) { visit(s.body, on_stmt, on_expr); },
                 [](const Store&) {},
                 [](const Copy&) {},
                 [](const CopyGroup&) {},
                 [](const Barrier&) {},
                 [&](const TensorOperation& s) { visit(s.meaning, on_stmt, on_expr); },
                 [](const Execute&) {},
             },
             root.node().kind());
}

std::vector<Expr> Rewriter::all(const std::vector<Expr>& exprs) const {
  std::vector<Expr> result;
  result.reserve(exprs.size());
  for (const Expr& expr : exprs) result.push_back((*this)(expr));
  return result;
}

Expr Rewriter::operator()(const Expr& expr) const {
  if (!expr.defined() || !on_expr) return expr;
  if (expr.as<Constant>() != nullptr || expr.as<Variable>() != nullptr) return on_expr(expr);
  const auto rebuilt = [&]() -> Expr {
    return std::visit(overloaded{
                          [&](const Constant&) { return expr; },
                          [&](const Variable&) { return expr; },
                          [&](const Load& e) {
                            auto indices = changed(e.indices, *this);
                            return indices ? load(e.buffer, *std::move(indices)) : expr;
                          },
                          [&](const Unary& e) {
                            Expr operand = (*this)(e.operand);
                            return operand.identity() == e.operand.identity() ? expr : unary(e.op, operand);
                          },
                          [&](const Binary& e) {
                            Expr left = (*this)(e.left);
                            Expr right = (*this)(e.right);
                            const bool kept = left.identity() == e.left.identity() &&
                                              right.identity() == e.right.identity();
                            return kept ? expr : binary(e.op, left, right);
                          },
                          [&](const Select& e) {
                            auto parts = all({e.condition, e.when_true, e.when_false});
                            return unchanged(parts, {e.condition, e.when_true, e.when_false})
                                       ? expr
                                       : select(parts[0], parts[1], parts[2]);
                          },
                          [&](const Cast& e) {
                            Expr operand = (*this)(e.operand);
                            return operand.identity() == e.operand.identity() ? expr : cast(e.dtype, operand);
                          },
                          [&](const Call& e) {
                            auto arguments = changed(e.arguments, *this);
                            return arguments ? call(e.instruction, e.dtype, *std::move(arguments)) : expr;
                          },
                      },
                      expr.node().kind());
  }();
  return on_expr(rebuilt);
}

Stmt Rewriter::operator()(const Stmt& stmt) const {
  if (!stmt.defined()) return stmt;
  const auto rebuilt = std::visit(
      overloaded{
          [&](const For& s) {
            Expr begin = (*this)(s.begin);
            Expr extent = (*this)(s.extent);
            Stmt body = (*this)(s.body);
            const bool kept = begin.identity() == s.begin.identity() &&
                              extent.identity() == s.extent.identity() &&
                              body.identity() == s.body.identity();
            return kept ? stmt : for_loop({s.name, begin, extent, s.kind, s.step, body});
          },
          [&](const Store& s) {
            if (!on_expr) return stmt;
            auto indices = changed(s.indices, *this);
            Expr value = (*this)(s.value);
            const bool kept = !indices && value.identity() == s.value.identity();
            return kept ? stmt : store(s.buffer, indices ? *indices : s.indices, value, s.accumulate);
          },
          [&](const Block& s) {
            auto statements = changed(s.statements, *this);
            return statements ? block(*std::move(statements)) : stmt;
          },
          [&](const If& s) {
            Expr condition = (*this)(s.condition);
            Stmt then = (*this)(s.then);
            Stmt otherwise = (*this)(s.otherwise);
            const bool kept = condition.identity() == s.condition.identity() &&
                              then.identity() == s.then.identity() &&
                              otherwise.identity() == s.otherwise.identity();
            return kept ? stmt : if_then(condition, then, otherwise);
          },
          [&](const Allocate& s) {
            Stmt body = (*this)(s.body);
            return body.identity() == s.body.identity() ? stmt : allocate(s.buffer, body);
          },
          [&](const Let& s) {
            Expr value = (*this)(s.value);
            Stmt body = (*this)(s.body);
            const bool kept = value.identity() == s.value.identity() && body.identity() == s.body.identity();
            return kept ? stmt : let(s.name, value, body);
          },
          [&](const Copy& s) {
            Copy c = s;
            c.destination_begin = all(s.destination_begin);
            c.source_begin = all(s.source_begin);
            c.extents = all(s.extents);
            c.inside = (*this)(s.inside);
            const bool kept = unchanged(c.destination_begin, s.destination_begin) &&
                              unchanged(c.source_begin, s.source_begin) && unchanged(c.extents, s.extents) &&
                              c.inside.identity() == s.inside.identity();
            return kept ? stmt : copy(std::move(c));
          },
          [&](const CopyGroup&) { return stmt; },
          [&](const Barrier&) { return stmt; },
          [&](const TensorOperation& s) {
            Stmt meaning = (*this)(s.meaning);
            return meaning.identity() == s.meaning.identity()
                       ? stmt
                       : tensor_operation({s.instruction, meaning, s.step, s.pending});
          },
          [&](const Execute& s) {
            Execute e = s;
            bool kept = true;
            for (auto* ranges : {&e.results, &e.inputs}) {
              for (RegisterRange& range : *ranges) {
                auto indices = all(range.indices);
                kept = kept && unchanged(indices, range.indices);
                range.indices = std::move(indices);
              }
            }
            e.arguments = all(s.arguments);
            return kept && unchanged(e.arguments, s.arguments) ? stmt : execute(std::move(e));
          },
      },
      stmt.node().kind());
  return on_stmt && rebuilt.defined() ? on_stmt(rebuilt) : rebuilt;
}

namespace {

Rewriter substituting(const Substitution& by_name) {
  Rewriter rewriter;
  rewriter.on_expr = [&by_name](const Expr& expr) {
    const auto* v = expr.as<Variable>();
    if (v == nullptr) return expr;
    const auto found = by_name.find(v->name);
    return found == by_name.end() ? expr : found->second;
  };
  return rewriter;
}

}  // namespace

Expr substitute(const Expr& expr, const Substitution& by_name) {
  return substituting(by_name)(expr);
}
Stmt substitute(const Stmt& stmt, const Substitution& by_name) {
  return substituting(by_name)(stmt);
}

Stmt replace_buffer(const Stmt& stmt, const BufferRef& from, const BufferRef& to) {
  Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& expr) {
    const auto* e = expr.as<Load>();
    return e != nullptr && e->buffer == from ? load(to, e->indices) : expr;
  };
  rewriter.on_stmt = [&](const Stmt& child) {
    if (const auto* s = child.as<Store>(); s != nullptr && s->buffer == from) {
      return store(to, s->indices, s->value, s->accumulate);
    }
    if (const auto* s = child.as<Copy>(); s != nullptr && (s->source == from || s->destination == from)) {
      Copy c = *s;
      if (c.source == from) c.source = to;
      if (c.destination == from) c.destination = to;
      return copy(std::move(c));
    }
    if (const auto* s = child.as<Execute>()) {
      Execute e = *s;
      for (auto* ranges : {&e.results, &e.inputs}) {
        for (RegisterRange& range : *ranges) {
          if (range.buffer == from) range.buffer = to;
        }
      }
      return execute(std::move(e));
    }
    return child;
  };
  return rewriter(stmt);
}

namespace {

/// Whether a variable or a buffer occurs; unlike visit, the search ends where it is found.
class Occurrence {
 public:
  explicit Occurrence(const std::string& variable) : variable_(&variable) {}
  explicit Occurrence(const Buffer* buffer) : buffer_(buffer) {}

  bool in(const Expr& expr) const {
    if (!expr.defined()) return false;
    return std::visit(
        overloaded{
            [](const Constant&) { return false; },
            [&](const Variable& e) { return variable_ != nullptr && e.name == *variable_; },
            [&](const Load& e) { return is_it(e.buffer) || in(e.indices); },
            [&](const Unary& e) { return in(e.operand); },
            [&](const Binary& e) { return in(e.left) || in(e.right); },
            [&](const Select& e) { return in(e.condition) || in(e.when_true) || in(e.when_false); },
            [&](const Cast& e) { return in(e.operand); },
            [&](const Call& e) { return in(e.arguments); },
        },
        expr.node().kind());
  }

  bool in(const Stmt& stmt) const {
    if (!stmt.defined()) return false;
    return std::visit(overloaded{
                          [&](const For& s) { return in(s.begin) || in(s.extent) || in(s.body); },
                          [&](const Store& s) { return is_it(s.buffer) || in(s.indices) || in(s.value); },
                          [&](const Block& s) {
                            return std::any_of(s.statements.begin(), s.statements.end(),
                                               [&](const Stmt& child) { return in(child); });
                          },
                          [&](const If& s) { return in(s.condition) || in(s.then) || in(s.otherwise); },
                          [&](const Allocate& s) { return in(s.body); },
                          [&](const Let& s) { return in(s.value) || in(s.body); },
                          [&](const Copy& s) {
                            return is_it(s.source) || is_it(s.destination) || in(s.destination_begin) ||
                                   in(s.source_begin) || in(s.extents) || in(s.inside);
                          },
                          [](const CopyGroup&) { return false; },
                          [](const Barrier&) { return false; },
                          [&](const TensorOperation& s) { return in(s.meaning); },
                          [&](const Execute& s) {
                            const auto in_range = [&](const RegisterRange& range) {
                              return is_it(range.buffer) || in(range.indices);
                            };
                            return std::any_of(s.results.begin(), s.results.end(), in_range) ||
                                   std::any_of(s.inputs.begin(), s.inputs.end(), in_range) || in(s.arguments);
                          },
                      },
                      stmt.node().kind());
  }

 private:
  bool in(const std::vector<Expr>& exprs) const {
    return std::any_of(exprs.begin(), exprs.end(), [&](const Expr& expr) { return in(expr); });
  }
  bool is_it(const BufferRef& buffer) const { return buffer_ != nullptr && buffer.get() == buffer_; }

  const std::string* variable_ = nullptr;
  const Buffer* buffer_ = nullptr;
};

}  // namespace

bool uses(const Expr& expr, const std::string& variable) {
  return Occurrence(variable).in(expr);
}

bool uses(const Stmt& stmt, const std::string& variable) {
  return Occurrence(variable).in(stmt);
}

bool uses(const Stmt& stmt, const BufferRef& buffer) {
  return Occurrence(buffer.get()).in(stmt);
}

namespace {

bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!ir::same(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

bool same(const Expr& a, const Expr& b) {
  if (a.identity() == b.identity()) return true;
  if (!a.defined() || !b.defined() || a.node().index() != b.node().index()) return false;
  return std::visit(overloaded{
                        [&](const Constant& x) {
                          const auto& y = *b.as<Constant>();
                          // Bits decide, so that -0.0 differs from 0.0.
                          return x.dtype == y.dtype && x.integer == y.integer &&
                                 __builtin_memcmp(&x.real, &y.real, sizeof x.real) == 0;
                        },
                        [&](const Variable& x) { return x.name == b.as<Variable>()->name; },
                        [&](const Load& x) {
                          return x.buffer == b.as<Load>()->buffer && same(x.indices, b.as<Load>()->indices);
                        },
                        [&](const Unary& x) {
                          return x.op == b.as<Unary>()->op && same(x.operand, b.as<Unary>()->operand);
                        },
                        [&](const Binary& x) {
                          const auto& y = *b.as<Binary>();
                          return x.op == y.op && same(x.left, y.left) && same(x.right, y.right);
                        },
                        [&](const Select& x) {
                          const auto& y = *b.as<Select>();
                          return same(x.condition, y.condition) && same(x.when_true, y.when_true) &&
                                 same(x.when_false, y.when_false);
                        },
                        [&](const Cast& x) {
                          return x.dtype == b.as<Cast>()->dtype && same(x.operand, b.as<Cast>()->operand);
                        },
                        [&](const Call& x) {
                          const auto& y = *b.as<Call>();
                          return x.instruction == y.instruction && x.dtype == y.dtype &&
                                 same(x.arguments, y.arguments);
                        },
                    },
                    a.node().kind());
}

}  // namespace weft::ir
