// A schedule for a problem that nobody measured.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/search/model/predictor.h>
#include <weft/search/spaces/space.h>

#include <string>
#include <vector>

namespace weft {

struct Prediction {
  Schedule schedule;
  /// What --recipe takes: "shfl_bw:tile_m=64,…"; the recipe alone where it chose for itself.
  std::string recipe;
  KnobValues point;             ///< empty where the recipe chose for itself
  bool from_predictor = false;  ///< else none that it ranks fits the problem and the target
  struct PassedOver {
    std::string configuration;
    std::string reason;
  };
  std::vector<PassedOver> passed_over;  ///< configurations that were ranked before this one
};

/// The first configuration of the ranking that is feasible, and whose schedule its recipe makes; where
/// there is none, what the recipe for the format chooses for itself, at last the default schedule. There is
/// always one. Throws as default_schedule() where not even that can be made; UserError for a predictor
/// without a tree.
Prediction predict(const Predictor& predictor, const SpaceProblem& problem, const Target& target,
                   const DeviceNumbers& device, CallPlace place = {});

}  // namespace weft
