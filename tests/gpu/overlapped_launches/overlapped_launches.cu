// `overlapped_launches PACKAGES LAUNCHES`: what overlapped_launches.sh says. Launches of a stream go in rounds: the first
// reads x and writes y[0], the next reads y[0] and writes y[1], and so on, so that one that began too early would read
// what is not there yet; then a kernel, which overlaps too, compares all results of the round with those of launches in
// order and overwrites them.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pairs.h"
#include "splits.h"
#include "streams.h"

namespace {

constexpr int steps = 5, stream_count = 2, copies = 8, columns = 8;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}
void require(cudaError_t error, const std::string& what) {
  require(error == cudaSuccess, what + ": " + cudaGetErrorString(error));
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(static_cast<bool>(file), "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

#define PACKAGE(Name, NAME, package)                                                                  \
  struct Name {                                                                                       \
    using Args = package##_args;                                                                      \
    using Handle = package;                                                                           \
    static constexpr int rows = NAME##_ROWS, inner = NAME##_COLUMNS;                                  \
    static constexpr unsigned in_order = NAME##_IN_ORDER, kept = NAME##_WORKSPACE_KEPT;                                             \
    static const char* name() { return #package; }                                                    \
    static Handle* open(const std::vector<char>& weights, unsigned flags) {                           \
      char why[256] = "";                                                                             \
      package##_open_desc desc = NAME##_OPEN_DESC;                                                    \
      desc.flags = flags;                                                                             \
      desc.weights = weights.data();                                                                  \
      desc.weights_bytes = weights.size();                                                            \
      desc.why = why;                                                                                 \
      desc.why_bytes = sizeof why;                                                                    \
      Handle* handle = nullptr;                                                                       \
      require(package##_open(&desc, &handle) == 0, std::string("open " #package ": ") + why);         \
      return handle;                                                                                  \
    }                                                                                                 \
    static void launch(const Handle* handle, const Args& args, void* memory, size_t bytes,            \
                       cudaStream_t stream) {                                                         \
      const int32_t status = package##_launch(handle, &args, memory, bytes, stream);                  \
      require(status == 0, std::string("launch of " #package ": ") + package##_status(status));       \
    }                                                                                                 \
    static size_t workspace(const Handle* handle, const Args& args) {                                 \
      size_t bytes = 0;                                                                               \
      require(package##_workspace(handle, &args, &bytes, nullptr) == 0, "workspace of " #package);    \
      return bytes;                                                                                   \
    }                                                                                                 \
  }
PACKAGE(Streams, STREAMS, streams);
PACKAGE(Splits, SPLITS, splits);
PACKAGE(Pairs, PAIRS, pairs);
#undef PACKAGE

/// Counts elements that differ, and leaves NaNs behind.
__global__ void compare(std::uint16_t* found, const std::uint16_t* expected, int count, unsigned* wrong) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    if (found[i] != expected[i]) atomicAdd(wrong, 1u);
    found[i] = 0xFFFF;
  }
}

void launch_compare(std::uint16_t* found, const std::uint16_t* expected, int count, unsigned* wrong,
                    cudaStream_t stream) {
  cudaLaunchAttribute overlaps{};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(64);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &overlaps;
  config.numAttrs = 1;
  require(cudaLaunchKernelEx(&config, compare, found, expected, count, wrong), "launch of the comparison");
}

template <class T>
T* on_device(size_t count) {
  T* memory = nullptr;
  require(cudaMalloc(&memory, count * sizeof(T)), "memory");
  return memory;
}

/// The handles of a package, each with weights of its own in memory, so that they are cold.
template <class P>
class Measured {
 public:
  static_assert(P::rows == P::inner, "a result is the next operand");
  static constexpr int elements = P::rows * columns;

  explicit Measured(const std::string& folder) {
    const std::vector<char> weights =
        read_file(folder + "/" + P::name() + "/weights/" + P::name() + ".safetensors");
    for (int i = 0; i < copies; ++i) {
      overlapped_.push_back(P::open(weights, 0));
      in_order_.push_back(P::open(weights, P::in_order));
    }
    std::vector<__half> x(elements);
    unsigned seed = 7;
    for (__half& each : x) {
      seed = seed * 1664525u + 1013904223u;
      each = static_cast<__half>(static_cast<float>(seed >> 20) / 2048.0f - 1.0f);
    }
    x_ = on_device<__half>(elements);
    require(cudaMemcpy(x_, x.data(), x.size() * sizeof(__half), cudaMemcpyHostToDevice), "copy");
    bias_ = on_device<__half>(P::rows);
    require(cudaMemset(bias_, 0, P::rows * sizeof(__half)), "memset");
    workspace_bytes_ = P::workspace(overlapped_[0], arguments(x_, x_));
    for (int s = 0; s < stream_count; ++s) {
      require(cudaStreamCreateWithFlags(&stream_[s], cudaStreamNonBlocking), "stream");
      y_[s] = on_device<__half>(size_t{steps} * elements);
      workspace_[s] = on_device<char>(workspace_bytes_ + 1);
      require(cudaMemset(workspace_[s], 0, workspace_bytes_ + 1), "memset");
    }
    expected_ = on_device<__half>(size_t{steps} * elements);
    wrong_ = on_device<unsigned>(1);
    require(cudaMemset(wrong_, 0, sizeof(unsigned)), "memset");
  }

  /// The results of launches in order, by which others are judged; the program stops where they are not numbers.
  void expect() {
    for (int step = 0; step < steps; ++step) launch(in_order_[0], 0, step);
    require(cudaDeviceSynchronize(), "launches in order");
    std::vector<__half> results(size_t{steps} * elements);
    require(cudaMemcpy(results.data(), y_[0], results.size() * sizeof(__half), cudaMemcpyDeviceToHost), "copy");
    double largest = 0;
    for (const __half each : results) {
      require(std::isfinite(static_cast<float>(each)), "results that are no numbers");
      largest = std::max(largest, std::fabs(static_cast<double>(static_cast<float>(each))));
    }
    require(largest > 0, "results that are zeros");
    require(cudaMemcpy(expected_, y_[0], results.size() * sizeof(__half), cudaMemcpyDeviceToDevice), "copy");
  }

  void repeat(int launches) {
    int done = 0;
    for (int round = 0; done < launches; ++round) {
      for (int s = 0; s < stream_count; ++s) {
        for (int step = 0; step < steps; ++step, ++done) launch(overlapped_[round % copies], s, step);
        launch_compare(reinterpret_cast<std::uint16_t*>(y_[s]), reinterpret_cast<const std::uint16_t*>(expected_),
                       steps * elements, wrong_, stream_[s]);
      }
    }
    require(cudaDeviceSynchronize(), "launches that overlap");
    unsigned wrong = 0;
    require(cudaMemcpy(&wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost), "copy");
    require(wrong == 0, std::string(P::name()) + ": " + std::to_string(wrong) + " elements of " +
                            std::to_string(done) + " launches differ");
    std::printf("%-8s %d launches in %d streams, every result as of launches in order\n", P::name(), done,
                stream_count);
  }

  void time() {
    const double in_order = microseconds(in_order_), overlapped = microseconds(overlapped_);
    std::printf("%-8s %d x %d, %d columns: %.2f us in order, %.2f us overlapped, ratio %.3f\n", P::name(), P::rows,
                P::inner, columns, in_order, overlapped, in_order / overlapped);
  }

 private:
  typename P::Args arguments(const void* b, void* c) const {
    typename P::Args args = {};
    args.struct_size = sizeof args;
    args.flags = P::kept;
    args.b = b;
    args.bias = bias_;
    args.c = c;
    args.alpha = 2.0f / std::sqrt(static_cast<float>(P::inner));
    return args;
  }

  void launch(const typename P::Handle* handle, int s, int step) {
    const __half* from = step == 0 ? x_ : y_[s] + size_t{elements} * (step - 1);
    P::launch(handle, arguments(from, y_[s] + size_t{elements} * step), workspace_[s], workspace_bytes_,
              stream_[s]);
  }

  /// Microseconds a launch takes, as the median of replays of a graph with many, whose weights take turns.
  double microseconds(const std::vector<typename P::Handle*>& handles) {
    constexpr int of_graph = 200, replays = 15;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaEvent_t begin, end;
    require(cudaStreamBeginCapture(stream_[0], cudaStreamCaptureModeGlobal), "capture");
    for (int i = 0; i < of_graph; ++i) launch(handles[static_cast<size_t>(i % copies)], 0, i % steps);
    require(cudaStreamEndCapture(stream_[0], &graph), "end of capture");
    require(cudaGraphInstantiate(&replay, graph, 0), "graph");
    require(cudaEventCreate(&begin), "event");
    require(cudaEventCreate(&end), "event");
    std::vector<double> times;
    for (int i = 0; i < replays + 2; ++i) {
      float milliseconds = 0;
      require(cudaEventRecord(begin, stream_[0]), "event");
      require(cudaGraphLaunch(replay, stream_[0]), "replay");
      require(cudaEventRecord(end, stream_[0]), "event");
      require(cudaEventSynchronize(end), "replay");
      require(cudaEventElapsedTime(&milliseconds, begin, end), "time");
      if (i >= 2) times.push_back(milliseconds * 1e3 / of_graph);
    }
    std::sort(times.begin(), times.end());
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
    return times[times.size() / 2];
  }

  std::vector<typename P::Handle*> overlapped_, in_order_;
  cudaStream_t stream_[stream_count] = {};
  __half *x_ = nullptr, *bias_ = nullptr, *expected_ = nullptr, *y_[stream_count] = {};
  char* workspace_[stream_count] = {};
  size_t workspace_bytes_ = 0;
  unsigned* wrong_ = nullptr;
};

template <class P>
void all_of(const std::string& folder, int launches) {
  Measured<P> measured(folder);
  measured.expect();
  measured.repeat(launches);
  measured.time();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const int launches = std::atoi(arguments[2]);
  all_of<Streams>(arguments[1], launches);
  all_of<Splits>(arguments[1], launches);
  all_of<Pairs>(arguments[1], launches);
  return 0;
}
