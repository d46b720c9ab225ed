// A libcuda.so.1 for tests: the entry points that exported packages call, with weft's simulator as the
// device. It counts calls, and fails those that SIMULATED_FAIL names. SIMULATED_CAPABILITY (100 where it is
// not set) is the compute capability that it claims, which makes packages choose PTX; SIMULATED_TARGET
// (sm_80) is what runs it. simulated_capture() says that a stream captures a graph: launches run all the
// same.
#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/module.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int invalid_value = 1, out_of_memory = 2, no_device = 100, not_found = 500, launch_failed = 719,
              unsupported_in_capture = 900;

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

/// What a graph owns; `destroy` is called when the last one that has it goes.
struct UserObject {
  void* given;
  void (*destroy)(void*);
};
struct Graph {
  std::vector<UserObject*> objects;
};
std::map<std::uint64_t, Graph>& graphs() {
  static std::map<std::uint64_t, Graph> by_capture;
  return by_capture;
}
std::map<void*, std::uint64_t>& capturing() {
  static std::map<void*, std::uint64_t> by_stream;
  return by_stream;
}
constexpr int relaxed_mode = 2;
thread_local int capture_mode = 0;
/// What may not be done beside a capture, but in threads that say so.
bool ends_captures() {
  return !capturing().empty() && capture_mode != relaxed_mode;
}
std::uint64_t cleared_last = 0;

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

/// The stream captures from now on, or no more where the number is 0.
EXPORTED void simulated_capture(void* stream, std::uint64_t number) {
  if (number == 0)
    capturing().erase(stream);
  else
    capturing()[stream] = number;
}
EXPORTED void simulated_destroy_graph(std::uint64_t number) {
  for (UserObject* object : graphs()[number].objects) {
    object->destroy(object->given);
    delete object;
  }
  graphs().erase(number);
}
/// What the last cuMemsetD8Async wrote to.
EXPORTED std::uint64_t simulated_cleared() {
  return cleared_last;
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
    if (ends_captures()) return unsupported_in_capture;
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
EXPORTED int cuMemsetD8Async(std::uint64_t target, unsigned char value, std::size_t bytes, void* stream) {
  if (capturing().contains(stream)) ++calls()["captured cuMemsetD8Async"];
  return guarded("cuMemsetD8Async", [&] {
    cleared_last = target;
    device().implementation().fill(target, value, bytes);
    return 0;
  });
}
EXPORTED int cuStreamSynchronize(void* stream) {
  if (ends_captures() || capturing().contains(stream)) return unsupported_in_capture;
  return fails("cuStreamSynchronize") ? launch_failed : 0;
}
EXPORTED int cuStreamCreate(void** stream, unsigned flags) {
  constexpr unsigned non_blocking = 1;
  if (fails("cuStreamCreate") || flags != non_blocking) return launch_failed;
  *stream = new char;
  return 0;
}
EXPORTED int cuStreamDestroy_v2(void* stream) {
  delete static_cast<char*>(stream);
  return fails("cuStreamDestroy_v2") ? launch_failed : 0;
}
EXPORTED int cuThreadExchangeStreamCaptureMode(int* mode) {
  if (fails("cuThreadExchangeStreamCaptureMode")) return launch_failed;
  std::swap(*mode, capture_mode);
  return 0;
}
EXPORTED int cuStreamGetCaptureInfo_v2(void* stream, int* status, std::uint64_t* id, void** graph,
                                       const void**, std::size_t*) {
  if (fails("cuStreamGetCaptureInfo_v2")) return launch_failed;
  const auto found = capturing().find(stream);
  *status = found == capturing().end() ? 0 : 1;
  if (*status == 0) return 0;
  *id = found->second;
  *graph = &graphs()[found->second];
  return 0;
}
EXPORTED int cuUserObjectCreate(void** object, void* given, void (*destroy)(void*), unsigned references,
                                unsigned flags) {
  if (fails("cuUserObjectCreate") || references != 1 || flags != 1) return launch_failed;
  *object = new UserObject{given, destroy};
  return 0;
}
EXPORTED int cuUserObjectRelease(void* object, unsigned) {
  auto* released = static_cast<UserObject*>(object);
  released->destroy(released->given);
  delete released;
  return fails("cuUserObjectRelease") ? launch_failed : 0;
}
EXPORTED int cuGraphRetainUserObject(void* graph, void* object, unsigned references, unsigned flags) {
  if (fails("cuGraphRetainUserObject") || references != 1 || flags != 1) return launch_failed;
  static_cast<Graph*>(graph)->objects.push_back(static_cast<UserObject*>(object));
  return 0;
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
