// make_registers_private and unroll_register_loops.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <set>

namespace weft::passes {
namespace {

std::set<std::string> thread_loops(const Stmt& stmt) {
  std::set<std::string> names;
  ir::each<ir::For>(stmt, [&](const ir::For& loop) {
    if (ir::is_within_block(loop.kind)) names.insert(loop.name);
  });
  return names;
}

/// Which dimensions every access indexes with one and the same thread loop.
std::vector<bool> private_dimensions(const Stmt& body, const ir::BufferRef& buffer,
                                     const std::set<std::string>& threads) {
  std::vector<std::string> variable(buffer->shape.size());
  std::vector<bool> is_private(buffer->shape.size(), true);
  ir::each_access(body, [&](const ir::BufferRef& used, const std::vector<Expr>& indices) {
    for (std::size_t i = 0; used == buffer && i < indices.size(); ++i) {
      const auto* v = indices[i].as<ir::Variable>();
      const bool good =
          v != nullptr && threads.count(v->name) != 0 && (variable[i].empty() || variable[i] == v->name);
      is_private[i] = is_private[i] && good;
      if (v != nullptr) variable[i] = v->name;
    }
  });
  ir::each_access(body, [&](const ir::BufferRef& used, const std::vector<Expr>& indices) {
    for (std::size_t i = 0; used == buffer && i < indices.size(); ++i) {
      if (is_private[i] || !ir::uses_any(indices[i], threads)) continue;
      throw UserError(fmt::format("a thread would read another thread's register of {}", buffer->name),
                      ir::print(indices[i]),
                      "a loop that is bound to the same axis wherever it indexes " + buffer->name);
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
  return ir::allocate(
      narrow, ir::replace_buffer(allocation.body, buffer, narrow,
                                 [&](const std::vector<Expr>& indices) { return kept(indices, dropped); }));
}

}  // namespace

ir::Program make_registers_private(ir::Program program) {
  const std::set<std::string> threads = thread_loops(program.body);
  program.body = ir::rewrite<ir::Allocate>(program.body, [&](const ir::Allocate& allocation, const Stmt& s) {
    return allocation.buffer->scope == ir::Scope::registers ? privatised(s, allocation, threads) : s;
  });
  return program;
}

ir::Program unroll_register_loops(ir::Program program) {
  std::set<std::string> indexing;
  ir::each_access(program.body, [&](const ir::BufferRef& buffer, const std::vector<Expr>& indices) {
    if (buffer->scope != ir::Scope::registers) return;
    for (const Expr& index : indices)
      ir::each<ir::Variable>(index, [&](const ir::Variable& v) { indexing.insert(v.name); });
  });
  program.body = ir::rewrite<ir::For>(program.body, [&](const ir::For& loop, const Stmt& s) {
    if (loop.kind != LoopKind::serial || !indexing.contains(loop.name) ||
        ir::integer_value(loop.extent) == nullptr)
      return s;
    ir::For unrolled = loop;
    unrolled.kind = LoopKind::unrolled;
    return ir::for_loop(std::move(unrolled));
  });
  return program;
}

}  // namespace weft::passes
