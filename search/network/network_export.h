// A network's kernels as one package: the layers for which sparse wins.
#pragma once

#include <weft/backends/export/export.h>
#include <weft/dsl/errors.h>
#include <weft/search/network/network.h>
#include <weft/search/records/record_file.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct NetworkExportOptions {
  ExportOptions package = {};  ///< its name and licence; weights are files, whatever it says
  std::vector<std::string> targets{"x86-64-v3", "x86-64-v4"};
  /// Columns of linear layers: a kernel for one of up to the first, one for up to the second, … A layer of a
  /// network file that says n, where this is empty, gets kernels for 1 and for up to n.
  std::vector<std::int64_t> columns = {};
  /// Trials, as tune_network() appends them: whose kernels are taken, and which layers stay dense. What was
  /// measured on this processor holds for its levels, too.
  std::span<const StoredRecord> records = {};
  /// Chosen among beside those worth trying, where no trial says more and they hold a layer's weights.
  std::vector<Format> formats = {};
  bool all = false;  ///< also layers that were measured to be faster dense
  int threads = 1;   ///< that share the loops of a kernel on a processor
};

struct NetworkExportHooks {
  /// Told before each layer; `kept`: an earlier export of the same wrote it.
  std::function<void(std::size_t number, std::size_t all, const NetworkLayer& layer, bool kept)> progress =
      {};
};

struct ExportedNetwork {
  std::vector<std::string> layers;      ///< names of those in the package
  std::vector<std::string> stay_dense;  ///< and of those that were measured to be faster dense
  /// Layers without a kernel, and why.
  std::vector<std::pair<std::string, std::string>> refused;
};

/// Writes `folder` (backends/export/network_package.h). A layer that an equal export wrote before is kept as
/// it is, so that one that was interrupted goes on. UserError where no layer is left, and as NetworkPackage.
ExportedNetwork export_network(const std::string& folder, Network& network,
                               const NetworkExportOptions& options, const NetworkExportHooks& hooks = {},
                               CallPlace place = {});

}  // namespace weft
