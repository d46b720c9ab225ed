// A CUDA driver that keeps its memory on the host and its time in a counter: a kernel takes 10 microseconds,
// a fill 40, a function of the host's 20. It lets the runtime's own logic be tested where there is no GPU.
// WEFT_FAKE_DRIVER chooses how it starts; weft_fake_state() is what it did and how it shall go on.
#include "fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

FakeDriverState state;
std::size_t allocated = 0;
constexpr std::size_t memory_bytes = std::size_t{1} << 30U;

struct Graph {
  double microseconds = 0;
  std::vector<std::pair<void (*)(void*), void*>> calls = {};
};
struct Event {
  double microseconds = 0;
};
Graph* recording = nullptr;

std::string answer() {
  const char* text = std::getenv("WEFT_FAKE_DRIVER");
  return text != nullptr ? text : "";
}

void spend(double microseconds) {
  (recording != nullptr ? recording->microseconds : state.microseconds) += microseconds;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT FakeDriverState* weft_fake_state() {
  return &state;
}

EXPORT int cuInit(unsigned) {
  if (answer() == "no_device") return 100;
  if (answer() == "stub") return 34;
  return answer() == "broken" ? 999 : 0;
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = answer() == "old" ? 10020 : 13000;
  return 0;
}
EXPORT int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_FAKE";
  return 0;
}
EXPORT int cuGetErrorString(int error, const char** text) {
  static std::string kept;
  kept = "fake error " + std::to_string(error);
  *text = kept.c_str();
  return 0;
}
EXPORT int cuDeviceGetCount(int* count) {
  *count = answer() == "hidden" ? 0 : 1;
  return 0;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
EXPORT int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return 0;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 1:  // threads of a block
    case 2:  // block x
    case 3: *value = 1024; return 0;
    case 4: *value = 64; return 0;
    case 5:
    case 6:
    case 7: *value = 65535; return 0;
    case 38:  // L2
      *value = 1 << 20;
      return 0;
    case 75: *value = 9; return 0;
    case 97:  // shared memory, opt-in
      *value = 232448;
      return 0;
    default: *value = 0; return attribute < 120 ? 0 : 1;
  }
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = memory_bytes;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  ++state.contexts_retained;
  *context = &state;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  ++state.contexts_released;
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void*) {
  ++state.context_depth;
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(void**) {
  --state.context_depth;
  return 0;
}
EXPORT int cuCtxSynchronize() {
  return 0;
}
EXPORT int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total) {
  *free_bytes = memory_bytes - allocated;
  *total = memory_bytes;
  return 0;
}
EXPORT int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (bytes > memory_bytes - allocated) return 2;
  auto* block = static_cast<std::size_t*>(std::aligned_alloc(256, (bytes + 511) / 256 * 256));
  *block = bytes;
  allocated += bytes;
  ++state.allocations;
  *address = reinterpret_cast<unsigned long long>(block) + 256;
  return 0;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  auto* block = reinterpret_cast<std::size_t*>(address - 256);
  allocated -= *block;
  std::free(block);
  ++state.frees;
  return 0;
}
EXPORT int cuMemcpyHtoD_v2(unsigned long long target, const void* source, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(target), source, bytes);
  return 0;
}
EXPORT int cuMemcpyDtoH_v2(void* target, unsigned long long source, std::size_t bytes) {
  std::memcpy(target, reinterpret_cast<void*>(source), bytes);
  return 0;
}
EXPORT int cuMemsetD8_v2(unsigned long long target, unsigned char value, std::size_t bytes) {
  std::memset(reinterpret_cast<void*>(target), value, bytes);
  return 0;
}
EXPORT int cuMemsetD8Async(unsigned long long, unsigned char, std::size_t bytes, void*) {
  state.flushed_bytes = bytes;
  spend(40);
  return 0;
}
EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned count, const int* options,
                              void** values) {
  const bool refused = std::strstr(static_cast<const char*>(image), "refuse me") != nullptr;
  for (unsigned i = 0; i < count; ++i) {
    constexpr int info_log = 3;
    constexpr int error_log = 5;
    if (options[i] == error_log && refused)
      std::strcpy(static_cast<char*>(values[i]), "line 3: unknown word");
    if (options[i] == info_log && !refused) std::strcpy(static_cast<char*>(values[i]), "used 9 registers");
  }
  *module = &state;
  state.modules_loaded += refused ? 0 : 1;
  return refused ? 218 : 0;
}
EXPORT int cuModuleUnload(void*) {
  ++state.modules_unloaded;
  return 0;
}
EXPORT int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = &state;
  return std::strcmp(name, "kernel") == 0 ? 0 : 500;
}
EXPORT int cuModuleGetGlobal_v2(unsigned long long* address, std::size_t* bytes, void*, const char* name) {
  *address = 4096;
  *bytes = 64;
  return std::strcmp(name, "table") == 0 ? 0 : 500;
}
EXPORT int cuFuncGetAttribute(int* value, int attribute, void*) {
  *value = 0;
  if (attribute == 0) *value = 512;           // threads of a block
  if (attribute == 1) *value = 2048;          // static shared memory
  if (attribute == 4) *value = 9;             // registers
  if (attribute == 8) *value = 49152 - 2048;  // dynamic shared memory without asking
  if (attribute == 11) *value = 16;           // cluster width
  if (attribute == 12 || attribute == 13) *value = 1;
  return 0;
}
EXPORT int cuFuncSetAttribute(void*, int attribute, int value) {
  if (attribute == 8) state.shared_limit = value;
  if (attribute == 14) state.big_clusters_allowed = value;
  return 0;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, std::size_t) {
  *blocks = 2048 / threads;
  return 0;
}
EXPORT int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                          void** arguments, void**) {
  ++state.launches;
  state.first_argument = arguments != nullptr ? *static_cast<int*>(arguments[0]) : 0;
  spend(10);
  return state.launch_error;
}
// As the driver has them: CUlaunchConfig, and of CUlaunchAttribute what the test sets.
struct FakeConfig {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  const int* attributes;
  unsigned attribute_count;
};
EXPORT int cuLaunchKernelEx(const FakeConfig* config, void* function, void** arguments, void** extra) {
  constexpr int overlaps = 6;
  const bool is_right = config->attribute_count == 1 && config->attributes[0] == overlaps &&
                        config->attributes[2] == 1 && config->grid[0] == 2 && config->block[0] == 64;
  state.overlapping_launches += is_right ? 1 : 0;
  return cuLaunchKernel(function, config->grid[0], config->grid[1], config->grid[2], config->block[0],
                        config->block[1], config->block[2], config->shared_bytes, config->stream, arguments,
                        extra);
}
EXPORT int cuLaunchHostFunc(void*, void (*function)(void*), void* context) {
  if (recording != nullptr) {
    recording->calls.emplace_back(function, context);
  } else {
    function(context);
  }
  spend(20);
  return 0;
}
EXPORT int cuStreamCreate(void** stream, unsigned flags) {
  ++state.streams;
  state.stream_flags = flags;
  *stream = &state;
  return 0;
}
EXPORT int cuStreamDestroy_v2(void*) {
  --state.streams;
  return 0;
}
EXPORT int cuStreamBeginCapture_v2(void*, int) {
  recording = new Graph;
  ++state.graphs;
  return 0;
}
EXPORT int cuStreamEndCapture(void*, void** graph) {
  *graph = recording;
  recording = nullptr;
  return 0;
}
EXPORT int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  ++state.graphs;
  *executable = new Graph(*static_cast<Graph*>(graph));
  return 0;
}
EXPORT int cuGraphLaunch(void* executable, void*) {
  ++state.graph_launches;
  state.microseconds += static_cast<Graph*>(executable)->microseconds;
  for (const auto& [function, context] : static_cast<Graph*>(executable)->calls) function(context);
  return 0;
}
EXPORT int cuGraphExecDestroy(void* executable) {
  --state.graphs;
  delete static_cast<Graph*>(executable);
  return 0;
}
EXPORT int cuGraphDestroy(void* graph) {
  --state.graphs;
  delete static_cast<Graph*>(graph);
  return 0;
}
EXPORT int cuEventCreate(void** event, unsigned) {
  ++state.events;
  *event = new Event;
  return 0;
}
EXPORT int cuEventDestroy_v2(void* event) {
  --state.events;
  delete static_cast<Event*>(event);
  return 0;
}
EXPORT int cuEventRecord(void* event, void*) {
  static_cast<Event*>(event)->microseconds = state.microseconds;
  return 0;
}
EXPORT int cuEventQuery(void*) {
  if (state.stuck) return 600;
  return state.kernel_error;
}
EXPORT int cuEventElapsedTime(float* milliseconds, void* start, void* stop) {
  *milliseconds = static_cast<float>(
      (static_cast<Event*>(stop)->microseconds - static_cast<Event*>(start)->microseconds) * 1e-3);
  return 0;
}
