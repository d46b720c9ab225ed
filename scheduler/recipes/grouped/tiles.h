// Which tiles the recipes for row groups give a product of known size.
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

/// The same for rows that list their columns together in fours, column_quads, where nobody says how many do:
/// many read B less often, few have fewer columns to read, and more tiles. Tall ones where every processor
/// has several (docs/measurements.md). UserError for an instruction that sparse tensor cores lack.
ShflBwKnobs v_n_m_tiles(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                        const ShflBwKnobs& knobs);

}  // namespace weft
