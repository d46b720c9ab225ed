// config.json of a Hugging Face folder: what it says of the layers.
#pragma once

#include <weft/search/network/layer.h>

#include <string>
#include <vector>

namespace weft {

/// What a configuration says.
struct ModelConfig {
  std::string model_type;            ///< "llama"; empty where it does not say
  std::vector<std::string> ignored;  ///< names, or "re:" and a regular expression, of layers kept dense
  bool transposed = false;           ///< weights are [in, out], as GPT-2's Conv1D has them
};

/// Reads the folder's config.json, where it has one. UserError, naming line and field, where that is no JSON
/// or has another type where a list of names belongs.
ModelConfig model_config_of(const std::string& folder);

/// Leaves out the layers that the configuration names, and those whose weights lie the other way.
void follow(const ModelConfig& config, std::vector<NetworkLayer>& layers);

}  // namespace weft
