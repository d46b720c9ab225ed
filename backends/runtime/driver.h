// The CUDA driver, found when the program runs: nothing of CUDA is needed to build weft or to start it.
#pragma once

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

inline constexpr Result success = 0;
inline constexpr Result error_out_of_memory = 2;
inline constexpr Result error_stub_library = 34;
inline constexpr Result error_no_device = 100;
inline constexpr Result error_not_ready = 600;

/// The oldest driver that has every entry point below (CUDA 11.4).
inline constexpr int lowest_version = 11040;

/// The entry points that weft calls. A member carries the name that the library exports, `_v2` where the
/// plain name is an older function with 32-bit sizes.
struct EntryPoints {
  Result (*cuInit)(unsigned flags);
  Result (*cuDriverGetVersion)(int* version);
  Result (*cuGetErrorName)(Result error, const char** text);
  Result (*cuGetErrorString)(Result error, const char** text);
  Result (*cuDeviceGetCount)(int* count);
  Result (*cuDeviceGet)(DeviceHandle* device, int ordinal);
  Result (*cuDeviceGetName)(char* name, int length, DeviceHandle device);
  Result (*cuDeviceGetAttribute)(int* value, int attribute, DeviceHandle device);
  Result (*cuDeviceTotalMem_v2)(std::size_t* bytes, DeviceHandle device);
  Result (*cuDevicePrimaryCtxRetain)(Context* context, DeviceHandle device);
  Result (*cuDevicePrimaryCtxRelease_v2)(DeviceHandle device);
  Result (*cuCtxPushCurrent_v2)(Context context);
  Result (*cuCtxPopCurrent_v2)(Context* context);
  Result (*cuMemGetInfo_v2)(std::size_t* free, std::size_t* total);
  Result (*cuMemAlloc_v2)(Address* address, std::size_t bytes);
  Result (*cuMemFree_v2)(Address address);
  Result (*cuMemcpyHtoD_v2)(Address target, const void* source, std::size_t bytes);
  Result (*cuMemcpyDtoH_v2)(void* target, Address source, std::size_t bytes);
  Result (*cuMemsetD8_v2)(Address target, unsigned char value, std::size_t bytes);
  Result (*cuMemsetD8Async)(Address target, unsigned char value, std::size_t bytes, Stream stream);
  Result (*cuModuleLoadDataEx)(Module* module, const void* image, unsigned count, int* options,
                               void** values);
  Result (*cuModuleUnload)(Module module);
  Result (*cuModuleGetFunction)(Function* function, Module module, const char* name);
  Result (*cuModuleGetGlobal_v2)(Address* address, std::size_t* bytes, Module module, const char* name);
  Result (*cuFuncGetAttribute)(int* value, int attribute, Function function);
  Result (*cuFuncSetAttribute)(Function function, int attribute, int value);
  Result (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, Function function, int threads,
                                                        std::size_t dynamic_shared_bytes);
  Result (*cuLaunchKernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                           Stream stream, void** arguments, void** extra);
  Result (*cuStreamCreate)(Stream* stream, unsigned flags);
  Result (*cuStreamDestroy_v2)(Stream stream);
  Result (*cuStreamBeginCapture_v2)(Stream stream, int mode);
  Result (*cuStreamEndCapture)(Stream stream, Graph* graph);
  Result (*cuGraphInstantiateWithFlags)(GraphExec* executable, Graph graph, unsigned long long flags);
  Result (*cuGraphLaunch)(GraphExec executable, Stream stream);
  Result (*cuGraphExecDestroy)(GraphExec executable);
  Result (*cuGraphDestroy)(Graph graph);
  Result (*cuEventCreate)(Event* event, unsigned flags);
  Result (*cuEventDestroy_v2)(Event event);
  Result (*cuEventRecord)(Event event, Stream stream);
  Result (*cuEventQuery)(Event event);
  Result (*cuEventElapsedTime)(float* milliseconds, Event start, Event stop);
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
