// A recipe as one value: what it is called, why it does not apply, the point that it chooses, the schedule of
// a point, what there is to choose from, and about how long a point takes. The command line, spaces, the
// search, its model and the pages of help read it, in the list of scheduler/recipes/list.h.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/format.h>
#include <weft/formats/weight_matrix.h>
#include <weft/scheduler/limits/constraint.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/knob.h>
#include <weft/scheduler/recipes/parts/packed.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// What a recipe is asked to make a kernel of: an algorithm, and its weights before they are packed.
struct SpaceProblem {
  Algorithm algorithm;
  std::shared_ptr<const WeightMatrix> matrix;
  /// Of weights pruned in groups of V rows: shfl_bw or vector_wise, with V, and k where it is no longer open.
  /// csr for unstructured ones, or hb_ell.
  Format format;
};

/// What is asked of every point of a space, beside that it runs.
struct SpaceOptions {
  /// Blocks that a multiprocessor shall hold at the same time.
  std::int64_t resident_blocks = 1;
  /// Added to the registers that a thread is expected to need, which decide what is worth trying: what ptxas
  /// said of kernels of the recipe, less what was expected (register_correction.h).
  std::int64_t more_registers = 0;
};

/// What there is to choose from for one problem on one target.
struct RecipeChoices {
  std::vector<ir::Knob> knobs = {};  ///< where one can be 0, that says that there is none of what it counts
  std::vector<Constraint> limits = {};  ///< Space::constraints()
  std::vector<Constraint> worth = {};   ///< Space::preferences()
  /// The limits without which a point lacks a number, which the recipe would choose.
  std::vector<Constraint> whole = {};
};

struct Recipe {
  std::string_view name;
  std::string_view summary = {};  ///< one line, for pages
  bool (*is_format)(const Format& format) = nullptr;
  std::string_view formats = {};  ///< the same for people: "csr or dense"
  bool of_halves = false;         ///< types of tensor cores alone: f16 and bf16, some e4m3 and e5m2
  bool of_bytes = false;          ///< among them all that have a byte, in products of two matrices
  bool of_gpus = true;            ///< not the CPU
  bool of_cpus = false;           ///< no GPU
  std::vector<RecipeKnob> knobs = {};
  std::string_view some_knobs = {};  ///< "tile_n=256,stages=3"
  std::string_view example = {};     ///< a line that can be run

  /// Why it has no points for the problem on the target; nothing where it has.
  std::string (*why_not)(const SpaceProblem& problem, const Target& target) = nullptr;
  /// Where there is a reason, undefined.
  RecipeChoices (*choices)(const SpaceProblem& problem, PackedWeights& packed, const Target& target,
                           const SpaceOptions& options) = nullptr;
  /// The format that the weights of a point are packed in; null: always the problem's.
  Format (*format_of)(const Format& format, const KnobValues& point) = nullptr;
  /// The point that it takes unasked; null, or nothing, where that is none of its choices.
  std::optional<KnobValues> (*choose)(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                                      const Target& target) = nullptr;
  /// A point with what it takes for the numbers that the point leaves open, as far as a summary tells; null:
  /// as it is.
  KnobValues (*filled)(const ProblemSummary& problem, const KnobValues& point,
                       const Target& target) = nullptr;
  /// The schedule of a point. Knobs that it lacks, and those that are 0 where there cannot be none, are left
  /// to the recipe. Throws as the recipe.
  Schedule (*write)(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                    const KnobValues& point, CallPlace place) = nullptr;
  /// What bound_of() says, on a target and of types that it takes.
  Bound (*time)(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                const Ceilings& ceilings) = nullptr;
};

/// A recipe that is called with a struct of knobs.
template <class Knobs>
using RecipeWithKnobs = Schedule(Algorithm, std::shared_ptr<const SparseTensor>, const Target&, const Knobs&,
                                 CallPlace);
/// Recipe::write of one, whose knobs `Fields` names.
template <class Knobs, RecipeWithKnobs<Knobs>* Make, std::span<const KnobField<Knobs>> (*Fields)()>
Schedule written(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                 const KnobValues& point, CallPlace place) {
  return Make(std::move(algorithm), std::move(weights), target, knobs_of(Fields(), point), place);
}

}  // namespace weft
