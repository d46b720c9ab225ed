// Streams and events of a device.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/driver.h>
#include <weft/dsl/errors.h>

#include <memory>
#include <string>

namespace weft {

class CudaDevice;

/// The driver's stream, a CUstream or cudaStream_t of the caller; nullptr is the default stream, and what a
/// device without streams gets.
using StreamHandle = driver::Stream;

/// A stream of weft's own, for tests, verification and timing; a kernel that is called takes its caller's. It
/// does not order itself with the default stream. On a device without streams it is empty.
class Stream {
 public:
  explicit Stream(const Device& device, CallPlace place = {});
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamHandle handle() const { return handle_; }
  operator StreamHandle() const { return handle_; }

  /// Returns when everything given to the stream is done. RuntimeError when that takes longer than
  /// `limit_seconds`, or when a kernel failed.
  void wait(double limit_seconds = 60);

 private:
  std::shared_ptr<CudaDevice> device_;
  StreamHandle handle_ = nullptr;
};

/// Waits for a stream of the caller's, with the same limit and errors.
void wait_for(const Device& device, StreamHandle stream, double limit_seconds = 60, CallPlace place = {});

/// "0.5 s": for messages.
std::string text_of_seconds(double seconds);

}  // namespace weft
