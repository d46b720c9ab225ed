#include <fmt/format.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/advice.h>
#include <weft/scheduler/steps/parts/loops.h>

#include <ranges>

namespace weft {
namespace {

bool binds_loops(const ir::Program& program) {
  return ir::any<ir::For>(program.body, [](const ir::For& loop) { return ir::is_bound(loop.kind); });
}

/// The first loop that blocks can share, bound to them, as the user would write it; empty: there is none.
std::string first_bind(const Schedule& schedule) {
  for (const std::string& loop : steps::serial_loops(schedule.program(), true)) {
    const Step bind{"bind", {{{}, loop}, {{}, "block_x"}}, {}};
    Schedule tried = schedule;
    if (!tried.try_apply(bind)) return bind.cpp();
  }
  return {};
}

/// " in the schedule that goes up to program.cpp:12"; empty where no step knows where it was asked for.
std::string place_of(const Schedule& schedule) {
  for (const Step& step : schedule.steps() | std::views::reverse)
    if (const std::string place = step.place.text(); !place.empty())
      return " in the schedule that goes up to " + place;
  return {};
}

}  // namespace

std::vector<std::string> advice_on(const Schedule& schedule) {
  if (!schedule.target().is_gpu() || binds_loops(schedule.program())) return {};
  const std::string bind = first_bind(schedule);
  return {fmt::format("no loop is bound{}: one thread of {} computes everything{}", place_of(schedule),
                      schedule.target().name,
                      bind.empty() ? std::string() : fmt::format("; {} shares it out to blocks", bind))};
}

}  // namespace weft
