#include <fmt/format.h>
#include <weft/backends/simulator/execute/extension.h>
#include <weft/backends/simulator/machine/control_flow.h>
#include <weft/backends/simulator/timing/model.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft::simulator {
namespace {

constexpr double sector_bytes = 32;

/// Machine instructions that an assembler makes of a PTX instruction, on average; what it folds away counts
/// 0.
float slots_of(const ptx::Instruction& instruction, const Operation& operation) {
  const std::string& opcode = instruction.opcode;
  const std::size_t bytes = ptx::size_of(operation.type);
  const bool is_float = operation.type == ptx::Type::f32 || operation.type == ptx::Type::f64;
  if (opcode == "mov" || opcode == "cvta") return bytes == 8 || operation.count > 2 ? 0.5F : 0.25F;
  if (opcode == "ld" && instruction.has("param")) return 0.25F;
  if (opcode == "div" || opcode == "rem")
    return is_float ? (bytes == 8 ? 30.F : 10.F) : (bytes == 8 ? 80.F : 22.F);
  if ((opcode == "sqrt" || opcode == "rcp" || opcode == "rsqrt") && !instruction.has("approx"))
    return bytes == 8 ? 24.F : 8.F;
  if (is_float) return 1;
  if (opcode == "cvt") return operation.source_type == operation.type ? 0.5F : bytes == 8 ? 1.5F : 1;
  if (bytes == 8 && (opcode == "mul" || opcode == "mad")) return instruction.has("wide") ? 1.F : 4.F;
  if (bytes == 8 &&
      (opcode == "add" || opcode == "sub" || opcode == "shl" || opcode == "shr" || opcode == "and"))
    return 2;
  return 1;
}

}  // namespace

TimeModel::Cache::Cache(std::size_t bytes)
    : sets_(std::max<std::size_t>(1, bytes / static_cast<std::size_t>(sector_bytes) / ways)) {
  lines_.resize(sets_ * ways);
}

double TimeModel::Cache::arrival(std::uint64_t sector, double now, double latency, std::uint64_t block,
                                 bool& is_fetched) {
  const std::size_t set = (sector * 0x9E3779B97F4A7C15U >> 20) % sets_ * ways;
  is_fetched = false;
  for (std::size_t way = 0; way < ways; ++way) {
    const Line& line = lines_[set + way];
    if (line.sector == sector) return line.block == block ? line.arrives : now;
  }
  is_fetched = true;
  lines_[set + clock_++ % ways] = {sector, block, now + latency};
  return now + latency;
}

TimeModel::TimeModel(const TimeParameters& parameters, const Code& code, const LaunchGrid& grid,
                     int registers, const DeviceDescription& device)
    : parameters_(parameters),
      code_(code),
      grid_(grid),
      registers_(registers > 0 ? registers : estimate_registers(code)),
      cache_(1) {
  const double threads = std::ceil(grid.block[0] * grid.block[1] * grid.block[2] / 32.0) * 32;
  const std::size_t shared = code.shared_bytes + grid.dynamic_shared_bytes;
  const double allocated = std::ceil(registers_ / 8.0) * 8;
  const double by_threads = device.threads_per_multiprocessor / threads;
  const double by_registers = 65536 / (allocated * threads);
  const double by_shared = shared == 0 ? 32
                                       : static_cast<double>(device.shared_bytes_per_multiprocessor) /
                                             static_cast<double>(shared + 1024);
  resident_ = std::max(1, static_cast<int>(std::min({by_threads, by_registers, by_shared, 32.0})));
  const double left = std::max(
      16.0 * 1024, parameters.l1_bytes - resident_ * static_cast<double>(shared + (shared > 0 ? 1024 : 0)));
  cache_ = Cache(static_cast<std::size_t>(left));
  costs_.reserve(code.operations.size());
  for (const Operation& operation : code.operations) {
    costs_.push_back(cost_of(operation));
    const auto place = static_cast<std::int64_t>(costs_.size());
    costs_.back().is_branch = flow_of(operation) == Flow::branch;
    costs_.back().ends_iteration = costs_.back().is_branch && operation.immediate < place;
  }
}

TimeModel::Cost TimeModel::cost_of(const Operation& operation) const {
  const ptx::Instruction& instruction = *code_.instructions[operation.instruction];
  Cost cost;
  cost.which = operation.pipe;
  cost.slots = slots_of(instruction, operation);
  cost.latency = static_cast<float>(parameters_.arithmetic_latency);
  const auto pipe = [&](double lanes_a_clock) {
    return static_cast<float>(lanes / lanes_a_clock * std::max(cost.slots, 1.F));
  };
  switch (operation.pipe) {
    case Pipe::none:
      cost.slots = 0;
      cost.latency = 1;
      break;
    case Pipe::integer: cost.pipe = static_cast<float>(lanes / parameters_.integer_lanes) * cost.slots; break;
    case Pipe::single: cost.pipe = pipe(parameters_.single_lanes); break;
    case Pipe::half: cost.pipe = pipe(parameters_.half_lanes); break;
    case Pipe::wide:
      cost.pipe = pipe(parameters_.wide_lanes);
      cost.latency = static_cast<float>(parameters_.wide_latency);
      break;
    case Pipe::convert:
      cost.pipe = static_cast<float>(lanes / parameters_.convert_lanes) * std::min(cost.slots, 1.F);
      break;
    case Pipe::special:
      cost.pipe = static_cast<float>(lanes / parameters_.special_lanes);
      cost.latency = static_cast<float>(parameters_.special_latency);
      break;
    case Pipe::tensor:
      cost.pipe = static_cast<float>(tensor_flops(instruction) / parameters_.tensor_flops);
      cost.latency = static_cast<float>(parameters_.tensor_latency);
      break;
    case Pipe::memory:
      cost.latency = static_cast<float>(parameters_.shared_latency);
      if (operation.space == ptx::Space::parameter)
        cost = {.slots = 0.25F, .pipe = 0, .latency = 8, .which = Pipe::none};
      break;
    case Pipe::extension:
      cost.pipe = static_cast<float>(extension_row(operation).clocks);
      cost.latency = static_cast<float>(extension_row(operation).latency);
      break;
    case Pipe::control: break;
  }
  if (cost.slots > 4) cost.latency *= cost.slots / 2;
  return cost;
}

double TimeModel::tensor_flops(const ptx::Instruction& instruction) {
  // m64n256k16 and the like; a warp of a warpgroup does a quarter.
  for (const std::string& modifier : instruction.modifiers) {
    int m = 0, n = 0, k = 0;
    if (std::sscanf(modifier.c_str(), "m%dn%dk%d", &m, &n, &k) == 3) {
      const double all = 2.0 * m * n * k;
      const double sparse = instruction.has("sp") || instruction.has("sp::ordered_metadata") ? 0.5 : 1;
      return sparse * (instruction.opcode == "wgmma" ? all / 4 : all);
    }
  }
  return 0;
}

void TimeModel::start(Warp& warp) {
  const auto index = static_cast<std::size_t>(warp.index());
  if (index >= clocks_.size()) clocks_.resize(index + 1);
  WarpClock& clock = clocks_[index];
  clock.front = 0;
  clock.issued.fill(0);
  clock.ready.assign(code_.rows + 4, 0);
  if (warp.block().serial == timed_block_) return;
  timed_block_ = warp.block().serial;
  block_times_.push_back(0);
}

void TimeModel::skip(Warp& warp) {
  clocks_[warp.index()].front += 1;
  slots_ += 1;
}

double TimeModel::load_latency(const Warp& warp, const Operation& operation, double now) {
  if (warp.last_passes() != 0) return parameters_.shared_latency + warp.last_passes() - 1;
  const auto sectors = warp.last_sectors();
  const bool is_load = operation.results > 0;
  double misses = 0;
  double arrives = now + parameters_.l1_latency + static_cast<double>(sectors.size()) / 4.0;
  for (const std::uint64_t sector : sectors) {
    touch(warp, sector);
    bool is_fetched = false;
    const double there = cache_.arrival(sector, now, parameters_.l2_latency, timed_block_, is_fetched);
    arrives = std::max(arrives, there);
    if (is_fetched || !is_load) ++misses;
  }
  l2_sectors_ += misses;
  if (misses > 1)
    arrives = std::max(
        arrives, now + parameters_.l2_latency + (misses - 1) * sector_bytes / parameters_.l2_bytes_per_clock);
  return arrives - now;
}

void TimeModel::touch(const Warp& warp, std::uint64_t sector) {
  const std::uint64_t address = sector * static_cast<std::uint64_t>(sector_bytes);
  if (address < window::global) return;
  // Not every access was to a buffer.
  const Machine::Located located = warp.machine().locate(warp, ptx::Space::global, address, 0);
  if (located.region == nullptr || located.offset >= located.region->bytes) return;
  const std::size_t slot = (address - window::global) / window::global_stride;
  if (slot >= touched_.size()) touched_.resize(slot + 1);
  const std::size_t index = sector - (window::global + slot * window::global_stride) / 32;
  std::vector<std::uint64_t>& bits = touched_[slot];
  if (index / 64 >= bits.size()) bits.resize(index / 64 + 1);
  bits[index / 64] |= std::uint64_t{1} << index % 64;
}

double TimeModel::touched_bytes(double blocks_a_sample, const GlobalMemory& memory) const {
  double total = 0;
  for (std::size_t slot = 0; slot < touched_.size(); ++slot) {
    const Region* region = memory.find(window::global + slot * window::global_stride);
    if (region == nullptr) continue;
    double sectors = 0;
    for (const std::uint64_t bits : touched_[slot]) sectors += std::popcount(bits);
    total += std::min(static_cast<double>(region->bytes), sectors * sector_bytes * blocks_a_sample);
  }
  return total;
}

void TimeModel::issue(Warp& warp, const Operation& operation) {
  const Cost& cost = costs_[&operation - code_.operations.data()];
  // What stands a window later in the warp's order may issue while this waits: assemblers move loads up and
  // unroll.
  WarpClock& clock = clocks_[warp.index()];
  double& oldest = clock.issued[clock.next++ % window];
  clock.front = std::max(clock.front, oldest);
  double at = clock.front;
  const Row* operand = code_.operands.data() + operation.first;
  for (std::size_t i = operation.reads_result ? 0 : operation.results; i < operation.count; ++i) {
    if (operand[i] != no_row && (operand[i] & constant_row) == 0)
      at = std::max(at, static_cast<double>(clock.ready[operand[i]]));
  }
  if (operation.guard != no_row) at = std::max(at, static_cast<double>(clock.ready[operation.guard]));
  oldest = at;
  double latency = cost.latency;
  if (operation.pipe == Pipe::memory && cost.which == Pipe::memory) {
    latency = load_latency(warp, operation, at);
    shared_passes_ += warp.last_passes();
    pipes_[static_cast<std::size_t>(Pipe::memory)] += 1;
  }
  for (std::size_t i = 0; i < operation.results; ++i) {
    if (operand[i] != no_row) clock.ready[operand[i]] = static_cast<float>(at + latency);
  }
  slots_ += cost.slots;
  if (cost.which != Pipe::memory) pipes_[static_cast<std::size_t>(cost.which)] += cost.pipe;
  // A warp alone has a scheduler's pipes for itself: a quarter of the multiprocessor's.
  clock.front += std::max<double>(
      cost.slots, cost.which == Pipe::memory ? 1.0 : double{cost.pipe} * parameters_.schedulers);
  // Nothing is fetched beyond a branch that is not decided, and nothing moves up into the iteration before.
  if (cost.is_branch) clock.front = std::max(clock.front, at);
  if (cost.ends_iteration) clock.front = std::max(clock.front, *std::ranges::max_element(clock.issued));
  block_times_.back() = std::max({block_times_.back(), clock.front, at});
}

void TimeModel::met(std::span<Warp* const> warps) {
  double latest = 0;
  for (const Warp* warp : warps) {
    const WarpClock& clock = clocks_[warp->index()];
    latest = std::max({latest, clock.front, *std::ranges::max_element(clock.issued)});
  }
  for (Warp* warp : warps) clocks_[warp->index()].front = latest + parameters_.barrier_latency;
}

TimeEstimate TimeModel::estimate(std::uint64_t simulated, const GlobalMemory& memory) const {
  TimeEstimate result;
  result.resident_blocks = resident_;
  result.registers = registers_;
  const double blocks = static_cast<double>(grid_.grid[0]) * grid_.grid[1] * grid_.grid[2];
  const double sampled = std::max<double>(1, static_cast<double>(simulated));
  const double multiprocessors = parameters_.multiprocessors;
  // The fullest multiprocessor counts while there are few blocks, their mean when there are many.
  const double per_multiprocessor = blocks > 4.0 * multiprocessors * resident_
                                        ? blocks / multiprocessors
                                        : std::ceil(blocks / multiprocessors);
  const double clocks_to_us = 1e-3 / parameters_.gigahertz;
  const auto add = [&](std::string name, double clocks) {
    result.parts.push_back({std::move(name), clocks * clocks_to_us});
  };
  const double share = per_multiprocessor / sampled;
  add("issue slots", slots_ / parameters_.schedulers * share);
  static constexpr std::string_view names[] = {"",        "integer", "f32", "f16 pairs", "f64",    "convert",
                                               "special", "tensor",  "",    "extension", "control"};
  for (std::size_t pipe = 0; pipe < pipes_.size(); ++pipe) {
    if (!names[pipe].empty() && pipes_[pipe] > 0 && static_cast<Pipe>(pipe) != Pipe::control)
      add(std::string(names[pipe]) + " pipe", pipes_[pipe] * share);
  }
  add("load and store unit", (shared_passes_ + pipes_[static_cast<std::size_t>(Pipe::memory)]) * share);
  const double l2_bytes = l2_sectors_ * sector_bytes;
  add("L2 into a multiprocessor", l2_bytes / parameters_.l2_bytes_per_clock * share);
  result.parts.push_back({"L2", l2_bytes / sampled * blocks / (parameters_.l2_gigabytes_per_second * 1e3)});
  const double touched = touched_bytes(blocks / sampled, memory);
  if (touched > parameters_.l2_bytes)
    result.parts.push_back({"memory", touched / (parameters_.memory_gigabytes_per_second * 1e3)});
  double mean = 0;
  for (const double time : block_times_) mean += time / static_cast<double>(block_times_.size());
  const double at_once = std::min<double>(resident_, per_multiprocessor);
  // The last wave ends with its longest block.
  const double longest = std::ranges::max(block_times_);
  add("latency", mean * (per_multiprocessor / at_once - 1) + longest);
  // Resources overlap, but not perfectly: the sum's fourth root of fourth powers is the longest one when it
  // stands out, and some 20 percent more where two are equal.
  double sum = 0;
  for (const TimeEstimate::Part& part : result.parts) sum += std::pow(part.microseconds, 4);
  result.microseconds = std::pow(sum, 0.25) + parameters_.launch_microseconds;
  result.bound = std::ranges::max_element(result.parts, {}, &TimeEstimate::Part::microseconds)->resource;
  return result;
}

std::string TimeEstimate::text() const {
  std::string text =
      fmt::format("{:.2f} us by the model, bound by {}; {} registers, {} blocks a multiprocessor\n",
                  microseconds, bound, registers, resident_blocks);
  for (const Part& part : parts)
    text += fmt::format("  {:<26} {:9.2f} us\n", part.resource, part.microseconds);
  return text;
}

}  // namespace weft::simulator
