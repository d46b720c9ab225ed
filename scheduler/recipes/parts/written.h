// The schedule of a point, whoever wrote the recipe.
#pragma once

#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <memory>
#include <new>
#include <string>
#include <utility>

namespace weft {

/// Recipe::write. A recipe of one's own may throw anything: what is no error of weft's is a UserError that
/// names the recipe.
inline Schedule schedule_by(const Recipe& recipe, const Algorithm& algorithm,
                            std::shared_ptr<const SparseTensor> weights, const Target& target,
                            const KnobValues& point) {
  try {
    return recipe.write(algorithm, std::move(weights), target, point, CallPlace());
  } catch (const UserError&) {
    throw;
  } catch (const RuntimeError&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw UserError("a recipe ended with an exception", fmt::format("recipe {}, write", recipe.name),
                    error.what(), "a Schedule, or a UserError; a point may lack any of the recipe's knobs");
  }
}

}  // namespace weft
