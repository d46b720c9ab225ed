// As much of PyTorch's headers as the operators of exported packages use, to compile and load them where
// there is no PyTorch. Nothing here computes.
#pragma once

namespace torch::headeronly {

enum class ScalarType { Byte, Half, Float, Double, BFloat16 };

}  // namespace torch::headeronly
