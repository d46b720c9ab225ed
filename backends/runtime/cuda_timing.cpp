// Timing on a CUDA device; timing.h says how and why.
#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/timed_in_turns.h>
#include <weft/dsl/errors.h>

#include <optional>

namespace weft {
namespace {

class TimedEvent {
 public:
  TimedEvent() { driver::check(driver::entry_points().cuEventCreate(&event_, 0), "making an event"); }
  ~TimedEvent() { driver::entry_points().cuEventDestroy_v2(event_); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;

  void record(StreamHandle stream) {
    driver::check(driver::entry_points().cuEventRecord(event_, stream), "recording an event");
  }
  double seconds_after(const TimedEvent& start) const {
    float milliseconds = 0;
    driver::check(driver::entry_points().cuEventElapsedTime(&milliseconds, start.event_, event_),
                  "reading an event");
    return milliseconds * 1e-3;
  }

 private:
  driver::Event event_ = nullptr;
};

/// What a function gives to a stream, recorded once and launched as one.
class RecordedGraph {
 public:
  RecordedGraph(StreamHandle stream, const std::function<void()>& record) {
    const auto& api = driver::entry_points();
    // Thread-local: another thread of the program may allocate meanwhile.
    constexpr int thread_local_mode = 1;
    driver::check(api.cuStreamBeginCapture_v2(stream, thread_local_mode), "recording launches as a graph");
    driver::Graph graph = nullptr;
    try {
      record();
    } catch (...) {
      if (api.cuStreamEndCapture(stream, &graph) == driver::success && graph != nullptr)
        api.cuGraphDestroy(graph);
      throw;
    }
    driver::check(
        api.cuStreamEndCapture(stream, &graph),
        "recording launches as a graph (a launch that is timed must not wait, allocate or use another "
        "stream)");
    const driver::Result result = api.cuGraphInstantiateWithFlags(&executable_, graph, 0);
    api.cuGraphDestroy(graph);
    driver::check(result, "preparing a graph of launches");
  }
  ~RecordedGraph() { driver::entry_points().cuGraphExecDestroy(executable_); }
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;

  void launch(StreamHandle stream) const {
    driver::check(driver::entry_points().cuGraphLaunch(executable_, stream), "launching a graph");
  }

 private:
  driver::GraphExec executable_ = nullptr;
};

class CudaTimer {
 public:
  CudaTimer(const Device& device, const TimedLaunch& launch_once, const TimingOptions& options)
      : device_(cuda_device_of(device, "timing a kernel")),
        scope_(*device_),
        stream_(device),
        launch_once_(launch_once),
        options_(options) {
    if (options.flush_l2)
      flush_ = DeviceMemory(device, 2 * std::max<std::size_t>(device.description().l2_bytes, 1));
  }

  /// Seconds between two events around `work`.
  double timed(const std::function<void()>& work) {
    start_.record(stream_);
    work();
    stop_.record(stream_);
    device_->wait(stream_, options_.limit_seconds, "timing a kernel");
    return stop_.seconds_after(start_);
  }

  /// Warms up and records the graphs.
  void prepare() {
    for (int i = 0; i < options_.warm_up; ++i) timed([&] { launch_once_(stream_); });
    repeats_ = chosen_repeats(options_, timed([&] { launch_once_(stream_); }));
    record();
  }

  void sample() {
    const double all = timed(whole_);
    const double flushes = options_.flush_l2 ? timed(flushes_) : 0;
    samples_.push_back(std::max(0.0, all - flushes) * 1e6 / repeats_);
  }

  Timing result() const {
    Timing timing = summarize(samples_);
    timing.repeats = repeats_;
    timing.method = options_.use_graph ? "graph" : "events";
    if (options_.flush_l2) timing.method += "+flush";
    return timing;
  }

 private:
  void flush_once() {
    driver::check(driver::entry_points().cuMemsetD8Async(flush_.address(), 0, flush_.bytes(), stream_),
                  "flushing the L2 cache");
  }
  void launch_all(bool with_kernel) {
    for (int i = 0; i < repeats_; ++i) {
      if (options_.flush_l2) flush_once();
      if (with_kernel) launch_once_(stream_);
    }
  }

  /// Records the graphs and launches each once: the first launch of a graph uploads it.
  void record() {
    whole_ = [this] { launch_all(true); };
    flushes_ = [this] { launch_all(false); };
    if (!options_.use_graph) return;
    whole_graph_.emplace(stream_, whole_);
    whole_ = [this] { whole_graph_->launch(stream_); };
    timed(whole_);
    if (!options_.flush_l2) return;
    flush_graph_.emplace(stream_, flushes_);
    flushes_ = [this] { flush_graph_->launch(stream_); };
    timed(flushes_);
  }

  std::shared_ptr<CudaDevice> device_;
  ContextScope scope_;
  Stream stream_;
  const TimedLaunch& launch_once_;
  const TimingOptions& options_;
  DeviceMemory flush_;
  TimedEvent start_;
  TimedEvent stop_;
  int repeats_ = 1;
  std::vector<double> samples_;
  std::function<void()> whole_;
  std::function<void()> flushes_;
  std::optional<RecordedGraph> whole_graph_;
  std::optional<RecordedGraph> flush_graph_;
};

/// Streams of a library's own have nothing to do with weft's, and may be any.
void wait_for_all_streams() {
  struct Functions : LibraryFunctions {
    Imported<driver::Result()> cuCtxSynchronize{*this, "cuCtxSynchronize"};
  } functions;
  // The driver is loaded, so this is the same one.
  const std::string missing = SharedLibrary::open({"libcuda.so.1"}, {}).resolve(functions);
  if (!missing.empty()) throw RuntimeError("the driver has no " + missing);
  driver::check(functions.cuCtxSynchronize(), "waiting for the device");
}

}  // namespace

std::vector<Timing> time_on_cuda(const Device& device, const std::vector<TimedLaunch>& contestants,
                                 const TimingOptions& options) {
  return timed_in_turns<CudaTimer>(device, contestants, options);
}

void launch_on_cuda_as_timed(const Device& device, const TimedLaunch& launch_once,
                             const std::function<void()>& before) {
  const std::shared_ptr<CudaDevice> cuda = cuda_device_of(device, "launching a kernel");
  const ContextScope scope(*cuda);
  Stream stream(device);
  const RecordedGraph graph(stream, [&] { launch_once(stream); });
  wait_for_all_streams();
  before();
  graph.launch(stream);
  stream.wait();
}

}  // namespace weft
