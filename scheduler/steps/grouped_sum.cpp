#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/grouped_sum.h>

namespace weft::steps {

using ir::Stmt;

bool is_group_loop(const std::string& name) {
  const std::size_t at = name.find(group_suffix);
  return at != std::string::npos &&
         (at + group_suffix.size() == name.size() || name[at + group_suffix.size()] == '.');
}

Stmt statement_of(const GroupedSum& sum) {
  ir::For own = sum.group;
  own.body = sum.own;
  ir::For last = sum.group;
  last.body = ir::if_then(ir::variable(last.name) < ir::integer(1), sum.result);
  return ir::allocate(sum.parts, ir::block({ir::for_loop(std::move(own)), ir::for_loop(std::move(last))}));
}

std::optional<GroupedSum> grouped_sum_of(const Stmt& stmt) {
  const auto* allocation = stmt.as<ir::Allocate>();
  if (allocation == nullptr || allocation->buffer->scope != ir::Scope::shared) return std::nullopt;
  const auto* block = allocation->body.as<ir::Block>();
  if (block == nullptr || block->statements.size() != 2) return std::nullopt;
  const auto* own = block->statements[0].as<ir::For>();
  const auto* last = block->statements[1].as<ir::For>();
  if (own == nullptr || last == nullptr || !is_group_loop(own->name) || own->name != last->name)
    return std::nullopt;
  const auto* first_group = last->body.as<ir::If>();
  if (first_group == nullptr || first_group->otherwise.defined()) return std::nullopt;
  GroupedSum sum{allocation->buffer, *own, own->body, first_group->then};
  sum.group.body = {};
  return sum;
}

bool holds_exchange(const Stmt& stmt) {
  bool found = false;
  ir::visit(stmt, [&](const Stmt& s) {
    const auto* allocation = s.as<ir::Allocate>();
    if (allocation == nullptr || allocation->buffer->scope != ir::Scope::shared) return;
    ir::visit(allocation->body, [&](const Stmt& inside) {
      const auto* store = inside.as<ir::Store>();
      found = found || (store != nullptr && store->buffer == allocation->buffer);
    });
  });
  return found;
}

}  // namespace weft::steps
