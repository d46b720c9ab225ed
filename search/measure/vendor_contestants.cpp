#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/vendor_contestants.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

using SharedOperands = std::shared_ptr<const Operands>;

const char* name_of_arithmetic(DenseType type) {
  switch (type) {
    case DenseType::f32: return "f32";
    case DenseType::tf32: return "tf32";
    case DenseType::f16: return "f16";
    case DenseType::bf16: return "bf16";
    case DenseType::e4m3: return "e4m3";
  }
  throw InternalError("a DenseType without a name");
}

Run library_run(const SharedOperands& operands, std::function<void(StreamHandle)> launch) {
  return {std::move(launch), [operands] { operands->poison_c(); },
          [operands] { return operands->download_c(); }};
}

/// A call of a library that `prepare` makes ready for the operands.
template <class Prepare>
Variant library_variant(std::string name, Prepare prepare) {
  return {std::move(name), {}, [prepare](const SharedOperands& operands) {
            const PreparedCall call = prepare(*operands);
            return library_run(operands, [call](StreamHandle stream) { call.launch(stream); });
          }};
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

Variant cublaslt_variant(const CublasLt& cublaslt, int kernel) {
  return library_variant(
      fmt::format("its kernel {}", kernel + 1), [&cublaslt, kernel](const Operands& operands) {
        const SuiteProblem& p = operands.workload().problem;
        return cublaslt.prepare({p.m, p.n, p.k, operands.dense_weights(), operands.b_along_k(), operands.c()},
                                kernel);
      });
}

Variant cusparse_variant(const Cusparse& cusparse, DenseType type, std::string_view algorithm) {
  return library_variant(std::string(algorithm), [&cusparse, type, algorithm](const Operands& operands) {
    const SuiteProblem& p = operands.workload().problem;
    const std::int64_t stored = operands.workload().matrix.stored();
    return cusparse.prepare({p.m, p.n, p.k, stored, type, operands.row_begin(), operands.column(),
                             operands.values(), operands.b(), operands.c()},
                            algorithm);
  });
}

Variant cudnn_variant(const Cudnn& cudnn, DenseType type, std::string_view algorithm, bool last) {
  return {fmt::format("{} {}", last ? "nhwc" : "nchw", algorithm),
          {},
          [&cudnn, type, algorithm, last](SharedOperands operands) {
            const PreparedCall call = cudnn.prepare(dense_convolution(*operands, type, last), algorithm);
            Run run = library_run(operands, [call](StreamHandle stream) { call.launch(stream); });
            if (last) run.output = [operands] { return operands->download_c_channels_last(); };
            return run;
          }};
}

/// Blocked-ELL weights on the device.
struct UploadedBlocks {
  DeviceMemory block_column;
  DeviceMemory values;
};

Variant blocked_ell_variant(const Cusparse& cusparse, DenseType type) {
  return {"blocked ell", {}, [&cusparse, type](SharedOperands operands) {
            const Workload& workload = operands->workload();
            const SuiteProblem& p = workload.problem;
            const BlockedEll ell = blocked_ell(workload.matrix, workload.block);
            const auto blocks = std::make_shared<const UploadedBlocks>(
                UploadedBlocks{{operands->device(), ell.block_column.as<std::int32_t>()},
                               {operands->device(), std::span(ell.values.data(), ell.values.bytes())}});
            const PreparedCall call =
                cusparse.prepare({p.m, p.n, p.k, ell.block, ell.columns, type, blocks->block_column.address(),
                                  blocks->values.address(), operands->b(), operands->c()});
            return library_run(operands, [call, blocks](StreamHandle stream) { call.launch(stream); });
          }};
}

Variant two_of_four_variant(const Cusparselt& cusparselt, DenseType type, std::string_view algorithm) {
  return library_variant(std::string(algorithm), [&cusparselt, type, algorithm](const Operands& operands) {
    const SuiteProblem& p = operands.workload().problem;
    const std::uint64_t b = type == DenseType::e4m3 ? operands.b_along_k() : operands.b();
    return cusparselt.prepare({p.m, p.n, p.k, type, operands.dense_weights(), b, operands.c()}, algorithm);
  });
}

Contestant dense_of_bytes(const Libraries& libraries) {
  Contestant contestant{"cuBLASLt e4m3", ContestantKind::dense, DenseType::e4m3};
  contestant.absent = libraries.no_cublaslt;
  if (!libraries.cublaslt) return contestant;
  for (int kernel = 0; kernel < CublasLt::most_kernels; ++kernel)
    contestant.variants.push_back(cublaslt_variant(*libraries.cublaslt, kernel));
  return contestant;
}

Contestant dense_contestant(const Suite& suite, const Libraries& libraries, DenseType type) {
  if (type == DenseType::e4m3 && !suite.is_convolution()) return dense_of_bytes(libraries);
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
  if (suite.problems.front().layout == ImageLayout::chwn)
    contestant.name += " of nchw images (no library takes chwn)";
  contestant.absent = libraries.no_cudnn;
  if (!libraries.cudnn) return contestant;
  for (const bool last : {false, true}) {
    for (const std::string_view algorithm : Cudnn::algorithms())
      contestant.variants.push_back(cudnn_variant(*libraries.cudnn, type, algorithm, last));
  }
  return contestant;
}

Contestant csr_contestant(const Libraries& libraries, DenseType type) {
  Contestant contestant{"cuSPARSE csr", ContestantKind::sparse, type};
  contestant.absent = libraries.no_cusparse;
  if (!libraries.cusparse) return contestant;
  for (const std::string_view algorithm : Cusparse::algorithms())
    contestant.variants.push_back(cusparse_variant(*libraries.cusparse, type, algorithm));
  return contestant;
}

Contestant blocked_ell_contestant(const Libraries& libraries, DenseType type) {
  Contestant contestant{"cuSPARSE blocked ELL", ContestantKind::sparse, type};
  contestant.absent = libraries.no_cusparse;
  contestant.own_weights = with_block_weights;
  if (libraries.cusparse) contestant.variants.push_back(blocked_ell_variant(*libraries.cusparse, type));
  return contestant;
}

Contestant two_of_four_contestant(const Libraries& libraries, DenseType type) {
  Contestant contestant{"cuSPARSELt 2:4", ContestantKind::sparse, type};
  contestant.absent = libraries.no_cusparselt;
  contestant.own_weights = with_two_of_four_weights;
  if (!libraries.cusparselt) return contestant;
  for (const std::string_view algorithm : Cusparselt::algorithms())
    contestant.variants.push_back(two_of_four_variant(*libraries.cusparselt, type, algorithm));
  return contestant;
}

// Seeds apart from the one of the case's own weights, and the same for all sparsities of a shape.
std::uint64_t seed_of_shape(const Workload& workload) {
  return static_cast<std::uint64_t>(workload.problem.m) * 1000003 +
         static_cast<std::uint64_t>(workload.problem.k);
}

}  // namespace

DenseConvolution dense_convolution(const Operands& operands, DenseType type, bool channels_last) {
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
  dense.groups = operands.workload().problem.image_groups;
  dense.output = c.output();
  dense.type = type;
  dense.channels_last = channels_last;
  dense.image_address = channels_last ? operands.b_channels_last() : operands.b();
  dense.weights_address = channels_last ? operands.dense_weights_channels_last() : operands.dense_weights();
  dense.output_address = operands.c();
  return dense;
}

Workload with_dense_weights(const SuiteCase& /*chosen*/, const Workload& workload) {
  const std::uint64_t seed = seed_of_shape(workload);
  return with_weights(workload,
                      dense_weights(workload.matrix.rows, workload.matrix.columns, workload.dtype, seed),
                      fmt::format("dense, seed {}", seed));
}

Workload with_block_weights(const SuiteCase& chosen, const Workload& workload) {
  constexpr std::int64_t largest = 64;
  const std::int64_t block = std::min(chosen.group_rows, largest);
  const std::uint64_t seed = seed_of_shape(workload);
  Workload own = with_weights(workload,
                              block_weights(workload.matrix.rows, workload.matrix.columns, block,
                                            chosen.sparsity, workload.dtype, seed),
                              fmt::format("blocks of {}, seed {}", block, seed));
  own.block = block;
  return own;
}

Workload with_two_of_four_weights(const SuiteCase& chosen, const Workload& workload) {
  constexpr double its_sparsity = 0.5;
  if (!chosen.pattern && std::abs(chosen.sparsity - its_sparsity) > 1e-6)
    throw UserError("weights of 50 % alone can be 2:4", "another sparsity", "50 %");
  const std::uint64_t seed = seed_of_shape(workload);
  const WeightMatrix dense =
      dense_weights(workload.matrix.rows, workload.matrix.columns, workload.dtype, seed);
  return with_weights(workload, two_of_four(dense), fmt::format("2:4 of the dense ones, seed {}", seed));
}

std::vector<Contestant> vendor_contestants(const Suite& suite, const Libraries& libraries,
                                           DenseType arithmetic) {
  std::vector<Contestant> all;
  all.push_back(dense_contestant(suite, libraries, arithmetic));
  if (suite.is_grouped() || suite.is_patterned()) {
    Contestant pruned = all.front();
    pruned.name += ", pruned weights";
    pruned.kind = ContestantKind::pruned;
    all.front().own_weights = with_dense_weights;
    all.push_back(std::move(pruned));
    if (suite.is_convolution() || suite.dtype == DType::f32) return all;
    if (suite.is_grouped() && arithmetic != DenseType::e4m3)
      all.push_back(blocked_ell_contestant(libraries, arithmetic));
    all.push_back(two_of_four_contestant(libraries, arithmetic));
    return all;
  }
  if (arithmetic == DenseType::f32) all.push_back(dense_contestant(suite, libraries, DenseType::tf32));
  if (!suite.is_convolution() && arithmetic != DenseType::e4m3)
    all.push_back(csr_contestant(libraries, arithmetic));
  return all;
}

}  // namespace weft
