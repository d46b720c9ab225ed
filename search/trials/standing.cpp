#include <fmt/format.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/known_error.h>
#include <weft/search/trials/standing.h>

#include <algorithm>

namespace weft {
namespace {

/// How far the time of the best, and that of dense, may be from what they stand for.
struct Errors {
  std::optional<KnownError> best, dense;
  std::string of;  ///< "the analytic model"
};

Errors errors_of(const Timed& best) {
  const std::string& measure = best.record.measure;
  if (measure == "model") {
    return {error_of_expected_time(best.summary, best.format, best.record.recipe, best.record.config,
                                   best.target),
            error_of_dense_bound(best.summary, best.target), "the analytic model"};
  }
  if (measure == "sim") {
    constexpr std::string_view recipe_of_dense = "default";
    return {error_of_simulator(best.record.recipe, best.target),
            error_of_simulator(recipe_of_dense, best.target), "the simulator's time model"};
  }
  return {error_of_samples(*best.record.microseconds), KnownError{}, "the samples"};
}

bool is_launch(const Timed& best) {
  if (best.record.measure != "model" || !best.target.is_gpu()) return false;
  return bound_of(best.summary, best.record.recipe, best.record.config, best.target).by == Resource::launch;
}

/// Libraries are asked for few of the types of a byte: on a GPU for e4m3, on a processor for none.
std::string why_no_library(const Timed& best) {
  const auto word = best.record.problem.words.find("dtype");
  const auto dtype = word == best.record.problem.words.end() ? std::nullopt : dtype_named(word->second);
  std::string why = "no library was measured";
  if (dtype && is_factor_of_a_byte(*dtype) && !(best.target.is_gpu() && *dtype == DType::e4m3))
    why += fmt::format(", as none is asked for products of {} here", name_of(*dtype));
  return why;
}

std::string shown_name(const Baseline& dense) {
  return dense.whose == BaselineOf::weft ? "weft's own dense kernel" : dense.name;
}

}  // namespace

const Baseline* dense_beside(const Record& record) {
  const bool modelled = record.measure == "model";
  const auto found = std::ranges::find_if(record.baselines, [&](const Baseline& one) {
    return one.dense && (one.whose == BaselineOf::model) == modelled;
  });
  return found == record.baselines.end() ? nullptr : &*found;
}

Standing standing_of(const Timed& best, const Baseline& dense) {
  Standing standing;
  standing.ratio = dense.microseconds / *best.record.time_of_correct();
  const Errors errors = errors_of(best);
  if (!errors.best || !errors.dense) {
    standing.why_none = fmt::format("{} was never compared with measured kernels of {} in {} on {}",
                                    errors.of, best.record.recipe, best.format.text(), best.target.name);
    return standing;
  }
  const Comparison comparison = compared(standing.ratio, *errors.dense, *errors.best);
  standing.error = comparison.factor;
  if (is_launch(best)) {
    standing.why_none =
        "the launch bounds the kernel, and the analytic model has one number for all launches";
  } else if (comparison.faster == Faster::none) {
    standing.why_none =
        errors.of == "the samples"
            ? fmt::format("within the spread of the samples (factor {:.2f})", *standing.error)
            : fmt::format("within the error of {} (factor {:.1f})", errors.of, *standing.error);
  } else if (comparison.faster == Faster::dense) {
    standing.winner = Faster::dense;
  } else if (dense.whose == BaselineOf::weft) {
    standing.why_none = why_no_library(best);
  } else {
    standing.winner = Faster::kernel;
  }
  return standing;
}

std::string text_of(const Standing& standing, const Baseline& dense) {
  const std::string name = shown_name(dense);
  const double ratio = standing.ratio;
  switch (standing.winner) {
    case Faster::kernel:
      return fmt::format("against dense: {:.2f}x faster than {} ({:.2f} us)\n", ratio, name,
                         dense.microseconds);
    case Faster::dense:
      return fmt::format("against dense: {} is {:.2f}x faster ({:.2f} us): stay dense\n", name, 1 / ratio,
                         dense.microseconds);
    case Faster::none: break;
  }
  const std::string beside = ratio >= 1 ? fmt::format("{:.2f} times faster than {}", ratio, name)
                                        : fmt::format("{:.2f} times slower than {}", 1 / ratio, name);
  return fmt::format("against dense: no verdict: {}; {} ({:.2f} us)\n", standing.why_none, beside,
                     dense.microseconds);
}

std::string text_of_bound(double bound, std::string_view by, const Record& best) {
  const double time = *best.time_of_correct();
  if (best.measure == "model") return fmt::format("bounded by: {}, by the analytic model\n", by);
  if (bound <= time)
    return fmt::format(
        "bounded by: {} ({:.2f} us by the analytic model, of which the kernel reaches {:.0f} %)\n", by, bound,
        100 * bound / time);
  return fmt::format(
      "bounded by: {}, by the analytic model, whose {:.2f} us are too many here: the kernel takes {:.2f}\n",
      by, bound, time);
}

}  // namespace weft
