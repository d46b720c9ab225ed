// The predictor that ships with weft.
#pragma once

#include <weft/search/model/predictor.h>

namespace weft {

/// Of shfl_bw and v_n_m in f16 on sm_90a, from the two studies of the predictor
/// (docs/measurements/search.md). It is what
///     weft train --db studies.jsonl --max-height 4 --min-leaf 8 -o search/model/sm_90a_choices.json
/// writes of docs/data/h200_shfl_bw_study.jsonl and h100_v_n_m_study.jsonl in one file. Read once.
const Predictor& shipped_predictor();

}  // namespace weft
