#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/thread_nests.h>

#include <algorithm>
#include <map>
#include <set>

namespace weft::steps {
namespace {

using ir::LoopKind;
using ir::Stmt;

/// For each loop of an axis the ways it is nested with others of it: those around it, then those inside.
using Nests = std::map<std::string, std::set<std::vector<std::string>>>;

void collect_nests(const Stmt& stmt, LoopKind axis, std::vector<std::string>& around, Nests& nests) {
  if (!stmt.defined()) return;
  const auto inside = [&](const Stmt& child) { collect_nests(child, axis, around, nests); };
  if (const auto* s = stmt.as<ir::For>()) {
    if (s->kind != axis) return inside(s->body);
    // Those inside decide how many warps, lanes or threads an iteration gets.
    std::vector<std::string> nest = around;
    nest.emplace_back("/");
    ir::visit(s->body, [&](const Stmt& child) {
      const auto* loop = child.as<ir::For>();
      if (loop != nullptr && loop->kind == axis &&
          std::find(nest.begin(), nest.end(), loop->name) == nest.end())
        nest.push_back(loop->name);
    });
    nests[s->name].insert(nest);
    around.push_back(s->name);
    inside(s->body);
    around.pop_back();
  } else if (const auto* block = stmt.as<ir::Block>()) {
    for (const Stmt& child : block->statements) inside(child);
  } else if (const auto* condition = stmt.as<ir::If>()) {
    inside(condition->then);
    inside(condition->otherwise);
  } else if (const auto* allocation = stmt.as<ir::Allocate>()) {
    inside(allocation->body);
  } else if (const auto* let = stmt.as<ir::Let>()) {
    inside(let->body);
  }
}

}  // namespace

std::optional<Reason> require_same_threads(const ir::Program& program, LoopKind axis, int number) {
  std::vector<std::string> around;
  Nests nests;
  if (!ir::is_block(axis)) collect_nests(program.body, axis, around, nests);
  for (const auto& [name, places] : nests) {
    if (places.size() == 1) continue;
    return Reason{number,
                  fmt::format("{} would be nested with other {} loops in one place than in another", name,
                              ir::name_of(axis)),
                  fmt::format("{} loops that are nested alike wherever they stand", ir::name_of(axis)), name};
  }
  return std::nullopt;
}

}  // namespace weft::steps
