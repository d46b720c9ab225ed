// What `weft prune` writes into the metadata of a .safetensors file, and what readers make of it.
#pragma once

#include <weft/formats/pruned_for.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace weft::io {

/// "weft.format" and, where there is one, "weft.row_order", numbers with commas between them; of one of
/// several tensors with its name behind, "weft.format.fc1.weight".
std::map<std::string, std::string> metadata_of_pruned(const Format& format,
                                                      std::span<const std::int32_t> row_order,
                                                      const std::string& tensor = {});

/// The weight of that name with what the metadata says of it. What does not fit the weight (no format, one
/// that would lose entries, an order that is none of its rows) becomes its note, and is passed over.
WeightMatrix with_metadata(WeightMatrix weights, const std::map<std::string, std::string>& metadata,
                           const std::string& tensor);

}  // namespace weft::io
