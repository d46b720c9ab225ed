// Which tiles the recipe for row groups gives a product of known size.
#pragma once

#include <weft/scheduler/recipes/grouped/shfl_bw.h>

namespace weft {

/// The knobs of the tiles that should be done first, for a product on sm_90a with groups of 64 rows and more,
/// whose columns are known and lie beside one another. Large tiles read each row of B less often; small ones
/// leave no processor without work, and two or three blocks of them share one, so that some copy while others
/// store. The model and what it is worth: docs/measurements.md. Returns `knobs` where one is given, and for
/// other products.
ShflBwKnobs shfl_bw_tiles(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                          const ShflBwKnobs& knobs);

}  // namespace weft
