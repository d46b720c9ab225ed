// What kernels take beyond what the models say, learnt from kernels that were measured: boosted trees over
// the numbers of a problem, a point of a recipe and its bound.
#pragma once

#include <weft/formats/format.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>
#include <weft/search/model/boosted_trees.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// A kernel as a model sees it before it is compiled.
struct KernelOutline {
  const ProblemSummary& problem;
  const Format& format;
  std::string_view recipe;
  const KnobValues& point;
  const Bound& bound;
  double modelled = 0;  ///< microseconds, what is corrected
  const Target& target;
};

/// What trees may ask of a kernel and of the CPU it is for, by name: sizes by their logarithm, "part:L2" a
/// part of the bound over the whole, "recipe:shfl_bw" and "format:csr" 1 or 0, "knob:tile_m" the logarithm of
/// a knob and one more; -1 for one that the point does not have.
class KernelNumbers {
 public:
  KernelNumbers() = default;
  /// InternalError for a name that is none; is_known() tells.
  explicit KernelNumbers(std::vector<std::string> names);
  static bool is_known(const std::string& name);
  /// All that can be asked of kernels of these recipes, in these formats, with these knobs.
  static KernelNumbers all(const std::vector<std::string>& recipes, const std::vector<std::string>& formats,
                           const std::vector<std::string>& knobs);

  const std::vector<std::string>& names() const { return names_; }
  std::vector<double> operator()(const KernelOutline& kernel) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::function<double(const KernelOutline&)>> numbers_;
};

/// Of one target.
struct LearntTimes {
  std::string target;                ///< whose kernels were measured: "sm_90a"
  std::vector<std::string> recipes;  ///< those whose kernels were measured
  KernelNumbers numbers;
  BoostedTrees trees;  ///< over the numbers: logarithms of measured over modelled times

  /// Those of a CPU are of all whose vectors are as wide.
  bool is_of(std::string_view recipe, const Target& on) const;
  /// What a modelled time is multiplied by.
  double correction(const KernelOutline& kernel) const;
};

/// One JSON document, a tree a line, and what it says. UserError that names `origin` and the place in it
/// where it is none.
std::string json_of(const LearntTimes& times);
LearntTimes learnt_times_of(std::string_view json, const std::string& origin);

/// Of sm_90a, from searches and from studies of what there is to choose from (docs/measurements/search.md),
/// byte for byte what learn_times of tests/bench writes of the unpacked files of docs/data:
///     learn_times h200_turned_bytes.jsonl h200_drawn_search_{10,9,8,7,6}.jsonl h200_linear_search.jsonl
///         h200_rows_as_they_lie.jsonl
///         h200_short_search_3.jsonl h200_drawn_search_{5,4,3}.jsonl h200_short_search_2.jsonl
///         h200_drawn_search.jsonl h200_short_search.jsonl h200_drawn_search_2.jsonl h200_full_search.jsonl
///         h200_narrow_tiles.jsonl h200_few_columns_trials.jsonl h200_image_search.jsonl
///         h100_choice_study.jsonl
///         h100_choice_study_2.jsonl h200_choice_study.jsonl h200_image_trials.jsonl
///         h200_transformer_layers.jsonl h200_lane_streams.jsonl --judged 20 --trees 300 --height 12
///         --leaves 64 --least-weight 20 --rate 0.06 -o search/model/sm_90a_times.json
/// Read once.
const LearntTimes& shipped_times();
/// Of CPUs with AVX-512, one thread, which the size of their second caches tells apart: likewise, by
///     learn_times cpu_search_2.jsonl cpu_search.jsonl --target x86-64-v4 --trees 600 --height 6 --rate 0.08
/// without the trials of products [n, k] (grep -v 'B\[n, k\]' of the first file), which change little
/// (docs/measurements/cpu.md).
const LearntTimes& shipped_cpu_times();

}  // namespace weft
