// reorder.
#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/thread_nests.h>
#include <weft/scheduler/steps/reorder.h>

#include <algorithm>
#include <set>

namespace weft::steps {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Names names_of(const ir::Chain& chain) {
  Names names;
  for (const ir::For& loop : chain.loops) names.push_back(loop.name);
  return names;
}

/// The chain's loops with the places of those in `order` filled in that order.
Names merged(const Names& chain, const Names& order) {
  Names wanted;
  for (const std::string& name : order) {
    if (contains(chain, name)) wanted.push_back(name);
  }
  Names result = chain;
  std::size_t next = 0;
  for (std::string& name : result) {
    if (contains(wanted, name)) name = wanted[next++];
  }
  return result;
}

/// The loops of the chain that must move into the core: those that the order puts after a loop of the core.
Names moving_inside(const ir::Chain& chain, const Names& order) {
  const Names outside = names_of(chain);
  Names moving;
  bool inside = false;
  for (const std::string& name : order) {
    if (!contains(outside, name)) {
      inside = inside || find_loop(chain.core, name) != nullptr;
    } else if (inside) {
      moving.push_back(name);
    }
  }
  return moving;
}

/// A statement inside the core that uses the loop and has one of the order's loops inside, but lets no loop
/// past itself: a choice between two branches, or a value with a name. Undefined where there is none.
Stmt obstacle(const Stmt& core, const std::string& loop, const Names& order) {
  if (core.as<ir::Allocate>() != nullptr || core.as<ir::Sequence>() != nullptr) {
    Stmt found;
    any_child(core, [&](const Stmt& child) { return (found = obstacle(child, loop, order)).defined(); });
    return found;
  }
  const Stmt inside = chain_of(core).core;
  if (!inside.defined() || (inside.as<ir::If>() == nullptr && inside.as<ir::Let>() == nullptr)) return {};
  const bool holds =
      std::ranges::any_of(order, [&](const std::string& name) { return find_loop(inside, name) != nullptr; });
  return holds && ir::uses(inside, loop) ? inside : Stmt();
}

std::string written(const Stmt& obstacle) {
  const auto* choice = obstacle.as<ir::If>();
  return choice != nullptr ? fmt::format("the choice whether {}", ir::print(choice->condition))
                           : fmt::format("the value {}", obstacle.as<ir::Let>()->name);
}

class Reorder {
 public:
  Reorder(const ir::Program& program, const Names& order) : program_(program), order_(order) {}

  std::variant<Stmt, Reason> operator()(const Stmt& stmt) {
    const Stmt result = ordered(stmt);
    if (refused_) return *refused_;
    return result;
  }

 private:
  Stmt ordered(const Stmt& stmt) {
    if (refused_) return stmt;
    ir::Chain chain = chain_of(stmt);
    if (chain.loops.empty() && chain.conditions.empty() && chain.core.as<ir::Sequence>() == nullptr &&
        chain.core.as<ir::Allocate>() == nullptr)
      return stmt;
    const Names moving = moving_inside(chain, order_);
    refused_ = check_moving(chain, moving);
    if (refused_) return stmt;
    auto outer = permuted(chain, wanted_order(chain, moving), 3);
    if (auto* refused = std::get_if<Reason>(&outer)) {
      refused_ = *refused;
      return stmt;
    }
    chain = std::get<ir::Chain>(std::move(outer));
    for (std::size_t i = 0; i < moving.size(); ++i) chain = sink_innermost(std::move(chain));
    chain.core = ordered_core(chain.core);
    return rebuild(std::move(chain));
  }

  /// Every statement of the core, past its allocations.
  Stmt ordered_core(const Stmt& core) {
    if (core.as<ir::Allocate>() == nullptr && core.as<ir::Sequence>() == nullptr) return ordered(core);
    return with_children(core, [&](const Stmt& child) { return ordered_core(child); });
  }

  /// Moving loops last, so that they can be sunk one after the other.
  Names wanted_order(const ir::Chain& chain, const Names& moving) const {
    Names result;
    for (const std::string& name : merged(names_of(chain), order_)) {
      if (!contains(moving, name)) result.push_back(name);
    }
    result.insert(result.end(), moving.begin(), moving.end());
    return result;
  }

  std::optional<Reason> check_moving(const ir::Chain& chain, const Names& moving) const {
    for (const ir::For& loop : chain.loops) {
      if (!contains(moving, loop.name)) continue;
      if (!ir::is_constant(program_, loop.extent)) {
        return Reason{
            4,
            fmt::format("{} has {} iterations, each of which needs a register for its sum", loop.name,
                        ir::print(loop.extent)),
            fmt::format("a constant number: split {} first and move {}.inner", loop.name, loop.name),
            loop.name};
      }
      if (holds_copy(chain.core) || holds_exchange(chain.core))
        return Reason{6, fmt::format("{} would move past a copy into shared memory", loop.name),
                      "reorder before stage and split_k", loop.name};
      if (const Stmt found = obstacle(chain.core, loop.name, order_); found.defined())
        return Reason{8, fmt::format("{} would move past {}", loop.name, written(found)),
                      "reorder before the step that wrote it into the program, as bake_values", loop.name};
    }
    return std::nullopt;
  }

  const ir::Program& program_;
  const Names& order_;
  std::optional<Reason> refused_;
};

/// True when the loops called `inner` stand inside a loop called `outer` wherever both stand in one nest.
bool in_order(const Stmt& body, const Names& order) {
  return !ir::any<ir::For>(body, [&](const ir::For& loop) {
    const auto place = std::ranges::find(order, loop.name);
    return place != order.end() && std::any_of(order.begin(), place, [&](const std::string& name) {
             return find_loop(loop.body, name) != nullptr;
           });
  });
}

/// Precondition 9: threads stand around groups that are blocks. All threads of a block come to a group's end
/// together and are counted once; where a CPU runs them one after the other, each would count itself.
std::optional<Reason> require_threads_around_groups(const Stmt& body) {
  std::optional<Reason> refused;
  ir::each<ir::For>(body, [&](const ir::For& group) {
    if (group.role != ir::LoopRole::groups) return;
    ir::each<ir::For>(group.body, [&](const ir::For& loop) {
      if (!ir::is_within_block(loop.kind) || !holds_arrival(loop.body)) return;
      refused = Reason{9,
                       fmt::format("{}, bound to {}, would stand inside {}, whose groups meet between blocks",
                                   loop.name, ir::name_of(loop.kind), group.name),
                       fmt::format("threads around groups, which bind gives to blocks where they stand: {}",
                                   steps::written("reorder", {loop.name, group.name})),
                       loop.name};
    });
  });
  return refused;
}

}  // namespace

StepResult reorder_loops(const ir::Program& program, const Names& order) {
  for (const std::string& name : order) {
    if (auto missing = require_loop(program, name)) return *missing;
  }
  if (std::set<std::string>(order.begin(), order.end()).size() != order.size())
    return Reason{2, fmt::format("{}", fmt::join(order, ", ")), "every loop once", {}};
  auto body = Reorder(program, order)(program.body);
  if (std::holds_alternative<Reason>(body)) return std::get<Reason>(body);
  ir::Program result = program;
  result.body = std::get<Stmt>(body);
  if (!in_order(result.body, order))
    return Reason{5,
                  "a loop of the sum would have to move out of it, or the loops are not around one another",
                  "loops of one nest; loops that were moved into a sum stay there", order.front()};
  for (const LoopKind axis : {LoopKind::warp, LoopKind::lane, LoopKind::thread}) {
    if (auto refused = require_same_threads(result, axis, 7)) return *refused;
  }
  if (auto refused = require_threads_around_groups(result.body)) return *refused;
  return result;
}

namespace {

StepResult apply_reorder(const ir::Program& program, const StepArguments& arguments, const StepContext&) {
  return reorder_loops(program, arguments.texts("loop"));
}

constexpr Parameter parameters[]{
    {.name = "loop", .example = "m, k, n.inner", .sentence = "loops, the outermost first", .repeated = true}};
constexpr Precondition preconditions[]{
    loops_exist,
    {2, "each is named once"},
    {3, "no loop's range depends on one that would stand inside it"},
    {4, "a loop that moves into a sum has a constant number of iterations"},
    {5, "the loops stand around one another, and none has to leave a sum"},
    {6, "no loop moves past a copy"},
    {7, "warp, lane and thread loops stay nested alike in all places"},
    {8, "no loop moves past a choice between two branches or past a value"},
    {9, "warp, lane and thread loops stay around groups that meet between blocks"}};

}  // namespace

constinit const StepKind reorder{.name = "reorder",
                                 .sentence = "The loops stand in this order; others keep their places.",
                                 .parameters = parameters,
                                 .preconditions = preconditions,
                                 .apply = apply_reorder};

}  // namespace weft::steps
