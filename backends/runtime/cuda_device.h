// A CUDA device behind Device: its primary context, and waits that end. For files of this folder.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/driver.h>

#include <memory>
#include <mutex>
#include <string>

namespace weft {

class CudaDevice final : public DeviceInterface, public std::enable_shared_from_this<CudaDevice> {
 public:
  /// The device of this number; one object a device for as long as somebody holds it.
  static std::shared_ptr<CudaDevice> open(int ordinal);
  /// Asks the driver, without a context.
  static DeviceDescription describe(int ordinal);

  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceDescription& description() const override { return description_; }
  std::uint64_t allocate(std::size_t bytes) override;
  void release(std::uint64_t address) noexcept override;
  void upload(std::uint64_t target, const void* source, std::size_t bytes) override;
  void download(void* target, std::uint64_t source, std::size_t bytes) override;
  void fill(std::uint64_t target, std::uint8_t pattern, std::size_t bytes) override;

  std::shared_ptr<ModuleInterface> load(std::string_view image) override;

  driver::Context context() const { return context_; }

  /// Waits until everything given to `stream` so far is done. RuntimeError after `limit_seconds`, or when a
  /// kernel failed.
  void wait(driver::Stream stream, double limit_seconds, const std::string& doing);

  /// True while a kernel that a wait gave up on still runs. The driver then blocks, without limit, in every
  /// call that frees something, so whoever would free must leave it.
  bool has_stuck_kernel() noexcept;

 private:
  DeviceDescription description_;
  driver::DeviceHandle handle_ = 0;
  driver::Context context_ = nullptr;
  std::mutex mutex_;
  driver::Event stuck_ = nullptr;
};

/// The CUDA device behind `device`; UserError naming `what` for another kind of device.
std::shared_ptr<CudaDevice> cuda_device_of(const Device& device, const std::string& what);

/// Makes the device's context current in this thread, and the former one again when it ends.
class ContextScope {
 public:
  explicit ContextScope(const CudaDevice& device);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
};

/// Runs `action` with the device's context current, for destructors, which must not throw: not at all where a
/// kernel is stuck, or where the context is refused, as it may be after a kernel has failed.
template <class F>
void release_in_context(CudaDevice& device, F&& action) {
  if (device.has_stuck_kernel()) return;
  const auto& api = driver::entry_points();
  if (api.cuCtxPushCurrent_v2(device.context()) != driver::success) return;
  action();
  driver::Context former = nullptr;
  api.cuCtxPopCurrent_v2(&former);
}

}  // namespace weft
