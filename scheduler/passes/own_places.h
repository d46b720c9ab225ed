// Gathered elements of an image: each thread keeps its own pixels.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft::passes {

/// The copy, whose coordinates are the kept columns of the weights and then the pixels, by elements: a thread
/// goes through columns for pixels that stay its own, so that where these lie is computed once for the whole
/// kernel and what a column stands for once for all of them. Threads beside one another take what lies beside
/// one another in memory: pixels, or, where the last dimension knows nothing of pixels, columns. Places where
/// `inside` does not hold become zero and are not read. Nothing where threads have no equal shares, or more
/// pixels than they have registers for.
std::optional<ir::Stmt> by_own_places(const ir::Copy& copy, const ir::Expr& inside, std::int64_t threads,
                                      const std::string& name);

}  // namespace weft::passes
