// The space of sliced_rows, and about how long its points take.
#include <fmt/format.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/recipes/parts/conditions.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/sliced_rows.h>

#include <algorithm>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr auto sliced_rows_list = list_of(
    knob_of<&SlicedRows::columns>("columns", lanes_of_warp),
    knob_of<&SlicedRows::groups>("groups", most_warps), knob_of<&SlicedRows::slices>("slices", most_warps),
    knob_of<&SlicedRows::turns>("turns", most_tile), knob_of<&SlicedRows::places>("places", most_of_lane),
    knob_of<&SlicedRows::parts>("parts", most_warps));

constexpr std::int64_t most_columns_of_slices = 64;  ///< for more, others have lanes beside one another

std::string why_no_slices(const SpaceProblem& problem, const Target& target) {
  if (!target.is_gpu()) return target.name + " has no shared memory for the dense operand";
  if (problem.format.name != "csr") return problem.format.text() + " is not csr, whose rows it sorts";
  FewColumns found;
  if (std::string why = why_no_few_columns(problem.algorithm, found); !why.empty()) return why;
  if (found.columns > most_columns_of_slices)
    return fmt::format("{} columns are more than {}", found.columns, most_columns_of_slices);
  if (const std::int64_t bytes = SlicedShape<std::int64_t>{1, 1, 1}.bytes_of_panel(found);
      bytes > target.shared_bytes_per_block)
    return fmt::format("a column of {} bytes does not fit shared memory", bytes);
  return why_no_sum(problem.algorithm);
}

RecipeChoices choices_of_slices(const SpaceProblem& problem, PackedWeights&, const Target& target,
                                const SpaceOptions& options) {
  FewColumns found;
  why_no_few_columns(problem.algorithm, found);
  const SlicedShape<Expr> shape{v("columns"), v("groups"), v("slices")};
  const std::int64_t width = bounds::power_of_two_from(found.columns);
  const std::int64_t slices = ceil_divide(found.rows, lanes_of_warp);
  const std::int64_t of_row = problem.matrix->stored() / std::max<std::int64_t>(1, found.rows);
  RecipeChoices choices;
  choices.knobs = {
      {"columns", {1, 2, 4, 8, 16, 32}}, {"groups", {1, 2, 4, 8, 16, 32}}, {"slices", {1, 2, 4, 8, 16}},
      {"turns", {1, 2, 4, 8}},           {"places", {4, 8, 16}},           {"parts", {1, 2, 4, 8, 16, 32}}};
  Conditions limits;
  limits.at_most("threads", "threads of a block", "threads", shape.threads(), target.threads_per_block);
  limits.sum_at_most("shared memory", "bytes of shared memory of a block", "B",
                     {{"the dense operand", shape.bytes_of_panel(found)},
                      {"sums of groups", ir::minimum(v("groups") - 1, 1) * shape.bytes_of_sums(found)},
                      {"ends of arrays", lanes_of_warp}},
                     target.shared_bytes_per_block);
  limits.sum_at_most("registers", "32-bit registers of a thread", "registers",
                     {{"sums", v("columns")}, {"addresses", reserved_registers}},
                     registers_there(target, options, shape.threads()));
  limits.at_most("parts", "ways at once in which rows are shared, by warps or by blocks", "ways",
                 ir::minimum(v("groups"), v("parts")), 1);
  limits.at_most("grid y", "blocks of rows", "blocks", ir::ceil_divide(slices, v("slices") * v("turns")),
                 most_blocks);
  choices.limits = limits.take();
  Conditions worth;
  const std::int64_t of_load = bytes_of_slice_load / found.bytes;
  worth.at_most("columns there are", "columns of a block, which a load reads", "columns", v("columns"),
                std::min(width, of_load));
  worth.at_most("columns", "columns of a block, so that weights are read seldom", "columns",
                std::min<std::int64_t>(width, of_load / 2), v("columns"));
  worth.at_most("places", "entries of a row that lie beside one another", "entries", v("places"),
                2 * of_load);
  worth.at_most("groups", "warps that share a slice, so that enough loads are under way", "warps",
                std::min<std::int64_t>(4, std::max<std::int64_t>(1, of_row / of_load)),
                v("groups") * v("parts"));
  worth.at_most("warps", "warps of a block", "warps", 4, v("groups") * v("slices"));
  worth.at_most("slices", "slices of a block", "slices", v("slices") * v("turns"),
                std::clamp<std::int64_t>(slices / 16, 1, 2));
  worth.at_most("share of a row", "entries that groups read at once", "entries",
                v("groups") * v("parts") * v("places"), std::max<std::int64_t>(of_row, 4));
  worth.at_most("blocks", "blocks, of parts of rows no more than fill the processors", "blocks",
                ir::minimum(v("parts") - 1, 1) * v("parts") *
                    ir::ceil_divide(slices, v("slices") * v("turns")) *
                    ir::ceil_divide(found.columns, v("columns")),
                2 * measured_processors);
  choices.worth = worth.take();
  return choices;
}

std::optional<KnobValues> choose_slices(const Algorithm& algorithm,
                                        std::shared_ptr<const SparseTensor> weights, const Target& target) {
  FewColumns found;
  if (!why_no_few_columns(algorithm, found).empty()) return std::nullopt;
  found.stored = weights->array("values").size();
  return values_of(sliced_rows_knobs(), chosen_for({}, found, target));
}

using namespace bounds;

/// The times below are fitted to 345 kernels of 44 problems on an H200 (docs/measurements/choice.md). Cycles
/// in which the banks of shared memory answer a warp whose lanes ask for rows by chance: for a word each
/// sooner than other instructions are issued, for 16 bytes a quarter of a warp at a time.
double cycles_of_gather(double bytes) {
  constexpr double of_quarters = 3.2;
  return bytes <= 4 ? 1 : of_quarters * std::max(2.0, bytes / 4);
}

Bound time_of_slices(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                     const Ceilings& ceilings) {
  const FewColumns sizes{.rows = problem.m,
                         .inner = problem.k,
                         .stored = problem.stored,
                         .columns = problem.n,
                         .bytes = static_cast<std::int64_t>(size_of(problem.dtype))};
  const SlicedRows cut = chosen_for(knobs_of(sliced_rows_knobs(), point), sizes, target);
  const SlicedShape<std::int64_t> shape{cut.columns, cut.groups, cut.slices};
  const std::int64_t column_blocks = ceil_divide(problem.n, cut.columns);
  const std::int64_t slices = ceil_divide(problem.m, lanes_of_warp);
  const std::int64_t blocks = ceil_divide(slices, cut.slices * cut.turns) * column_blocks * cut.parts;
  const std::int64_t bytes = shape.bytes_of_panel(sizes) + shape.bytes_of_sums(sizes);
  const std::int64_t room = std::clamp<std::int64_t>(
      target.shared_bytes_per_multiprocessor / bytes, 1,
      std::max<std::int64_t>(1, target.threads_per_multiprocessor / shape.threads()));
  const std::int64_t of_processor = ceil_divide(blocks, ceilings.multiprocessors);
  const double waves = static_cast<double>(ceil_divide(of_processor, std::min(room, of_processor)));

  const std::int64_t loads_of_row = ceil_divide(static_cast<std::int64_t>(problem.row_mean) + 1, cut.places);
  const auto width = static_cast<double>(cut.columns), places = static_cast<double>(cut.places);
  const double entries = static_cast<double>(slices * lanes_of_warp * loads_of_row * cut.places);
  const double read =
      entries / static_cast<double>(blocks) * static_cast<double>(column_blocks * of_processor);
  const double list = static_cast<double>(sizes.bytes + (problem.k <= formats::columns_of_16_bits ? 2 : 4));
  const double values = static_cast<double>(problem.stored * sizes.bytes);
  const double moved = entries * list + problem.bytes() - values;
  const bool stays = moved <= static_cast<double>(ceilings.l2_bytes);

  Parts parts(ceilings);
  parts.add(Resource::memory, 1e6 * moved / (stays ? ceilings.l2_bytes_a_second : ceilings.bytes_a_second));
  // Panels come element by element.
  constexpr double of_panel = 4.6;
  const double panels = of_panel * static_cast<double>(of_processor * shape.bytes_of_panel(sizes));
  parts.add_of_multiprocessor(Resource::l2, read * list + panels, ceilings.l2_bytes_a_second);
  const double cycles = 1e6 * read / lanes_of_warp / ceilings.cycles_a_second;
  parts.add(Resource::shared_memory, cycles * cycles_of_gather(width * static_cast<double>(sizes.bytes)));
  // Instructions of an entry, and for each of its columns. Places beyond a vector of 16 bytes lie apart for
  // the lanes of a warp.
  constexpr double of_entry = 14, of_column = 1.6, issued = 4, apart = 0.7;
  const double vectors = std::max(1.0, places * static_cast<double>(sizes.bytes) / bytes_of_slice_load);
  parts.add(Resource::units, cycles * (of_entry + of_column * width) / issued * (1 + apart * (vectors - 1)));
  // A warp waits for one load after the other of its share.
  constexpr double of_near = 0.123, of_far = 0.48, of_product = 0.0114;
  const double loads =
      std::max(1.0, static_cast<double>(loads_of_row) / static_cast<double>(cut.groups * cut.parts));
  parts.add(Resource::latency, ((stays ? of_near : of_far) + of_product * places * width) * loads *
                                   static_cast<double>(cut.turns) * waves);
  // A thread waits for elements of the panel that no asynchronous copy brings: 0.018 to 0.036 of five
  // kernels.
  constexpr double of_element = 0.028;
  if (cut.columns * sizes.bytes < passes::least_asynchronous_bytes)
    parts.add(Resource::latency, of_element * static_cast<double>(cut.columns * problem.k) /
                                     static_cast<double>(shape.threads()) * waves);
  // Beside an empty kernel's: the panel comes before all else, and sums of groups behind; blocks that share
  // sums wait for the last of them.
  constexpr double before = 0.87, of_group = 0.0075, of_arrival = 0.7, of_part = 0.015;
  if (cut.parts > 1)
    parts.add(Resource::launch, of_arrival + of_part * static_cast<double>(cut.parts) * width);
  parts.add(Resource::launch, ceilings.launch_microseconds + before +
                                  of_group * static_cast<double>(cut.groups * cut.turns) * width * waves);
  return parts.total();
}

}  // namespace

std::span<const KnobField<SlicedRows>> sliced_rows_knobs() {
  return sliced_rows_list;
}

Recipe sliced_rows_recipe() {
  return {
      .name = "sliced_rows",
      .summary = "unstructured weights for few columns: a row for every lane, sums shared by warps",
      .is_format = [](const Format& format) { return format.name == "csr"; },
      .formats = "csr",
      .knobs = rows_of(sliced_rows_knobs()),
      .some_knobs = "groups=8,places=16",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.7 --n 1 --device sim:sm_80 "
          "--recipe sliced_rows:groups=4",
      .why_not = why_no_slices,
      .choices = choices_of_slices,
      .choose = choose_slices,
      .write = written<SlicedRows, sliced_rows, sliced_rows_knobs>,
      .time = time_of_slices,
  };
}

}  // namespace weft
