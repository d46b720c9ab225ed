#include <fmt/format.h>
#include <sys/mman.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/search/measure/baseline.h>
#include <weft/search/measure/trial.h>
#include <weft/search/records/words.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 4> measure_names{"gpu", "sim", "model", "cpu"};
constexpr std::size_t longest_message = 600;

Record failed(TrialStatus status, const std::string& message) {
  Record record;
  record.status = status;
  record.message = message.substr(0, longest_message);
  return record;
}

/// What a word that is no measure may mean: a GPU, which is measured where it is, or simulated.
std::string meant_by(std::string_view name) {
  if (name.starts_with("cuda")) return "; did you mean gpu?";
  const Target* target = target_of_card(name);
  for (const Target& one : targets()) {
    if (one.is_gpu() && one.name == name) target = &one;
  }
  if (target == nullptr) return did_you_mean(name, measure_names);
  return fmt::format("; gpu on a machine with that GPU, elsewhere sim or model with --target {}",
                     target->name);
}

}  // namespace

std::string_view name_of(Measure measure) {
  return measure_names.at(static_cast<std::size_t>(measure));
}

Measure measure_named(std::string_view name) {
  if (const auto known = value_named<Measure>(measure_names, name)) return *known;
  throw UserError("there is no such measure", "--measure", std::string(name),
                  "gpu, sim, model or cpu" + meant_by(name));
}

struct SharedArray::Header {
  std::atomic<bool> ready;
};

SharedArray::SharedArray(std::size_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, sizeof(Header) + bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw RuntimeError("out of memory for an output that processes share");
  memory_ = new (memory) Header{false};
}

SharedArray::~SharedArray() {
  munmap(memory_, sizeof(Header) + bytes_);
}

void SharedArray::put(const Array& array) {
  internal_check(array.bytes() == bytes_, "another array is shared");
  std::memcpy(reinterpret_cast<std::byte*>(memory_ + 1), array.data(), bytes_);
  memory_->ready.store(true, std::memory_order_release);
}

bool SharedArray::get(Array& array) const {
  if (!memory_->ready.load(std::memory_order_acquire)) return false;
  std::memcpy(array.data(), memory_ + 1, bytes_);
  return true;
}

struct Trials::State {
  TrialProblem& problem;
  const std::vector<Space>& spaces;
  const Target& target;
  MeasureOptions options;
  std::function<double(const TrialPoint&)> predicted;
  std::optional<OutputCheck> output_check;
  SharedArray trusted;
  std::optional<Kernel> kernel;
  std::optional<Device> device;

  const Device& opened() {
    if (device) return *device;
    switch (options.measure) {
      case Measure::gpu: device = Device::cuda(options.device); break;
      case Measure::sim: device = Device::simulator(target.name); break;
      case Measure::cpu: device = Device::cpu(); break;
      case Measure::model: throw InternalError("a model opens a device");
    }
    return *device;
  }

  OutputCheck& checks() {
    std::vector<std::int64_t> shape = problem.tensors.at(problem.output().name).shape();
    // As libraries leave it.
    if (problem.has_output_across()) std::ranges::reverse(shape);
    Array output(problem.output().dtype, shape);
    if (output_check->wants_trusted() && trusted.get(output)) output_check->trust(std::move(output));
    return *output_check;
  }
};

Trials::Trials(TrialProblem& problem, const std::vector<Space>& spaces, const Target& target,
               const MeasureOptions& options, std::function<double(const TrialPoint&)> predicted)
    : state_(new State{problem,
                       spaces,
                       target,
                       options,
                       std::move(predicted),
                       {},
                       SharedArray(problem.tensors.at(problem.output().name).bytes()),
                       {},
                       {}}) {
  // Before workers are made, so that none has to compute the reference again.
  if (options.measure != Measure::model) {
    const bool sampled = options.measure == Measure::gpu;
    state_->output_check.emplace(problem, sampled ? options.budget : std::max(options.budget, 3e8));
  }
}

Trials::~Trials() = default;

Record Trials::build(const TrialPoint& point) {
  const auto begin = Clock::now();
  const MeasureOptions& options = state_->options;
  state_->kernel.reset();
  Record record;
  std::optional<Schedule> schedule;
  try {
    schedule = state_->spaces.at(point.space).schedule(point.config);
    record.kernel_hash = hash_of(schedule->json());
    if (options.measure == Measure::model) {
      const double microseconds = state_->predicted(point);
      record.microseconds = TrialTime{microseconds, microseconds, microseconds, 1};
      return record;
    }
    state_->kernel = compile(*schedule);
  } catch (const UserError& error) {
    return failed(TrialStatus::constraints, error.what());
  } catch (const std::bad_alloc&) {
    return failed(TrialStatus::compile, "out of memory");
  } catch (const std::exception& error) {
    return failed(TrialStatus::compile, error.what());
  }
  const std::chrono::duration<double, std::milli> spent = Clock::now() - begin;
  record.compile_milliseconds = std::round(spent.count() * 10) / 10;
  add_resources(record, *state_->kernel);
  if (const auto spilled = record.spill_bytes; spilled > options.most_spill_bytes) {
    record.status = TrialStatus::constraints;
    record.message =
        fmt::format("spills {} B of registers, allowed {} B", *spilled, options.most_spill_bytes);
  }
  return record;
}

namespace {

/// All operands on the device, as many times as asked for.
std::vector<BoundKernel> bound_copies(const Kernel& kernel, const Device& device, TrialProblem& problem,
                                      int copies) {
  std::vector<BoundKernel> all;
  const Arguments arguments = problem.arguments();
  for (int copy = 0; copy < std::max(1, copies); ++copy) all.push_back(kernel.bind(device, arguments));
  return all;
}

TrialTime trial_time(const Timing& timing, std::size_t copies) {
  const auto each = static_cast<double>(copies);
  return {timing.median / each, timing.minimum / each, timing.percentile_95 / each, timing.count};
}

TrialTime time_copies(const Device& device, const std::vector<BoundKernel>& copies,
                      const MeasureOptions& options, double best) {
  const auto launch = [&](StreamHandle stream) {
    for (const BoundKernel& copy : copies) copy.launch(stream);
  };
  if (best > 0) {
    const TimingOptions first{
        .rounds = 3, .warm_up = 1, .minimum_seconds = 0.0001, .limit_seconds = options.run_seconds};
    const TrialTime sample = trial_time(time(device, launch, first), copies.size());
    if (sample.minimum > options.give_up * best) return sample;
  }
  const TimingOptions all{.rounds = options.rounds, .limit_seconds = options.run_seconds};
  return trial_time(time(device, launch, all), copies.size());
}

}  // namespace

Record Trials::measure(double best) {
  internal_check(state_->kernel.has_value(), "a kernel is measured that was not built");
  const MeasureOptions& options = state_->options;
  const Kernel kernel = *std::exchange(state_->kernel, std::nullopt);
  Record record;
  try {
    const Device& device = state_->opened();
    if (options.measure == Measure::sim) tell_registers(device, kernel);
    const std::vector<BoundKernel> copies =
        bound_copies(kernel, device, state_->problem, options.measure == Measure::gpu ? options.copies : 1);
    const Operand& output = state_->problem.output();
    const Stream stream(device);
    const double before = device.implementation().own_microseconds().value_or(0);
    // Where the old output is an input, it is what was bound.
    if (state_->problem.scalars.count("beta") == 0) copies.front().poison_output();
    copies.front().launch(stream);
    wait_for(device, stream, options.run_seconds);
    const double after = device.implementation().own_microseconds().value_or(0);
    Array result(output.dtype, state_->problem.tensors.at(output.name).shape());
    copies.front().download(output.name, result);
    const OutputCheck::Found found = state_->checks().check(result);
    record.verified = found.check;
    if (!found.reason.empty()) {
      record.status = TrialStatus::correctness;
      record.message = found.reason;
      return record;
    }
    // The simulator takes the same time at every launch.
    record.microseconds = options.measure == Measure::sim
                              ? TrialTime{after - before, after - before, after - before, 1}
                              : time_copies(device, copies, options, best);
  } catch (const std::exception& error) {
    return failed(TrialStatus::runtime, error.what());
  }
  return record;
}

std::vector<Baseline> Trials::baselines() {
  std::optional<Array> trusted;
  std::vector<Baseline> all = measure_baselines(state_->problem, *state_->output_check, state_->opened(),
                                                state_->target, state_->options, trusted);
  if (trusted) state_->trusted.put(*trusted);
  return all;
}

void add_resources(Record& record, const Kernel& kernel) {
  record.shared_bytes = kernel.lowered().launch.shared_bytes;
  if (const auto& resources = kernel.resources()) {
    record.registers = resources->registers;
    record.spill_bytes = resources->spill_bytes;
  }
}

void tell_registers(const Device& device, const Kernel& kernel) {
  simulator::options(device).registers = kernel.resources() ? kernel.resources()->registers : 0;
}

std::string build_request(const TrialPoint& point) {
  return nlohmann::json{{"step", "build"}, {"space", point.space}, {"config", point.config}}.dump();
}

std::string measure_request(double best) {
  return nlohmann::json{{"step", "measure"}, {"best", best}}.dump();
}

std::string baselines_request() {
  return R"({"step":"baselines"})";
}

std::vector<Baseline> baselines_of(const std::string& reply) {
  return record_of(reply).baselines;
}

std::string device_request() {
  return R"({"step":"device"})";
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceDescription, model, sm, multiprocessors, logical_cores,
                                   driver_version)

DeviceDescription device_of_reply(const std::string& reply) {
  const auto json = nlohmann::json::parse(reply);
  if (json.contains("refused")) throw UserError(json.at("refused").get<std::string>());
  if (json.contains("failed")) throw RuntimeError(json.at("failed").get<std::string>());
  return json.get<DeviceDescription>();
}

std::string Trials::device_reply() {
  try {
    return nlohmann::json(state_->opened().description()).dump();
  } catch (const UserError& error) {
    return nlohmann::json{{"refused", error.what()}}.dump();
  } catch (const RuntimeError& error) {
    return nlohmann::json{{"failed", error.what()}}.dump();
  }
}

std::string Trials::serve(const std::string& request) {
  const auto asked = nlohmann::json::parse(request);
  const std::string step = asked.at("step");
  if (step == "build")
    return json_of(build({asked.at("space").get<std::size_t>(), asked.at("config").get<KnobValues>()}));
  if (step == "device") return device_reply();
  if (step == "measure") return json_of(measure(asked.at("best").get<double>()));
  Record record;
  record.baselines = baselines();
  return json_of(record);
}

}  // namespace weft
