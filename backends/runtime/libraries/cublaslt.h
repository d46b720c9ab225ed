// The vendor's dense product of 8-bit floating types. Found when the program runs.
#pragma once

#include <weft/backends/runtime/libraries/libraries.h>

#include <memory>
#include <optional>
#include <string>

namespace weft {

/// C = A B of e4m3 at device addresses, C of f16, sums in f32: A [m, k] and B stored as [n, k], both
/// row-major, since tensor cores read bytes along k; C [m, n] row-major.
struct ByteProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

/// cuBLASLt on one device; use from one thread at a time.
class CublasLt {
 public:
  struct State;  ///< what the implementation keeps
  explicit CublasLt(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Nothing where there is no cuBLASLt or `device` is not a CUDA device; `reason`, when given, then says
  /// why. RuntimeError when cuBLASLt is there and fails.
  static std::optional<CublasLt> open(const Device& device, std::string* reason = nullptr);

  /// The kernels that it proposes for a product, in its order.
  static constexpr int most_kernels = 8;
  /// With the kernel of that number. UserError where it proposes fewer: of k, m or n that are no multiples of
  /// 16 none at all.
  PreparedCall prepare(const ByteProduct& product, int kernel) const;

  /// "cuBLASLt 13.1.0 (libcublasLt.so.13)"
  const std::string& version() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft
