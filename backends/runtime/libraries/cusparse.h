// The vendor's products with weights in CSR, the one that any unstructured kernel is compared with, and in
// Blocked-ELL. Found when the program runs.
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

/// C = A B with sparse A of M x K and row-major dense B and C, at device addresses. Offsets and columns have
/// 32 bits; offsets are m + 1.
struct CsrProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t stored = 0;
  DenseType type = DenseType::f32;  ///< f32, f16 or bf16; sums are f32
  std::uint64_t row_begin = 0;
  std::uint64_t column = 0;
  std::uint64_t values = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

/// The same with A in blocks of `block` x `block`, every row of blocks keeping ell_columns / block of them.
/// `block_column` has m / block rows of 32-bit block numbers, -1 where there is none; `values` is m x
/// ell_columns, row-major. `block` divides m, k and ell_columns.
struct BlockedEllProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t block = 0;
  std::int64_t ell_columns = 0;
  DenseType type = DenseType::f16;  ///< f32, f16 or bf16; sums are f32
  std::uint64_t block_column = 0;
  std::uint64_t values = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

/// cuSPARSE on one device; use from one thread at a time.
class Cusparse {
 public:
  struct State;  ///< what the implementation keeps
  explicit Cusparse(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Nothing where there is no cuSPARSE or `device` is not a CUDA device; `reason`, when given, then says
  /// why. RuntimeError when cuSPARSE is there and fails.
  static std::optional<Cusparse> open(const Device& device, std::string* reason = nullptr);

  /// Its algorithms for CSR: "default", "csr 1", "csr 2", "csr 3".
  static std::span<const std::string_view> algorithms();

  /// UserError for an unknown algorithm or extents outside 1 … 2^31 - 1, RuntimeError where cuSPARSE does not
  /// offer the product by this algorithm.
  PreparedCall prepare(const CsrProduct& product, std::string_view algorithm) const;
  /// Its one algorithm for Blocked-ELL. Errors as above.
  PreparedCall prepare(const BlockedEllProduct& product) const;

  /// "cuSPARSE 12.6.3 (libcusparse.so.12)"
  const std::string& version() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft
