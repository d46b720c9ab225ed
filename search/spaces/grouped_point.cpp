// The knobs that a schedule of shfl_bw or v_n_m was made with, read from its steps.
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/search/spaces/grouped_tiles.h>

#include <algorithm>

namespace weft {
namespace {

const Step* find(const Schedule& schedule, std::string_view name, int occurrence = 0) {
  for (const Step& step : schedule.steps()) {
    if (step.name == name && occurrence-- == 0) return &step;
  }
  return nullptr;
}

/// The value of a step's argument; the fallback where there is no such step or argument.
std::int64_t number(const Schedule& schedule, std::string_view step, std::string_view argument,
                    std::int64_t fallback) {
  const Step* found = find(schedule, step);
  if (found == nullptr) return fallback;
  for (const Argument& one : found->arguments) {
    if (one.name == argument && std::holds_alternative<std::int64_t>(one.value))
      return std::get<std::int64_t>(one.value);
  }
  return fallback;
}

ShflBwInstruction instruction_of(const Step& tensorize) {
  const auto& name = std::get<std::string>(tensorize.arguments.front().value);
  if (name.starts_with("wgmma")) return ShflBwInstruction::wgmma;
  return name.ends_with("k8") ? ShflBwInstruction::mma_m16n8k8 : ShflBwInstruction::mma_m16n8k16;
}

}  // namespace

std::optional<KnobValues> grouped_point(const Schedule& schedule) {
  const Step* tile = find(schedule, "split");
  const Step* warps = find(schedule, "split", 1);
  const Step* tensorize = find(schedule, "tensorize");
  if (tile == nullptr || warps == nullptr || tensorize == nullptr) return std::nullopt;
  if (find(schedule, "multicast") != nullptr) return std::nullopt;  // no point of the space has clusters
  const GroupTiles tiles = group_tiles(*schedule.weights());
  const auto factor = [](const Argument& argument) { return std::get<std::int64_t>(argument.value); };
  const std::int64_t columns_of_warp = factor(warps->arguments.front());
  return KnobValues{
      {"tile_m", tiles.rows},
      {"tile_n", factor(tile->arguments.front())},
      {"tile_k", tiles.places},
      {"instruction", number_of(instruction_of(*tensorize))},
      {"warp_m", factor(warps->arguments.back())},
      {"warp_n", columns_of_warp},
      {"stages", number(schedule, "stage", "depth", 1)},
      {"producers", number(schedule, "specialize_warps", "producers", 0)},
      {"producer_registers", number(schedule, "specialize_warps", "producer_registers", 0)},
      {"consumer_registers", number(schedule, "specialize_warps", "consumer_registers", 0)},
      {"groups", number(schedule, "split_k", "groups", 1)},
      {"line", std::min(columns_of_warp, number(schedule, "reorder_writeback", "columns", 64))},
      {"blocks", number(schedule, "persist", "blocks", 0)},
  };
}

}  // namespace weft
