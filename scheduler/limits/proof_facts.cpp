#include <weft/scheduler/limits/proof_places.h>

namespace weft::proofs {

WeightFacts facts_of(const Algorithm& algorithm, const SparseTensor* weights, const ir::Program& program) {
  WeightFacts facts;
  if (weights != nullptr) facts = LevelFacts(algorithm, *weights, program).take();
  for (const ir::Variable& extent : program.extents) {
    const bool entries = extent.name.ends_with(".entries");
    facts.conditions.push_back(ir::integer(entries ? 0 : 1) <= ir::variable(extent.name));
  }
  return facts;
}

}  // namespace weft::proofs
