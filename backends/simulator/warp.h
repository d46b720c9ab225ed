// What a handler sees: the lanes and registers of one warp, and the machine around it.
#pragma once

#include <weft/backends/simulator/operation.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
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
constexpr int lanes = 32;
using Mask = std::uint32_t;
constexpr Mask all_lanes = 0xFFFF'FFFFU;

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
    for (Mask rest = active_; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      to[lane] = function(std::get<I>(from)[lane]...);
    }
  }

  friend class Machine;
  Mask active_ = 0;
  int index_ = 0;
  Block* block_ = nullptr;
  Machine* machine_ = nullptr;
  const Code* code_ = nullptr;
  std::uint32_t* constants_ = nullptr;
  std::unique_ptr<std::uint32_t[]> registers_;
};

}  // namespace weft::simulator
