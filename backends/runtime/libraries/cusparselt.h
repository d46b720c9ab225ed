// The vendor's product with weights of which two in four are kept, by the sparse tensor cores. Found when the
// program runs.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// C = A B, all row-major, at device addresses; of e4m3 B is stored as [N, K], and C is f16. A is M x K with
/// zeros in place; of every four neighbouring elements of a row at most two are not zero.
struct TwoOfFourProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  DenseType type = DenseType::f16;  ///< f16, bf16 or e4m3; sums are f32
  std::uint64_t a = 0;              ///< read while preparing only
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

/// cuSPARSELt on one device; use from one thread at a time.
class Cusparselt {
 public:
  struct State;  ///< what the implementation keeps
  explicit Cusparselt(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Nothing where there is no cuSPARSELt, `device` is not a CUDA device or one without sparse tensor cores;
  /// `reason`, when given, then says why. RuntimeError when cuSPARSELt is there and fails.
  static std::optional<Cusparselt> open(const Device& device, std::string* reason = nullptr);

  /// How it chooses a kernel: "chosen" by itself, "searched" by timing its own.
  static std::span<const std::string_view> algorithms();

  /// Checks and compresses the weights. `c` is written by a search. UserError for an unknown algorithm,
  /// another type, or weights with more than two in four; RuntimeError where cuSPARSELt does not offer the
  /// product.
  PreparedCall prepare(const TwoOfFourProduct& product, std::string_view algorithm) const;

  /// "cuSPARSELt 0.8.0 (libcusparseLt.so.0)"
  const std::string& version() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft
