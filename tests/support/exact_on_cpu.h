// Kernels of a CPU whose results have no rounding.
#pragma once

#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/formats/random.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/search/measure/verify.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::test {

/// The kernel of the schedule, of integer weights, whose results on dense operands that are integers are the
/// reference's to the last bit. `open`: the size that a launch decides.
inline Kernel expect_exact_on_cpu(const Schedule& schedule, const KernelOptions& options = {.threads = 2},
                                  std::int64_t open = 37) {
  SCOPED_TRACE(schedule.cpp());
  std::map<std::string, Array> tensors;
  std::uint64_t seed = 3;
  for (const Operand& operand : schedule.algorithm().operands) {
    if (operand.storage == Storage::sparse) continue;
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.value : open);
    tensors[operand.name] = random_array(operand.dtype, shape, ++seed, RandomValues::small_integers);
  }
  Arguments arguments;
  for (auto& [name, array] : tensors) arguments.tensors[name] = &array;
  Kernel kernel = compile(schedule, options);
  const Verification verified = verify(kernel, Device::cpu(), arguments);
  EXPECT_TRUE(verified.passed) << verified.text();
  EXPECT_EQ(verified.difference.largest, 0) << verified.text();
  return kernel;
}

}  // namespace weft::test
