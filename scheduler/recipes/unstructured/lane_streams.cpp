#include <fmt/format.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/lane_streams.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace weft {
namespace {

constexpr std::int64_t least_of_warp = 8, most_of_warp = 32;
constexpr std::int64_t least_slice = 256;  ///< columns of a stream, where several are to share a row
constexpr std::int64_t elements_of_vector = 8;

/// Of a processor on which so many warps are at work, for a word of one of them where two of five weights are
/// kept: of 13824 x 5120 on an H200 (docs/measurements/few_columns.md).
double microseconds_of_word(double warps) {
  return 0.07 + 0.45 / warps;
}

class Streams {
 public:
  Streams(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
          StreamedProduct problem, const LaneStreamKnobs& knobs)
      : problem_(std::move(problem)),
        knobs_(knobs),
        slices_(ceil_divide(weights->columns(), knobs.slice)),
        schedule_(std::move(algorithm), std::move(weights), target) {}

  Schedule operator()() {
    // Lanes read eight columns of a row of the dense operand at once.
    if (!problem_.dense_across)
      schedule_.transpose(problem_.dense);
    else if (problem_.inner % elements_of_vector != 0)
      schedule_.align(problem_.dense);
    const WeightLoops of_weights = weight_loops(schedule_);
    const LoopName &streams = of_weights.rows.at(0), &group = of_weights.rows.at(1),
                   &row = of_weights.rows.at(2);
    const LoopName &slice = of_weights.sum.at(0), &step = of_weights.sum.at(1), &place = of_weights.sum.at(2);
    const auto [column_blocks, column] = schedule_.split(LoopName(problem_.column), knobs_.columns);
    const auto [row_blocks, warps] = schedule_.split(streams, knobs_.warps);
    schedule_.reorder(row_blocks, column_blocks, slice, warps, group, step, row, column, place)
        .bind(column_blocks, block_y)
        .bind(row_blocks, block_x)
        .stage(problem_.dense, shared, at = slice)
        .bind(warps, warp)
        .tensorize("mma_m16n8k16");
    if (slices_ > 1) schedule_.bind(schedule_.split_k(slice, slices_, second_pass), block_z);
    const Algorithm& given = schedule_.algorithm();
    if (knobs_.columns > columns_without_lines)
      schedule_.reorder_writeback(given.operands[given.output.operand].name, columns = knobs_.columns);
    return std::move(schedule_);
  }

 private:
  StreamedProduct problem_;
  LaneStreamKnobs knobs_;
  std::int64_t slices_;
  Schedule schedule_;
};

Schedule streamed_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                           const Target& target, const LaneStreamKnobs& knobs) {
  const RecipeNeeds needs{"lane_streams", "lane_streams or pair_words", "formats::lane_streams()"};
  const std::string given = require_in_range(needs.name, lane_stream_knobs(), knobs);
  require_format(needs, algorithm, weights.get(), is_of_streams);
  require_halves(needs, algorithm, *weights);
  StreamedProduct problem;
  if (const std::string why = why_no_streams(algorithm, problem); !why.empty())
    refuse_recipe(needs, algorithm, why,
                  "C[m, n] = sum of A[m, k] B[k, n] with a number of columns that is known; else "
                  "default_schedule(algorithm, weights, target)");
  if (!target.has(Capability::asynchronous_copies) || !has_tensor_cores_for(target, weights->dtype()))
    return left_to_default(needs, std::move(algorithm), std::move(weights), target, given);
  const LaneStreamKnobs chosen = chosen_for(knobs, problem, is_in_pairs(weights->format()), target);
  const std::int64_t of_block = chosen.warps * chosen.turns,
                     streams = ceil_divide(problem.rows, rows_of_stream);
  if (streams % of_block != 0)
    throw UserError("blocks do not share the streams of rows out evenly", algorithm.name,
                    fmt::format("{} warps with {} of {} streams each", chosen.warps, chosen.turns, streams),
                    "warps times turns that divide the streams, one for each 32 rows");
  Format format = weights->format();
  format.parameters["columns"] = chosen.slice;
  format.parameters["groups"] = chosen.turns;
  if (format != weights->format()) weights = weights->repacked(format);
  return with_recipe_named(needs.name, given, [&] {
    Schedule schedule = Streams(algorithm, weights, target, problem, chosen)();
    require_sum(schedule);
    return schedule;
  });
}

}  // namespace

bool is_of_streams(const Format& format) {
  return format.name == "lane_streams" || format.name == "pair_words";
}

bool is_in_pairs(const Format& format) {
  return format.name == "pair_words";
}

std::string why_no_streams(const Algorithm& algorithm, StreamedProduct& found) {
  const Operand* sparse = algorithm.sparse_operand();
  const ProductLoops loops = product_loops(algorithm);
  if (sparse == nullptr || loops.rows.empty() || loops.columns.empty() || sparse->shape.size() != 2)
    return "the algorithm is no product of two matrices";
  if (algorithm.takes_any_weights()) return "a launch says what the weights are";
  const Extent width = extent_of(algorithm, loops.columns);
  if (!width.is_static()) return "a launch says how many columns there are";
  found = {.column = loops.columns,
           .dense = loops.dense,
           .dense_across = false,
           .rows = sparse->shape.front().value,
           .inner = sparse->shape.back().value,
           .columns = width.value};
  for (const TensorAccess& factor : algorithm.factors) {
    if (algorithm.operands[factor.operand].name != loops.dense) continue;
    const std::string* first = factor.indices.front().plain();
    found.dense_across = first != nullptr && *first == loops.columns;
    if (!algorithm.operands[factor.operand].strides.empty()) return "rows of the dense operand lie apart";
  }
  return {};
}

StreamLaunch::StreamLaunch(const LaneStreamKnobs& cut, const StreamedProduct& problem, bool in_pairs,
                           const Target& target, std::int64_t processors) {
  const StreamShape<std::int64_t> shape{cut.columns, cut.warps, cut.turns, cut.slice, in_pairs};
  slices = std::max<std::int64_t>(1, ceil_divide(problem.inner, cut.slice));
  const std::int64_t all = ceil_divide(problem.rows, rows_of_stream * cut.warps * cut.turns) * slices *
                           ceil_divide(problem.columns, cut.columns);
  const std::int64_t room = std::max<std::int64_t>(
      1,
      std::min(target.shared_bytes_per_multiprocessor / (shape.shared_bytes() + target.shared_bytes_reserved),
               target.threads_per_multiprocessor / shape.threads()));
  of_processor = std::max<std::int64_t>(1, ceil_divide(all, processors));
  waves = static_cast<double>(ceil_divide(of_processor, room));
  warps = static_cast<double>(std::min(of_processor, room) * cut.warps);
  const std::int64_t words_of_lane =
      of_processor * cut.warps * cut.turns * cut.slice / (in_pairs ? columns_of_pairs : columns_of_bits);
  words = static_cast<double>(words_of_lane);
}

double StreamLaunch::microseconds(double of_word) const {
  constexpr double arrival = 2;
  return begin * waves + of_word * words + (slices > 1 ? arrival : 0);
}

LaneStreamKnobs chosen_for(const LaneStreamKnobs& knobs, const StreamedProduct& problem, bool in_pairs,
                           const Target& target) {
  LaneStreamKnobs chosen = knobs;
  if (chosen.columns == 0)
    chosen.columns = std::clamp(bounds::power_of_two_from(problem.columns), least_of_warp, most_of_warp);
  const std::int64_t streams = std::max<std::int64_t>(1, ceil_divide(problem.rows, rows_of_stream));
  std::optional<LaneStreamKnobs> best;
  double least = 0;
  const auto consider = [&](const LaneStreamKnobs& cut) {
    const StreamShape<std::int64_t> shape{cut.columns, cut.warps, cut.turns, cut.slice, in_pairs};
    if (streams % (cut.warps * cut.turns) != 0 || shape.shared_bytes() > target.shared_bytes_per_block)
      return;
    const StreamLaunch launch(cut, problem, in_pairs, target);
    const double microseconds = launch.microseconds(microseconds_of_word(launch.warps));
    if (best && microseconds >= least) return;
    best = cut;
    least = microseconds;
  };
  const auto values = [](std::int64_t given, std::initializer_list<std::int64_t> otherwise) {
    return given > 0 ? std::vector{given} : std::vector(otherwise);
  };
  for (const std::int64_t warps : values(chosen.warps, {4, 12, 8, 6, 3, 2, 1})) {
    for (const std::int64_t turns : values(chosen.turns, {1, 2, 3})) {
      // Where the tile of fewer slices fits no shared memory, there are more.
      for (std::int64_t slices = 1; slices <= most_slices || !best; ++slices) {
        const std::int64_t wide =
            ceil_divide(ceil_divide(problem.inner, slices), columns_of_pairs) * columns_of_pairs;
        if (slices > 1 && wide < least_slice) break;
        consider({chosen.columns, warps, turns, chosen.slice > 0 ? chosen.slice : wide});
        if (chosen.slice > 0) break;
      }
    }
  }
  // Numbers that do not divide the streams are refused where they are used.
  return best.value_or(LaneStreamKnobs{chosen.columns, std::max<std::int64_t>(1, chosen.warps),
                                       std::max<std::int64_t>(1, chosen.turns),
                                       chosen.slice > 0 ? chosen.slice : least_slice});
}

Schedule lane_streams(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                      const LaneStreamKnobs& knobs, CallPlace place) {
  return made_with_knobs(place, lane_stream_knobs(), knobs, [&](const LaneStreamKnobs& each) {
    return streamed_schedule(algorithm, weights, target, each);
  });
}

}  // namespace weft
