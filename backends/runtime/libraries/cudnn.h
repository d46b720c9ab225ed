// The vendor's convolution, the one that a sparse kernel must beat. Found when the program runs.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/stream.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// A 2-D convolution at device addresses, heights first in every pair. Image [batch, channels, height,
/// width], weights [filters, channels / groups, height, width] and output alike; with channels_last all three
/// have their channels last.
struct DenseConvolution {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t filters = 1;
  std::int64_t groups = 1;  ///< each has as many channels, and as many filters
  std::array<std::int64_t, 2> image{1, 1};
  std::array<std::int64_t, 2> filter{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> dilation{1, 1};
  std::array<std::int64_t, 2> output{1, 1};
  DenseType type = DenseType::f32;  ///< sums are f32
  bool channels_last = false;
  std::uint64_t image_address = 0;
  std::uint64_t weights_address = 0;
  std::uint64_t output_address = 0;
};

/// cuDNN's convolutions on one device, by the interface that names algorithms; use from one thread at a time.
class Cudnn {
 public:
  struct State;  ///< what the implementation keeps
  explicit Cudnn(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Nothing where there is no cuDNN with that interface or `device` is not a CUDA device; `reason`, when
  /// given, then says why. RuntimeError when cuDNN is there and fails.
  static std::optional<Cudnn> open(const Device& device, std::string* reason = nullptr);

  /// Its algorithms for the forward pass: "implicit gemm", "winograd", ...
  static std::span<const std::string_view> algorithms();

  /// UserError for an unknown algorithm or extents outside 1 … 2^31 - 1, RuntimeError where cuDNN does not
  /// offer the convolution by this algorithm, or wants more than 2 GiB for it.
  PreparedCall prepare(const DenseConvolution& convolution, std::string_view algorithm) const;

  /// "cuDNN 9.15.1 (libcudnn.so.9)"
  const std::string& version() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft
