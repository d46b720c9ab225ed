// A libcuda.so.1 for tests: the entry points that exported packages call, with weft's simulator as the
// device. It counts calls, and fails those that SIMULATED_FAIL names. SIMULATED_CAPABILITY (100 where it is
// not set) is the compute capability that it claims, which makes packages choose PTX; SIMULATED_TARGET
// (sm_80) is what runs it.
#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/module.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int invalid_value = 1, out_of_memory = 2, no_device = 100, not_found = 500, launch_failed = 719;

std::string setting(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : otherwise;
}

weft::Device& device() {
  static weft::Device only = weft::Device::simulator(setting("SIMULATED_TARGET", "sm_80"));
  return only;
}

/// A loaded image and its text, for the number of parameters.
struct Image {
  weft::Module module;
  std::string text;
};
struct Entry {
  weft::Function function;
  std::size_t parameters;
};

std::map<std::string, int>& calls() {
  static std::map<std::string, int> counts;
  return counts;
}

thread_local std::vector<void*> contexts;
int primary = 0;

/// Counts the call; true where it shall fail.
bool fails(const char* name) {
  ++calls()[name];
  return setting("SIMULATED_FAIL", "") == name;
}

template <class Action>
int guarded(const char* name, const Action& action) {
  if (fails(name)) return std::strcmp(name, "cuMemAlloc_v2") == 0 ? out_of_memory : launch_failed;
  try {
    return action();
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << "\n";
    return launch_failed;
  }
}

std::size_t count_parameters(const std::string& ptx, const std::string& entry) {
  const std::size_t begin = ptx.find(".entry " + entry + "(");
  const std::string list = ptx.substr(begin, ptx.find(')', begin) - begin);
  std::size_t count = 0;
  for (std::size_t at = list.find(".param"); at != std::string::npos; at = list.find(".param", at + 1))
    ++count;
  return count;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int simulated_calls(const char* name) {
  return calls()[name];
}

EXPORTED int cuInit(unsigned) {
  return fails("cuInit") ? no_device : 0;
}
EXPORTED int cuGetErrorString(int error, const char** text) {
  *text = error == out_of_memory ? "out of memory" : "simulated failure";
  return 0;
}
EXPORTED int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
EXPORTED int cuDeviceGet(int* number, int ordinal) {
  *number = ordinal;
  return ordinal == 0 ? 0 : invalid_value;
}
EXPORTED int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int major = 75;
  const int capability = std::stoi(setting("SIMULATED_CAPABILITY", "100"));
  *value = attribute == major ? capability / 10 : capability % 10;
  return 0;
}
EXPORTED int cuDevicePrimaryCtxRetain(void** context, int) {
  if (fails("cuDevicePrimaryCtxRetain")) return launch_failed;
  *context = &primary;
  return 0;
}
EXPORTED int cuDevicePrimaryCtxRelease_v2(int) {
  return fails("cuDevicePrimaryCtxRelease_v2") ? launch_failed : 0;
}
EXPORTED int cuCtxGetCurrent(void** context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return 0;
}
EXPORTED int cuCtxGetDevice(int* number) {
  *number = 0;
  return contexts.empty() ? invalid_value : 0;
}
EXPORTED int cuCtxPushCurrent_v2(void* context) {
  contexts.push_back(context);
  return 0;
}
EXPORTED int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return invalid_value;
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}
EXPORTED int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return guarded("cuMemAlloc_v2", [&] {
    *address = device().implementation().allocate((bytes + 255) / 256 * 256);
    return *address % 256 == 0 ? 0 : invalid_value;
  });
}
EXPORTED int cuMemFree_v2(std::uint64_t address) {
  return guarded("cuMemFree_v2", [&] {
    device().implementation().release(address);
    return 0;
  });
}
EXPORTED int cuMemcpyHtoD_v2(std::uint64_t target, const void* source, std::size_t bytes) {
  return guarded("cuMemcpyHtoD_v2", [&] {
    device().implementation().upload(target, source, bytes);
    return 0;
  });
}
EXPORTED int cuMemcpyHtoDAsync_v2(std::uint64_t target, const void* source, std::size_t bytes, void*) {
  return guarded("cuMemcpyHtoDAsync_v2", [&] {
    device().implementation().upload(target, source, bytes);
    return 0;
  });
}
EXPORTED int cuMemcpyDtoH_v2(void* target, std::uint64_t source, std::size_t bytes) {
  return guarded("cuMemcpyDtoH_v2", [&] {
    device().implementation().download(target, source, bytes);
    return 0;
  });
}
EXPORTED int cuMemsetD8Async(std::uint64_t target, unsigned char value, std::size_t bytes, void*) {
  return guarded("cuMemsetD8Async", [&] {
    device().implementation().fill(target, value, bytes);
    return 0;
  });
}
EXPORTED int cuStreamSynchronize(void*) {
  return fails("cuStreamSynchronize") ? launch_failed : 0;
}
EXPORTED int cuModuleLoadData(void** module, const void* image) {
  return guarded("cuModuleLoadData", [&] {
    const std::string text(static_cast<const char*>(image));
    *module = new Image{weft::Module::load(device(), text), text};
    return 0;
  });
}
EXPORTED int cuModuleUnload(void* module) {
  delete static_cast<Image*>(module);
  return fails("cuModuleUnload") ? launch_failed : 0;
}
EXPORTED int cuModuleGetFunction(void** function, void* module, const char* name) {
  return guarded("cuModuleGetFunction", [&] {
    auto* image = static_cast<Image*>(module);
    if (image->text.find(std::string(".entry ") + name + "(") == std::string::npos) return not_found;
    // Lives as long as the program: a driver's functions go with their module, and tests load few.
    *function = new Entry{image->module.function(name), count_parameters(image->text, name)};
    return 0;
  });
}
EXPORTED int cuFuncGetAttribute(int* value, int, void* function) {
  *value = static_cast<int>(static_cast<Entry*>(function)->function.attributes().static_shared_bytes);
  return 0;
}
EXPORTED int cuFuncSetAttribute(void*, int, int) {
  return fails("cuFuncSetAttribute") ? launch_failed : 0;
}
namespace {

int launched(const Entry& entry, const weft::LaunchShape& shape, void** parameters) {
  entry.function.launch(shape, std::span<void* const>(parameters, entry.parameters), {});
  return 0;
}

}  // namespace

EXPORTED int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                            void*, void** parameters, void**) {
  return guarded("cuLaunchKernel", [&] {
    return launched(*static_cast<Entry*>(function),
                    {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, parameters);
  });
}

/// CUlaunchConfig, with CUlaunchAttribute by its words.
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  const int* attributes;
  unsigned attribute_count;
};
EXPORTED int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters, void**) {
  return guarded("cuLaunchKernelEx", [&] {
    constexpr int programmatic_stream_serialization = 6;
    if (config->attribute_count != 1 || config->attributes[0] != programmatic_stream_serialization ||
        config->attributes[2] != 1)
      return invalid_value;
    return launched(*static_cast<Entry*>(function),
                    {{config->grid[0], config->grid[1], config->grid[2]},
                     {config->block[0], config->block[1], config->block[2]},
                     config->shared_bytes},
                    parameters);
  });
}
