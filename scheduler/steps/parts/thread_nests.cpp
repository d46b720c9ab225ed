#include <fmt/format.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/thread_nests.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace weft::steps {
namespace {

/// Loops of an axis, outermost first.
using Nest = std::vector<const ir::For*>;
/// Called for each loop of the axis with those around it.
using OnLoop = std::function<void(const ir::For&, const Nest&)>;

void each_nest(const Stmt& stmt, LoopKind axis, Nest& around, const OnLoop& on_loop) {
  const auto* loop = stmt.as<ir::For>();
  const bool of_axis = loop != nullptr && loop->kind == axis;
  if (of_axis) {
    on_loop(*loop, around);
    around.push_back(loop);
  }
  each_child(stmt, [&](const Stmt& child) { each_nest(child, axis, around, on_loop); });
  if (of_axis) around.pop_back();
}

}  // namespace

std::optional<Reason> require_same_threads(const ir::Program& program, LoopKind axis, int number) {
  if (ir::is_block(axis)) return std::nullopt;
  // For each loop the ways it is nested with others: those around it, then those inside.
  std::map<std::string, std::set<std::vector<std::string>>> nests;
  Nest none;
  each_nest(program.body, axis, none, [&](const ir::For& loop, const Nest& around) {
    std::vector<std::string> nest;
    for (const ir::For* outer : around) nest.push_back(outer->name);
    nest.emplace_back("/");
    // Those inside decide how many warps, lanes or threads an iteration gets.
    ir::each<ir::For>(loop.body, [&](const ir::For& inner) {
      if (inner.kind == axis && std::ranges::find(nest, inner.name) == nest.end()) nest.push_back(inner.name);
    });
    nests[loop.name].insert(std::move(nest));
  });
  for (const auto& [name, places] : nests) {
    if (places.size() == 1) continue;
    return Reason{number,
                  fmt::format("{} would be nested with other {} loops in one place than in another", name,
                              ir::name_of(axis)),
                  fmt::format("{} loops that are nested alike wherever they stand", ir::name_of(axis)), name};
  }
  return std::nullopt;
}

std::optional<Reason> require_fitting_threads(const ir::Program& program, LoopKind axis, std::int64_t most,
                                              int number) {
  std::optional<Reason> refused;
  Nest none;
  each_nest(program.body, axis, none, [&](const ir::For& loop, const Nest& around) {
    // Extents that a knob decides are for the constraints of the search.
    const auto known = [](const ir::For& each) {
      const std::int64_t* extent = ir::integer_value(each.extent);
      return extent == nullptr ? std::int64_t{1} : *extent;
    };
    std::int64_t others = 1;
    std::string names = loop.name, numbers = fmt::format("{}", known(loop));
    for (const ir::For* outer : around) {
      others *= known(*outer);
      names += fmt::format(" inside {}", outer->name);
      numbers += fmt::format(" x {}", known(*outer));
    }
    if (refused || others * known(loop) <= most) return;
    const std::string word(ir::name_of(axis));
    const std::string instead = axis == LoopKind::lane
                                    ? fmt::format(".bind({}, warp) for one of them", loop_text(loop.name))
                                    : fmt::format("{} of at most {} iterations", loop.name, most / others);
    refused = Reason{number,
                     fmt::format("{}, each bound to {}: {} = {} {}s of a block", names, word, numbers,
                                 others * known(loop), word),
                     fmt::format("at most {} {}s in a nest: {}", most, word, instead), loop.name};
  });
  return refused;
}

}  // namespace weft::steps
