// Layers that are alike: one search serves all of them.
#pragma once

#include <weft/search/network/layer.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Layers of one kind, shape, element type and structure, whose shares of zeros differ by at most 2 %, and
/// whose convolutions have the same images. Scales of rows are each layer's own.
struct LayerClass {
  std::vector<std::size_t> layers;  ///< their numbers; the first one is searched for
  std::int64_t calls = 0;           ///< all layers' together, when the network runs once

  std::size_t representative() const { return layers.front(); }
};

/// The classes of the layers that are candidates and were inspected, in the order of their first layers. The
/// representative is the one whose share of zeros is in the middle.
std::vector<LayerClass> classes_of(const std::vector<NetworkLayer>& layers);

/// "512 x 2048 f16, 75.0 % zero, shfl_bw:V=64" or "64 x 64 x 3 x 3 f32, 56 x 56, 90.0 % zero, csr".
std::string text_of_class(const NetworkLayer& representative);

}  // namespace weft
