#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <memory>
#include <set>
#include <utility>

namespace weft::passes {
namespace {

/// `variable < number` or `number <= variable`.
bool compares_with_number(const Expr& condition, const std::string& variable) {
  const auto* comparison = ir::inequality(condition);
  if (comparison == nullptr) return false;
  const bool less = comparison->op == ir::BinaryOperator::less;
  const Expr& compared = less ? comparison->left : comparison->right;
  const Expr& number = less ? comparison->right : comparison->left;
  const auto* v = compared.as<ir::Variable>();
  return v != nullptr && v->name == variable && ir::integer_value(number) != nullptr;
}

bool chooses(const ir::For& loop) {
  return ir::any<ir::If>(
      loop.body, [&](const ir::If& branch) { return compares_with_number(branch.condition, loop.name); });
}

/// The statement where the variable has the value. Branches that are not taken are not looked at: together
/// they are most of the program.
Stmt with_value(const Stmt& stmt, const ir::Substitution& value) {
  if (!stmt.defined()) return stmt;
  const auto inner = [&](const Stmt& child) { return with_value(child, value); };
  if (const auto* s = stmt.as<ir::If>()) {
    const Expr condition = ir::substitute(s->condition, value);
    if (const std::int64_t* known = ir::integer_value(condition))
      return inner(*known != 0 ? s->then : s->otherwise);
    return ir::if_then(condition, inner(s->then), inner(s->otherwise));
  }
  if (const auto* s = stmt.as<ir::For>()) {
    ir::For loop = *s;
    loop.begin = ir::substitute(s->begin, value);
    loop.extent = ir::substitute(s->extent, value);
    loop.body = inner(s->body);
    return ir::for_loop(std::move(loop));
  }
  if (stmt.as<ir::Sequence>() != nullptr || stmt.as<ir::Allocate>() != nullptr)
    return with_children(stmt, inner);
  return ir::substitute(stmt, value);
}

/// The statement without the arrays in shared memory that it allocates, which are taken out. Those inside a
/// parallel loop stay: every thread has its own.
Stmt without_shared_arrays(const Stmt& stmt, std::vector<ir::BufferRef>& taken) {
  if (!stmt.defined()) return stmt;
  const auto* loop = stmt.as<ir::For>();
  if (loop != nullptr && loop->kind == LoopKind::parallel) return stmt;
  const auto inner = [&](const Stmt& child) { return without_shared_arrays(child, taken); };
  const auto* allocation = stmt.as<ir::Allocate>();
  if (allocation == nullptr || allocation->buffer->scope != ir::Scope::shared)
    return with_children(stmt, inner);
  taken.push_back(allocation->buffer);
  return inner(allocation->body);
}

/// Arrays of parts of a loop, which peel cut, are called alike. Around all of these each has a name of its
/// own.
Stmt with_own_names(Stmt body, std::vector<ir::BufferRef>& shared) {
  std::set<std::string> taken;
  for (ir::BufferRef& buffer : shared) {
    std::string name = buffer->name;
    for (int number = 2; !taken.insert(name).second; ++number)
      name = buffer->name + "." + std::to_string(number);
    if (name == buffer->name) continue;
    auto renamed = std::make_shared<ir::Buffer>(*buffer);
    renamed->name = std::move(name);
    body = ir::replace_buffer(body, std::exchange(buffer, renamed), renamed);
  }
  return body;
}

Stmt written_out(const ir::For& loop, const Stmt& stmt) {
  const auto known = ir::constant_iterations(loop);
  if (loop.kind != LoopKind::unrolled || !known || !chooses(loop)) return stmt;
  // An array in shared memory has one place, however often the iterations are written.
  std::vector<ir::BufferRef> shared;
  Stmt body = without_shared_arrays(loop.body, shared);
  body = with_own_names(std::move(body), shared);
  std::vector<Stmt> iterations;
  for (std::int64_t i = 0; i < known->extent; ++i)
    iterations.push_back(with_value(body, {{loop.name, known->begin + i}}));
  Stmt result = ir::block(std::move(iterations));
  for (const ir::BufferRef& buffer : shared) result = ir::allocate(buffer, result);
  return result;
}

}  // namespace

ir::Program write_out_choices(ir::Program program) {
  program.body = ir::rewrite<ir::For>(program.body, written_out);
  return program;
}

}  // namespace weft::passes
