#include <fmt/format.h>
#include <weft/backends/runtime/libraries/blas.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/memory.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/checker.h>
#include <weft/search/tool/measure.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace weft::tool {
namespace {

bool is_plain_product(const Algorithm& algorithm) {
  return algorithm.name == "spmm" && algorithm.result.kind == Term::Kind::sum;
}

/// A library's product of the same operands, at the addresses of what was uploaded.
using Multiply = std::function<void(const DenseProblem&, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                    StreamHandle stream)>;

DenseTime time_product(const Device& device, const Problem& problem, DenseType type, const std::string& name,
                       const Reference& expected, const Multiply& multiply) {
  const Array weights = to_dense(problem.matrix);
  const Array& b = *problem.arguments.tensors.at("B");
  Array output = *problem.arguments.tensors.at("C");
  DeviceMemory a_memory(device, weights.bytes());
  DeviceMemory b_memory(device, b.bytes());
  DeviceMemory c_memory(device, output.bytes());
  a_memory.upload(weights.data(), weights.bytes());
  b_memory.upload(b.data(), b.bytes());
  c_memory.poison();
  const DenseProblem product{problem.matrix.rows, problem.columns, problem.matrix.columns, type,
                             DenseLayout::row_major};
  const auto launch = [&](StreamHandle stream) {
    multiply(product, a_memory.address(), b_memory.address(), c_memory.address(), stream);
  };
  const Stream stream(device);
  launch(stream);
  wait_for(device, stream);
  c_memory.download(output.data(), output.bytes());
  DenseTime result{
      fmt::format("{} {}", name, name_of(problem.weights->dtype())), BaselineOf::library, {}, {}};
  result.verification = verify(problem.algorithm, output, expected);
  result.timing = time(device, launch);
  return result;
}

/// The fastest of the device's libraries that is right; where none is, one that is wrong.
std::optional<DenseTime> time_library(const Device& device, const Problem& problem) {
  const auto type = dense_type_of(problem.weights->dtype());
  if (!is_plain_product(problem.algorithm) || !type) return std::nullopt;
  std::vector<std::pair<std::string, Multiply>> libraries;
  if (const auto cublas = Dense::open(device))
    libraries.emplace_back(
        "cuBLAS", [cublas](const DenseProblem& product, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                           StreamHandle stream) { cublas->multiply(product, a, b, c, stream); });
  if (type == DenseType::f32) {
    // By one thread, too: many wait for one another where other work has a processor.
    const int all = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (const Blas& blas : Blas::open_all(device)) {
      for (const int threads : all > 1 ? std::vector{all, 1} : std::vector{1})
        libraries.emplace_back(
            blas.name(), [blas, threads](const DenseProblem& product, std::uint64_t a, std::uint64_t b,
                                         std::uint64_t c, StreamHandle /*a processor has none*/) {
              blas.use_threads(threads);
              blas.multiply(product, reinterpret_cast<const float*>(a), reinterpret_cast<const float*>(b),
                            reinterpret_cast<float*>(c));
            });
    }
  }
  if (libraries.empty()) return std::nullopt;
  const Reference expected = reference(problem.algorithm, problem.weights.get(), problem.arguments);
  std::optional<DenseTime> best;
  for (const auto& [name, multiply] : libraries) {
    DenseTime found = time_product(device, problem, *type, name, expected, multiply);
    const bool better =
        !best || found.verification.passed > best->verification.passed ||
        (found.verification.passed == best->verification.passed && found.timing.median < best->timing.median);
    if (better) best = std::move(found);
  }
  return best;
}

}  // namespace

Timing time_kernel(const Device& device, const BoundKernel& kernel) {
  return time(device, [&](StreamHandle stream) { kernel.launch(stream); });
}

std::optional<DenseTime> time_dense(const Device& device, const Problem& problem) {
  if (auto library = time_library(device, problem)) return library;
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
