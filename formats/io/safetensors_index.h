// model.safetensors.index.json: which shard of a large model holds which tensor.
#pragma once

#include <weft/formats/io/bytes.h>
#include <weft/formats/io/weight_list.h>

#include <map>
#include <string>
#include <vector>

namespace weft::io {

/// Tensor name to file name. UserError for other JSON, a tensor twice, or a file name with a folder in it.
std::map<std::string, std::string> parse_safetensors_index(Bytes bytes, const std::string& origin);

/// As weights_among, over the shards that lie beside the index at `path`. With a name, only the shards that
/// hold it are opened, so that a partly downloaded model will do.
WeightMatrix read_sharded_weights(Bytes bytes, const std::string& path, const ReadOptions& options);
/// As array_among, over the shards.
Array read_sharded_array(Bytes bytes, const std::string& path, const ReadOptions& options);

/// The weights of all shards, as list_among. Where a shard cannot be read, or lacks a tensor that the index
/// names, the tensors that should be there are listed with their fault.
std::vector<ListedWeight> list_sharded_weights(Bytes bytes, const std::string& path);
/// The path of the shard that holds a tensor. UserError where the index does not name it.
std::string shard_of(Bytes bytes, const std::string& path, const std::string& tensor);

bool looks_like_safetensors_index(Bytes bytes);

}  // namespace weft::io
