#include <fmt/format.h>
#include <weft/backends/runtime/libraries/blas.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/memory.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/checker.h>
#include <weft/search/tool/measure.h>

#include <functional>
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

/// One problem's operands on its device, for any number of libraries.
class Product {
 public:
  Product(const Device& device, const Problem& problem, DenseType type)
      : device_(device),
        problem_(problem),
        shape_{problem.matrix.rows, problem.columns, problem.matrix.columns, type, DenseLayout::row_major},
        expected_(reference(problem.algorithm, problem.weights.get(), problem.arguments)),
        output_(*problem.arguments.tensors.at("C")) {
    const Array weights = to_dense(problem.matrix);
    const Array& b = *problem.arguments.tensors.at("B");
    a_ = DeviceMemory(device, weights.bytes());
    b_ = DeviceMemory(device, b.bytes());
    c_ = DeviceMemory(device, output_.bytes());
    a_.upload(weights.data(), weights.bytes());
    b_.upload(b.data(), b.bytes());
  }

  DenseTime time_of(const std::string& name, const Multiply& multiply) {
    const auto launch = [&](StreamHandle stream) {
      multiply(shape_, a_.address(), b_.address(), c_.address(), stream);
    };
    c_.poison();
    const Stream stream(device_);
    launch(stream);
    wait_for(device_, stream);
    c_.download(output_.data(), output_.bytes());
    DenseTime result{
        fmt::format("{} {}", name, name_of(problem_.weights->dtype())), BaselineOf::library, {}, {}};
    result.verification = verify(problem_.algorithm, output_, expected_);
    result.timing = time(device_, launch);
    return result;
  }

 private:
  const Device& device_;
  const Problem& problem_;
  DenseProblem shape_;
  Reference expected_;
  Array output_;
  DeviceMemory a_, b_, c_;
};

/// The fastest of the device's libraries that is right; where none is, one that is wrong.
std::optional<DenseTime> time_library(const Device& device, const Problem& problem) {
  const auto type = dense_type_of(problem.weights->dtype());
  if (!is_plain_product(problem.algorithm) || !type || type == DenseType::e4m3) return std::nullopt;
  std::vector<std::pair<std::string, Multiply>> libraries;
  if (const auto cublas = Dense::open(device))
    libraries.emplace_back(
        "cuBLAS", [cublas](const DenseProblem& product, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                           StreamHandle stream) { cublas->multiply(product, a, b, c, stream); });
  if (type == DenseType::f32) {
    for (const Blas& blas : Blas::open_all(device)) {
      for (const int threads : thread_counts_to_time())
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
  Product product(device, problem, *type);
  std::optional<DenseTime> best;
  for (const auto& [name, multiply] : libraries) {
    DenseTime found = product.time_of(name, multiply);
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
