#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>

namespace weft::ir {
namespace {

/// Index [variable, rest…] in place of [rest…] wherever the buffer is used.
Stmt add_dimension(const Stmt& stmt, const BufferRef& from, const BufferRef& to, const Expr& index) {
  return replace_buffer(stmt, from, to, [&](const std::vector<Expr>& indices) {
    std::vector<Expr> result{index};
    result.insert(result.end(), indices.begin(), indices.end());
    return result;
  });
}

/// The loop and its conditions around every statement that uses its variable.
Stmt distribute(const For& loop, const std::vector<Expr>& conditions, const Stmt& stmt) {
  if (const auto* s = stmt.as<Sequence>()) {
    std::vector<Stmt> statements;
    for (const Stmt& child : s->statements) statements.push_back(distribute(loop, conditions, child));
    return block(std::move(statements));
  }
  if (const auto* s = stmt.as<Allocate>()) {
    if (s->buffer->scope != Scope::registers)
      return allocate(s->buffer, distribute(loop, conditions, s->body));
    std::vector<Expr> shape{loop.extent};
    shape.insert(shape.end(), s->buffer->shape.begin(), s->buffer->shape.end());
    const auto wider = make_buffer(s->buffer->name, s->buffer->dtype, s->buffer->scope, s->buffer->access,
                                   shape, s->buffer->non_negative);
    const Expr index = variable(loop.name) - loop.begin;
    return allocate(wider, distribute(loop, conditions, add_dimension(s->body, s->buffer, wider, index)));
  }
  return uses(stmt, loop.name) ? for_loop(loop, if_all(conditions, stmt)) : stmt;
}

}  // namespace

std::vector<std::string> loop_names(const Stmt& stmt) {
  std::vector<std::string> names;
  each<For>(stmt, [&](const For& loop) {
    if (std::ranges::find(names, loop.name) == names.end()) names.push_back(loop.name);
  });
  return names;
}

std::vector<const For*> find_loops(const Stmt& stmt, const std::string& name) {
  return find_all<For>(stmt, [&](const For& loop) { return loop.name == name; });
}

const For* find_loop(const Stmt& stmt, const std::string& name) {
  const auto found = find_loops(stmt, name);
  return found.empty() ? nullptr : found.front();
}

LoopRole role_of(const Stmt& stmt, const std::string& name) {
  const For* loop = find_loop(stmt, name);
  return loop == nullptr ? LoopRole::other : loop->role;
}

InnerLoops inner_loops(const Stmt& stmt) {
  InnerLoops loops;
  each<For>(stmt, [&](const For& loop) {
    const auto [place, is_new] = loops.emplace(loop.name, loop);
    For& known = place->second;
    if (is_new || (same(known.begin, loop.begin) && same(known.extent, loop.extent))) return;
    const Expr end = maximum(known.begin + known.extent, loop.begin + loop.extent);
    known.begin = minimum(known.begin, loop.begin);
    known.extent = end - known.begin;
  });
  return loops;
}

bool stands_inside(const Stmt& stmt, const std::string& inner, const std::string& outer) {
  const auto around = find_loops(stmt, outer);
  return std::ranges::any_of(around,
                             [&](const For* loop) { return find_loop(loop->body, inner) != nullptr; });
}

Stmt change_loops(const Stmt& stmt, const std::string& name, const std::function<Stmt(const For&)>& change) {
  return rewrite<For>(
      stmt, [&](const For& loop, const Stmt& same) { return loop.name == name ? change(loop) : same; });
}

std::optional<Iterations> constant_iterations(const For& loop) {
  const std::int64_t* begin = integer_value(loop.begin);
  const std::int64_t* extent = integer_value(loop.extent);
  return begin != nullptr && extent != nullptr ? std::optional(Iterations{*begin, *extent}) : std::nullopt;
}

bool is_constant(const Program& program, const Expr& expr) {
  const auto is_open = [&](const Variable& variable) {
    return std::ranges::find(program.knobs, variable.name, &Knob::name) == program.knobs.end();
  };
  return !any<Load>(expr) && !any<Call>(expr) && !any<Variable>(expr, is_open);
}

std::optional<std::int64_t> product_of(const std::vector<Expr>& extents) {
  std::int64_t product = 1;
  for (const Expr& extent : extents) {
    const std::int64_t* number = integer_value(extent);
    if (number == nullptr) return std::nullopt;
    product *= *number;
  }
  return product;
}

const Load* loaded(const Expr& expr) {
  const auto* cast = expr.as<Cast>();
  return cast == nullptr ? expr.as<Load>() : cast->operand.as<Load>();
}

Chain chain_of(const Stmt& stmt) {
  Chain chain;
  chain.core = stmt;
  while (chain.core.defined()) {
    if (const auto* loop = chain.core.as<For>()) {
      For bare = *loop;
      bare.body = {};
      const Stmt body = loop->body;
      chain.loops.push_back(std::move(bare));
      chain.core = body;
    } else if (const auto* condition = chain.core.as<If>();
               condition != nullptr && !condition->otherwise.defined()) {
      chain.conditions.push_back(condition->condition);
      const Stmt body = condition->then;
      chain.core = body;
    } else {
      break;
    }
  }
  return chain;
}

Stmt rebuild(Chain chain) {
  std::vector<std::vector<Expr>> inside(chain.loops.size() + 1);
  for (const Expr& condition : chain.conditions) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < chain.loops.size(); ++i) {
      if (uses(condition, chain.loops[i].name)) place = i + 1;
    }
    inside[place].push_back(condition);
  }
  Stmt body = chain.core;
  for (std::size_t i = chain.loops.size() + 1; i-- > 0;) {
    body = if_all(inside[i], body);
    if (i > 0) body = for_loop(chain.loops[i - 1], body);
  }
  return body;
}

Chain sink_innermost(Chain chain) {
  const For loop = chain.loops.back();
  chain.loops.pop_back();
  std::vector<Expr> moving;
  std::erase_if(chain.conditions, [&](const Expr& condition) {
    if (!uses(condition, loop.name)) return false;
    moving.push_back(condition);
    return true;
  });
  chain.core = distribute(loop, moving, chain.core);
  return chain;
}

bool holds_copy(const Stmt& stmt) {
  return any<Copy>(stmt);
}

bool reads_memory(const Expr& expr) {
  bool found = false;
  visit(expr, [&](const Expr& e) { found = found || e.as<Load>() != nullptr; });
  return found;
}

}  // namespace weft::ir
