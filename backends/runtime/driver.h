// The CUDA driver, found when the program runs: nothing of CUDA is needed to build weft or to start it.
#pragma once

#include <weft/backends/runtime/shared_library.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::driver {

/// The driver's types, declared here so that no CUDA header is needed. The opaque ones are the driver's own,
/// so a CUstream or a cudaStream_t of the caller is a Stream.
using Result = int;
using DeviceHandle = int;
using Address = std::uint64_t;
using Context = struct CUctx_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Graph = struct CUgraph_st*;
using GraphExec = struct CUgraphExec_st*;

/// CUlaunchAttribute: a number that says which, and a union of 64 bytes.
struct LaunchAttribute {
  int id = 0;
  char padding[4] = {};
  int value = 0;
  char rest[60] = {};
};
static_assert(sizeof(LaunchAttribute) == 72);

/// A launch may begin when the one in front of it lets it,
/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
inline constexpr int attribute_overlaps = 6;

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(LaunchConfig) == 56);

inline constexpr Result success = 0;
inline constexpr Result error_out_of_memory = 2;
inline constexpr Result error_stub_library = 34;
inline constexpr Result error_no_device = 100;
inline constexpr Result error_not_ready = 600;

/// The oldest driver that has every entry point below that is needed (CUDA 11.4).
inline constexpr int lowest_version = 11040;

/// The entry points that weft calls. A member carries the name that the library exports, `_v2` where the
/// plain name is an older function with 32-bit sizes.
struct EntryPoints : LibraryFunctions {
  Imported<Result(unsigned flags)> cuInit{*this, "cuInit"};
  Imported<Result(int* version)> cuDriverGetVersion{*this, "cuDriverGetVersion"};
  Imported<Result(Result error, const char** text)> cuGetErrorName{*this, "cuGetErrorName"};
  Imported<Result(Result error, const char** text)> cuGetErrorString{*this, "cuGetErrorString"};
  Imported<Result(int* count)> cuDeviceGetCount{*this, "cuDeviceGetCount"};
  Imported<Result(DeviceHandle* device, int ordinal)> cuDeviceGet{*this, "cuDeviceGet"};
  Imported<Result(char* name, int length, DeviceHandle device)> cuDeviceGetName{*this, "cuDeviceGetName"};
  Imported<Result(int* value, int attribute, DeviceHandle device)> cuDeviceGetAttribute{
      *this, "cuDeviceGetAttribute"};
  Imported<Result(std::size_t* bytes, DeviceHandle device)> cuDeviceTotalMem_v2{*this, "cuDeviceTotalMem_v2"};
  Imported<Result(Context* context, DeviceHandle device)> cuDevicePrimaryCtxRetain{
      *this, "cuDevicePrimaryCtxRetain"};
  Imported<Result(DeviceHandle device)> cuDevicePrimaryCtxRelease_v2{*this, "cuDevicePrimaryCtxRelease_v2"};
  Imported<Result(Context context)> cuCtxPushCurrent_v2{*this, "cuCtxPushCurrent_v2"};
  Imported<Result(Context* context)> cuCtxPopCurrent_v2{*this, "cuCtxPopCurrent_v2"};
  Imported<Result(std::size_t* free, std::size_t* total)> cuMemGetInfo_v2{*this, "cuMemGetInfo_v2"};
  Imported<Result(Address* address, std::size_t bytes)> cuMemAlloc_v2{*this, "cuMemAlloc_v2"};
  Imported<Result(Address address)> cuMemFree_v2{*this, "cuMemFree_v2"};
  Imported<Result(Address target, const void* source, std::size_t bytes)> cuMemcpyHtoD_v2{*this,
                                                                                          "cuMemcpyHtoD_v2"};
  Imported<Result(void* target, Address source, std::size_t bytes)> cuMemcpyDtoH_v2{*this, "cuMemcpyDtoH_v2"};
  Imported<Result(Address target, unsigned char value, std::size_t bytes)> cuMemsetD8_v2{*this,
                                                                                         "cuMemsetD8_v2"};
  Imported<Result(Address target, unsigned char value, std::size_t bytes, Stream stream)> cuMemsetD8Async{
      *this, "cuMemsetD8Async"};
  Imported<Result(Module* module, const void* image, unsigned count, int* options, void** values)>
      cuModuleLoadDataEx{*this, "cuModuleLoadDataEx"};
  Imported<Result(Module module)> cuModuleUnload{*this, "cuModuleUnload"};
  Imported<Result(Function* function, Module module, const char* name)> cuModuleGetFunction{
      *this, "cuModuleGetFunction"};
  Imported<Result(Address* address, std::size_t* bytes, Module module, const char* name)>
      cuModuleGetGlobal_v2{*this, "cuModuleGetGlobal_v2"};
  Imported<Result(int* value, int attribute, Function function)> cuFuncGetAttribute{*this,
                                                                                    "cuFuncGetAttribute"};
  Imported<Result(Function function, int attribute, int value)> cuFuncSetAttribute{*this,
                                                                                   "cuFuncSetAttribute"};
  Imported<Result(int* blocks, Function function, int threads, std::size_t dynamic_shared_bytes)>
      cuOccupancyMaxActiveBlocksPerMultiprocessor{*this, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  Imported<Result(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                  unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** arguments,
                  void** extra)>
      cuLaunchKernel{*this, "cuLaunchKernel"};
  Imported<Result(const LaunchConfig* config, Function function, void** arguments, void** extra)>
      cuLaunchKernelEx{*this, "cuLaunchKernelEx", false};  ///< from CUDA 11.8 on
  Imported<Result(Stream* stream, unsigned flags)> cuStreamCreate{*this, "cuStreamCreate"};
  Imported<Result(Stream stream)> cuStreamDestroy_v2{*this, "cuStreamDestroy_v2"};
  Imported<Result(Stream stream, int mode)> cuStreamBeginCapture_v2{*this, "cuStreamBeginCapture_v2"};
  Imported<Result(Stream stream, Graph* graph)> cuStreamEndCapture{*this, "cuStreamEndCapture"};
  Imported<Result(GraphExec* executable, Graph graph, unsigned long long flags)> cuGraphInstantiateWithFlags{
      *this, "cuGraphInstantiateWithFlags"};
  Imported<Result(GraphExec executable, Stream stream)> cuGraphLaunch{*this, "cuGraphLaunch"};
  Imported<Result(GraphExec executable)> cuGraphExecDestroy{*this, "cuGraphExecDestroy"};
  Imported<Result(Graph graph)> cuGraphDestroy{*this, "cuGraphDestroy"};
  Imported<Result(Event* event, unsigned flags)> cuEventCreate{*this, "cuEventCreate"};
  Imported<Result(Event event)> cuEventDestroy_v2{*this, "cuEventDestroy_v2"};
  Imported<Result(Event event, Stream stream)> cuEventRecord{*this, "cuEventRecord"};
  Imported<Result(Event event)> cuEventQuery{*this, "cuEventQuery"};
  Imported<Result(float* milliseconds, Event start, Event stop)> cuEventElapsedTime{*this,
                                                                                    "cuEventElapsedTime"};
};

/// Whether CUDA can be used on this machine. Everything but `ready` is a normal state of a machine.
enum class Availability { ready, switched_off, no_driver, driver_too_old, no_device, failed };

struct Status {
  Availability availability = Availability::no_driver;
  std::string sentence;  ///< for a person: "no CUDA device: libcuda.so.1 was not found"
  int version = 0;       ///< the CUDA version that the driver supports, 13000 for 13.0; 0 when unknown
  int device_count = 0;

  bool ready() const { return availability == Availability::ready; }
};

/// Loads the driver on the first call and says what was found. Never throws for a machine without CUDA.
const Status& status();

/// The driver's functions. RuntimeError with the sentence of status() unless it is ready.
const EntryPoints& entry_points();

/// Throws RuntimeError "<doing>: CUDA_ERROR_... (its text)" unless `result` is success.
void check(Result result, std::string_view doing);

/// Name and text of a driver error: "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)".
std::string text_of_error(Result result);

/// "13.0" for 13000.
std::string text_of_version(int version);

/// Fills `table` from the library of this file name and initialises it: what status() does with libcuda.so.1.
/// The library stays loaded.
Status load(const std::string& library, EntryPoints& table);

}  // namespace weft::driver
