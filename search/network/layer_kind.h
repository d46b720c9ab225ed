// What the name and the shape of a tensor say of the layer that it belongs to.
#pragma once

#include <weft/search/network/layer.h>

#include <string>

namespace weft {

/// The kind of the layer, its name, and the reason where it is left out: a product for two dimensions, a
/// convolution for four. Embeddings are looked up and not multiplied with, whatever their zeros.
NetworkLayer layer_of(const ListedWeight& weight, const std::string& folder);

/// The name of the tensor; that of its file, as it lies in `folder`, where that has no names.
std::string tensor_name(const ListedWeight& weight, const std::string& folder);

/// Whether the tensor is a layer's weight at all: of two dimensions or more, or of a file that does not say.
bool may_be_layer(const ListedWeight& weight);

}  // namespace weft
