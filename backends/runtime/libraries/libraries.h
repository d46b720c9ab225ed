// The vendor's dense product, the one that a sparse kernel must beat. Found when the program runs.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/stream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace weft {

// g++ 12 counts the enumerators of a scoped enumeration as shadowing weft::f32 and weft::f16.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// Element type of the operands; sums are f32 throughout, and the result has the operands' type, f16 where
/// that is e4m3.
enum class DenseType : std::uint8_t {
  f32,   ///< exact f32 products: no tensor cores, no split arithmetic
  tf32,  ///< f32 in memory, rounded to TF32 in the tensor cores
  f16,
  bf16,
  e4m3,  ///< by cuBLASLt and cuSPARSELt alone
};
#pragma GCC diagnostic pop

/// Which product: both compute C = A B with A of M x K weights.
enum class DenseLayout : std::uint8_t {
  row_major,  ///< A [M, K], B [K, N], C [M, N], each row-major
  linear,     ///< A [M, K], B stored as [N, K], C stored as [N, M]: a linear layer over N rows of activations
};

struct DenseProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DenseType type = DenseType::f32;
  DenseLayout layout = DenseLayout::row_major;
};

/// A call of one of the vendor's libraries with all that was prepared for it: descriptors, workspace, and
/// what the library learnt of the operands beforehand. A value; copies share it, and it keeps the library
/// open.
class PreparedCall {
 public:
  explicit PreparedCall(std::function<void(StreamHandle)> start) : start_(std::move(start)) {}
  /// Starts the call in `stream` and returns at once. RuntimeError from the library.
  void launch(StreamHandle stream) const { start_(stream); }

 private:
  std::function<void(StreamHandle)> start_;
};

/// cuBLAS on one device. Has its own workspace, so a call can be recorded in a graph; use from one thread at
/// a time.
class Dense {
 public:
  struct State;  ///< what the implementation keeps
  explicit Dense(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Nothing where there is no cuBLAS or `device` is not a CUDA device; `reason`, when given, then says why.
  /// RuntimeError when cuBLAS is there and fails.
  static std::optional<Dense> open(const Device& device, std::string* reason = nullptr);

  /// C = A B at device addresses, in `stream`; returns at once. UserError for extents below 1 or above 2^31 -
  /// 1, RuntimeError from cuBLAS.
  void multiply(const DenseProblem& problem, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                StreamHandle stream) const;

  /// "cuBLAS 13.1.0 (libcublas.so.13)"
  const std::string& version() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft
