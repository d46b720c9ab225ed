// Kernels of a CPU whose results have no rounding.
#pragma once

#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/weight_matrix.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/search/measure/verify.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::test {

/// Small integers, about a third of them kept; one row has none, and one all.
inline WeightMatrix small_integers(std::int64_t rows, std::int64_t columns, DType dtype = DType::f32) {
  Array dense = random_array(dtype, {rows, columns}, 11, RandomValues::small_integers);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const bool all = row == rows - 1, none = row == rows / 2;
      if (none || (!all && (row * 7 + column * 5) % 11 < 7)) dense.set(row * columns + column, 0);
    }
  }
  return from_dense(dense, "small integers");
}

/// What a UserError says, or "none".
template <class Make>
std::string refusal(const Make& make) {
  try {
    make();
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

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
