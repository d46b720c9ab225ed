// Nobody has to know a name: which format, recipe and point make the kernel of a problem that is expected to
// be the fastest, and whether dense would be faster still.
//
//   Choice choice = choose(linear, matrix, target_named("sm_90a"));
//   std::cout << choice.text();
//   AutoKernel made = auto_kernel(linear, matrix, target_named("sm_90a"));
//   made.kernel(device, arguments);            // of made.weights, packed in the format that was chosen
#pragma once

#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/search/choice/known_choices.h>
#include <weft/search/model/known_error.h>
#include <weft/search/model/shipped_predictor.h>
#include <weft/search/records/record_file.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// One way to make a kernel.
struct Way {
  Format format;
  const Recipe* recipe = nullptr;
  std::optional<KnobValues> point = {};  ///< nothing: as the recipe chooses
  double microseconds = 0;               ///< on a CPU a rough count: less is faster
  bool measured = false;                 ///< in a trial of these weights; else modelled, or that of others
  std::optional<KnownError> error = {};  ///< that of the time; nothing where none was compared
  double reluctance = 1;                 ///< what speaks against it beside its time
  bool known = false;                    ///< the fastest of a search of other weights of the same problem

  /// What ways are ranked by.
  double rank() const { return microseconds * reluctance; }
  /// "shfl_bw:tile_m=64,… in shfl_bw:V=64". UserError without a recipe, which no way of choose() lacks.
  std::string text(CallPlace place = {}) const;
};

/// What the dense product takes, as far as that is known.
struct ExpectedDense {
  std::string name;  ///< "cuBLAS f16"
  double microseconds = 0;
  bool measured = false;
  std::optional<KnownError> error = {};  ///< that of the time; nothing where none was compared
};

/// The ways to make a kernel of a problem.
struct Choice {
  /// Those that were measured, one that is known, then the others, the least rank first; never empty.
  std::vector<Way> ways;
  std::optional<ExpectedDense> dense;  ///< nothing where neither a trial nor a model tells

  /// UserError of a Choice without ways, which choose() does not give; so do the others.
  const Way& first(CallPlace place = {}) const;
  /// Which is faster, the first way or the dense product: none where the times do not differ by more than
  /// their errors, or one of them has none that is known.
  Faster faster(CallPlace place = {}) const;
  /// "stay dense", "sparse is faster", "no verdict: within the error of the models (factor 2.1)".
  std::string verdict(CallPlace place = {}) const;
  /// What was taken, what came second, and how dense stands, in one line without its end.
  std::string text(CallPlace place = {}) const;
};

struct ChoiceOptions {
  std::vector<Format> formats = {};            ///< only these; empty: those worth trying
  std::vector<std::string_view> recipes = {};  ///< only these; empty: all
  /// Trials of this problem and of no other. What was measured right stands before all that is modelled.
  std::span<const StoredRecord> records = {};
  /// Of each recipe in each format and each of its forms or instructions, the first by what is expected: more
  /// than one for whoever tries several.
  std::size_t points = 1;
  std::int64_t open_size = 256;  ///< for what a launch decides
  /// Groups of channels that the dense convolution has, where the weights of others are pruned: of more than
  /// one there is no model.
  std::int64_t image_groups = 1;
  /// Whose first configuration that can run stands before the point that the bound takes, for products of
  /// f16 that lie within what it learnt from; null: the bound alone.
  const Predictor* predictor = &shipped_predictor();
  /// What searches of the same problem found, which stands before all that is modelled; null: nothing.
  const KnownChoices* known = &shipped_choices();
};

/// Over the formats, the recipes that have points for them, and a bounded sample of each recipe's points.
/// Times are those of trials in `records`, else of the analytic bound as measured kernels have corrected it
/// (search/model/known_error.h). Where no kernel of a recipe was ever compared with its bound, the recipe
/// chooses its point itself. A predictor says which point of a recipe is taken, and not how long it takes:
/// its kernels serve any size, which costs large products more than the kernels that are made here. Nothing
/// is compiled or run, and only weights of hb_ell are packed. UserError where the algorithm has no sparse
/// operand, the weights do not fit it, there is no recipe of a name, or formats and recipes leave no way.
Choice choose(const Algorithm& algorithm, const WeightMatrix& weights, const Target& target,
              const ChoiceOptions& options = {}, CallPlace place = {});
WEFT_CALL_REFUSED(
    Choice, choose,
    "choose(algorithm, weights, target_named(\"sm_90a\"), {.recipes = {\"shfl_bw\"}}) of weights "
    "that are not packed")

namespace detail {

/// What options of a choice may be called by mistake, in the order in which they are usually given.
struct NamesOfChoiceOptions {
  Anything format = {}, formats = {}, recipe = {}, recipes = {}, record = {}, records = {}, trials = {},
           db = {}, database = {}, points = {}, tries = {}, top = {}, count = {}, open_size = {}, size = {},
           n = {}, columns = {}, image_groups = {}, groups = {}, predictor = {}, tree = {}, known = {},
           table = {}, dtype = {}, device = {}, target = {}, threads = {}, seed = {}, verbose = {};
};

}  // namespace detail
#define WEFT_OPTIONS_OF_CHOICE                                                                           \
  ".formats, .recipes, .records, .points, .open_size, .image_groups, .predictor, .known in this order, " \
  "such as "                                                                                             \
  "{.formats = "                                                                                         \
  "{formats::csr()}, .recipes = {\"default\"}}"
WEFT_OPTION_REFUSED(Choice, choose, detail::NamesOfChoiceOptions, WEFT_OPTIONS_OF_CHOICE, const Algorithm&,
                    const WeightMatrix&, const Target&)

/// The format that the weights of a way are packed in, which its point may narrow.
Format packed_format(const Way& way, CallPlace place = {});
/// The schedule of one way; the weights are packed again where its point asks for that. UserError as the
/// recipe throws it, and where it would leave the weights to the default schedule.
Schedule schedule_of_way(const Way& way, const Algorithm& algorithm, const WeightMatrix& weights,
                         std::shared_ptr<const SparseTensor> packed, const Target& target,
                         CallPlace place = {});

/// Whether the recipe, which takes other weights or targets than it was given, left them to the default
/// schedule.
bool is_left_to_default(const Recipe& recipe, const Schedule& schedule);

/// The schedule of weights that are packed already: of the recipes that take their format. The first way that
/// is not refused.
Schedule auto_schedule(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                       const Target& target, const ChoiceOptions& options = {}, CallPlace place = {});
WEFT_CALL_REFUSED(Schedule, auto_schedule,
                  "auto_schedule(algorithm, std::make_shared<const SparseTensor>(pack(weights, "
                  "formats::csr())), target_named(\"cpu\")), or auto_kernel(algorithm, weights, target) of "
                  "weights that are not packed")

/// A kernel with the weights packed for it.
struct AutoKernel {
  Choice choice;  ///< whose first way was made
  std::shared_ptr<const SparseTensor> weights;
  Kernel kernel;
};
/// The kernel of the first way that fits: one whose schedule or code is refused gives way to the next. Where
/// `kernel` says how many threads there are, it is made for so many.
AutoKernel auto_kernel(const Algorithm& algorithm, const WeightMatrix& weights, const Target& target,
                       const ChoiceOptions& options = {}, const KernelOptions& kernel = {},
                       CallPlace place = {});
WEFT_CALL_REFUSED(AutoKernel, auto_kernel,
                  "auto_kernel(algorithm, weights, target_named(\"cpu\")) of weights that are not packed, or "
                  "compile(auto_schedule(algorithm, weights, target)) of packed ones")

WEFT_OPTION_REFUSED(AutoKernel, auto_kernel, detail::NamesOfChoiceOptions, WEFT_OPTIONS_OF_CHOICE,
                    const Algorithm&, const WeightMatrix&, const Target&)
#undef WEFT_OPTIONS_OF_CHOICE

/// Calls `make` with one way after the other until one is not refused, and returns what that made; those that
/// were refused are taken out. Throws the refusal of the last one.
template <class Make>
auto first_that_fits(Choice& choice, const Make& make, CallPlace place = {}) {
  while (choice.ways.size() > 1) {
    try {
      return make(choice.ways.front());
    } catch (const UserError&) {
      choice.ways.erase(choice.ways.begin());
    }
  }
  return make(choice.first(place));
}

}  // namespace weft
