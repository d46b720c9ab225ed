// How long a kernel takes: a model of one multiprocessor that is filled while the simulator runs a sample of
// blocks.
//
// Each warp is followed on its own: an operation issues when its sources are ready and the warp is free;
// loads take the latency of the cache that holds their sectors (an L1 of the block's share of the
// multiprocessor is simulated). That gives the time of a block that has a multiprocessor to itself. Besides,
// every resource adds up what the blocks ask of it: issue slots, lanes of each pipe, passes of shared memory,
// sectors from L2, bytes from memory. With R blocks resident on a multiprocessor, a wave of them takes the
// longer of the lone block's time and R times what the busiest resource needs; waves follow each other.
// docs/simulator.md has the error of the model.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/timer.h>
#include <weft/backends/simulator/timing/parameters.h>

#include <string>
#include <vector>

namespace weft::simulator {

/// The time of a launch and what it consists of, in microseconds.
struct TimeEstimate {
  double microseconds = 0;
  std::string bound;  ///< the resource that takes longest, or "latency"
  struct Part {
    std::string resource;
    double microseconds = 0;
  };
  std::vector<Part> parts;  ///< what each resource alone would take
  int resident_blocks = 0;  ///< blocks of a multiprocessor at once
  int registers = 0;        ///< a thread, as estimated from the PTX or given

  std::string text() const;
};

class TimeModel final : public Timer {
 public:
  /// `registers`: a thread, where an assembler counted them; 0 estimates them from the PTX.
  TimeModel(const TimeParameters& parameters, const Code& code, const LaunchGrid& grid, int registers,
            const DeviceDescription& device);

  void start(Warp& warp) override;
  void issue(Warp& warp, const Operation& operation) override;
  void skip(Warp& warp) override;
  void met(std::span<Warp* const> warps) override;

  /// After the machine ran `simulated` blocks of the grid on buffers in `memory`.
  TimeEstimate estimate(std::uint64_t simulated, const GlobalMemory& memory) const;

 private:
  /// What an operation costs, by its place in the code.
  struct Cost {
    float slots = 1;  ///< issue slots
    float pipe = 0;   ///< clocks of its pipe, for a warp
    float latency = 0;
    Pipe which = Pipe::integer;
    bool is_branch = false;
    bool ends_iteration = false;  ///< a branch back
  };
  /// The sectors that a block's share of L1 holds: four ways, oldest out.
  class Cache {
   public:
    explicit Cache(std::size_t bytes);
    /// When the sector is there, for a warp that asks at `now`: the time that it is fetched at where another
    /// asked before, `now + latency` where this one fetches it.
    double arrival(std::uint64_t sector, double now, double latency, std::uint64_t block, bool& is_fetched);

   private:
    static constexpr std::size_t ways = 4;
    struct Line {
      std::uint64_t sector = ~std::uint64_t{0};
      std::uint64_t block = 0;  ///< whose clock `arrives` is of
      double arrives = 0;
    };
    std::vector<Line> lines_;
    std::size_t sets_;
    std::size_t clock_ = 0;
  };

  /// Of a warp: when its next operation can issue, when the last ones did, when each row has its value.
  static constexpr std::size_t window = 16;
  struct WarpClock {
    double front = 0;
    std::size_t next = 0;
    std::array<double, window> issued{};
    std::vector<float> ready;
  };

  Cost cost_of(const Operation& operation) const;
  static double tensor_flops(const ptx::Instruction& instruction);
  double load_latency(const Warp& warp, const Operation& operation, double now);
  void touch(const Warp& warp, std::uint64_t sector);
  /// Distinct bytes of memory that a launch of all blocks touches.
  double touched_bytes(double blocks_a_sample, const GlobalMemory& memory) const;

  const TimeParameters& parameters_;
  const Code& code_;
  LaunchGrid grid_;
  int registers_ = 0;
  int resident_ = 1;
  std::vector<Cost> costs_;
  Cache cache_;
  // Sums over the simulated blocks, in clocks of a multiprocessor.
  double slots_ = 0;
  std::array<double, 11> pipes_{};
  double shared_passes_ = 0;
  double l2_sectors_ = 0;
  std::vector<std::vector<std::uint64_t>> touched_;  ///< sectors of each buffer, a bit each
  std::vector<WarpClock> clocks_;                    ///< clocks of the block's warps
  // The longest warp of each block.
  std::vector<double> block_times_;
  std::uint64_t timed_block_ = ~std::uint64_t{0};
};

/// Registers of a thread that are live at once, at most, by a scan of the text; what an assembler will use is
/// near.
int estimate_registers(const Code& code);

}  // namespace weft::simulator
