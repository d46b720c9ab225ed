// The kernels of a whole network within one budget of time, spent where the network's time is.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/search/network/layer_classes.h>
#include <weft/search/network/network.h>
#include <weft/search/trials/tune.h>
#include <weft/search/trials/verdict.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct NetworkTuneOptions {
  /// Columns, rows of the input, of linear layers of which the network file does not say how many they have.
  std::vector<std::int64_t> columns = {};
  /// Tried beside those worth trying, where they hold a layer's weights.
  std::vector<Format> formats = {};
  double seconds = 300;            ///< for all searches together
  std::int64_t most_trials = 100;  ///< a class at one number of columns gets
  /// How trials are measured. Its numbers of trials and seconds are not read.
  TuneOptions tune = {};
};

/// What one search is of.
struct ClassAtColumns {
  LayerClass layers;
  std::int64_t n = 0;  ///< columns; of a convolution those of its product
};
/// Every class at every number of columns, those first whose dense products are largest. Layers that cannot
/// be searched for are left out, with the reason. UserError where none is left, and for linear layers of
/// which nobody says n.
std::vector<ClassAtColumns> classes_at_columns(Network& network, const std::vector<std::int64_t>& columns,
                                               CallPlace place = {});

/// A class of layers at one number of columns.
struct ClassTimes {
  LayerClass layers;
  std::int64_t n = 0;              ///< columns; of a convolution those of its product
  std::optional<Verdict> verdict;  ///< on the layer that was searched for; nothing: no kernel was right
  std::string failure;             ///< why there is none, or none for some of the layers
  std::optional<Record> best;
  std::int64_t trials = 0;
  bool is_exhausted = false;  ///< whether nothing is left to try
  /// Times of each layer's own kernel by the same point, in the order of `layers.layers`, verified with its
  /// own weights; nothing where it was not measured. 0 is the representative's.
  std::vector<std::optional<double>> own;

  /// What all its layers take when the network runs once, microseconds: dense, and by the faster of the two.
  /// Nothing where no library's dense product is known.
  std::optional<double> dense_time() const;
  std::optional<double> chosen_time() const;
  bool stays_dense() const;
};

struct NetworkTuneHooks {
  /// Told when a class begins to be searched or checked, and with every trial.
  std::function<void(std::size_t number, std::size_t all, const ClassTimes& one, const TuneStatus&)>
      progress = {};
  std::function<bool()> stop = [] { return false; };
};

struct NetworkTimes {
  std::vector<ClassTimes> classes;
  bool interrupted = false;
};

/// Searches for the kernels of every class at every number of columns. All get a few trials; then the class
/// gets more whose share of the network's time, and how unsure that still is, are largest, until the seconds
/// are spent. The other layers of each class are made, verified and timed by the class's best point. Every
/// trial is appended to `file`, and what it has already is not measured again. UserError where nothing can be
/// searched for; errors as tune().
NetworkTimes tune_network(Network& network, const Target& target, RecordFile& file,
                          const NetworkTuneOptions& options, const NetworkTuneHooks& hooks = {},
                          CallPlace place = {});

}  // namespace weft
