#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>

namespace weft::steps {

std::string group_loop(const std::string& sum) {
  return sum + ".group";
}

Stmt statement_of(const GroupedSum& sum) {
  if (sum.arrival.defined())
    return ir::for_loop(sum.group, ir::block({sum.own, ir::if_then(sum.arrival, sum.result)}));
  const Stmt last = ir::if_then(ir::variable(sum.group.name) < 1, sum.result);
  return ir::allocate(sum.parts,
                      ir::block({ir::for_loop(sum.group, sum.own), ir::for_loop(sum.group, last)}));
}

namespace {

std::optional<GroupedSum> sum_between_blocks(const ir::For& group) {
  const auto* block = group.body.as<ir::Sequence>();
  if (group.role != ir::LoopRole::groups || block == nullptr || block->statements.size() != 2)
    return std::nullopt;
  const auto* last = block->statements[1].as<ir::If>();
  if (last == nullptr || !is_last_arrival(last->condition)) return std::nullopt;
  GroupedSum sum{{}, last->condition, group, block->statements[0], last->then};
  sum.group.body = {};
  return sum;
}

}  // namespace

std::optional<GroupedSum> grouped_sum_of(const Stmt& stmt) {
  if (const auto* group = stmt.as<ir::For>()) return sum_between_blocks(*group);
  const auto* allocation = stmt.as<ir::Allocate>();
  if (allocation == nullptr || allocation->buffer->scope != ir::Scope::shared) return std::nullopt;
  const auto* block = allocation->body.as<ir::Sequence>();
  if (block == nullptr || block->statements.size() != 2) return std::nullopt;
  const auto* own = block->statements[0].as<ir::For>();
  const auto* last = block->statements[1].as<ir::For>();
  if (own == nullptr || last == nullptr || own->role != ir::LoopRole::groups || own->name != last->name)
    return std::nullopt;
  const auto* first_group = last->body.as<ir::If>();
  if (first_group == nullptr || first_group->otherwise.defined()) return std::nullopt;
  GroupedSum sum{allocation->buffer, {}, *own, own->body, first_group->then};
  sum.group.body = {};
  return sum;
}

std::string blocks_that_count_again(const Stmt& stmt) {
  std::string found;
  ir::each<ir::For>(stmt, [&](const ir::For& group) {
    if (group.role != ir::LoopRole::groups || !holds_arrival(group.body)) return;
    ir::each<ir::For>(group.body, [&](const ir::For& loop) {
      if (ir::is_block(loop.kind) && !holds_arrival(loop.body)) found = loop.name;
    });
  });
  return found;
}

bool meets_between_blocks(const Stmt& stmt, const std::string& group_loop) {
  return ir::any<ir::For>(
      stmt, [&](const ir::For& loop) { return loop.name == group_loop && holds_arrival(loop.body); });
}

bool holds_exchange(const Stmt& stmt) {
  return holds_arrival(stmt) || ir::any<ir::Allocate>(stmt, [](const ir::Allocate& allocation) {
           return allocation.buffer->scope == ir::Scope::shared &&
                  ir::stores_to(allocation.body, allocation.buffer);
         });
}

}  // namespace weft::steps
