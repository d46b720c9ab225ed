// What a handler sees: the lanes and registers of one warp, and the machine around it.
#pragma once

#include <weft/backends/simulator/machine/operation.h>
#include <weft/backends/simulator/machine/races.h>
#include <weft/backends/simulator/machine/report.h>

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::simulator {

struct Block;
class Machine;
struct PendingWork;
struct Region;
constexpr int lanes = 32;
using Mask = std::uint32_t;
constexpr Mask all_lanes = 0xFFFF'FFFFU;

/// The lanes of a mask as a range, lowest first.
struct LanesOf {
  Mask rest = 0;
  LanesOf begin() const { return *this; }
  std::default_sentinel_t end() const { return {}; }
  std::size_t operator*() const { return static_cast<std::size_t>(std::countr_zero(rest)); }
  void operator++() { rest &= rest - 1; }
  bool operator==(std::default_sentinel_t) const { return rest == 0; }
};
inline LanesOf lanes_of(Mask mask) {
  return {mask};
}

/// The lanes for which `holds(lane)` is true.
template <class F>
Mask lanes_where(F holds) {
  Mask result = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) result |= Mask{holds(lane)} << lane;
  return result;
}

/// Bits of a register, by lane.
using LaneBits = std::array<std::uint64_t, lanes>;

/// What an access does; the checks depend on it.
enum class Access : std::uint8_t { read, write, atomic };
/// Queues of work that goes on by itself after its instruction, each with groups that are committed and
/// waited for.
enum class Queue : std::uint8_t {
  copies,  ///< cp.async
  bulk,    ///< cp.async.bulk that a group or an mbarrier ends
  matrix,  ///< wgmma
};

/// One piece of such work. It happens at any moment between its instruction and the wait that covers it; the
/// machine chooses the moment, by default the last one.
struct Work {
  const Operation* operation = nullptr;
  std::function<void(Warp& warp)> perform;  ///< moves the data, with Warp::reach_asynchronous
  std::vector<Row> registers;  ///< in flight until performed: a lane that touches one is reported
};

/// Host addresses of a warp-wide access, one a lane; null for lanes that take no part or whose access was
/// refused and reported. A handler leaves such lanes out (a refused load gives zeros).
using Pointers = std::array<std::byte*, lanes>;

class Warp {
 public:
  Warp(Machine& machine, Block& block, int index, Mask threads);
  ~Warp();
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;

  /// Lanes that run the current operation: live, on this path, and with their guard true.
  Mask active() const { return active_; }
  int index() const { return index_; }  ///< in its block
  Block& block() const { return *block_; }
  Machine& machine() const { return *machine_; }

  /// Operand `which` of the operation, as 32 lanes of T (4, 8 or 16 bytes; predicates: mask()).
  template <class T>
  const T* source(const Operation& operation, std::size_t which) const {
    const Row at = operand(operation, which);
    const bool is_wide_constant = sizeof(T) == 8 && (at & constant_row) != 0;
    return reinterpret_cast<const T*>(row(is_wide_constant ? at + 1 : at));
  }
  /// A result, likewise. Lanes outside active() must be left as they are: see assign().
  template <class T>
  T* result(const Operation& operation, std::size_t which) {
    return reinterpret_cast<T*>(row(operand(operation, which)));
  }
  Row operand(const Operation& operation, std::size_t which) const {
    return code_->operands[operation.first + which];
  }
  /// Bytes of a lane of the operand's register; 8 for constants.
  std::size_t operand_bytes(const Operation& operation, std::size_t which) const {
    return code_->operand_bytes[operation.first + which];
  }
  bool is_sink(const Operation& operation, std::size_t which) const {
    return operand(operation, which) == no_row;
  }
  /// A predicate operand, a bit a lane.
  Mask mask(const Operation& operation, std::size_t which) const {
    const Mask bits = *source<Mask>(operation, which);
    const bool is_constant = (operand(operation, which) & constant_row) != 0;
    return is_constant ? (bits != 0 ? all_lanes : 0) : bits;
  }
  void set_mask(const Operation& operation, std::size_t which, Mask value) {
    if (is_sink(operation, which)) return;
    Mask& old = *result<Mask>(operation, which);
    old = (old & ~active_) | (value & active_);
  }
  /// result[lane] = function(sources[lane]...) for active lanes.
  template <class R, class... S, class F>
  void assign(const Operation& operation, F function, std::size_t first_source = 1) {
    assign_lanes<R, S...>(operation, function, first_source, std::index_sequence_for<S...>{});
  }

  const Code& code() const { return *code_; }
  /// Whether all lanes of a register have values that somebody wrote, or a wgmma that was not waited for owns
  /// it.
  bool is_written(Row index) const { return written_[index] == all_lanes; }
  bool is_in_flight(Row index) const { return in_flight_[index] != 0; }
  /// What wgmma remembers between its instructions; execute/warpgroup_order.cpp.
  struct MatrixState {
    bool has_fence = false;             ///< this warp ran a wgmma.fence
    std::vector<Row> rows;              ///< registers that the kernel's wgmmas work on
    std::vector<std::int32_t> slots;    ///< by row: its place in `rows`, or -1
    std::vector<std::uint32_t> values;  ///< contents of `rows`: at the last fence or as a wgmma left them
    std::vector<bool> is_accumulator;   ///< whether `rows` were in a wgmma since all of them were waited for
  };
  MatrixState matrix_state;

  /// An address operand of 4 or 8 bytes, with the operation's offset added.
  std::array<std::uint64_t, lanes> addresses(const Operation& operation, std::size_t which) const;

  std::uint32_t* row(Row index) {
    return (index & constant_row) != 0 ? constants_ + std::size_t{index & ~constant_row} * lanes
                                       : registers_.get() + std::size_t{index} * lanes;
  }
  const std::uint32_t* row(Row index) const { return const_cast<Warp*>(this)->row(index); }

  /// Host pointers for a warp-wide access of `bytes` bytes a lane at `addresses` (plus nothing: offsets are
  /// included), after every check: bounds, alignment, whether it was ever written, races, and the counts of
  /// bank conflicts and sectors. `space` none: generic addresses. Only lanes of `mask` take part.
  Pointers reach(const Operation& operation, ptx::Space space, const std::uint64_t* addresses, Mask mask,
                 std::uint32_t bytes, Access access);

  /// Puts work into the open group of a queue; commit() closes the group; wait() performs the oldest groups
  /// until at most `groups_left` are outstanding.
  void start(Queue queue, Work work);
  void commit(Queue queue);
  void wait(Queue queue, int groups_left);
  /// As reach(), for one contiguous range that `queue`'s work touches, in the asynchronous proxy (cp.async:
  /// the generic one). Null where it was refused and reported.
  std::byte* reach_asynchronous(const Operation& operation, Queue queue, ptx::Space space,
                                std::uint64_t address, std::uint32_t bytes, Access access);

  /// Counts bank conflicts or sectors of an access, for those that go on by themselves.
  void count(const Operation& operation, ptx::Space space, const std::uint64_t* addresses, Mask mask,
             std::uint32_t bytes);

  /// Something is wrong: one finding of this kind and instruction is kept, with a count.
  void report(const Operation& operation, std::string_view kind, const std::string& text, int lane = -1);

 private:
  template <class R, class... S, class F, std::size_t... I>
  void assign_lanes(const Operation& operation, F function, std::size_t first, std::index_sequence<I...>) {
    R* const to = result<R>(operation, 0);
    const std::tuple<const S*...> from{source<S>(operation, first + I)...};
    if (active_ == all_lanes) {
      for (int lane = 0; lane < lanes; ++lane) to[lane] = function(std::get<I>(from)[lane]...);
      return;
    }
    for (const std::size_t lane : lanes_of(active_)) to[lane] = function(std::get<I>(from)[lane]...);
  }

  friend class Machine;
  Mask active_ = 0;
  int index_ = 0;
  Block* block_ = nullptr;
  Machine* machine_ = nullptr;
  const Code* code_ = nullptr;
  std::uint32_t* constants_ = nullptr;
  std::unique_ptr<std::uint32_t[]> registers_;

 public:
  /// Lanes that go the same way, from `next`, until they meet others at `meets`.
  struct Path {
    Mask mask = 0;
    std::int32_t next = 0;
    std::int32_t meets = -1;
  };
  struct Branch {
    std::int32_t target = 0;
    Mask lanes = 0;
  };
  /// Active lanes branch; the others of the path go on with the next operation.
  void diverge(const Operation& operation, std::int32_t target, Mask taken);
  void diverge(const Operation& operation, std::span<const Branch> branches);
  /// Lanes exit.
  void leave(Mask gone);
  const Path& path() const { return path_; }
  bool is_done() const { return path_.mask == 0 && others_.empty(); }
  /// Lanes that the warp began with and that have not exited.
  Mask unfinished() const { return ~exited_; }
  /// bar.red: where the result goes once all have voted.
  void expect_vote(const Operation& operation) {
    vote_ = &operation;
    vote_lanes_ = active_;
  }
  void give_vote(bool outcome, std::uint32_t count);
  std::uint64_t cluster_phase = 0;  ///< phase of the cluster's barrier when the warp last arrived there
  bool loads_matrices = false;      ///< by ldmatrix, since its last fence or barrier

  /// Blocks until somebody calls wake(); stops a quantum after a fruitless look at a barrier.
  void block_here() { is_blocked_ = true; }
  void wake() {
    is_blocked_ = false;
    has_polled_ = false;
  }
  void poll() { has_polled_ = true; }

  View& view() { return view_; }
  /// After others may have learned of what this warp did so far: later accesses are told apart from earlier
  /// ones.
  void tick();
  /// After `view()` changed.
  void view_changed() { snapshot_.reset(); }
  std::shared_ptr<const View> snapshot();
  Epoch epoch(AgentKind kind, std::uint32_t clock, bool strong = false) const;
  Epoch epoch(bool strong = false) const { return epoch(AgentKind::lanes, clocks_[0], strong); }
  std::uint32_t next_clock(AgentKind kind) { return ++clocks_[static_cast<std::size_t>(kind)]; }
  /// Strong reads whose knowledge counts from the next fence on.
  View& heard() { return heard_; }

  /// Performs one group of queued work now, if there is any.
  bool perform_early();
  /// At the end of the warp: work that nobody waited for.
  void finish_work();
  /// Closes the open group of cp.async copies; perform_copies() performs those up to its clock.
  std::uint32_t flush_copies();
  void perform_copies(std::uint32_t last_clock);
  void run_pending(PendingWork& pending);
  /// Passes of shared memory and sectors of global memory of the last access, for the time model.
  std::uint32_t last_passes() const { return last_passes_; }
  std::span<const std::uint64_t> last_sectors() const { return {sectors_.data(), last_sectors_}; }

  /// Memory of one lane; made when first touched.
  Region* local(int lane);

  std::array<Mask, 1> carry{};  ///< carries of add.cc and its like, a bit a lane

 private:
  struct Group {
    std::vector<Work> work;
    std::vector<std::shared_ptr<const View>> views;
    std::uint32_t clock = 0;
  };
  void perform(Queue queue, Group& group);
  void run_work(const Work& work, AgentKind kind, std::uint32_t clock, std::shared_ptr<const View> view);
  /// Calls `on` with the first and the number of bytes that follow one another and are used of what a lane
  /// reads: a compiler loads a vector across what others write, and leaves that alone.
  template <class On>
  void each_used_part(const Operation& operation, std::size_t bytes, const On& on) const;
  // unwritten.cpp: registers, and bits of registers, that nobody wrote.
  /// Tells where the active lanes use what nobody wrote, but for what an operation may do with it: copy it,
  /// compute with it ahead of the condition under which the result is used, or leave it out.
  void check_sources(const Operation& operation);
  /// Which lanes of the operation's results somebody wrote, once it is executed.
  void note_results(const Operation& operation);
  /// The active lanes whose value, or a bit of it, nobody wrote.
  Mask unwritten_lanes(Row row) const;
  /// The bits that nobody wrote, of the active lanes.
  LaneBits undefined_bits(Row row) const;
  /// The active lanes of which nobody wrote one of the wanted bits.
  Mask lanes_without(Row row, std::uint64_t wanted) const;
  /// Finds the bits of the results that nobody wrote, of an operation that moves bits.
  void find_moved_bits(const Operation& operation);
  Mask decided_results(const Operation& operation) const;
  Mask defined_copies(const Operation& operation) const;
  /// What a lane loads of which nobody wrote some bytes is told when these are used: compilers load whole
  /// vectors and words where a tile ends inside of one, and of memory of the block or the lane ahead of the
  /// condition under which they use it. False where it has to be told at once.
  bool note_unwritten_load(const Operation& operation, ptx::Space space, const Region& region,
                           std::size_t offset, std::uint64_t address, std::uint32_t bytes, std::size_t lane);
  void note_unwritten_bytes(const Operation& operation, const Region& region, std::size_t offset,
                            std::uint32_t bytes, std::size_t lane);
  /// Tells what it was loaded or computed from where the lanes use what nobody wrote, or else `text`.
  void report_unwritten(const Operation& operation, Row row, Mask missing, std::string text);
  /// The lanes compute with it or copy it: what is told of the results is where it was loaded or first
  /// computed with.
  void carry_unwritten(const Operation& operation, Row row, Mask missing);
  void check_race(const Operation& operation, Region& region, std::size_t offset, std::size_t bytes,
                  Access access, Epoch epoch, const View& view, bool is_asynchronous, int lane);
  Finding finding(const Operation& operation, std::string_view kind, std::string text, int lane) const;
  Finding finding_of_access(const Operation& operation, std::string_view kind, std::string text,
                            const Region* region, std::uint64_t address, int lane) const;
  void report_access(const Operation& operation, std::string_view kind, std::string text,
                     const Region* region, std::uint64_t address, int lane);

  std::uint32_t last_passes_ = 0, last_sectors_ = 0;
  std::array<std::uint64_t, 64> sectors_;  ///< numbers of the last access's sectors of 32 bytes
  const Operation* vote_ = nullptr;
  Mask vote_lanes_ = 0;
  Path path_;
  std::vector<Path> others_;
  Mask exited_ = 0;
  bool is_blocked_ = false;
  bool has_polled_ = false;
  std::vector<Mask> written_;             ///< by row: lanes of whose value somebody wrote every bit
  std::vector<std::uint16_t> in_flight_;  ///< by row: pieces of work that own it
  std::size_t rows_in_flight_ = 0;
  bool lent_registers_ = false;  ///< the current operation's results come later
  /// Of the results of the current operation: the bits that nobody wrote, where `knows_undefined_`.
  std::array<LaneBits, 8> undefined_{};
  bool knows_undefined_ = false;
  Mask carried_unwritten_ = 0;  ///< lanes whose results of the current operation nobody wrote
  /// By row: where what nobody wrote was loaded or first computed with, and the lanes that it was for.
  struct UnwrittenValue {
    Mask lanes = 0;
    Finding finding;
  };
  std::map<Row, UnwrittenValue> unwritten_values_;
  /// By row: of the lanes that `written_` lacks, the bits that nobody wrote; all where the row is not here.
  std::map<Row, LaneBits> undefined_bits_;
  View view_;
  View heard_;
  std::shared_ptr<const View> snapshot_;
  bool snapshot_is_out_ = false;  ///< work has it, and does not know what the lanes do from now on
  std::array<std::uint32_t, agents_of_warp> clocks_{};
  std::array<std::deque<Group>, 3> queues_;
  std::array<Group, 3> open_;
  AgentKind working_as_ = AgentKind::lanes;  ///< while work is performed
  std::uint32_t working_clock_ = 0;
  std::shared_ptr<const View> working_view_;
  std::vector<std::unique_ptr<Region>> local_;
};

}  // namespace weft::simulator
