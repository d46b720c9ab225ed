// Dense convolutions of the processor, those that a sparse kernel must beat there. Found when the program
// runs.
#pragma once

#include <weft/backends/runtime/libraries/cudnn.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace weft {

/// A convolution that is ready to run.
struct ProcessorConvolution {
  std::function<void()> run;         ///< returns when it is done
  std::function<void()> bring_back;  ///< the result to the output's address, where `run` leaves it elsewhere
};

/// oneDNN's convolutions of f32 (versions 2 and 3).
class Onednn {
 public:
  struct State;  ///< what the implementation keeps
  explicit Onednn(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  /// Nothing where there is no oneDNN or `device` is not the processor; `reason`, when given, then says
  /// why. RuntimeError when it is there and fails.
  static std::optional<Onednn> open(const Device& device, std::string* reason = nullptr);

  /// With the weights laid out as oneDNN wants them, which is done here. With `own_images` the image is laid
  /// out here too and the result stays as oneDNN leaves it until it is brought back, as layers in a network
  /// have it; otherwise both are at their addresses, channels first or last. UserError for another type than
  /// f32, RuntimeError where oneDNN has no such convolution.
  ProcessorConvolution prepare(const DenseConvolution& convolution, bool own_images) const;

  /// As Blas::use_threads.
  bool use_threads(int threads) const;

  /// "oneDNN 3.2.0 (libdnnl.so.3)"
  const std::string& version() const;

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace weft
