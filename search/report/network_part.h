// What a report says of a network: each of its layers beside the dense product, and all of them together.
#pragma once

#include <weft/search/report/chart.h>
#include <weft/search/report/trials.h>

#include <string>
#include <vector>

namespace weft::report {

/// A layer at one number of columns, as the records of weft model tune name it.
struct LayerTimes {
  std::string name;
  std::int64_t n = 0;
  double best = 0;                   ///< microseconds
  std::optional<double> dense = {};  ///< that of a layer of the same sizes where it has none
};

/// Those of the problems whose records name a layer, each at each number of columns.
std::vector<LayerTimes> layers_of(const std::vector<ProblemTrials>& problems);

/// A few lines: for each number of columns the sums over all layers, dense and with the faster of both, every
/// layer once. Empty where no record names a layer.
std::string network_verdict(const std::vector<LayerTimes>& layers);

/// The dense time over the best one, a bar a layer, at the most common number of columns of linear layers.
Bars speed_up_of_layers(const std::vector<LayerTimes>& layers);

}  // namespace weft::report
