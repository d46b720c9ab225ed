#include <weft/search/model/known_error.h>

namespace weft {
namespace {

/// Every comparison was made on an H200.
bool was_measured(const Target& target) {
  constexpr int sm_of_h200 = 90;
  return target.is_gpu() && target.sm == sm_of_h200;
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

std::optional<KnownError> error_of_dense_bound(const Target& target) {
  if (!was_measured(target)) return std::nullopt;
  return KnownError{0.87, 1.15};
}

std::optional<KnownError> error_of_simulator(std::string_view recipe, const Target& target) {
  if (!was_measured(target) || uses_tensor_cores(recipe)) return std::nullopt;
  return KnownError{0.51, 1.59};
}

}  // namespace weft
