// What nests have in common whose weights an instruction takes as they are stored: blocks of hb_ell, streams
// for lanes.
#pragma once

#include <weft/scheduler/steps/parts/loops.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft::steps {

/// The two factors of a sum: a stored value of the weights, and an element of a dense matrix.
struct StoredFactors {
  ir::Load stored, dense;
  Expr value;  ///< the stored one, as it is multiplied
};
std::optional<StoredFactors> stored_factors_of(const ir::Store& store, const StepContext& context);

/// So many innermost loops of a nest, with what stands between them.
Stmt innermost_loops(const Stmt& nest, std::size_t count);

/// The names of the loops, "m, n, k".
std::string names_of(const std::vector<ir::For>& loops);

/// The first condition of the nest that the instruction does not ask on its own.
std::optional<Expr> other_condition(const ir::Chain& chain, const std::function<bool(const Expr&)>& is_asked);
/// What is accepted in place of it.
inline constexpr const char* conditions_of_formats =
    "nothing but what the format and sizes ask: numbers of .split that divide the sizes";

/// The dimensions of a sum that neither of two loops counts.
std::vector<std::size_t> kept_dimensions(const ir::Store& store, const ir::For& rows, const ir::For& columns);

}  // namespace weft::steps
