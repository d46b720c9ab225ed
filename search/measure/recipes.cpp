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

}  // namespace

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all{{"default", default_recipe}, {"sparsert", sparsert_recipe}};
  return all;
}

}  // namespace weft
