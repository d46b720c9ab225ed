// Who computes a workload: weft's recipes and the vendor's libraries.
#pragma once

#include <weft/backends/runtime/libraries.h>
#include <weft/backends/runtime/libraries/cudnn.h>
#include <weft/backends/runtime/libraries/cusparse.h>
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

enum class ContestantKind : std::uint8_t { weft, dense, sparse };

/// Stands in the table under one name, with the fastest of its ways.
struct Contestant {
  std::string name;  ///< "cuBLAS tf32"
  ContestantKind kind = ContestantKind::weft;
  DenseType arithmetic = DenseType::f32;
  std::vector<Variant> variants;
  std::string absent;  ///< why it has none
};

/// The vendor's libraries, as far as they are there.
struct Libraries {
  explicit Libraries(const Device& device);

  // Before the libraries, whose opening writes them.
  std::string no_cublas, no_cusparse, no_cudnn;  ///< why one is not there
  std::optional<Dense> cublas;
  std::optional<Cusparse> cusparse;
  std::optional<Cudnn> cudnn;
};

/// The contestants of a suite: the dense product at the precision of the weights first, which is what the
/// others are compared with, then TF32 where the weights are f32, then cuSPARSE, then each of weft's recipes.
/// On a device without the libraries weft's alone. With `sweep` a recipe enters with all points of its knobs.
/// `libraries` must outlive the result.
std::vector<Contestant> contestants_of(const Suite& suite, const Device& device, const Target& target,
                                       const Libraries& libraries, const std::vector<Recipe>& recipes,
                                       bool sweep = false);

}  // namespace weft
