// One launch on the simulated device: blocks, their warps, who runs when, and what is still under way.
#pragma once

#include <weft/backends/simulator/machine/memory.h>
#include <weft/backends/simulator/machine/operation.h>
#include <weft/backends/simulator/machine/report.h>
#include <weft/backends/simulator/machine/warp.h>

#include <random>
#include <unordered_map>

namespace weft::simulator {

class Timer;

/// How a launch is simulated.
struct LaunchOptions {
  std::uint64_t seed = 0;  ///< decides the order in which warps and blocks run
  bool late = true;   ///< asynchronous work happens as late as the program allows; else at moments by seed
  bool check = true;  ///< races, unwritten memory and registers; bounds are always checked
  std::uint64_t step_limit = std::uint64_t{1} << 36;  ///< warp instructions until a launch counts as endless
  /// Simulate only these many blocks, spread over the grid; 0 for all. Results are then incomplete.
  std::uint64_t sample = 0;
};

struct LaunchGrid {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};
  std::size_t dynamic_shared_bytes = 0;
};

/// A counter in shared memory that warps and bulk copies arrive at. PTX ISA 9.7.13.15.
struct MemoryBarrier {
  Epoch initialised;
  std::uint32_t expected = 0;
  std::uint32_t pending = 0;
  std::int64_t bytes = 0;  ///< expected from copies, less those that came
  std::uint64_t phase = 0;
  View gathered;   ///< views of those who arrived in this phase
  View completed;  ///< views of the phases before
};

/// A barrier of a block (bar.sync) or of a cluster.
struct NamedBarrier {
  std::vector<Warp*> waiting;
  std::uint32_t arrived = 0;   ///< threads (of a cluster: warps)
  std::uint32_t expected = 0;  ///< threads; 0 when nobody came yet
  Mask votes_all = all_lanes;  ///< bar.red: whether all predicates were true so far
  bool votes_any = false;
  std::uint32_t votes = 0;
  View gathered;
};

struct Cluster;

struct Block {
  std::uint64_t serial = 0;  ///< over all launches of the device
  std::array<std::uint32_t, 3> index{};
  std::uint32_t rank = 0;  ///< in its cluster
  Cluster* cluster = nullptr;
  std::unique_ptr<Region> shared;
  std::unordered_map<std::uint32_t, MemoryBarrier> barriers;  ///< by shared offset
  std::array<NamedBarrier, 16> named;
  std::vector<std::unique_ptr<Warp>> warps;
  std::unordered_map<const Warp*, std::uint32_t> registers;  ///< registers a thread, where warps set them
};

/// Work that ends at an mbarrier or by itself, not by its warp's waiting.
struct PendingWork {
  Warp* warp = nullptr;
  Work work;
  std::uint32_t clock = 0;
  std::shared_ptr<const View> view;
  std::function<void(Warp&, Epoch)> completed;
};

struct Cluster {
  std::size_t size = 1;  ///< blocks
  std::uint64_t first_serial = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<PendingWork> pending;
  NamedBarrier barrier;
  std::uint64_t barrier_phase = 0;
  View barrier_view;  ///< view of the last phase
  std::size_t live_warps = 0;
  std::uint64_t idle_rounds = 0;
};

class Machine {
 public:
  /// `arguments` are the kernel's parameter bytes. The memory must outlive the machine.
  Machine(const Code& code, GlobalMemory& memory, const LaunchGrid& grid, std::vector<std::byte> arguments,
          std::map<std::uint64_t, Region*> constants, const LaunchOptions& options,
          std::uint64_t& next_serial);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  LaunchReport run();
  void set_timer(Timer* timer) { timer_ = timer; }

  const Code& code() const { return code_; }
  const LaunchGrid& grid() const { return grid_; }
  std::mt19937_64& random() { return random_; }
  bool checks() const { return options_.check; }

  /// Region and offset of an address for a warp's lane; null region when nothing is there.
  struct Located {
    Region* region = nullptr;
    std::size_t offset = 0;
  };
  Located locate(const Warp& warp, ptx::Space space, std::uint64_t address, int lane) const;
  /// The block that a shared address belongs to; null for none, and for another block that has ended.
  Block* block_of(const Warp& warp, std::uint64_t address) const;

  /// Something happened that a waiting warp may have waited for.
  void note_progress() { ++progress_; }
  void add_finding(Finding finding);
  InstructionCounts& counts(const Operation& operation);
  ReaderSets& readers() { return readers_; }
  /// Knowledge published through memory: where, and the serial of the block whose memory it is or who alone
  /// may know it, plus 1; 0 for global memory that all may know.
  struct Place {
    std::uint64_t address = 0, block = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  View& published(const Place& place) { return published_[place]; }
  const View* find_published(const Place& place) const {
    const auto found = published_.find(place);
    return found == published_.end() ? nullptr : &found->second;
  }
  /// Whether the kernel has fences or accesses of .cta scope.
  bool has_block_scopes() const { return has_block_scopes_; }
  void perform(PendingWork work);
  std::uint64_t ticks() const { return steps_; }
  Timer* timer() const { return timer_; }

 private:
  void start_cluster(std::uint64_t index);
  bool run_cluster(Cluster& cluster);
  void run_warp(Warp& warp, std::uint64_t quantum);
  void step(Warp& warp, const Operation& operation);
  void check_results_in_flight(Warp& warp, const Operation& operation);
  void report_stuck(Cluster& cluster);
  void finish(Cluster& cluster);
  bool perform_one(Cluster& cluster);

  const Code& code_;
  GlobalMemory& memory_;
  LaunchGrid grid_;
  Region parameters_;
  std::map<std::uint64_t, Region*> constants_;  ///< by address
  LaunchOptions options_;
  std::uint64_t& next_serial_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Cluster>> active_;
  std::uint64_t progress_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t thread_steps_ = 0;
  bool stopped_ = false;
  LaunchReport report_;
  std::map<std::pair<std::string, std::int32_t>, std::size_t> finding_of_;
  std::vector<InstructionCounts> counts_;
  ReaderSets readers_;
  struct HashOfPlace {
    std::size_t operator()(const Place& place) const {
      return static_cast<std::size_t>((place.address ^ place.block << 20) * 0x9E37'79B9'7F4A'7C15U);
    }
  };
  std::unordered_map<Place, View, HashOfPlace> published_;
  bool has_block_scopes_ = false;
  Timer* timer_ = nullptr;
};

}  // namespace weft::simulator
