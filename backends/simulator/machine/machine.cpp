#include <fmt/format.h>
#include <weft/backends/simulator/machine/control_flow.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/timer.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <utility>

namespace weft::simulator {
namespace {

std::uint64_t product(const std::array<std::uint32_t, 3>& sizes) {
  return std::uint64_t{sizes[0]} * sizes[1] * sizes[2];
}

template <class F>
void for_each_warp(const Cluster& cluster, F function) {
  for (const auto& block : cluster.blocks)
    for (const auto& warp : block->warps) function(*warp);
}

constexpr std::uint64_t longest_quantum = 64;
/// Rounds without progress after which a cluster lets others run, and after which it is stuck.
constexpr std::uint64_t patience = 4096;

}  // namespace

Machine::Machine(const Code& code, GlobalMemory& memory, const LaunchGrid& grid,
                 std::vector<std::byte> arguments, std::map<std::uint64_t, Region*> constants,
                 const LaunchOptions& options, std::uint64_t& next_serial)
    : code_(code),
      memory_(memory),
      grid_(grid),
      parameters_("parameters", window::parameter, std::max<std::size_t>(arguments.size(), 1), 4),
      constants_(std::move(constants)),
      options_(options),
      next_serial_(next_serial),
      random_(options.seed * 2 + 1),
      counts_(code.operations.size()) {
  std::ranges::copy(arguments, parameters_.data.get());
  parameters_.mark_written(0, arguments.size());
  parameters_.is_read_only = true;
  has_block_scopes_ = std::ranges::any_of(
      code.instructions, [](const ptx::Instruction* instruction) { return instruction->has("cta"); });
}

Machine::~Machine() = default;

void Machine::add_finding(Finding finding) {
  constexpr std::size_t most_findings = 64;
  const auto [known, is_new] = finding_of_.try_emplace({finding.kind, finding.line}, report_.findings.size());
  if (!is_new) {
    if (known->second < report_.findings.size()) ++report_.findings[known->second].count;
    return;
  }
  if (report_.findings.size() < most_findings) report_.findings.push_back(std::move(finding));
}

InstructionCounts& Machine::counts(const Operation& operation) {
  return counts_[operation.instruction];
}

Machine::Located Machine::locate(const Warp& warp, ptx::Space space, std::uint64_t address, int lane) const {
  if (space == ptx::Space::shared && address < window::shared) address += window::shared;
  const auto in = [address](Region* region) {
    return region == nullptr ? Located{} : Located{region, address - region->address};
  };
  switch (space_of(address)) {
    case ptx::Space::global:
      if (space != ptx::Space::none && space != ptx::Space::global) return {};
      return in(memory_.find(address));
    case ptx::Space::shared: {
      if (space != ptx::Space::none && space != ptx::Space::shared) return {};
      const Block* block = block_of(warp, address);
      return block == nullptr ? Located{} : Located{block->shared.get(), address % window::shared_bytes};
    }
    case ptx::Space::local: return in(const_cast<Warp&>(warp).local(lane));
    case ptx::Space::parameter: return in(const_cast<Region*>(&parameters_));
    case ptx::Space::constant: {
      const auto after = constants_.upper_bound(address);
      return after == constants_.begin() ? Located{} : in(std::prev(after)->second);
    }
    default: return {};
  }
}

Block* Machine::block_of(const Warp& warp, std::uint64_t address) const {
  if (address < window::cluster) return &warp.block();
  const std::uint64_t rank = (address - window::cluster) / window::shared_bytes;
  const auto& blocks = warp.block().cluster->blocks;
  if (rank >= blocks.size()) return nullptr;
  Block* const block = blocks[rank].get();
  const bool has_ended = block != &warp.block() && std::ranges::all_of(block->warps, [](const auto& other) {
                           return other->is_done();
                         });
  return has_ended ? nullptr : block;
}

void Machine::start_cluster(std::uint64_t index) {
  auto cluster = std::make_unique<Cluster>();
  cluster->size = product(grid_.cluster);
  cluster->first_serial = next_serial_;
  next_serial_ += cluster->size;
  std::array<std::uint64_t, 3> clusters{};
  for (std::size_t axis = 0; axis < 3; ++axis) clusters[axis] = grid_.grid[axis] / grid_.cluster[axis];
  const std::array<std::uint64_t, 3> at{index % clusters[0], index / clusters[0] % clusters[1],
                                        index / clusters[0] / clusters[1]};
  const std::size_t shared_bytes = code_.shared_bytes + grid_.dynamic_shared_bytes;
  const std::uint64_t threads = product(grid_.block);
  for (std::uint32_t rank = 0; rank < cluster->size; ++rank) {
    auto block = std::make_unique<Block>();
    block->serial = cluster->first_serial + rank;
    block->rank = rank;
    block->cluster = cluster.get();
    const std::array<std::uint32_t, 3> inside{rank % grid_.cluster[0],
                                              rank / grid_.cluster[0] % grid_.cluster[1],
                                              rank / grid_.cluster[0] / grid_.cluster[1]};
    for (std::size_t axis = 0; axis < 3; ++axis)
      block->index[axis] = static_cast<std::uint32_t>(at[axis] * grid_.cluster[axis] + inside[axis]);
    block->shared =
        std::make_unique<Region>("shared memory", window::shared, shared_bytes, code_.shared_granule);
    cluster->blocks.push_back(std::move(block));
  }
  for (const auto& block : cluster->blocks) {
    for (std::uint64_t first = 0; first < threads; first += lanes) {
      const std::uint64_t count = std::min<std::uint64_t>(lanes, threads - first);
      const Mask mask = count == lanes ? all_lanes : (Mask{1} << count) - 1;
      block->warps.push_back(std::make_unique<Warp>(*this, *block, static_cast<int>(first / lanes), mask));
      ++cluster->live_warps;
      if (timer_ != nullptr) timer_->start(*block->warps.back());
    }
  }
  report_.blocks += cluster->size;
  active_.push_back(std::move(cluster));
}

LaunchReport Machine::run() {
  const std::uint64_t clusters = product(grid_.grid) / product(grid_.cluster);
  const std::uint64_t wanted =
      options_.sample == 0
          ? clusters
          : std::min(clusters, std::max<std::uint64_t>(1, options_.sample / product(grid_.cluster)));
  std::uint64_t started = 0;
  // Blocks that wait for each other through memory run side by side; all others one after the other.
  constexpr std::size_t most_active = 256;
  while (!stopped_ && (started < wanted || !active_.empty())) {
    if (active_.empty()) start_cluster(started++ * clusters / wanted);
    bool any = false;
    for (std::size_t i = 0; i < active_.size() && !stopped_; ++i) any = run_cluster(*active_[i]) || any;
    std::erase_if(active_, [](const auto& cluster) { return cluster->live_warps == 0; });
    if (any || active_.empty() || stopped_) continue;
    if (started < wanted && active_.size() < most_active) {
      start_cluster(started++ * clusters / wanted);
    } else if (std::ranges::all_of(active_,
                                   [](const auto& cluster) { return cluster->idle_rounds > 2 * patience; })) {
      report_stuck(*active_.front());
    }
  }
  report_.warp_instructions = steps_;
  report_.thread_instructions = thread_steps_;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i].executions == 0) continue;
    counts_[i].line = code_.instructions[i]->line;
    counts_[i].instruction = code_.instructions[i]->text();
    report_.memory.push_back(counts_[i]);
  }
  return std::move(report_);
}

/// Runs the warps of a cluster in turns until it is done (true), or waits without progress for too long
/// (false).
bool Machine::run_cluster(Cluster& cluster) {
  std::vector<Warp*> ready;
  const std::uint64_t give_up = cluster.idle_rounds + patience;
  while (cluster.live_warps > 0 && !stopped_) {
    ready.clear();
    for_each_warp(cluster, [&](Warp& warp) {
      if (!warp.is_done() && !warp.is_blocked_ && !warp.has_polled_) ready.push_back(&warp);
    });
    if (!options_.late && random_() % 4 == 0) perform_one(cluster);
    if (ready.empty()) {
      // Everybody waits: now, at the latest, asynchronous work has to happen.
      if (perform_one(cluster)) {
        for_each_warp(cluster, [](Warp& warp) { warp.has_polled_ = false; });
        continue;
      }
      bool any_polls = false;
      for_each_warp(cluster, [&](Warp& warp) {
        any_polls = any_polls || (warp.has_polled_ && !warp.is_done() && !warp.is_blocked_);
        warp.has_polled_ = false;
      });
      if (!any_polls) {
        report_stuck(cluster);
        return false;
      }
      if (++cluster.idle_rounds > give_up) return false;
      continue;
    }
    Warp& warp = *ready[random_() % ready.size()];
    const std::uint64_t before = progress_;
    run_warp(warp, 1 + random_() % longest_quantum);
    if (progress_ != before) {
      cluster.idle_rounds = 0;
      for_each_warp(cluster, [](Warp& other) { other.has_polled_ = false; });
    }
    if (warp.is_done()) {
      warp.finish_work();
      --cluster.live_warps;
      warp.registers_.reset();
      note_progress();
    }
    if (steps_ > options_.step_limit) {
      warp.report(code_.operations[std::min<std::int64_t>(
                      warp.path_.next, static_cast<std::int64_t>(code_.operations.size()) - 1)],
                  "endless", fmt::format("the launch ran for {} warp instructions", steps_));
      stopped_ = true;
    }
  }
  if (!stopped_) finish(cluster);
  return true;
}

bool Machine::perform_one(Cluster& cluster) {
  if (!cluster.pending.empty()) {
    const std::size_t which = random_() % cluster.pending.size();
    PendingWork work = std::move(cluster.pending[which]);
    cluster.pending.erase(cluster.pending.begin() + static_cast<std::ptrdiff_t>(which));
    work.warp->run_pending(work);
    note_progress();
    return true;
  }
  if (options_.late) return false;
  const auto& warps = cluster.blocks[random_() % cluster.blocks.size()]->warps;
  return warps[random_() % warps.size()]->perform_early();
}

void Machine::perform(PendingWork work) {
  Cluster& cluster = *work.warp->block().cluster;
  cluster.pending.push_back(std::move(work));
}

void Machine::finish(Cluster& cluster) {
  for (const PendingWork& pending : cluster.pending) {
    if (pending.work.perform)
      pending.warp->report(*pending.work.operation, "not waited for", "still under way when its block ended");
  }
  while (!cluster.pending.empty()) perform_one(cluster);
  for (const auto& block : cluster.blocks) {
    for (const NamedBarrier& barrier : block->named) {
      if (barrier.arrived == 0 || barrier.waiting.empty()) continue;
      barrier.waiting.front()->report(code_.operations.back(), "barrier",
                                      "a barrier that not all threads reached");
    }
  }
}

void Machine::report_stuck(Cluster& cluster) {
  for_each_warp(cluster, [this](Warp& warp) {
    if (warp.is_done()) return;
    const auto next = std::min(static_cast<std::size_t>(warp.path_.next), code_.operations.size());
    const Operation& operation = code_.operations[next == 0 ? 0 : next - 1];
    warp.report(operation, "deadlock",
                warp.is_blocked_ ? "waits at a barrier that not all threads reach"
                                 : "waits for something that nobody will do");
  });
  stopped_ = true;
}

void Machine::check_results_in_flight(Warp& warp, const Operation& operation) {
  if (operation.pipe == Pipe::tensor && operation.reads_result) return;
  for (std::size_t i = 0; i < operation.results; ++i) {
    const Row row = code_.operands[operation.first + i];
    if (row == no_row || warp.in_flight_[row] == 0) continue;
    warp.report(
        operation, "register in flight",
        fmt::format("writes {} while a wgmma that was not waited for owns it", code_.register_names[row]));
  }
}

void Machine::step(Warp& warp, const Operation& operation) {
  if (options_.check) {
    warp.check_sources(operation);
    if (warp.rows_in_flight_ != 0) check_results_in_flight(warp, operation);
  }
  warp.last_passes_ = warp.last_sectors_ = 0;
  warp.lent_registers_ = false;
  operation.execute(warp, operation);
  if (warp.lent_registers_) return;
  warp.note_results(operation);
}

void Machine::run_warp(Warp& warp, std::uint64_t quantum) {
  const Operation* const operations = code_.operations.data();
  for (; quantum > 0 && !warp.is_blocked_ && !warp.has_polled_; --quantum) {
    while ((warp.path_.next == warp.path_.meets || warp.path_.mask == 0) && !warp.others_.empty()) {
      warp.path_ = warp.others_.back();
      warp.others_.pop_back();
      warp.path_.mask &= ~warp.exited_;
    }
    if (warp.path_.mask == 0) return;
    const Operation& operation = operations[warp.path_.next++];
    Mask active = warp.path_.mask;
    if (operation.guard != no_row) {
      const Mask guard = *warp.row(operation.guard);
      if (options_.check && (active & ~warp.written_[operation.guard]) != 0) {
        warp.active_ = active;
        warp.report_unwritten(
            operation, operation.guard, active & ~warp.written_[operation.guard],
            fmt::format("its guard {} was never written", code_.register_names[operation.guard]));
      }
      active &= operation.guard_negated ? ~guard : guard;
    }
    ++steps_;
    warp.active_ = active;
    if (active == 0) {
      if (timer_ != nullptr) timer_->skip(warp);
      continue;
    }
    thread_steps_ += static_cast<std::uint64_t>(std::popcount(active));
    step(warp, operation);
    if (timer_ != nullptr) timer_->issue(warp, operation);
  }
}

}  // namespace weft::simulator
