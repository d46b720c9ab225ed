#include "product_trials.h"

#include <fmt/format.h>
#include <weft/backends/runtime/timing.h>
#include <weft/dsl/arithmetic.h>
#include <weft/search/measure/trial_problem.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr double products_of_check = 3e5;  ///< that the f64 reference adds up: a sample of rows

/// Counts the f16 elements of `a` that are not within 1/512 of `b`'s, or within `least`; NaN never is.
constexpr std::string_view compare_ptx = R"(.version 6.3
.target sm_70
.address_size 64
.visible .entry differing(.param .u64 p_a, .param .u64 p_b, .param .u64 p_count, .param .u64 p_pairs, .param .f32 p_least)
{
  .reg .pred %p<4>;
  .reg .b16 %h<5>;
  .reg .f32 %f<10>;
  .reg .b32 %r<8>;
  .reg .b64 %d<12>;
  ld.param.u64 %d1, [p_a];
  ld.param.u64 %d2, [p_b];
  ld.param.u64 %d3, [p_count];
  ld.param.u64 %d4, [p_pairs];
  ld.param.f32 %f1, [p_least];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %d5, %r4;
  setp.ge.u64 %p1, %d5, %d4;
  @%p1 bra done;
  shl.b64 %d6, %d5, 2;
  add.s64 %d7, %d1, %d6;
  add.s64 %d8, %d2, %d6;
  ld.global.u32 %r5, [%d7];
  ld.global.u32 %r6, [%d8];
  mov.b32 {%h1, %h2}, %r5;
  mov.b32 {%h3, %h4}, %r6;
  cvt.f32.f16 %f2, %h1;
  cvt.f32.f16 %f3, %h3;
  sub.f32 %f4, %f2, %f3;
  abs.f32 %f4, %f4;
  abs.f32 %f5, %f3;
  fma.rn.f32 %f5, %f5, 0f3B000000, %f1;
  setp.gtu.f32 %p2, %f4, %f5;
  cvt.f32.f16 %f6, %h2;
  cvt.f32.f16 %f7, %h4;
  sub.f32 %f8, %f6, %f7;
  abs.f32 %f8, %f8;
  abs.f32 %f9, %f7;
  fma.rn.f32 %f9, %f9, 0f3B000000, %f1;
  setp.gtu.f32 %p3, %f8, %f9;
  @%p2 red.global.add.u32 [%d3], 1;
  @%p3 red.global.add.u32 [%d3], 1;
done:
  ret;
}
)";
constexpr std::int64_t threads_of_compare = 256;

/// Square root of the mean square.
double magnitude(const Array& array) {
  double sum = 0;
  for (const f16 value : array.as<f16>()) sum += std::pow(static_cast<double>(static_cast<float>(value)), 2);
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(1, array.size())));
}

}  // namespace

std::unique_ptr<MeasuredProduct> make_product(const SuiteCase& chosen, const Format& format,
                                              const std::vector<Format>& formats, const Target& target,
                                              const DeviceDescription* device, const std::string& measure) {
  auto made = std::make_unique<MeasuredProduct>();
  made->chosen = chosen;
  made->workload = make_workload(chosen, DType::f16, {});
  made->b = *made->workload.b;
  made->c = made->workload.empty_output();
  const auto matrix = std::make_shared<const WeightMatrix>(made->workload.matrix);
  made->packed = std::make_shared<PackedWeights>(matrix);
  for (const Format& one : formats) made->packed->in(one);
  made->checker = std::make_shared<Checker>(made->workload, products_of_check);
  TrialProblem problem;
  problem.what = {made->workload.algorithm, matrix, format};
  problem.columns = chosen.problem.n;
  made->record = record_for(problem, target, measure, device);
  made->record.recipe = chosen.pattern ? "v_n_m" : "shfl_bw";
  made->record.problem.words.erase("algorithm");
  return made;
}

ProductTrials::ProductTrials(const Device& device, int rounds)
    : device_(device),
      rounds_(rounds),
      compare_(Module::load(device, compare_ptx).function("differing")),
      count_(device, sizeof(std::uint32_t)) {}

void ProductTrials::begin(std::unique_ptr<MeasuredProduct> product) {
  operands_.clear();
  trusted_ = {};
  fastest_ = std::numeric_limits<double>::infinity();
  product_ = std::move(product);
}

const Module& ProductTrials::code_of(const StudiedKernel& studied) {
  const auto found = loaded_.find(&studied);
  if (found != loaded_.end()) return found->second;
  return loaded_.emplace(&studied, loaded_code(*studied.kernel, device_)).first->second;
}

std::uint64_t ProductTrials::address_of(const LaunchData::Memory& memory,
                                        std::vector<DeviceMemory>& workspaces) {
  const std::size_t bytes = std::max<std::size_t>(memory.bytes, 16);
  if (memory.source == nullptr) {
    workspaces.emplace_back(device_, bytes);
    if (memory.begins_as_zero) workspaces.back().fill(0);
    return workspaces.back().address();
  }
  DeviceMemory& operand = operands_[memory.source];
  if (operand.address() == 0) {
    operand = DeviceMemory(device_, bytes);
    operand.upload(memory.source->data(), memory.bytes);
  }
  return operand.address();
}

std::int64_t ProductTrials::differing() const {
  const std::int64_t pairs = product_->c.size() / 2;
  std::uint64_t output = operands_.at(&product_->c).address(), trusted = trusted_.address(),
                count = count_.address();
  auto all = static_cast<std::uint64_t>(pairs);
  float least = least_;
  std::vector<void*> arguments{&output, &trusted, &count, &all, &least};
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(ceil_divide(pairs, threads_of_compare));
  shape.block[0] = threads_of_compare;
  compare_.launch(shape, arguments, nullptr);
  return count_.to_vector<std::uint32_t>().front();
}

/// What is wrong with the output; nothing where it is right.
std::string ProductTrials::wrong(Record& record) {
  if (trusted_.address() != 0) {
    count_.fill(0);
    const std::int64_t elements = differing();
    record.verified = TrialCheck{0, 0, 0, true};
    return elements == 0 ? std::string() : fmt::format("{} elements differ from a right result", elements);
  }
  const DeviceMemory& output = operands_.at(&product_->c);
  output.download(product_->c.data(), product_->c.bytes());
  const Check check = product_->checker->check(product_->c, DenseType::f16);
  record.verified = TrialCheck{check.relative, 0, check.rows, false};
  if (!check.passed) return check.reason;
  trusted_ = DeviceMemory(device_, product_->c.bytes());
  trusted_.upload(product_->c.data(), product_->c.bytes());
  least_ = static_cast<float>(1e-3 * magnitude(product_->c));
  return {};
}

TrialTime ProductTrials::time_of(const PreparedLaunch& launch, double first_microseconds) {
  constexpr double of_waiting = 40;  // microseconds, of a launch that is waited for
  TimingOptions timing;
  timing.rounds = rounds_;
  timing.warm_up = 1;
  timing.most_repeats = 100;
  timing.minimum_seconds = 0.0002;
  if (first_microseconds > 2 * fastest_ + of_waiting) {
    timing.rounds = timing.repeats = 1;
    timing.warm_up = 0;
    timing.use_graph = false;
  }
  const Timing found = time(device_, [&](StreamHandle stream) { launch.launch(stream); }, timing);
  fastest_ = std::min(fastest_, found.median);
  return {found.median, found.minimum, found.percentile_95, found.count};
}

Record ProductTrials::trial(const StudiedKernel& studied) {
  using Clock = std::chrono::steady_clock;
  Record record = product_->record;
  record.config = studied.point;
  if (const auto& resources = studied.kernel->resources()) {
    record.registers = resources->registers;
    record.shared_bytes = resources->shared_bytes;
    record.spill_bytes = resources->spill_bytes;
  }
  const Arguments arguments{
      {{"B", &product_->b}, {"C", &product_->c}}, {}, product_->packed->in(studied.format)};
  const LaunchData data = launch_data(*studied.kernel, arguments);
  std::vector<DeviceMemory> workspaces;
  std::vector<std::uint64_t> addresses;
  for (const LaunchData::Memory& memory : data.memory) addresses.push_back(address_of(memory, workspaces));
  const PreparedLaunch launch(code_of(studied), data, addresses);
  operands_.at(&product_->c).poison();
  const Clock::time_point begin = Clock::now();
  launch.launch(nullptr);
  wait_for(device_, nullptr);
  const std::chrono::duration<double, std::micro> first = Clock::now() - begin;
  record.message = wrong(record);
  if (record.message.empty()) {
    record.microseconds = time_of(launch, first.count());
  } else {
    record.status = TrialStatus::correctness;
  }
  return record;
}

}  // namespace weft
