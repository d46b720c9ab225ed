// A network as a folder, or a file of many tensors, has it: its layers, and which of them are worth a kernel.
//
//   Network network = Network::read("llama-pruned");
//   network.inspect();
//   for (const NetworkLayer& layer : network.layers()) …
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/search/network/layer.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace weft {

struct InspectHooks {
  /// Told before each weight is read: its number, of how many, and the layer.
  std::function<void(std::size_t number, std::size_t all, const NetworkLayer& layer)> progress = {};
  std::function<bool()> stop = [] { return false; };
};

/// Not thread-safe.
class Network {
 public:
  Network() = default;
  WEFT_NOT_MADE_OF(Network, "Network network = Network::read(\"folder\");")

  /// Lists the layers of a path: a network file (docs/network_file.md), a folder with one, a folder of
  /// Hugging Face's form (config.json, .safetensors, an index of shards), any other folder of weights, or one
  /// file. Only headers are read. Of a model of ONNX the graph says what is computed. Where a network file
  /// names the layers, these are they, in its order; else every tensor of two or four dimensions is one, and
  /// what a name, a shape or a configuration says decides the kind.
  ///
  /// A shard that is cut off or missing, and other weights that cannot be read, leave their layers out, with
  /// the reason. UserError where the path, or the one file that it is, cannot be read or holds no weights,
  /// and, with file, line and field, for a network file that is none or names tensors that are not there.
  static Network read(const std::string& path, CallPlace place = {});

  /// Reads the weights of the layers, one after the other: zeros, structure, bytes. Memory is that of the
  /// largest of them. Layers that are hardly pruned, or not finite, or of integers but i8, are left out from
  /// then on; of elements of a byte also those without a scale, and convolutions. Returns false where `stop`
  /// ended it; what was found stays.
  bool inspect(const InspectHooks& hooks = {});

  const std::string& path() const { return path_; }
  const std::vector<NetworkLayer>& layers() const { return layers_; }
  std::vector<NetworkLayer>& layers() { return layers_; }
  std::vector<NetworkLayer>::const_iterator begin() const { return layers_.begin(); }
  std::vector<NetworkLayer>::const_iterator end() const { return layers_.end(); }
  /// Tensors that are no layers' weights: biases, norms, buffers.
  std::size_t other_tensors() const { return other_tensors_; }

 private:
  std::string path_;
  std::vector<NetworkLayer> layers_;
  std::size_t other_tensors_ = 0;
};

/// The weights of a layer, and their scales. Errors as read(); of element types that nobody multiplies with
/// UserError.
WeightMatrix weights_of(const NetworkLayer& layer, CallPlace place = {});
/// As its kernel has them: filters of a convolution in groups over all channels, those of other groups
/// pruned.
WeightMatrix weights_of_kernel(const NetworkLayer& layer, CallPlace place = {});

}  // namespace weft
