// network.json: which layers a network has, what is computed with each, and on how much at a time.
// docs/network_file.md has its fields.
#pragma once

#include <weft/search/network/layer.h>

#include <string>
#include <vector>

namespace weft {

/// What the file says. Paths in it are relative to its folder.
struct NetworkFile {
  std::string weights;                 ///< the path of what holds the weights
  std::vector<NetworkLayer> layers;    ///< `weight` has the tensor's name alone
  std::vector<NetworkLayer> left_out;  ///< layers that the file names with a reason
};

/// UserError, naming file, line and field, for what is no such file, a field that nobody reads, one that is
/// missing, or a name twice.
NetworkFile network_file_of(const std::string& path);

/// Puts the listed weights of the file's layers in their place. A layer of a tensor that the weights lack is
/// a UserError that names it, its place in the file, and the nearest one there is.
std::vector<NetworkLayer> layers_of(const NetworkFile& file, const std::vector<ListedWeight>& weights);

}  // namespace weft
