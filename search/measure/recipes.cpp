#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/sparsert.h>
#include <weft/search/measure/recipes.h>

#include <memory>

namespace weft {
namespace {

std::shared_ptr<const SparseTensor> in_csr(const Workload& workload) {
  return std::make_shared<const SparseTensor>(pack(workload.matrix, formats::csr()));
}

Schedule default_recipe(const Workload& workload, const Target& target) {
  return default_schedule(workload.algorithm, in_csr(workload), target);
}

Schedule sparsert_recipe(const Workload& workload, const Target& target) {
  if (!target.is_gpu())
    throw InfeasibleError(
        {"the recipe sparsert does not fit the target", {}, target.name, "a GPU, whose code it writes"});
  return sparsert(workload.algorithm, in_csr(workload), target);
}

/// Points that leave most of the device idle, or have a trifle or too much code a group, are not tried.
Schedule sparsert_point(const Workload& workload, const Target& target, const SparseRtKnobs& knobs) {
  const SuiteProblem& p = workload.problem;
  const auto pieces = [](std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; };
  // The recipe gives convolutions one width of its own.
  const bool other_width = p.convolution.has_value() && knobs.threads != 32;
  const std::int64_t blocks = pieces(p.m, knobs.rows) * pieces(p.n, knobs.threads);
  const std::int64_t warps = blocks * knobs.groups * knobs.threads / 32;
  const std::int64_t entries = workload.matrix.stored() / pieces(p.m, knobs.rows) / knobs.groups;
  constexpr std::int64_t least_blocks = 60, least_warps = 260;
  constexpr std::int64_t least_entries = 24, most_entries = 900;
  // Many entries take long to compile, so fewer points of them are tried.
  constexpr std::int64_t many = 10'000, fewest_entries_of_many = 60, most_entries_of_many = 420;
  const bool dull =
      workload.matrix.stored() > many && (knobs.groups * knobs.threads < 256 ||
                                          entries < fewest_entries_of_many || entries > most_entries_of_many);
  const bool idle = blocks < least_blocks || warps < least_warps;
  const bool trifle = knobs.groups > 1 && entries < least_entries;
  constexpr std::int64_t wide = 128, wide_columns = 1024, most_blocks = 520, most_rows = 64;
  const bool too_wide = knobs.threads >= wide && p.n < wide_columns;
  const bool too_small = blocks > most_blocks && knobs.rows < most_rows;
  if (other_width || too_wide || too_small || dull || idle || trifle || entries > most_entries ||
      (knobs.rows > 8 && knobs.rows >= 2 * p.m))
    throw InfeasibleError({"a point of sparsert is not worth trying", p.id,
                           fmt::format("{} blocks, {} warps, {} entries a group", blocks, warps, entries),
                           fmt::format("{} blocks, {} warps, {} to {} entries", least_blocks, least_warps,
                                       least_entries, most_entries)});
  return sparsert(workload.algorithm, in_csr(workload), target, knobs);
}

Schedule streaming_point(const Workload& workload, const Target& target, const SparseRtKnobs& knobs) {
  constexpr std::int64_t least_columns = 1024;  // fewer leave most processors without a block
  const SuiteProblem& p = workload.problem;
  if (p.convolution.has_value() || (knobs.form == SparseRtForm::streaming && p.n < least_columns))
    throw InfeasibleError({"a point of sparsert is not worth trying", p.id, fmt::format("{} columns", p.n),
                           fmt::format("a product with at least {}", least_columns)});
  return sparsert(workload.algorithm, in_csr(workload), target, knobs);
}

std::vector<RecipePoint> sparsert_points() {
  std::vector<RecipePoint> points;
  for (const std::int64_t rows : {8, 16, 32, 64}) {
    for (const std::int64_t threads : {32, 64, 128, 256}) {
      for (const std::int64_t groups : {1, 2, 4, 8, 16}) {
        if (groups * threads > 1024) continue;
        const SparseRtKnobs knobs{
            .form = SparseRtForm::baked, .rows = rows, .threads = threads, .groups = groups};
        points.push_back({fmt::format("baked, rows {}, threads {}, groups {}", rows, threads, groups),
                          [knobs](const Workload& workload, const Target& target) {
                            return sparsert_point(workload, target, knobs);
                          }});
      }
    }
  }
  for (const SparseRtForm form : {SparseRtForm::streaming, SparseRtForm::row_per_warp}) {
    const bool panel = form == SparseRtForm::streaming;
    for (const std::int64_t columns : {1, 2, 4}) {
      for (const std::int64_t threads : {128, 512, 1024}) {
        if (panel == (threads == 128)) continue;
        const SparseRtKnobs knobs{.form = form, .threads = threads, .columns = columns};
        points.push_back(
            {fmt::format("{}, columns {}, threads {}", panel ? "streaming" : "row a warp", columns, threads),
             [knobs](const Workload& workload, const Target& target) {
               return streaming_point(workload, target, knobs);
             }});
      }
    }
  }
  return points;
}

}  // namespace

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all{{"default", default_recipe, {}},
                                       {"sparsert", sparsert_recipe, sparsert_points()}};
  return all;
}

}  // namespace weft
