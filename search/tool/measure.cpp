#include <fmt/format.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/memory.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/checker.h>
#include <weft/search/tool/measure.h>

namespace weft::tool {
namespace {

bool is_plain_product(const Algorithm& algorithm) {
  return algorithm.name == "spmm" && algorithm.result.kind == Term::Kind::sum;
}

std::optional<DenseTime> time_cublas(const Device& device, const Problem& problem) {
  const auto type = dense_type_of(problem.weights->dtype());
  if (!device.is_cuda() || !is_plain_product(problem.algorithm) || !type) return std::nullopt;
  const auto cublas = Dense::open(device);
  if (!cublas) return std::nullopt;
  const Array weights = to_dense(problem.matrix);
  const Array& b = *problem.arguments.tensors.at("B");
  Array output = *problem.arguments.tensors.at("C");
  DeviceMemory a_memory(device, weights.bytes());
  DeviceMemory b_memory(device, b.bytes());
  DeviceMemory c_memory(device, output.bytes());
  a_memory.upload(weights.data(), weights.bytes());
  b_memory.upload(b.data(), b.bytes());
  c_memory.poison();
  const DenseProblem product{problem.matrix.rows, problem.columns, problem.matrix.columns, *type,
                             DenseLayout::row_major};
  const auto launch = [&](StreamHandle stream) {
    cublas->multiply(product, a_memory.address(), b_memory.address(), c_memory.address(), stream);
  };
  const Stream stream(device);
  launch(stream);
  wait_for(device, stream);
  c_memory.download(output.data(), output.bytes());
  DenseTime result{fmt::format("cuBLAS {}", name_of(problem.weights->dtype())), BaselineOf::library, {}, {}};
  result.verification = verify(problem.algorithm, output,
                               reference(problem.algorithm, problem.weights.get(), problem.arguments));
  result.timing = time(device, launch);
  return result;
}

}  // namespace

Timing time_kernel(const Device& device, const BoundKernel& kernel) {
  return time(device, [&](StreamHandle stream) { kernel.launch(stream); });
}

std::optional<DenseTime> time_dense(const Device& device, const Problem& problem) {
  if (auto cublas = time_cublas(device, problem)) return cublas;
  const auto dense = std::make_shared<const SparseTensor>(pack(problem.matrix, formats::dense()));
  const Kernel kernel = compile(default_schedule(problem.algorithm, dense, target_of(device)));
  Arguments arguments = problem.arguments;
  const std::string& name = problem.algorithm.operands[problem.algorithm.output.operand].name;
  Array output = *arguments.tensors.at(name);
  arguments.tensors[name] = &output;
  DenseTime result{"weft, dense", BaselineOf::weft, {}, verify(kernel, device, arguments)};
  result.timing = time_kernel(device, kernel.bind(device, arguments));
  return result;
}

double sparse_operations(const Problem& problem) {
  return 2.0 * static_cast<double>(problem.matrix.stored()) * static_cast<double>(problem.columns);
}

double dense_operations(const Problem& problem) {
  return 2.0 * static_cast<double>(problem.matrix.rows) * static_cast<double>(problem.matrix.columns) *
         static_cast<double>(problem.columns);
}

}  // namespace weft::tool
