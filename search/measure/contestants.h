// Who computes a workload: weft's recipes, the vendor's libraries, and whoever else is brought along.
#pragma once

#include <weft/backends/runtime/libraries/blas.h>
#include <weft/backends/runtime/libraries/cublaslt.h>
#include <weft/backends/runtime/libraries/cudnn.h>
#include <weft/backends/runtime/libraries/cusparse.h>
#include <weft/backends/runtime/libraries/cusparselt.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/libraries/onednn.h>
#include <weft/search/choice/choice.h>
#include <weft/search/measure/operands.h>
#include <weft/search/measure/recipes.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// One way to compute one copy of a workload, prepared.
struct Run {
  std::function<void(StreamHandle)> launch;
  std::function<void()> poison;   ///< every element of the output becomes NaN
  std::function<Array()> output;  ///< read back after a launch that was waited for
};

/// One of the ways that a contestant has: an algorithm of a library.
struct Variant {
  std::string name;
  /// What has to be done before `prepare` and needs no device; that of many variants runs at the same time.
  /// What it throws, `prepare` throws again.
  std::function<void(const Workload&)> build;
  /// Throws UserError or RuntimeError where this way cannot compute the workload.
  std::function<Run(std::shared_ptr<const Operands>)> prepare;
};

enum class ContestantKind : std::uint8_t {
  weft,
  dense,   ///< what the others are compared with
  pruned,  ///< the dense product of the pruned weights, zeros in place, where `dense` has weights of its own
  sparse,
  plug_in,  ///< somebody's own: nobody is compared with its results, and it is checked after its time, too
};

/// Stands in the table under one name, with the fastest of its ways.
struct Contestant {
  std::string name;  ///< "cuBLAS tf32"
  ContestantKind kind = ContestantKind::weft;
  DenseType arithmetic = DenseType::f32;
  std::vector<Variant> variants = {};
  /// Further ways, which differ from workload to workload: those of a case are used with it and its copies.
  std::function<std::vector<Variant>(const Workload&)> more_variants = {};
  std::string absent = {};  ///< why it has none
  /// The workload with weights that this contestant can hold, where it does not take those of the suite.
  /// UserError where it has none.
  std::function<Workload(const SuiteCase&, const Workload&)> own_weights = {};
};

/// The libraries of a device, the vendor's or a processor's, as far as they are there.
struct Libraries {
  explicit Libraries(const Device& device);

  // Before the libraries, whose opening writes them.
  std::string no_cublas, no_cusparse, no_cusparselt, no_cudnn, no_blas, no_onednn,
      no_cublaslt;  ///< why one is not there
  std::optional<Dense> cublas;
  std::optional<CublasLt> cublaslt;
  std::optional<Cusparse> cusparse;
  std::optional<Cusparselt> cusparselt;
  std::optional<Cudnn> cudnn;
  std::vector<Blas> blas;
  std::optional<Onednn> onednn;

  std::vector<std::string> versions() const;
};

/// Which points of the recipes' spaces are tried.
struct Sweep {
  std::string points = {};  ///< those whose names hold this; empty: all
};

/// The libraries of a device as contestants of a suite, those that contestants_of() begins with.
std::vector<Contestant> library_contestants(const Suite& suite, const Device& device,
                                            const Libraries& libraries);

/// The contestants of a suite: the dense product at the precision of the weights first, which is what the
/// others are compared with, then the vendor's others, then those of weft's recipes that are for such
/// weights. Unstructured weights: TF32 where they are f32, and cuSPARSE CSR. Weights in groups: the dense
/// product with dense random weights and with the pruned ones, cuSPARSE Blocked-ELL and cuSPARSELt 2:4 with
/// weights of their own. Weights of a pattern: the same without Blocked-ELL. On a processor its dense
/// libraries (processor_contestants.h). On a device without libraries weft's alone. With a `sweep` a recipe
/// enters with the points of its space that are worth trying. `libraries` must outlive the result.
std::vector<Contestant> contestants_of(const Suite& suite, const Device& device, const Target& target,
                                       const Libraries& libraries, const std::vector<MeasuredRecipe>& recipes,
                                       const std::optional<Sweep>& sweep = {});

/// A kernel of a workload that its caller makes, under a name of its own.
struct NamedKernel {
  std::string name;
  std::function<Kernel(const Workload&)> make;
};
/// Kernels that differ from workload to workload, with images as the suite's first problem lays them out.
/// Each is made by one of several threads.
Contestant contestant_of_kernels(const Suite& suite,
                                 std::function<std::vector<NamedKernel>(const Workload&)> kernels);

/// What weft chooses for whatever weights a workload has (search/choice/choice.h), with images as the suite's
/// first problem lays them out, and where it hears of each choice. Of more than one way to try the fastest
/// counts. Kernels are built by several threads.
using HearChoice = std::function<void(const Workload& workload, const Choice& choice)>;
Contestant auto_contestant(const Suite& suite, const Target& target, const HearChoice& hear = {},
                           std::size_t tries = 1);

}  // namespace weft
