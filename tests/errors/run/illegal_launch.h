// What illegal launches start from: a kernel of C[m, n] = A[m, k] B[k, n] for the CPU, and its arrays.
#pragma once

#include <weft/backends/kernel.h>

#include "support/examples.h"

namespace weft::tests {

struct LaunchedProduct {
  Kernel kernel = compile(test::spmm_schedule("cpu"));
  Array b{DType::f32, {20, 100}};
  Array c{DType::f32, {12, 100}};
  Arguments arguments{{{"B", &b}, {"C", &c}}, {}};

  BoundKernel bound() { return kernel.bind(Device::cpu(), arguments); }
};

}  // namespace weft::tests
