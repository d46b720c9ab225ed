#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/checker.h>
#include <weft/search/measure/contestants.h>
#include <weft/search/measure/processor_contestants.h>
#include <weft/search/measure/vendor_contestants.h>

#include <exception>
#include <map>
#include <mutex>

namespace weft {
namespace {

using SharedOperands = std::shared_ptr<const Operands>;

using MakeKernel = std::function<Kernel(const Workload& workload)>;

/// Kernels by workload, compiled at most once each.
class Kernels {
 public:
  explicit Kernels(MakeKernel make) : make_(std::move(make)) {}

  void build(const Workload& workload) {
    std::optional<Kernel> kernel;
    std::exception_ptr failure;
    try {
      kernel = make_(workload);
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
  MakeKernel make_;
  std::mutex mutex_;
  std::map<const Workload*, Built> built_;
};

Run weft_run(const Kernel& kernel, const SharedOperands& operands, ImageLayout layout) {
  const Workload& workload = operands->workload();
  if (!workload.problem.convolution) layout = ImageLayout::nchw;
  Array b = laid_out(*workload.b, layout);
  Array c = laid_out(workload.empty_output(), layout);
  Arguments arguments;
  arguments.tensors = {{"B", &b}, {"C", &c}};
  const BoundKernel bound = kernel.bind(operands->device(), arguments);
  const auto output = [bound, operands, layout, like = c] {
    Array result = like;
    bound.download("C", result);
    return channels_first(result, layout);
  };
  return {[bound](StreamHandle stream) { bound.launch(stream); }, [bound] { bound.poison_output(); }, output};
}

Variant weft_variant(const std::string& name, MakeKernel make, ImageLayout layout) {
  const auto kernels = std::make_shared<Kernels>(std::move(make));
  return {name, [kernels](const Workload& workload) { kernels->build(workload); },
          [kernels, layout](const SharedOperands& operands) {
            return weft_run(kernels->take(operands->workload()), operands, layout);
          }};
}

Variant weft_variant(const std::string& name, const MakeSchedule& schedule, const Target& target,
                     ImageLayout layout) {
  return weft_variant(
      name, [schedule, &target](const Workload& workload) { return compile(schedule(workload, target)); },
      layout);
}

/// One that is there and fails is not there for a measurement.
template <class Library>
std::optional<Library> opened(const Device& device, std::string& reason) {
  try {
    return Library::open(device, &reason);
  } catch (const RuntimeError& error) {
    reason = error.what();
    return std::nullopt;
  }
}

}  // namespace

Libraries::Libraries(const Device& device)
    // cuBLAS first: cuDNN finds it loaded, wherever it lies.
    : cublas(opened<Dense>(device, no_cublas)),
      cublaslt(opened<CublasLt>(device, no_cublaslt)),
      cusparse(opened<Cusparse>(device, no_cusparse)),
      cusparselt(opened<Cusparselt>(device, no_cusparselt)),
      cudnn(opened<Cudnn>(device, no_cudnn)),
      blas(Blas::open_all(device, &no_blas)),
      onednn(opened<Onednn>(device, no_onednn)) {}

std::vector<std::string> Libraries::versions() const {
  std::vector<std::string> all;
  const auto add = [&](const auto& library) {
    if (library) all.push_back(library->version());
  };
  add(cublas);
  add(cusparse);
  add(cusparselt);
  add(cudnn);
  for (const Blas& one : blas) all.push_back(one.version());
  if (blas.empty()) add(onednn);
  return all;
}

Contestant auto_contestant(const Suite& suite, const Target& target, const HearChoice& hear,
                           std::size_t tries) {
  Contestant contestant{"weft auto", ContestantKind::weft,
                        dense_type_of(suite.dtype).value_or(DenseType::f32)};
  const ImageLayout layout = suite.problems.front().layout;
  const auto make = [&target, hear, layout](const Workload& workload) {
    const ChoiceOptions options{.image_groups = workload.problem.image_groups};
    const AutoKernel made = auto_kernel(algorithm_in(workload, layout), workload.matrix, target, options);
    if (hear) hear(workload, made.choice);
    return made.kernel;
  };
  contestant.variants.push_back(weft_variant("chosen", make, layout));
  if (tries == 1) return contestant;
  contestant.more_variants = [&target, layout, tries](const Workload& workload) {
    const Algorithm algorithm = algorithm_in(workload, layout);
    const ChoiceOptions options{.points = tries, .image_groups = workload.problem.image_groups};
    const Choice choice = choose(algorithm, workload.matrix, target, options);
    std::vector<Variant> variants;
    for (std::size_t i = 1; i < std::min(tries, choice.ways.size()); ++i) {
      const auto make_way = [&target, algorithm, way = choice.ways[i]](const Workload& of) {
        return compile(schedule_of_way(way, algorithm, of.matrix, nullptr, target));
      };
      variants.push_back(weft_variant(choice.ways[i].text(), make_way, layout));
    }
    return variants;
  };
  return contestant;
}

Contestant contestant_of_kernels(const Suite& suite,
                                 std::function<std::vector<NamedKernel>(const Workload&)> kernels) {
  Contestant contestant{"weft kernels", ContestantKind::weft,
                        dense_type_of(suite.dtype).value_or(DenseType::f32)};
  contestant.more_variants = [kernels = std::move(kernels),
                              layout = suite.problems.front().layout](const Workload& workload) {
    std::vector<Variant> variants;
    for (NamedKernel& kernel : kernels(workload))
      variants.push_back(weft_variant(kernel.name, std::move(kernel.make), layout));
    return variants;
  };
  return contestant;
}

std::vector<Contestant> library_contestants(const Suite& suite, const Device& device,
                                            const Libraries& libraries) {
  if (device.kind() == DeviceKind::cpu) return processor_contestants(suite, libraries);
  if (!device.is_cuda()) return {};
  return vendor_contestants(suite, libraries, dense_type_of(suite.dtype).value_or(DenseType::f32));
}

std::vector<Contestant> contestants_of(const Suite& suite, const Device& device, const Target& target,
                                       const Libraries& libraries, const std::vector<MeasuredRecipe>& recipes,
                                       const std::optional<Sweep>& sweep) {
  const DenseType own = dense_type_of(suite.dtype).value_or(DenseType::f32);
  std::vector<Contestant> all = library_contestants(suite, device, libraries);
  for (const MeasuredRecipe& recipe : recipes) {
    if (!recipe.is_for(suite)) continue;
    Contestant contestant{recipe.title(), ContestantKind::weft, own};
    const auto chosen = [recipe](const Workload& workload, const Target& on) {
      return recipe.schedule(workload, on);
    };
    contestant.variants.push_back(weft_variant("chosen", chosen, target, recipe.layout));
    if (sweep) {
      contestant.more_variants = [recipe, &target, text = sweep->points](const Workload& workload) {
        std::vector<Variant> variants;
        for (const RecipePoint& point : points_worth_trying(recipe, workload, target)) {
          if (point.name.find(text) != std::string::npos)
            variants.push_back(weft_variant(point.name, point.schedule, target, recipe.layout));
        }
        return variants;
      };
    }
    all.push_back(std::move(contestant));
  }
  return all;
}

}  // namespace weft
