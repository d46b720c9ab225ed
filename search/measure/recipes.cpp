#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/shfl_bw.h>
#include <weft/scheduler/sparsert.h>
#include <weft/search/measure/recipes.h>

#include <algorithm>
#include <array>
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

std::int64_t pieces(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

/// The same for the points of a convolution.
std::string dullness_of_image(const Workload& workload, const SparseRtKnobs& knobs) {
  const SuiteProblem& p = workload.problem;
  if (!p.convolution.has_value()) return "no convolution";
  const std::int64_t lines = p.convolution->output()[0];
  if (knobs.lines >= lines + 4) return "more lines than there are";
  const std::int64_t row_blocks = pieces(p.m, knobs.rows);
  const std::int64_t blocks = row_blocks * pieces(lines, std::max<std::int64_t>(1, knobs.lines));
  const std::int64_t entries = workload.matrix.stored() / row_blocks / knobs.groups;
  if (knobs.lines > 0 && (blocks < 50 || blocks > 420)) return fmt::format("{} blocks an image", blocks);
  if (entries > 900) return fmt::format("{} entries a group", entries);
  if (knobs.groups > 1 && entries < 24) return fmt::format("{} entries a group", entries);
  return workload.matrix.stored() > 150'000 ? "minutes of compiling for one point" : std::string();
}

Schedule image_point(const Workload& workload, const Target& target, const SparseRtKnobs& knobs) {
  const std::string dull = dullness_of_image(workload, knobs);
  if (!dull.empty())
    throw InfeasibleError({"a point of sparsert is not worth trying", workload.problem.id, dull,
                           "convolutions whose blocks keep the device busy"});
  return sparsert(workload.algorithm, in_csr(workload), target, knobs);
}

/// Why a point is not tried: most of the device would idle, a group would have a trifle or too much of the
/// code, or another point does the same better. Nothing where it is tried.
std::string dullness(const Workload& workload, const SparseRtKnobs& knobs) {
  const SuiteProblem& p = workload.problem;
  if (p.convolution.has_value()) return "a convolution";
  const std::int64_t row_blocks = pieces(p.m, knobs.rows);
  const std::int64_t blocks = row_blocks * pieces(p.n, knobs.threads);
  const std::int64_t warps = blocks * knobs.groups * knobs.threads / 32;
  const std::int64_t entries = workload.matrix.stored() / row_blocks / knobs.groups;
  if (blocks < 60) return fmt::format("{} blocks", blocks);
  if (warps < 260) return fmt::format("{} warps", warps);
  if (entries > 900) return fmt::format("{} entries a group", entries);
  if (knobs.groups > 1 && entries < 24) return fmt::format("{} entries a group", entries);
  if (knobs.rows > 8 && knobs.rows >= 2 * p.m) return "more rows than there are";
  const bool plenty = p.n >= 5'000 && (knobs.groups > 1 || knobs.rows < 32 || knobs.threads < 128);
  if (plenty) return "many columns want wide blocks of many rows";
  if (knobs.rows < 64 && blocks > 520) return fmt::format("{} blocks of few rows", blocks);
  if (knobs.threads >= 128 && p.n < 1024) return "wide blocks for few columns";
  // Many entries take long to compile, so fewer points of them are tried.
  if (workload.matrix.stored() <= 10'000) return {};
  if (workload.matrix.stored() > 150'000) return "minutes of compiling for one point";
  const bool very_many = workload.matrix.stored() > 40'000;
  if (knobs.groups * knobs.threads < 256) return "few threads for much code";
  if (very_many && knobs.groups * knobs.threads != 512) return "another number of threads than 512";
  return entries < 60 || entries > 420 ? fmt::format("{} entries a group", entries) : std::string();
}

Schedule sparsert_point(const Workload& workload, const Target& target, const SparseRtKnobs& knobs) {
  const std::string dull = dullness(workload, knobs);
  if (!dull.empty())
    throw InfeasibleError({"a point of sparsert is not worth trying", workload.problem.id, dull,
                           "points that keep the device busy with code that its caches feed"});
  return sparsert(workload.algorithm, in_csr(workload), target, knobs);
}

[[noreturn]] void refuse(const Workload& workload, std::string found, std::string accepted) {
  throw InfeasibleError({"a point of sparsert is not worth trying", workload.problem.id, std::move(found),
                         std::move(accepted)});
}

/// Blocks of many rows and columns at a time, for outputs that give most of the device one.
Schedule chunked_point(const Workload& workload, const Target& target, const SparseRtKnobs& knobs) {
  const SuiteProblem& p = workload.problem;
  const auto pieces = [](std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; };
  const std::int64_t blocks = pieces(p.m, knobs.rows) * pieces(p.n, knobs.threads);
  std::string dull;
  if (p.convolution.has_value()) dull = "a convolution";
  if (dull.empty() && blocks < 60) dull = fmt::format("{} blocks", blocks);
  if (dull.empty() && knobs.rows >= 2 * p.m) dull = "more rows than there are";
  if (dull.empty() && p.n < 1'000) dull = "few columns";
  const bool long_to_compile = workload.matrix.stored() > 40'000;
  if (dull.empty() && long_to_compile && (knobs.rows > 64 || knobs.threads != 256 || knobs.chunk < 32))
    dull = "long to compile, and seldom the fastest";
  if (!dull.empty()) refuse(workload, dull, "a product whose blocks keep the device busy");
  return sparsert(workload.algorithm, in_csr(workload), target, knobs);
}

/// `parts`: blocks that share the rows.
Schedule streaming_point(const Workload& workload, const Target& target, SparseRtKnobs knobs,
                         std::int64_t parts) {
  constexpr std::int64_t least_columns = 512;  // fewer leave most processors without a block
  const SuiteProblem& p = workload.problem;
  if (p.convolution.has_value() || p.n < least_columns)
    refuse(workload, fmt::format("{} columns", p.n),
           fmt::format("a product with at least {}", least_columns));
  const std::int64_t together = knobs.threads / knobs.lanes;
  if (p.m < together * parts)
    refuse(workload, fmt::format("{} rows for {} parts of {}", p.m, parts, together), "a row for every lane");
  knobs.rows = (p.m + together * parts - 1) / (together * parts);
  return sparsert(workload.algorithm, in_csr(workload), target, knobs);
}

Schedule row_per_warp_point(const Workload& workload, const Target& target, const SparseRtKnobs& knobs) {
  const SuiteProblem& p = workload.problem;
  if (p.convolution.has_value()) refuse(workload, "a convolution", "a product");
  const std::int64_t columns = knobs.lanes * knobs.columns;
  const std::int64_t of_group = workload.matrix.stored() / p.m / knobs.groups;
  if (columns > 64 && columns >= 2 * p.n)
    refuse(workload, fmt::format("{} lanes idle", columns - p.n), "fewer");
  if (knobs.groups > 1 && of_group < knobs.places)
    refuse(workload, fmt::format("{} entries a group", of_group), "a vector of them");
  return sparsert(workload.algorithm, in_csr(workload), target, knobs);
}

/// Lines of a staged tile; 0: none, the image itself is read.
void add_image_points(std::vector<RecipePoint>& points) {
  for (const std::int64_t rows : {2, 4, 8, 16, 32}) {
    for (const std::int64_t lines : {0, 1, 2, 4, 8}) {
      for (const std::int64_t groups : {1, 2, 4, 8}) {
        if (lines == 0 && rows < 8) continue;
        SparseRtKnobs knobs{.form = SparseRtForm::baked, .rows = rows, .groups = groups, .lines = lines};
        knobs.image = lines == 0 ? SparseRtImage::clamped : SparseRtImage::staged;
        points.push_back({lines == 0
                              ? fmt::format("clamped, rows {}, groups {}", rows, groups)
                              : fmt::format("staged, rows {}, lines {}, groups {}", rows, lines, groups),
                          [knobs](const Workload& workload, const Target& target) {
                            return image_point(workload, target, knobs);
                          }});
      }
    }
  }
}

void add_streaming_points(std::vector<RecipePoint>& points) {
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 5> panels{
      {{8, 4}, {8, 8}, {8, 16}, {16, 8}, {32, 4}}};
  for (const auto& [lanes, columns] : panels) {
    for (const std::int64_t threads : {512, 1024}) {
      for (const std::int64_t parts : {1, 2, 4}) {
        for (const std::int64_t places : {4, 8}) {
          const SparseRtKnobs knobs{.form = SparseRtForm::streaming,
                                    .threads = threads,
                                    .columns = columns,
                                    .lanes = lanes,
                                    .places = places};
          points.push_back({fmt::format("streaming, lanes {}, columns {}, threads {}, parts {}, places {}",
                                        lanes, columns, threads, parts, places),
                            [knobs, parts](const Workload& workload, const Target& target) {
                              return streaming_point(workload, target, knobs, parts);
                            }});
        }
      }
    }
  }
}

void add_row_per_warp_points(std::vector<RecipePoint>& points) {
  for (const std::int64_t columns : {1, 2, 4}) {
    for (const std::int64_t groups : {1, 2, 4, 8}) {
      for (const std::int64_t places : {4, 8, 16}) {
        for (const std::int64_t threads : {128, 256}) {
          const SparseRtKnobs knobs{.form = SparseRtForm::row_per_warp,
                                    .threads = std::max(threads, groups * 32),
                                    .groups = groups,
                                    .columns = columns,
                                    .lanes = 32,
                                    .places = places};
          points.push_back({fmt::format("row a warp, columns {}, groups {}, places {}, threads {}", columns,
                                        groups, places, threads),
                            [knobs](const Workload& workload, const Target& target) {
                              return row_per_warp_point(workload, target, knobs);
                            }});
        }
      }
    }
  }
}

std::vector<RecipePoint> sparsert_points() {
  std::vector<RecipePoint> points;
  add_image_points(points);
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
  for (const std::int64_t rows : {32, 64, 128}) {
    for (const std::int64_t threads : {128, 256, 512}) {
      for (const auto& [lines, buffers] : {std::pair{16, 4}, {32, 3}, {32, 4}, {64, 2}, {64, 3}}) {
        if (rows * threads > 128 * 256) continue;  // registers of a block
        const SparseRtKnobs knobs{
            .form = SparseRtForm::baked, .rows = rows, .threads = threads, .chunk = lines, .depth = buffers};
        points.push_back(
            {fmt::format("baked, rows {}, threads {}, chunk {}, depth {}", rows, threads, lines, buffers),
             [knobs](const Workload& workload, const Target& target) {
               return chunked_point(workload, target, knobs);
             }});
      }
    }
  }
  add_streaming_points(points);
  add_row_per_warp_points(points);
  return points;
}

/// The paper's, section IV: what a convolution gathers is then contiguous.
constexpr ImageLayout layout_of_shfl_bw = ImageLayout::chwn;

Schedule shfl_bw_point(const Workload& workload, const Target& target, const ShflBwKnobs& knobs,
                       std::int64_t places) {
  const std::int64_t rows = workload.groups.has_value() ? workload.groups->rows : 64;
  const auto weights = std::make_shared<const SparseTensor>(
      pack(workload.matrix, formats::shfl_bw({.rows = rows, .places = places})));
  return shfl_bw(algorithm_in(workload, layout_of_shfl_bw), weights, target, knobs);
}

Schedule shfl_bw_recipe(const Workload& workload, const Target& target) {
  return shfl_bw_point(workload, target, {}, 0);
}

std::vector<RecipePoint> shfl_bw_points() {
  std::vector<RecipePoint> points;
  for (const std::int64_t columns : {64, 128, 256, 512}) {
    for (const std::int64_t stages : {2, 3, 4, 6, 8}) {
      for (const std::int64_t places : {32, 64}) {
        const ShflBwKnobs knobs{.tile_n = columns, .stages = stages};
        points.push_back({fmt::format("columns {}, stages {}, places {}", columns, stages, places),
                          [knobs, places](const Workload& workload, const Target& target) {
                            return shfl_bw_point(workload, target, knobs, places);
                          }});
      }
    }
  }
  return points;
}

}  // namespace

bool Recipe::is_for(const Suite& suite) const {
  return weights == RecipeWeights::any || (weights == RecipeWeights::grouped) == suite.is_grouped();
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all{
      {"default", default_recipe, {}, RecipeWeights::unstructured},
      {"sparsert", sparsert_recipe, sparsert_points(), RecipeWeights::unstructured},
      {"shfl_bw", shfl_bw_recipe, shfl_bw_points(), RecipeWeights::grouped, layout_of_shfl_bw}};
  return all;
}

}  // namespace weft
