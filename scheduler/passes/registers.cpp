// make_registers_private and unroll_register_loops.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <functional>
#include <set>

namespace weft::passes {
namespace {

using ir::Expr;
using ir::Stmt;

std::set<std::string> thread_loops(const Stmt& stmt) {
  std::set<std::string> names;
  ir::visit(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop != nullptr && ir::is_within_block(loop->kind)) names.insert(loop->name);
  });
  return names;
}

bool uses_any(const Expr& expr, const std::set<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return ir::uses(expr, name); });
}

/// Calls `on_access` with the indices of every use of the buffer.
void each_access(const Stmt& stmt, const ir::BufferRef& buffer,
                 const std::function<void(const std::vector<Expr>&)>& on_access) {
  ir::visit(
      stmt,
      [&](const Stmt& s) {
        if (const auto* store = s.as<ir::Store>(); store != nullptr && store->buffer == buffer)
          on_access(store->indices);
        if (const auto* use = s.as<ir::Execute>()) {
          for (const auto* ranges : {&use->results, &use->inputs}) {
            for (const ir::RegisterRange& range : *ranges) {
              if (range.buffer == buffer) on_access(range.indices);
            }
          }
        }
      },
      [&](const Expr& e) {
        if (const auto* load = e.as<ir::Load>(); load != nullptr && load->buffer == buffer)
          on_access(load->indices);
      });
}

/// Which dimensions every access indexes with one and the same thread loop.
std::vector<bool> private_dimensions(const Stmt& body, const ir::BufferRef& buffer,
                                     const std::set<std::string>& threads) {
  std::vector<std::string> variable(buffer->shape.size());
  std::vector<bool> is_private(buffer->shape.size(), true);
  each_access(body, buffer, [&](const std::vector<Expr>& indices) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto* v = indices[i].as<ir::Variable>();
      const bool good =
          v != nullptr && threads.count(v->name) != 0 && (variable[i].empty() || variable[i] == v->name);
      is_private[i] = is_private[i] && good;
      if (v != nullptr) variable[i] = v->name;
    }
  });
  each_access(body, buffer, [&](const std::vector<Expr>& indices) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (is_private[i] || !uses_any(indices[i], threads)) continue;
      throw UserError({fmt::format("a thread would read another thread's register of {}", buffer->name),
                       {},
                       ir::print(indices[i]),
                       "a loop that is bound to the same axis wherever it indexes " + buffer->name});
    }
  });
  return is_private;
}

std::vector<Expr> kept(const std::vector<Expr>& exprs, const std::vector<bool>& dropped) {
  std::vector<Expr> result;
  for (std::size_t i = 0; i < exprs.size(); ++i) {
    if (!dropped[i]) result.push_back(exprs[i]);
  }
  return result;
}

Stmt privatised(const Stmt& stmt, const ir::Allocate& allocation, const std::set<std::string>& threads) {
  const ir::BufferRef& buffer = allocation.buffer;
  const std::vector<bool> dropped = private_dimensions(allocation.body, buffer, threads);
  if (std::ranges::find(dropped, true) == dropped.end()) return stmt;
  const auto narrow = ir::make_buffer(buffer->name, buffer->dtype, buffer->scope, buffer->access,
                                      kept(buffer->shape, dropped), buffer->non_negative);
  ir::Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& e) {
    const auto* load = e.as<ir::Load>();
    return load != nullptr && load->buffer == buffer ? ir::load(narrow, kept(load->indices, dropped)) : e;
  };
  rewriter.on_stmt = [&](const Stmt& s) {
    if (const auto* use = s.as<ir::Execute>()) {
      ir::Execute changed = *use;
      for (auto* ranges : {&changed.results, &changed.inputs}) {
        for (ir::RegisterRange& range : *ranges) {
          if (range.buffer == buffer) range = {narrow, kept(range.indices, dropped), range.count};
        }
      }
      return ir::execute(std::move(changed));
    }
    const auto* store = s.as<ir::Store>();
    if (store == nullptr || store->buffer != buffer) return s;
    return ir::store(narrow, kept(store->indices, dropped), store->value, store->accumulate);
  };
  return ir::allocate(narrow, rewriter(allocation.body));
}

}  // namespace

ir::Program make_registers_private(ir::Program program) {
  const std::set<std::string> threads = thread_loops(program.body);
  ir::Rewriter rewriter;
  rewriter.on_stmt = [&](const Stmt& s) {
    const auto* allocation = s.as<ir::Allocate>();
    if (allocation == nullptr || allocation->buffer->scope != ir::Scope::registers) return s;
    return privatised(s, *allocation, threads);
  };
  program.body = rewriter(program.body);
  return program;
}

ir::Program unroll_register_loops(ir::Program program) {
  std::set<std::string> indexing;
  const auto collect = [&](const ir::BufferRef& buffer, const std::vector<Expr>& indices) {
    if (buffer->scope != ir::Scope::registers) return;
    for (const Expr& index : indices) {
      ir::visit(index, [&](const Expr& e) {
        if (const auto* v = e.as<ir::Variable>()) indexing.insert(v->name);
      });
    }
  };
  ir::visit(
      program.body,
      [&](const Stmt& s) {
        if (const auto* store = s.as<ir::Store>()) collect(store->buffer, store->indices);
        if (const auto* use = s.as<ir::Execute>()) {
          for (const auto* ranges : {&use->results, &use->inputs}) {
            for (const ir::RegisterRange& range : *ranges) collect(range.buffer, range.indices);
          }
        }
      },
      [&](const Expr& e) {
        if (const auto* load = e.as<ir::Load>()) collect(load->buffer, load->indices);
      });
  ir::Rewriter rewriter;
  rewriter.on_stmt = [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || loop->kind != ir::LoopKind::serial || indexing.count(loop->name) == 0) return s;
    if (ir::integer_value(loop->extent) == nullptr) return s;
    ir::For unrolled = *loop;
    unrolled.kind = ir::LoopKind::unrolled;
    return ir::for_loop(std::move(unrolled));
  };
  program.body = rewriter(program.body);
  return program;
}

}  // namespace weft::passes
