#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/stopwatch.h>
#include <weft/backends/runtime/stream.h>
#include <weft/dsl/errors.h>

#include <chrono>
#include <map>
#include <thread>
#include <utility>

namespace weft {
namespace {

/// Numbers of CUdevice_attribute, and what they say of a device.
constexpr std::pair<int DeviceDescription::*, int> counts[] = {
    {&DeviceDescription::threads_per_block, 1},
    {&DeviceDescription::registers_per_block, 12},
    {&DeviceDescription::clock_kilohertz, 13},
    {&DeviceDescription::multiprocessors, 16},
    {&DeviceDescription::memory_clock_kilohertz, 36},
    {&DeviceDescription::memory_bus_bits, 37},
    {&DeviceDescription::threads_per_multiprocessor, 39},
    {&DeviceDescription::registers_per_multiprocessor, 82},
    {&DeviceDescription::blocks_per_multiprocessor, 106},
};
constexpr std::pair<std::size_t DeviceDescription::*, int> bytes_of_memories[] = {
    {&DeviceDescription::shared_bytes_per_block, 8},
    {&DeviceDescription::l2_bytes, 38},
    {&DeviceDescription::shared_bytes_per_multiprocessor, 81},
    {&DeviceDescription::shared_bytes_opt_in, 97},
};
constexpr int block_extents = 2, grid_extents = 5, capability_major = 75, capability_minor = 76,
              clusters = 120;

/// 0 for an attribute that the driver does not know.
int attribute(driver::DeviceHandle handle, int which) {
  int value = 0;
  return driver::entry_points().cuDeviceGetAttribute(&value, which, handle) == driver::success ? value : 0;
}

driver::DeviceHandle handle_of(int ordinal) {
  driver::DeviceHandle handle = 0;
  driver::check(driver::entry_points().cuDeviceGet(&handle, ordinal),
                "opening cuda:" + std::to_string(ordinal));
  return handle;
}

/// Polls: the driver's own waits have no limit. Returns error_not_ready when the limit has passed.
driver::Result poll(driver::Event event, double limit_seconds) {
  const Stopwatch watch;
  for (;;) {
    const driver::Result result = driver::entry_points().cuEventQuery(event);
    if (result != driver::error_not_ready) return result;
    const double waited = watch.seconds();
    if (waited > limit_seconds) return result;
    if (waited > 0.0005) std::this_thread::sleep_for(std::chrono::microseconds(waited > 0.1 ? 1000 : 20));
  }
}

/// How long a copy or a fill, and what the device was given before it, may take.
constexpr double copy_limit_seconds = 120;

}  // namespace

DeviceDescription CudaDevice::describe(int ordinal) {
  const auto handle = handle_of(ordinal);
  const auto& api = driver::entry_points();
  DeviceDescription d;
  d.kind = DeviceKind::cuda;
  d.ordinal = ordinal;
  d.name = "cuda:" + std::to_string(ordinal);
  char model[256] = {};
  driver::check(api.cuDeviceGetName(model, sizeof model - 1, handle), "asking for the name of " + d.name);
  d.model = model;
  driver::check(api.cuDeviceTotalMem_v2(&d.memory_bytes, handle), "asking for the memory of " + d.name);
  d.sm = attribute(handle, capability_major) * 10 + attribute(handle, capability_minor);
  for (const auto& [count, number] : counts) d.*count = attribute(handle, number);
  for (const auto& [bytes, number] : bytes_of_memories)
    d.*bytes = static_cast<std::size_t>(attribute(handle, number));
  for (int axis = 0; axis < 3; ++axis) {
    d.block_limit[axis] = attribute(handle, block_extents + axis);
    d.grid_limit[axis] = attribute(handle, grid_extents + axis);
  }
  d.cluster_launch = attribute(handle, clusters) != 0;
  d.driver_version = driver::status().version;
  return d;
}

std::shared_ptr<CudaDevice> CudaDevice::open(int ordinal) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<CudaDevice>> open_devices;
  const std::lock_guard lock(mutex);
  auto& known = open_devices[ordinal];
  if (auto device = known.lock()) return device;
  auto device = std::make_shared<CudaDevice>(ordinal);
  known = device;
  return device;
}

CudaDevice::CudaDevice(int ordinal) : description_(describe(ordinal)), handle_(handle_of(ordinal)) {
  driver::check(driver::entry_points().cuDevicePrimaryCtxRetain(&context_, handle_),
                "opening the context of " + description_.name);
}

CudaDevice::~CudaDevice() {
  if (!has_stuck_kernel()) driver::entry_points().cuDevicePrimaryCtxRelease_v2(handle_);
}

std::uint64_t CudaDevice::allocate(std::size_t bytes) {
  const ContextScope scope(*this);
  const auto& api = driver::entry_points();
  driver::Address address = 0;
  const driver::Result result = api.cuMemAlloc_v2(&address, bytes);
  const std::string doing = "allocating " + std::to_string(bytes) + " bytes on " + description_.name;
  if (result == driver::error_out_of_memory) {
    std::size_t free = 0;
    std::size_t total = 0;
    api.cuMemGetInfo_v2(&free, &total);
    throw RuntimeError(doing + ": out of memory, " + std::to_string(free) + " of " + std::to_string(total) +
                       " bytes are free");
  }
  driver::check(result, doing);
  return address;
}

void CudaDevice::release(std::uint64_t address) noexcept {
  release_in_context(*this, [&] { driver::entry_points().cuMemFree_v2(address); });
}

// A copy from pageable memory and a fill return before they are done, and a stream of weft's own does not
// wait for the default stream: hence the wait after each. The wait before it finds a stuck kernel, where the
// copy would block.
void CudaDevice::upload(std::uint64_t target, const void* source, std::size_t bytes) {
  const std::string doing = "copying " + std::to_string(bytes) + " bytes to " + description_.name;
  wait(nullptr, copy_limit_seconds, doing);
  const ContextScope scope(*this);
  driver::check(driver::entry_points().cuMemcpyHtoD_v2(target, source, bytes), doing);
  wait(nullptr, copy_limit_seconds, doing);
}

void CudaDevice::download(void* target, std::uint64_t source, std::size_t bytes) {
  const std::string doing = "copying " + std::to_string(bytes) + " bytes from " + description_.name;
  wait(nullptr, copy_limit_seconds, doing);
  const ContextScope scope(*this);
  driver::check(driver::entry_points().cuMemcpyDtoH_v2(target, source, bytes), doing);
}

void CudaDevice::fill(std::uint64_t target, std::uint8_t pattern, std::size_t bytes) {
  const std::string doing = "filling " + std::to_string(bytes) + " bytes on " + description_.name;
  wait(nullptr, copy_limit_seconds, doing);
  const ContextScope scope(*this);
  driver::check(driver::entry_points().cuMemsetD8_v2(target, pattern, bytes), doing);
  wait(nullptr, copy_limit_seconds, doing);
}

void CudaDevice::wait(driver::Stream stream, double limit_seconds, const std::string& doing) {
  const ContextScope scope(*this);
  const auto& api = driver::entry_points();
  constexpr unsigned without_timing = 2;
  driver::Event event = nullptr;
  driver::check(api.cuEventCreate(&event, without_timing), doing);
  driver::Result result = api.cuEventRecord(event, stream);
  if (result == driver::success) result = poll(event, limit_seconds);
  if (result == driver::error_not_ready) {
    const std::lock_guard lock(mutex_);
    if (stuck_ != nullptr) api.cuEventDestroy_v2(stuck_);
    stuck_ = event;
    throw RuntimeError(doing + ": kernel did not finish within " + text_of_seconds(limit_seconds) + " on " +
                       description_.name);
  }
  api.cuEventDestroy_v2(event);
  driver::check(result, doing);
}

bool CudaDevice::has_stuck_kernel() noexcept {
  const std::lock_guard lock(mutex_);
  if (stuck_ == nullptr) return false;
  const auto& api = driver::entry_points();
  if (api.cuEventQuery(stuck_) == driver::error_not_ready) return true;
  api.cuEventDestroy_v2(stuck_);
  stuck_ = nullptr;
  return false;
}

std::shared_ptr<CudaDevice> cuda_device_of(const Device& device, const std::string& what) {
  auto cuda = std::dynamic_pointer_cast<CudaDevice>(device.shared());
  if (cuda == nullptr) throw UserError(what, "the device " + device.name(), "a CUDA device");
  return cuda;
}

ContextScope::ContextScope(const CudaDevice& device) {
  driver::check(driver::entry_points().cuCtxPushCurrent_v2(device.context()),
                "making the context of " + device.description().name + " current");
}

ContextScope::~ContextScope() {
  driver::Context former = nullptr;
  driver::entry_points().cuCtxPopCurrent_v2(&former);
}

}  // namespace weft
