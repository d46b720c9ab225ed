// What recipes for CPUs have in common: their kernels see products whose operands lie across once these are
// transposed.
#pragma once

#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <memory>
#include <string>
#include <utility>

namespace weft {

inline SpaceProblem in_kernel_order(SpaceProblem problem) {
  problem.algorithm = in_kernel_order(std::move(problem.algorithm));
  return problem;
}

template <auto why_not>
std::string why_not_in_order(const SpaceProblem& problem, const Target& target) {
  return why_not(in_kernel_order(problem), target);
}

template <auto choices>
RecipeChoices choices_in_order(const SpaceProblem& problem, PackedWeights& packed, const Target& target,
                               const SpaceOptions& options) {
  return choices(in_kernel_order(problem), packed, target, options);
}

template <auto choose>
std::optional<KnobValues> choice_in_order(const Algorithm& algorithm,
                                          std::shared_ptr<const SparseTensor> weights, const Target& target) {
  return choose(in_kernel_order(algorithm), std::move(weights), target);
}

}  // namespace weft
