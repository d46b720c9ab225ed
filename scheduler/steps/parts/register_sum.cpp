#include <fmt/format.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/register_sum.h>

#include <algorithm>

namespace weft::steps {
namespace {

bool adds_to(const Stmt& body, const ir::BufferRef& buffer, const std::string& name) {
  const auto adds = [&](const ir::Store& store) { return store.buffer == buffer && store.accumulate; };
  return std::ranges::any_of(find_loops(body, name),
                             [&](const ir::For* loop) { return ir::any<ir::Store>(loop->body, adds); });
}

}  // namespace

std::variant<RegisterSum, Reason> find_register_sum(const Stmt& body, const std::string& loop, int number) {
  const auto refusal = [&](const std::string& found) {
    return Reason{number, found,
                  fmt::format("registers that receive zero, a sum over {}, and then results", loop), loop};
  };
  RegisterSum sum;
  ir::each<ir::Allocate>(body, [&](const ir::Allocate& allocation) {
    const auto* block = allocation.body.as<ir::Sequence>();
    if (allocation.buffer->scope != ir::Scope::registers || block == nullptr ||
        !adds_to(allocation.body, allocation.buffer, loop))
      return;
    sum = {allocation.buffer, {}, {}, {}};
    for (const Stmt& child : block->statements) {
      if (find_loop(child, loop) != nullptr)
        sum.update = child;
      else
        (sum.update.defined() ? sum.last : sum.first).push_back(child);
    }
  });
  if (sum.buffer == nullptr || sum.first.empty() || sum.last.empty())
    return refusal(fmt::format("{} adds to no sum in registers", loop));
  std::optional<Reason> refused;
  for (const Stmt& stmt : sum.first) {
    ir::each<ir::Store>(stmt, [&](const ir::Store& store) {
      const auto* value = store.value.as<ir::Constant>();
      if (store.buffer != sum.buffer || value == nullptr || value->real != 0)
        refused = refusal(fmt::format("{} before the sum", ir::print(ir::build(store))));
    });
  }
  if (refused) return *refused;
  return sum;
}

std::vector<Stmt> each_element(const RegisterSum& sum,
                               const std::function<Stmt(const std::vector<Expr>&)>& make) {
  std::vector<Stmt> statements;
  for (const Stmt& stmt : sum.first)
    statements.push_back(
        ir::rewrite<ir::Store>(stmt, [&](const ir::Store& store) { return make(store.indices); }));
  return statements;
}

}  // namespace weft::steps
