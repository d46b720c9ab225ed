// A small pruned network, for a first look where no model is at hand.
#pragma once

#include <weft/dsl/errors.h>

#include <string>

namespace weft {

/// Writes a folder with model.safetensors and network.json: a bottleneck of a pruned ResNet with its strided
/// one behind it (six convolutions, images of 28 x 28), and a block of a pruned transformer of 512 features
/// over 128 tokens (four projections and a feed-forward pair), 90 % zero, layers as synthetic_layer() makes
/// them. The same on every machine. Where the folder cannot be written, errors as refuse_path().
void write_made_network(const std::string& folder, CallPlace place = {});

}  // namespace weft
