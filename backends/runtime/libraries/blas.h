// Dense products of the processor's libraries, those that a sparse kernel must beat there. Found when the
// program runs.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/libraries/libraries.h>

#include <memory>
#include <string>
#include <vector>

namespace weft {

/// The numbers of threads that a library of the processor is to be timed with: one a processor, and one,
/// because threads wait for one another far longer where other work has a processor.
std::vector<int> thread_counts_to_time();

/// A library with a product of f32 matrices for the processor: oneDNN, MKL, OpenBLAS or BLIS. A value; copies
/// share the library.
class Blas {
 public:
  struct State;  ///< what the implementation keeps
  explicit Blas(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  /// All that are found on the loader's path or in the lib folder of a Python installation; none where
  /// `device` is not the processor. `reason`, when given, then says why there is none.
  static std::vector<Blas> open_all(const Device& device, std::string* reason = nullptr);

  /// C = A B at addresses of this process; returns when it is done. UserError for extents below 1 or above
  /// 2^31 - 1 and for another type than f32, RuntimeError from the library.
  void multiply(const DenseProblem& problem, const float* a, const float* b, float* c) const;

  /// How many threads later calls take. Unasked it is what the library takes, which its own variables of the
  /// environment say (OPENBLAS_NUM_THREADS, OMP_NUM_THREADS). False where it cannot be told.
  bool use_threads(int threads) const;

  /// "OpenBLAS"
  const std::string& name() const;
  /// "OpenBLAS 0.3.21 (SkylakeX, libopenblas.so.0)"
  const std::string& version() const;

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace weft
