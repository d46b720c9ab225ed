// The kernels of a network's layers as one library: a package for each layer, and a table from names to
// launchers.
#pragma once

#include <weft/backends/export/export.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft {

/// What the kernels of a layer's package run on. A layer has a package for each.
enum class PackageDevice : std::uint8_t { processor, gpu };

/// A layer of a network package, for one kind of device.
struct PackagedLayer {
  std::string name;           ///< in the network, "encoder.0.fc1"
  std::string op = "linear";  ///< or "conv2d"
  /// On a processor those of a product take [k, n], which the package turns rows over to; on a GPU what they
  /// take is what the layer takes.
  std::vector<PackageKernel> kernels;
  std::string activation = "none";  ///< behind the bias, as network.json names it: "relu"
  std::vector<std::int64_t> settings =
      {};  ///< a convolution's: stride, pad and dilation, height first in each
  /// What the sums of rows are multiplied by, where the algorithm has an operand "scale": one for each row.
  std::vector<float> scales = {};
  /// How a product's kernels on a GPU take input and output: "nk", [n, features] both; "kn", [features, n];
  /// "nk_mn" and "kn_nm", [features, n] behind and in front.
  std::string layout = "nk";
};

/// Writes one layer after the other, so that no more than one layer's code is in memory.
///
/// The folder has `layers/<symbol>` for each layer and device, a package as export_package() writes it, or
/// the weights alone of a layer whose code is, byte for byte, that of one before it; beside its weights those
/// of a byte have their scales, as bytes of f32. Beside the layers is one library of all, its header with the
/// table, and a Python module that puts the layers into a PyTorch model. Equal calls write equal bytes, so
/// that an export which was cut off is made whole by the same calls; layers that are there already, made from
/// the same steps and weights, are found again by `is_written`.
class NetworkPackage {
 public:
  /// UserError when the name or the licence cannot be used.
  NetworkPackage(std::string folder, ExportOptions options, CallPlace place = {});

  /// Whether an earlier, equal call wrote that layer: `made_from` is a text of all that it depends on.
  bool is_written(const std::string& layer, PackageDevice device, const std::string& made_from) const;
  /// Errors as export_package().
  void add(const PackagedLayer& layer, const std::string& made_from, CallPlace place = {});
  /// Names a layer that is written already, so that the table has it.
  void keep(const std::string& layer, PackageDevice device);
  /// Writes what all layers share. UserError where there is no layer. Returns the files, relative to the
  /// folder, that lie outside of layers/.
  std::vector<std::string> finish(CallPlace place = {});

 private:
  std::string symbol_of(const std::string& layer, PackageDevice device) const;
  std::string folder_of(const std::string& symbol) const;

  /// The package that has such code, where a layer before has made one; else the layer's own.
  std::string package_of(const std::string& code, const std::string& symbol) const;

  std::string folder_;
  ExportOptions options_;
  std::vector<std::string> rows_;                ///< the table's, JSON
  std::map<std::string, std::string> packages_;  ///< symbols by the hash of their code
};

}  // namespace weft
