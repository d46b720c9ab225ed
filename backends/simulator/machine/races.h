// Which accesses happen before which: vector clocks, and for every few bytes of memory the last write and the
// reads since (FastTrack, Flanagan and Freund, PLDI 2009, with warps as threads).
//
// Who acts is an agent: a warp itself, or the work that it started and that goes on by itself (its cp.async
// copies, its bulk copies, its wgmma). An agent's clock ticks whenever others may learn of what it did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace weft::simulator {

/// The kinds of agent of a warp; the asynchronous ones in the order of Queue.
enum class AgentKind : std::uint8_t { lanes, copies, bulk, matrix };
constexpr unsigned agents_of_warp = 4;
constexpr unsigned agents_of_block = 32 * agents_of_warp;

/// Which agent, and its clock: block (by launch order, over all launches), agent in the block, clock.
/// `strong`: an atomic or ordered access, which does not race with its like.
class Epoch {
 public:
  Epoch() = default;
  Epoch(std::uint64_t block, unsigned agent, std::uint32_t clock, bool strong = false)
      : bits_(block << 35 | std::uint64_t{agent} << 28 | std::uint64_t{clock} << 1 | (strong ? 1U : 0U)) {}
  static constexpr std::uint32_t last_clock = (1U << 27) - 1;

  bool is_none() const { return bits_ == 0; }
  std::uint64_t block() const { return bits_ >> 35 & 0x0FFF'FFFF; }
  unsigned agent() const { return static_cast<unsigned>(bits_ >> 28 & 0x7F); }
  std::uint32_t clock() const { return static_cast<std::uint32_t>(bits_ >> 1 & last_clock); }
  bool strong() const { return (bits_ & 1) != 0; }
  std::uint64_t bits() const { return bits_; }
  static Epoch of_bits(std::uint64_t bits) {
    Epoch epoch;
    epoch.bits_ = bits;
    return epoch;
  }
  friend bool operator==(Epoch, Epoch) = default;

 private:
  std::uint64_t bits_ = 0;
};

/// What an agent knows: for every agent of its cluster the clock up to which everything happened before now;
/// and the same for other clusters that it heard of through memory.
class Knowledge {
 public:
  using Clocks = std::vector<std::uint32_t>;

  Knowledge() = default;
  Knowledge(std::uint64_t first_block, std::size_t blocks)
      : first_block_(first_block), clocks_(blocks * agents_of_block) {}

  bool covers(Epoch epoch) const {
    const std::uint64_t block = epoch.block() - first_block_;
    if (block * agents_of_block < clocks_.size())
      return clocks_[block * agents_of_block + epoch.agent()] >= epoch.clock();
    return !others_.empty() && covers_other(epoch);
  }
  void learn(Epoch epoch);
  bool is_empty() const { return clocks_.empty(); }
  void join(const Knowledge& other);

 private:
  bool covers_other(Epoch epoch) const;

  std::uint64_t first_block_ = 0;
  Clocks clocks_;
  /// By the first block of the other cluster.
  std::vector<std::pair<std::uint64_t, std::shared_ptr<const Clocks>>> others_;
};

/// What a warp knows, in the senses that the memory model has.
struct View {
  Knowledge seen;             ///< happened before
  Knowledge fenced;           ///< happened before its last fence: what a relaxed write publishes
  Knowledge fenced_in_block;  ///< likewise, of a fence that only its block hears of; mostly empty
  Knowledge
      proxied;  ///< happened before a fence.proxy.async: what asynchronous work may rely on in shared memory
  Knowledge proxied_global;  ///< likewise, in global memory; mostly empty

  View() = default;
  View(std::uint64_t first_block, std::size_t blocks)
      : seen(first_block, blocks), fenced(first_block, blocks), proxied(first_block, blocks) {}
  void join(const View& other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
    fenced_in_block.join(other.fenced_in_block);
    proxied.join(other.proxied);
    proxied_global.join(other.proxied_global);
  }
};

/// The last write of a granule, and its reads since: none, one epoch, or (top bit) a set of Readers.
struct Cell {
  Epoch write;
  std::uint64_t read = 0;
};

/// The cells of a region, made where they are touched.
class Shadow {
 public:
  Shadow() = default;
  Shadow(std::size_t bytes, std::size_t granule);
  std::size_t granule() const { return std::size_t{1} << shift_; }
  /// The cell of a byte's granule; `run` of them follow each other from there to the end of the page.
  Cell* cells(std::size_t offset, std::size_t& run) {
    const std::size_t index = offset >> shift_;
    std::unique_ptr<Cell[]>& page = pages_[index / page_cells];
    if (page == nullptr) page = std::make_unique<Cell[]>(page_cells);
    run = page_cells - index % page_cells;
    return page.get() + index % page_cells;
  }

 private:
  static constexpr std::size_t page_cells = 1024;
  unsigned shift_ = 2;
  std::vector<std::unique_ptr<Cell[]>> pages_;
};

/// Sets of readers, shared by the cells that have the same ones.
class ReaderSets {
 public:
  static constexpr std::uint64_t set_bit = std::uint64_t{1} << 63;
  explicit ReaderSets(std::uint64_t first_set = 0) : first_(first_set) {}

  /// The readers of a cell of this launch.
  const std::vector<Epoch>* find(std::uint64_t read) const {
    const std::uint64_t index = (read & ~set_bit) - first_;
    return index < sets_.size() ? &sets_[index] : nullptr;
  }
  /// The state of a cell read before as `read` says, and now at `epoch` by one who knows `knowledge`. Readers
  /// that `knowledge` covers are left out: who comes after the new reader comes after them. At most `limit`
  /// are kept: a buffer that every block reads would otherwise collect them all.
  std::uint64_t with(std::uint64_t read, Epoch epoch, const Knowledge& knowledge, std::size_t limit) {
    // Neighbours mostly have the same readers.
    if (read != last_read_ || epoch != successor_epoch_) {
      last_state_ = successor(read, epoch, knowledge, limit);
      last_read_ = read;
    }
    return last_state_;
  }
  std::uint64_t next() const { return first_ + sets_.size(); }

 private:
  std::uint64_t successor(std::uint64_t read, Epoch epoch, const Knowledge& knowledge, std::size_t limit);

  std::uint64_t first_;
  std::vector<std::vector<Epoch>> sets_;
  std::unordered_map<std::uint64_t, std::uint64_t> successors_;  ///< new states by old ones, of one epoch
  Epoch successor_epoch_;
  std::uint64_t last_read_ = 0, last_state_ = 0;  ///< with successor_epoch_
};

}  // namespace weft::simulator
