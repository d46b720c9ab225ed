#include <dlfcn.h>
#include <weft/backends/runtime/driver.h>
#include <weft/dsl/errors.h>

namespace weft::driver {
namespace {

/// Resolves entry points one after another and remembers the first that is missing.
class Resolver {
 public:
  explicit Resolver(void* library) : library_(library) {}

  template <class F>
  void operator()(F*& target, const char* name) {
    target = reinterpret_cast<F*>(dlsym(library_, name));
    if (target == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

std::string resolve(void* library, EntryPoints& table) {
  Resolver resolver(library);
#define WEFT_RESOLVE(name) resolver(table.name, #name)
  WEFT_RESOLVE(cuInit);
  WEFT_RESOLVE(cuDriverGetVersion);
  WEFT_RESOLVE(cuGetErrorName);
  WEFT_RESOLVE(cuGetErrorString);
  WEFT_RESOLVE(cuDeviceGetCount);
  WEFT_RESOLVE(cuDeviceGet);
  WEFT_RESOLVE(cuDeviceGetName);
  WEFT_RESOLVE(cuDeviceGetAttribute);
  WEFT_RESOLVE(cuDeviceTotalMem_v2);
  WEFT_RESOLVE(cuDevicePrimaryCtxRetain);
  WEFT_RESOLVE(cuDevicePrimaryCtxRelease_v2);
  WEFT_RESOLVE(cuCtxPushCurrent_v2);
  WEFT_RESOLVE(cuCtxPopCurrent_v2);
  WEFT_RESOLVE(cuMemGetInfo_v2);
  WEFT_RESOLVE(cuMemAlloc_v2);
  WEFT_RESOLVE(cuMemFree_v2);
  WEFT_RESOLVE(cuMemcpyHtoD_v2);
  WEFT_RESOLVE(cuMemcpyDtoH_v2);
  WEFT_RESOLVE(cuMemsetD8_v2);
  WEFT_RESOLVE(cuMemsetD8Async);
  WEFT_RESOLVE(cuModuleLoadDataEx);
  WEFT_RESOLVE(cuModuleUnload);
  WEFT_RESOLVE(cuModuleGetFunction);
  WEFT_RESOLVE(cuModuleGetGlobal_v2);
  WEFT_RESOLVE(cuFuncGetAttribute);
  WEFT_RESOLVE(cuFuncSetAttribute);
  WEFT_RESOLVE(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  WEFT_RESOLVE(cuLaunchKernel);
  WEFT_RESOLVE(cuStreamCreate);
  WEFT_RESOLVE(cuStreamDestroy_v2);
  WEFT_RESOLVE(cuStreamBeginCapture_v2);
  WEFT_RESOLVE(cuStreamEndCapture);
  WEFT_RESOLVE(cuGraphInstantiateWithFlags);
  WEFT_RESOLVE(cuGraphLaunch);
  WEFT_RESOLVE(cuGraphExecDestroy);
  WEFT_RESOLVE(cuGraphDestroy);
  WEFT_RESOLVE(cuEventCreate);
  WEFT_RESOLVE(cuEventDestroy_v2);
  WEFT_RESOLVE(cuEventRecord);
  WEFT_RESOLVE(cuEventQuery);
  WEFT_RESOLVE(cuEventElapsedTime);
#undef WEFT_RESOLVE
  return resolver.missing();
}

std::string text_of_error(const EntryPoints& table, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (table.cuGetErrorName == nullptr || table.cuGetErrorName(result, &name) != success || name == nullptr) {
    return "CUDA error " + std::to_string(result);
  }
  std::string all = name;
  if (table.cuGetErrorString(result, &text) == success && text != nullptr)
    all += " (" + std::string(text) + ")";
  return all;
}

std::string oldest_text() {
  return text_of_version(lowest_version);
}

Status too_old(int version, const std::string& reason) {
  return {Availability::driver_too_old, "no CUDA device: the NVIDIA driver is too old: " + reason, version,
          0};
}

Status initialise(const EntryPoints& table) {
  Status status;
  if (table.cuDriverGetVersion(&status.version) == success && status.version < lowest_version) {
    return too_old(status.version, "it supports CUDA " + text_of_version(status.version) +
                                       ", weft needs at least " + oldest_text());
  }
  const Result result = table.cuInit(0);
  if (result == error_no_device) {
    status.availability = Availability::no_device;
    status.sentence = "no CUDA device: the driver finds none on this machine";
    return status;
  }
  if (result == error_stub_library) {
    status.availability = Availability::no_driver;
    status.sentence = "no CUDA device: libcuda.so.1 on the loader path is the toolkit's stub, not a driver";
    return status;
  }
  if (result != success || table.cuDeviceGetCount(&status.device_count) != success) {
    status.availability = Availability::failed;
    status.sentence = "no CUDA device: the driver does not start: " + text_of_error(table, result);
    return status;
  }
  if (status.device_count == 0) {
    status.availability = Availability::no_device;
    status.sentence = "no CUDA device: the driver hides every device (is CUDA_VISIBLE_DEVICES set?)";
    return status;
  }
  status.availability = Availability::ready;
  status.sentence = std::to_string(status.device_count) + " CUDA device" +
                    (status.device_count == 1 ? "" : "s") + ", driver for CUDA " +
                    text_of_version(status.version);
  return status;
}

struct Loaded {
  EntryPoints table{};
  Status status;
  Loaded() {
#if WEFT_WITH_CUDA
    status = load("libcuda.so.1", table);
#else
    status = {Availability::switched_off, "no CUDA device: weft was built with WEFT_CUDA=OFF", 0, 0};
#endif
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

Status load(const std::string& library, EntryPoints& table) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return {Availability::no_driver,
            "no CUDA device: the NVIDIA driver library cannot be loaded: " +
                std::string(reason != nullptr ? reason : library),
            0, 0};
  }
  const std::string missing = resolve(handle, table);
  if (!missing.empty()) {
    int version = 0;
    if (table.cuDriverGetVersion != nullptr) table.cuDriverGetVersion(&version);
    return too_old(version,
                   "it has no " + missing + "; weft needs a driver for CUDA " + oldest_text() + " or later");
  }
  return initialise(table);
}

const Status& status() {
  return loaded().status;
}

const EntryPoints& entry_points() {
  const Loaded& once = loaded();
  if (!once.status.ready()) throw RuntimeError(once.status.sentence);
  return once.table;
}

std::string text_of_error(Result result) {
  return text_of_error(loaded().table, result);
}

void check(Result result, std::string_view doing) {
  if (result != success) throw RuntimeError(std::string(doing) + ": " + text_of_error(result));
}

std::string text_of_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace weft::driver
