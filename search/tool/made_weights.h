// Weights that are made, not read: `--weights made:M=512,K=1024,sparsity=0.9`.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <string>

namespace weft::tool {

/// Whether --weights asks for made ones.
bool is_made_weights(const std::string& text);
/// "made:M=512,K=1024,sparsity=0.9,V=64,seed=1": unstructured like a layer of a pruned network, or with V
/// Shfl-BW groups of so many rows. "made:M=512,K=1024,V=64,of=16": two of the four columns that V rows keep
/// of 16 (64:2:16), whose sparsity follows; of=4 without V: 2:4, and with a sparsity below
/// 0.5, 2:4 in as many tiles of V rows (128) as that takes, the others dense. Without a seed they are those
/// that `weft bench` draws for a problem of this shape and sparsity. UserError, naming the part, for what
/// cannot be read.
WeightMatrix made_weights(const std::string& text, DType dtype);
/// Throws what made_weights() would, and makes none.
void check_made_weights(const std::string& text);

}  // namespace weft::tool
