// Operands of images whose channels lie beside one another, as [n, h, w, c].
#pragma once

#include <weft/dsl/algorithm.h>

namespace weft {

/// Whether the last of three dimensions or more is counted by an index of the weights, as channels are.
bool ends_with_channels(const Algorithm& algorithm, const TensorAccess& access);

}  // namespace weft
