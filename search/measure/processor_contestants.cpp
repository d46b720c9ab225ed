#include <fmt/format.h>
#include <weft/search/measure/processor_contestants.h>
#include <weft/search/measure/vendor_contestants.h>

#include <memory>
#include <utility>

namespace weft {
namespace {

using SharedOperands = std::shared_ptr<const Operands>;

Run run_of(const SharedOperands& operands, std::function<void()> compute) {
  return {[compute = std::move(compute)](StreamHandle /*a processor has none*/) { compute(); },
          [operands] { operands->poison_c(); }, [operands] { return operands->download_c(); }};
}

template <class Element>
Element* element_at(std::uint64_t address) {
  return reinterpret_cast<Element*>(address);
}

std::string named(const std::string& way, int threads) {
  return threads == 1 ? way + ", one thread" : fmt::format("{}, {} threads", way, threads);
}

Variant product_of(const Blas& blas, int threads) {
  return {named("gemm", threads), {}, [&blas, threads](SharedOperands operands) {
            const SuiteProblem& p = operands->workload().problem;
            const DenseProblem product{p.m, p.n, p.k, DenseType::f32, DenseLayout::row_major};
            const auto* a = element_at<const float>(operands->dense_weights());
            const auto* b = element_at<const float>(operands->b());
            auto* c = element_at<float>(operands->c());
            return run_of(operands, [&blas, threads, product, a, b, c, operands] {
              blas.use_threads(threads);
              blas.multiply(product, a, b, c);
            });
          }};
}

/// As a convolution by filters of one pixel over an image of one line, which the library brings into the
/// order that it wants before the time begins.
DenseConvolution as_convolution(const Operands& operands) {
  const SuiteProblem& p = operands.workload().problem;
  DenseConvolution dense;
  dense.channels = p.k;
  dense.filters = p.m;
  dense.image = dense.output = {1, p.n};
  dense.type = DenseType::f32;
  dense.image_address = operands.b();
  dense.weights_address = operands.dense_weights();
  dense.output_address = operands.c();
  return dense;
}

Variant product_of(const Onednn& onednn, int threads) {
  return {named("operands as it wants them", threads), {}, [&onednn, threads](SharedOperands operands) {
            onednn.use_threads(threads);  // it plans for so many
            const ProcessorConvolution prepared = onednn.prepare(as_convolution(*operands), true);
            Run run = run_of(operands, [&onednn, threads, prepared, operands] {
              onednn.use_threads(threads);
              prepared.run();
            });
            run.output = [operands, prepared] {
              prepared.bring_back();
              return operands->download_c();
            };
            return run;
          }};
}

enum class Images : std::uint8_t { channels_first, channels_last, as_wanted };

Variant convolution_of(const Onednn& onednn, Images images, const std::string& name, int threads) {
  return {named(name, threads), {}, [&onednn, images, threads](SharedOperands operands) {
            onednn.use_threads(threads);  // it plans for so many
            const bool last = images == Images::channels_last;
            const DenseConvolution convolution = dense_convolution(*operands, DenseType::f32, last);
            const ProcessorConvolution prepared = onednn.prepare(convolution, images == Images::as_wanted);
            Run run = run_of(operands, [&onednn, threads, prepared, operands] {
              onednn.use_threads(threads);
              prepared.run();
            });
            run.output = [operands, prepared, last] {
              prepared.bring_back();
              return last ? operands->download_c_channels_last() : operands->download_c();
            };
            return run;
          }};
}

}  // namespace

std::vector<Contestant> processor_contestants(const Suite& suite, const Libraries& libraries) {
  std::vector<Contestant> all;
  if (suite.dtype != DType::f32) return all;
  const auto add = [&](const std::string& library, const std::string& absent, std::vector<Variant> variants) {
    Contestant contestant{library + " f32", ContestantKind::dense, DenseType::f32};
    contestant.absent = absent;
    if (contestant.absent.empty()) contestant.variants = std::move(variants);
    all.push_back(std::move(contestant));
  };
  if (suite.is_convolution()) {
    std::vector<Variant> variants;
    if (libraries.onednn) {
      const Onednn& onednn = *libraries.onednn;
      for (const int threads : thread_counts_to_time()) {
        variants.push_back(convolution_of(onednn, Images::channels_first, "nchw", threads));
        variants.push_back(convolution_of(onednn, Images::channels_last, "nhwc", threads));
        variants.push_back(convolution_of(onednn, Images::as_wanted, "images as it wants them", threads));
      }
    }
    add("oneDNN", libraries.no_onednn, std::move(variants));
    return all;
  }
  for (const Blas& blas : libraries.blas) {
    std::vector<Variant> variants;
    for (const int threads : thread_counts_to_time()) variants.push_back(product_of(blas, threads));
    add(blas.name(), "", std::move(variants));
  }
  if (libraries.onednn) {
    std::vector<Variant> variants;
    for (const int threads : thread_counts_to_time())
      variants.push_back(product_of(*libraries.onednn, threads));
    add("oneDNN", "", std::move(variants));
  } else if (libraries.blas.empty()) {
    add("dense library", libraries.no_blas, {});
  }
  return all;
}

}  // namespace weft
