// expect: a recipe chooses among what it has not declared
// expect: columns = 512
// expect: at most 256, as Recipe::knobs has it, or .most = 512 there
// fix:   own.knobs = {{.name = "columns", .most = 512}};
#include <weft/scheduler/recipes/list.h>

#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(recipe_beyond_its_knobs) {
  Recipe own;
  own.name = "own";
  own.knobs = {{.name = "columns", .most = 256}};  // there
  own.is_format = [](const Format& format) { return format.name == "csr"; };
  own.why_not = [](const SpaceProblem&, const Target&) { return std::string(); };
  own.choices = [](const SpaceProblem&, PackedWeights&, const Target&, const SpaceOptions&) {
    return RecipeChoices{.knobs = {{"columns", {128, 256, 512}}}};
  };
  own.write = [](Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                 const KnobValues&, CallPlace place) {
    return schedule(std::move(algorithm), std::move(weights), target, place);
  };
  add_recipe(own);
  choose(product(), matrix(DType::f16), gpu(), {.recipes = {"own"}});  // here
}
