// What is said of a network: what its layers take, dense and sparse, and all of them together.
#pragma once

#include <weft/search/model/known_error.h>
#include <weft/search/report/chart.h>
#include <weft/search/report/trials.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::report {

/// Layers that are alike, which have one search, at one number of columns. Times are microseconds of all of
/// them together, when the network runs once.
struct LayerTimes {
  std::string name;                   ///< that of the layer that was searched for
  std::int64_t n = 0;                 ///< 0 of convolutions, which have columns of their own
  std::size_t layers = 1;             ///< how many there are
  std::optional<double> dense = {};   ///< by a library, or as it is modelled
  std::optional<double> sparse = {};  ///< by weft's kernels
  Faster winner = Faster::none;

  /// By the faster of the two, where one is known to be; else dense.
  std::optional<double> chosen() const { return winner == Faster::kernel ? sparse : dense; }
};

/// Those of the records that name layers, of one device: of the first that does.
std::vector<LayerTimes> layers_of(const std::vector<ProblemTrials>& problems);

/// A network's sums at one number of columns.
struct NetworkSum {
  double dense = 0, chosen = 0;  ///< microseconds
  /// How many layers are faster sparse, faster dense, neither, and without a dense time: not in the sums.
  std::size_t sparse_layers = 0, dense_layers = 0, undecided = 0, unknown = 0;
};

/// By the columns of linear layers, 0 where there are none; convolutions are in every sum.
std::map<std::int64_t, NetworkSum> sums_of(const std::vector<LayerTimes>& layers);
/// A line for each.
std::string text_of(const std::map<std::int64_t, NetworkSum>& sums);

/// How many times faster than dense, a bar for layers that are alike: of convolutions, and at each number of
/// columns. Of many those that take longest.
std::vector<Bars> speed_ups_of(const std::vector<LayerTimes>& layers);

}  // namespace weft::report
