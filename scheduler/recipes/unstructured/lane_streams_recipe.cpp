// The space of lane_streams, and about how long its points take.
#include <fmt/format.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/recipes/parts/conditions.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/lane_streams.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::int64_t widest_stream = 1 << 20, most_columns_of_streams = 64, most_warps_of_streams = 16;

constexpr auto lane_stream_list =
    list_of(knob_of<&LaneStreamKnobs::columns>("columns", 32, 1, {}, columns_of_instruction),
            knob_of<&LaneStreamKnobs::warps>("warps", most_warps_of_streams),
            knob_of<&LaneStreamKnobs::turns>("turns", most_warps_of_streams),
            knob_of<&LaneStreamKnobs::slice>("slice", widest_stream, 1, {}, columns_of_pairs));

std::string why_no_points(const SpaceProblem& problem, const Target& target) {
  if (!target.has(Capability::asynchronous_copies))
    return target.name + " has no copies that go on by themselves";
  if (!is_of_streams(problem.format)) return problem.format.text() + " has no streams for lanes";
  StreamedProduct found;
  if (std::string why = why_no_streams(problem.algorithm, found); !why.empty()) return why;
  if (found.columns > most_columns_of_streams)
    return fmt::format("{} columns are more than {}", found.columns, most_columns_of_streams);
  if (auto reason = why_no_tensor_cores(target, problem.matrix->values.dtype()); !reason.empty())
    return reason;
  return why_no_sum(problem.algorithm);
}

std::int64_t streams_of(const StreamedProduct& problem) {
  return std::max<std::int64_t>(1, ceil_divide(problem.rows, rows_of_stream));
}

RecipeChoices choices_of_streams(const SpaceProblem& problem, PackedWeights&, const Target& target,
                                 const SpaceOptions& options) {
  StreamedProduct found;
  why_no_streams(problem.algorithm, found);
  const StreamShape<Expr> shape{v("columns"), v("warps"), v("turns"), v("slice"),
                                is_in_pairs(problem.format)};
  const std::int64_t streams = streams_of(found);
  RecipeChoices choices;
  std::vector<std::int64_t> warps, slices;
  for (std::int64_t each = 1; each <= most_warps_of_streams; ++each)
    if (streams % each == 0) warps.push_back(each);
  // A tile of wider ones beside the ring of a warp hardly fits shared memory.
  constexpr std::int64_t widest_slice = 4096;
  for (std::int64_t parts = 1; parts <= most_slices || slices.back() > widest_slice; ++parts) {
    const std::int64_t columns =
        ceil_divide(ceil_divide(found.inner, parts), columns_of_pairs) * columns_of_pairs;
    if (slices.empty() || columns < slices.back()) slices.push_back(columns);
  }
  std::ranges::reverse(slices);
  choices.knobs = {{"columns", {8, 16, 32}}, {"warps", warps}, {"turns", {1, 2, 3, 4, 6}}, {"slice", slices}};
  Conditions limits;
  limits.divides("streams of a block", "streams of rows that no block has", v("warps") * v("turns"), streams);
  limits.at_most("threads", "threads of a block", "threads", shape.threads(), target.threads_per_block);
  limits.at_most("shared memory", "bytes of shared memory of a block", "B", shape.shared_bytes(),
                 target.shared_bytes_per_block);
  limits.sum_at_most("registers", "32-bit registers of a thread", "registers",
                     {{"sums", v("columns") * v("turns")},
                      {"the dense operand", v("columns")},
                      {"addresses", reserved_registers}},
                     registers_there(target, options, shape.threads()));
  choices.limits = limits.take();
  Conditions worth;
  const std::int64_t all = std::clamp<std::int64_t>(bounds::power_of_two_from(found.columns), 8, 32);
  worth.at_most("columns", "columns of a block, so that weights are read once", "columns", all, v("columns"));
  worth.at_most("columns there are", "columns of a block", "columns", v("columns"), all);
  const Expr blocks = ir::ceil_divide(found.inner, v("slice")) * (streams / v("warps"));
  worth.at_most("blocks", "blocks, so that all processors have some", "blocks", measured_processors,
                blocks * v("warps"));
  worth.at_most("slices", "columns of a stream, so that blocks begin seldom", "columns",
                std::min<std::int64_t>(256, found.inner), v("slice"));
  choices.worth = worth.take();
  return choices;
}

std::optional<KnobValues> choose_streams(const Algorithm& algorithm,
                                         std::shared_ptr<const SparseTensor> weights, const Target& target) {
  StreamedProduct found;
  if (!why_no_streams(algorithm, found).empty()) return std::nullopt;
  const bool in_pairs = is_in_pairs(weights->format());
  return values_of(lane_stream_knobs(), chosen_for({}, found, in_pairs, target));
}

Format format_of_point(const Format& format, const KnobValues& point) {
  Format other = format;
  for (const auto& [knob, parameter] : {std::pair{"slice", "columns"}, {"turns", "groups"}})
    if (const auto found = point.find(knob); found != point.end() && found->second > 0)
      other.parameters[parameter] = found->second;
  return other;
}

using namespace bounds;

Bound time_of_streams(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                      const Ceilings& ceilings) {
  const StreamedProduct sizes{.rows = problem.m, .inner = problem.k, .columns = problem.n};
  const bool in_pairs = problem.columns_of_bit == 2;
  const LaneStreamKnobs cut = chosen_for(knobs_of(lane_stream_knobs(), point), sizes, in_pairs, target);
  const StreamLaunch launch(cut, sizes, in_pairs, target, ceilings.multiprocessors);
  // Of a lane in a stream: what it takes in the mean, and what the one with the most of 32 takes beyond that.
  const double kept = problem.density(), share = in_pairs ? 1 - (1 - kept) * (1 - kept) : kept;
  const double columns = static_cast<double>(cut.slice * cut.turns), places = columns / 2;
  const double rows = places * share + (in_pairs ? 1.4 : 1.75) * std::sqrt(places * share * (1 - share));
  const double of_stream = rows * 128 + columns * (in_pairs ? 2 : 4);
  const double streams = static_cast<double>(launch.slices * ceil_divide(streams_of(sizes), cut.turns));
  const double of_all_bytes = of_stream * streams * 1e6 / ceilings.bytes_a_second;
  Parts parts(ceilings);
  // Microseconds of a processor for a word of a warp, fitted to 740 kernels of four products on an H200: what
  // its instructions take, what its bytes take, and what a warp waits for on its own. All but bytes are
  // cycles, and taken for as many on other devices.
  const double cycles = measured_device.cycles_a_second / ceilings.cycles_a_second;
  const double words = columns / static_cast<double>(in_pairs ? columns_of_pairs : columns_of_bits);
  const double of_bytes = (in_pairs ? 0.71 : 0.9) * of_stream / words *
                          static_cast<double>(ceilings.multiprocessors) * 1e6 / ceilings.bytes_a_second;
  const double of_columns =
      0.0095 * static_cast<double>(cut.columns - columns_of_instruction) / columns_of_instruction;
  const double of_instructions = cycles * (in_pairs ? 0.045 : 0.034);
  const double of_waiting = in_pairs ? 0.42 : 0.235;
  const double of_word =
      std::max(of_instructions, of_bytes) + cycles * (of_waiting / launch.warps + of_columns);
  // Memory alone bounds devices with few bytes a cycle.
  const double microseconds = std::max(launch.microseconds(of_word), StreamLaunch::begin + of_all_bytes);
  parts.add(of_bytes < of_instructions ? Resource::units : Resource::memory, microseconds);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.total();
}

}  // namespace

std::span<const KnobField<LaneStreamKnobs>> lane_stream_knobs() {
  return lane_stream_list;
}

Recipe lane_streams_recipe() {
  return {
      .name = "lane_streams",
      .summary = "unstructured weights that keep a half, for few columns: a stream for every lane",
      .is_format = is_of_streams,
      .formats = "lane_streams or pair_words",
      .of_halves = true,
      .knobs = rows_of(lane_stream_knobs()),
      .some_knobs = "warps=2,slice=256",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.6 --dtype f16 --n 8 --op linear --layout nk "
          "--device sim:sm_90 --format lane_streams --recipe lane_streams:warps=2",
      .why_not = why_no_points,
      .choices = choices_of_streams,
      .format_of = format_of_point,
      .choose = choose_streams,
      .write = written<LaneStreamKnobs, lane_streams, lane_stream_knobs>,
      .time = time_of_streams,
  };
}

}  // namespace weft
