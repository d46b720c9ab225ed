// Products whose operands lie in memory as frameworks have them, X [n, k] and Y [n, m], and images of nchw
// and nhwc, where kernels of GPUs want columns of the product beside one another.
#pragma once

#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <memory>
#include <string>
#include <vector>

namespace weft {

/// The operands of a product C[m, n] = sum of A[m, k] B[k, n] that a recipe's kernel does not take as they
/// lie: matrices [n, k] of the input and [n, m] of the output. Of one column they lie beside one another
/// either way.
std::vector<std::string> operands_to_transpose(const Algorithm& algorithm);

/// Whether a convolution has so many images, one behind the other, that recipes for tensor cores have them
/// innermost, where the pixels of all images that a weight multiplies lie beside one another.
bool transposes_images(const Algorithm& algorithm);

/// The loops of gathered_product() in the order in which their elements lie once operands are transposed.
GatheredProduct ordered_product(const Algorithm& algorithm);

/// Whether the dense input is one of them: its copy has rows that are whole multiples of 64 elements.
bool transposes_input(const Algorithm& algorithm);

/// What recipes for GPUs begin with: a schedule that transposes such operands, and else has no steps.
Schedule ordered_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                          const Target& target);

}  // namespace weft
