#include "support/expect_exact.h"

#include <gtest/gtest.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/measure/verify.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace weft::test {
namespace {

bool reads_output(const Schedule& schedule) {
  return std::ranges::any_of(schedule.program().buffers, [](const ir::BufferRef& buffer) {
    return buffer->access == ir::Access::read_write;
  });
}

/// `before`: what the output holds.
void expect_exact(const Kernel& kernel, const Device& device, const Arguments& arguments, Array& output,
                  const Array& before) {
  output = before;
  const Verification verification = verify(kernel, device, arguments);
  EXPECT_TRUE(verification.passed) << verification.text();
  EXPECT_EQ(verification.difference.largest, 0) << verification.text();
}

}  // namespace

WeightMatrix layer_of_integers(std::int64_t rows, std::int64_t columns, double sparsity, DType dtype) {
  WeightMatrix matrix = synthetic_layer(
      {.rows = rows, .columns = columns, .sparsity = sparsity, .row_spread = 0.4, .dtype = dtype, .seed = 4});
  matrix.values = random_array(dtype, {matrix.stored()}, 5, RandomValues::small_integers);
  return matrix;
}

void expect_exact(const Schedule& schedule, Emitter emitter, Arrivals arrivals) {
  SCOPED_TRACE(schedule.algorithm().text() + "\n" + schedule.cpp());
  std::map<std::string, Array> tensors;
  for (const Operand& operand : schedule.algorithm().operands) {
    if (operand.storage == Storage::sparse) continue;
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.value);
    tensors[operand.name] =
        random_array(operand.dtype, shape, 7 + tensors.size(), RandomValues::small_integers);
  }
  Arguments arguments;
  for (auto& [name, array] : tensors) arguments.tensors[name] = &array;
  for (const std::string& scalar : schedule.algorithm().scalars) arguments.scalars[scalar] = 2;
  const Algorithm& algorithm = schedule.algorithm();
  Array& output = tensors.at(algorithm.operands[algorithm.output.operand].name);
  Array before = output;
  for (std::int64_t i = 0; i < before.size() && !reads_output(schedule); ++i) before.set(i, std::nan(""));
  KernelOptions options;
  options.by_meaning = true;
  expect_exact(compile(schedule, options), Device::cpu(), arguments, output, before);
  options.by_meaning = false;
  options.assemble = false;
  options.emitter = emitter;
  options.arrivals = arrivals;
  const Kernel kernel = compile(schedule, options);
  for (const std::uint64_t seed : {0U, 1U}) {
    const Device device = Device::simulator(schedule.target().name);
    simulator::options(device).launch.seed = seed;
    simulator::options(device).launch.late = seed == 0;
    expect_exact(kernel, device, arguments, output, before);
  }
}

}  // namespace weft::test
