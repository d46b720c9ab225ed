#include <fmt/format.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/contestants.h>

#include <exception>
#include <map>
#include <mutex>

namespace weft {
namespace {

using SharedOperands = std::shared_ptr<const Operands>;

DenseType arithmetic_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return DenseType::f16;
    case DType::bf16:
      return DenseType::bf16;
    default:
      return DenseType::f32;
  }
}

const char* name_of_arithmetic(DenseType type) {
  switch (type) {
    case DenseType::f32:
      return "f32";
    case DenseType::tf32:
      return "tf32";
    case DenseType::f16:
      return "f16";
    case DenseType::bf16:
      return "bf16";
  }
  throw InternalError("a DenseType without a name");
}

Run library_run(const SharedOperands& operands, std::function<void(StreamHandle)> launch) {
  return {std::move(launch), [operands] { operands->poison_c(); },
          [operands] { return operands->download_c(); }};
}

Variant cublas_variant(const Dense& cublas, DenseType type) {
  return {"gemm", {}, [&cublas, type](SharedOperands operands) {
            const SuiteProblem& p = operands->workload().problem;
            const DenseProblem product{p.m, p.n, p.k, type, DenseLayout::row_major};
            const std::uint64_t a = operands->dense_weights();
            const std::uint64_t b = operands->b();
            const std::uint64_t c = operands->c();
            return library_run(operands, [&cublas, product, a, b, c](StreamHandle stream) {
              cublas.multiply(product, a, b, c, stream);
            });
          }};
}

Variant cusparse_variant(const Cusparse& cusparse, DenseType type, std::string_view algorithm) {
  return {std::string(algorithm), {}, [&cusparse, type, algorithm](SharedOperands operands) {
            const SuiteProblem& p = operands->workload().problem;
            const CsrProduct product{p.m,
                                     p.n,
                                     p.k,
                                     operands->workload().matrix.stored(),
                                     type,
                                     operands->row_begin(),
                                     operands->column(),
                                     operands->values(),
                                     operands->b(),
                                     operands->c()};
            const Cusparse::Product prepared = cusparse.prepare(product, algorithm);
            return library_run(operands, [prepared](StreamHandle stream) { prepared.launch(stream); });
          }};
}

DenseConvolution dense_convolution(const Operands& operands, DenseType type, bool last) {
  const Convolution& c = *operands.workload().problem.convolution;
  DenseConvolution dense;
  dense.batch = c.batch;
  dense.channels = c.channels;
  dense.filters = c.filters;
  dense.image = c.image;
  dense.filter = c.filter;
  dense.pad = c.pad;
  dense.stride = c.stride;
  dense.dilation = c.dilation;
  dense.output = c.output();
  dense.type = type;
  dense.channels_last = last;
  dense.image_address = last ? operands.b_channels_last() : operands.b();
  dense.weights_address = last ? operands.dense_weights_channels_last() : operands.dense_weights();
  dense.output_address = operands.c();
  return dense;
}

Variant cudnn_variant(const Cudnn& cudnn, DenseType type, std::string_view algorithm, bool last) {
  return {fmt::format("{} {}", last ? "nhwc" : "nchw", algorithm),
          {},
          [&cudnn, type, algorithm, last](SharedOperands operands) {
            const Cudnn::Product prepared =
                cudnn.prepare(dense_convolution(*operands, type, last), algorithm);
            Run run = library_run(operands, [prepared](StreamHandle stream) { prepared.launch(stream); });
            if (last) run.output = [operands] { return operands->download_c_channels_last(); };
            return run;
          }};
}

Contestant dense_contestant(const Suite& suite, const Libraries& libraries, DenseType type) {
  Contestant contestant;
  contestant.kind = ContestantKind::dense;
  contestant.arithmetic = type;
  contestant.name =
      fmt::format("{} {}", suite.is_convolution() ? "cuDNN" : "cuBLAS", name_of_arithmetic(type));
  if (!suite.is_convolution()) {
    contestant.absent = libraries.no_cublas;
    if (libraries.cublas) contestant.variants.push_back(cublas_variant(*libraries.cublas, type));
    return contestant;
  }
  contestant.absent = libraries.no_cudnn;
  if (!libraries.cudnn) return contestant;
  for (const bool last : {false, true}) {
    for (const std::string_view algorithm : Cudnn::algorithms())
      contestant.variants.push_back(cudnn_variant(*libraries.cudnn, type, algorithm, last));
  }
  return contestant;
}

Contestant cusparse_contestant(const Libraries& libraries, DenseType type) {
  Contestant contestant{"cuSPARSE csr", ContestantKind::sparse, type, {}, libraries.no_cusparse};
  if (!libraries.cusparse) return contestant;
  for (const std::string_view algorithm : Cusparse::algorithms())
    contestant.variants.push_back(cusparse_variant(*libraries.cusparse, type, algorithm));
  return contestant;
}

/// Kernels by workload, compiled at most once each.
class Kernels {
 public:
  Kernels(MakeSchedule schedule, const Target& target) : schedule_(std::move(schedule)), target_(target) {}

  void build(const Workload& workload) {
    std::optional<Kernel> kernel;
    std::exception_ptr failure;
    try {
      kernel = compile(schedule_(workload, target_));
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    built_[&workload] = {std::move(kernel), failure};
  }

  /// Takes the kernel out: it belongs to whoever runs it.
  Kernel take(const Workload& workload) {
    std::unique_lock lock(mutex_);
    if (built_.count(&workload) == 0) {
      lock.unlock();
      build(workload);
      lock.lock();
    }
    const Built built = std::move(built_.extract(&workload).mapped());
    if (built.failure) std::rethrow_exception(built.failure);
    return *built.kernel;
  }

 private:
  struct Built {
    std::optional<Kernel> kernel;
    std::exception_ptr failure;
  };
  MakeSchedule schedule_;
  const Target& target_;
  std::mutex mutex_;
  std::map<const Workload*, Built> built_;
};

Run weft_run(const Kernel& kernel, const SharedOperands& operands) {
  const Workload& workload = operands->workload();
  Array b = *workload.b;
  Array c = workload.empty_output();
  Arguments arguments;
  arguments.tensors = {{"B", &b}, {"C", &c}};
  const BoundKernel bound = kernel.bind(operands->device(), arguments);
  const auto output = [bound, operands] {
    Array result = operands->workload().empty_output();
    bound.download("C", result);
    return result;
  };
  return {[bound](StreamHandle stream) { bound.launch(stream); }, [bound] { bound.poison_output(); }, output};
}

Variant weft_variant(const std::string& name, const MakeSchedule& schedule, const Target& target) {
  const auto kernels = std::make_shared<Kernels>(schedule, target);
  return {name, [kernels](const Workload& workload) { kernels->build(workload); },
          [kernels](const SharedOperands& operands) {
            return weft_run(kernels->take(operands->workload()), operands);
          }};
}

}  // namespace

Libraries::Libraries(const Device& device)
    // cuBLAS first: cuDNN finds it loaded, wherever it lies.
    : cublas(Dense::open(device, &no_cublas)),
      cusparse(Cusparse::open(device, &no_cusparse)),
      cudnn(Cudnn::open(device, &no_cudnn)) {}

std::vector<Contestant> contestants_of(const Suite& suite, const Device& device, const Target& target,
                                       const Libraries& libraries, const std::vector<Recipe>& recipes,
                                       bool sweep) {
  std::vector<Contestant> all;
  const DenseType own = arithmetic_of(suite.dtype);
  if (device.is_cuda()) {
    all.push_back(dense_contestant(suite, libraries, own));
    if (own == DenseType::f32) all.push_back(dense_contestant(suite, libraries, DenseType::tf32));
    if (!suite.is_convolution()) all.push_back(cusparse_contestant(libraries, own));
  }
  for (const Recipe& recipe : recipes) {
    Contestant contestant{"weft " + recipe.name, ContestantKind::weft, own, {}, {}};
    contestant.variants.push_back(weft_variant("chosen", recipe.schedule, target));
    if (sweep) {
      for (const RecipePoint& point : recipe.sweep)
        contestant.variants.push_back(weft_variant(point.name, point.schedule, target));
    }
    all.push_back(std::move(contestant));
  }
  return all;
}

}  // namespace weft
