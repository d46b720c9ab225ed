#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>

namespace weft::ir {
namespace {

/// Index [variable, rest…] in place of [rest…] wherever the buffer is used.
Stmt add_dimension(const Stmt& stmt, const BufferRef& from, const BufferRef& to, const Expr& index) {
  const auto extended = [&](const std::vector<Expr>& indices) {
    std::vector<Expr> result{index};
    result.insert(result.end(), indices.begin(), indices.end());
    return result;
  };
  Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& expr) {
    const auto* e = expr.as<Load>();
    return e != nullptr && e->buffer == from ? load(to, extended(e->indices)) : expr;
  };
  rewriter.on_stmt = [&](const Stmt& child) {
    const auto* s = child.as<Store>();
    if (s == nullptr || s->buffer != from) return child;
    return store(to, extended(s->indices), s->value, s->accumulate);
  };
  return rewriter(stmt);
}

/// The loop and its conditions around every statement that uses its variable.
Stmt distribute(const For& loop, const std::vector<Expr>& conditions, const Stmt& stmt) {
  if (const auto* s = stmt.as<Block>()) {
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
  if (!uses(stmt, loop.name)) return stmt;
  For copy = loop;
  copy.body = stmt;
  // The outermost first: what an inner one reads may exist only where the outer ones hold.
  for (auto condition = conditions.rbegin(); condition != conditions.rend(); ++condition)
    copy.body = if_then(*condition, copy.body);
  return for_loop(std::move(copy));
}

}  // namespace

std::vector<std::string> loop_names(const Stmt& stmt) {
  std::vector<std::string> names;
  visit(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    if (loop != nullptr && std::find(names.begin(), names.end(), loop->name) == names.end())
      names.push_back(loop->name);
  });
  return names;
}

std::vector<const For*> find_loops(const Stmt& stmt, const std::string& name) {
  std::vector<const For*> found;
  visit(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    if (loop != nullptr && loop->name == name) found.push_back(loop);
  });
  return found;
}

const For* find_loop(const Stmt& stmt, const std::string& name) {
  const auto found = find_loops(stmt, name);
  return found.empty() ? nullptr : found.front();
}

InnerLoops inner_loops(const Stmt& stmt) {
  InnerLoops loops;
  visit(stmt, [&](const Stmt& s) {
    if (const auto* loop = s.as<For>()) loops.emplace(loop->name, *loop);
  });
  return loops;
}

bool stands_inside(const Stmt& stmt, const std::string& inner, const std::string& outer) {
  const auto around = find_loops(stmt, outer);
  return std::any_of(around.begin(), around.end(),
                     [&](const For* loop) { return find_loop(loop->body, inner) != nullptr; });
}

Stmt change_loops(const Stmt& stmt, const std::string& name, const std::function<Stmt(const For&)>& change) {
  Rewriter rewriter;
  rewriter.on_stmt = [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    return loop != nullptr && loop->name == name ? change(*loop) : s;
  };
  return rewriter(stmt);
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
    for (auto condition = inside[i].rbegin(); condition != inside[i].rend(); ++condition) {
      body = if_then(*condition, body);
    }
    if (i == 0) break;
    For loop = chain.loops[i - 1];
    loop.body = body;
    body = for_loop(std::move(loop));
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
  bool found = false;
  visit(stmt, [&](const Stmt& s) { found = found || s.as<Copy>() != nullptr; });
  return found;
}

bool reads_memory(const Expr& expr) {
  bool found = false;
  visit(expr, [&](const Expr& e) { found = found || e.as<Load>() != nullptr; });
  return found;
}

}  // namespace weft::ir
