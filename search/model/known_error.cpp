#include <weft/search/model/known_error.h>

#include <algorithm>
#include <array>

namespace weft {
namespace {

/// Every comparison was made on an H200.
bool was_measured(const Target& target) {
  constexpr int sm_of_h200 = 90;
  return target.is_gpu() && target.sm == sm_of_h200;
}

bool is_list(const Format& format) {
  return format.name == "csr" || format.name == "dense";
}

bool uses_tensor_cores(std::string_view recipe) {
  return recipe == "shfl_bw" || recipe == "v_n_m" || recipe == "hb_ell";
}

}  // namespace

std::optional<KnownError> error_of_bound(const ProblemSummary& problem, const Format& format,
                                         std::string_view recipe, const Target& target) {
  if (!was_measured(target) || problem.convolution) return std::nullopt;
  if (recipe == "sparsert" && problem.dtype == DType::f32) return KnownError{0.9, 2.25};
  if (recipe == "default" && format.name == "csr" && problem.dtype == DType::f32) return KnownError{0.45, 5};
  // Those on tensor cores were compiled for sm_90a, which has other instructions.
  if (!uses_tensor_cores(recipe) || !target.architecture_specific) return std::nullopt;
  return recipe == "hb_ell" ? KnownError{0.85, 1.55} : KnownError{0.83, 1.18};
}

double usual_error_of_bound(const ProblemSummary& problem, const Format& format, std::string_view recipe) {
  struct Usual {
    std::string_view recipe;
    double aligned, even, odd;  ///< by the bytes of a row of the dense operand: multiples of 16, of 4, others
  };
  constexpr std::array<Usual, 3> all{{{"sparsert", 1.8, 1.8, 1.8},  //
                                      {"shfl_bw", 1.5, 1.75, 1.2},
                                      {"v_n_m", 1.15, 1.7, 1.1}}};
  // The default schedule knows nothing of tensor cores, and little of formats that are for them.
  constexpr double of_lists = 0.76, of_other_formats = 14;
  if (recipe == "default") return is_list(format) ? of_lists : of_other_formats;
  const auto* const found = std::ranges::find(all, recipe, &Usual::recipe);
  if (found == all.end()) return 1;
  return problem.n % 8 == 0 ? found->aligned : problem.n % 2 == 0 ? found->even : found->odd;
}

std::optional<KnownError> error_of_dense_bound(const Target& target) {
  if (!was_measured(target)) return std::nullopt;
  return KnownError{0.87, 1.15};
}

std::optional<KnownError> error_of_simulator(std::string_view recipe, const Target& target) {
  if (!was_measured(target) || uses_tensor_cores(recipe)) return std::nullopt;
  return KnownError{0.51, 1.59};
}

}  // namespace weft
