// The layers of a model of ONNX: what its graph computes with which tensor, and on how much.
#pragma once

#include <weft/search/network/layer.h>

#include <string>
#include <vector>

namespace weft {

/// Conv, Gemm and MatMul by tensors that the file holds, in the order of the graph; then the other tensors of
/// two and more dimensions, left out. Sizes of images and numbers of rows are those that the file gives or
/// that follow from its inputs. `weights` is list_weights(path). UserError where the file is no model of
/// ONNX.
std::vector<NetworkLayer> layers_of_onnx(const std::string& path, const std::vector<ListedWeight>& weights);

}  // namespace weft
