// The predictor that ships with weft.
#pragma once

#include <weft/search/model/predictor.h>

namespace weft {

/// Of shfl_bw in f16 on sm_90a, from the study of the predictor (docs/measurements/search.md). It is what
///     weft train --db docs/data/h200_shfl_bw_study.jsonl --max-height 4 --min-leaf 8 -o
///     search/model/h200_shfl_bw.json
/// writes. Read once.
const Predictor& shipped_predictor();

}  // namespace weft
