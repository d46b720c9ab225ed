// The copies that producer warps start in each iteration of a ring's loop.
#pragma once

#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/passes/element_gather.h>
#include <weft/scheduler/passes/ring.h>
#include <weft/scheduler/passes/two_blocks.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weft::passes {

/// Whether a copy of the ring is one block of memory, with the same layout on both sides, which one
/// instruction copies.
bool has_bulk_copy(const Ring& ring);

/// A gather begins with the numbers of the rows: each lane loads one of them some iterations ahead, and lanes
/// ask one another for them. Loads wait behind the copies that are under way, and a register that is moved
/// waits for its load: so the loop is written out in turns, each of which has a register of its own.
class ProducerCopies {
 public:
  /// `loop` is the ring's, with the begin and the extent of `list`, whose numbers have their names where what
  /// is made here stands (BlockList::with_names). `thread` counts from 0 among `threads`; `full` are the
  /// barriers that count what has arrived. What goes to the program's cluster arrives from all of its blocks.
  ProducerCopies(const ir::Program& program, const Ring& ring, const ir::For& loop,
                 const std::optional<MixedBlocks>& mixed, const BlockList& list, ir::Expr thread,
                 std::int64_t threads, ir::BufferRef full);

  static constexpr std::int64_t turns = 4;  ///< turns of the loop, written out

  /// Whether each warp fills buffers of its own, one of as many iterations as there are warps: of weights
  /// whose columns choose elements of X [n, k] (element_gather.h). All producers fill each buffer together
  /// otherwise.
  bool by_warps() const { return !elements_.empty(); }
  /// Then the warp's first iteration of a loop behind so many iterations.
  ir::Expr first_own(const ir::Expr& before) const { return elements_.front().first_own(before); }

  /// What is loaded before the first iteration of the loop, which so many iterations came before.
  ir::Stmt before_first_iteration(const ir::Expr& before) const;
  /// The same for a loop that comes later, with another list: `at` says what an expression is there, and so
  /// many iterations came `before`. When it begins, its numbers are taken.
  ir::Stmt load_coming(const std::function<ir::Expr(const ir::Expr&)>& at, const BlockList& list,
                       const ir::Expr& before) const;
  ir::Stmt take_coming() const;
  ir::Expr iterations() const { return list_.iterations(); }
  /// `body`, where the list has an iteration of that number, with the variables of its block.
  ir::Stmt in_iteration(const ir::Expr& number, const ir::Stmt& body) const;
  /// What is begun in an iteration of that turn, for a later one.
  ir::Stmt load_ahead(const ir::Expr& turn) const;
  /// `is_asked`: where it holds, ask_early has asked for the weights of the iteration; undefined: it does
  /// not.
  ir::Stmt of_iteration(const ir::Expr& slot, const ir::Expr& turn, const ir::Expr& is_asked = {}) const;
  /// Where launches overlap: asks for the weights of the first iterations, one a buffer, before anything is
  /// read that waits for the launch in front. `at` says what an expression is in the first loop, whose list
  /// is given. Nothing where no weights are copied in bulk.
  ir::Stmt ask_early(std::int64_t buffers, const std::function<ir::Expr(const ir::Expr&)>& at,
                     const BlockList& list) const;
  /// The registers that live through all iterations.
  ir::Stmt around(const ir::Stmt& body) const;

 private:
  /// A gather as `threads` do it: a thread has one place in the columns and some consecutive rows.
  struct Gathered {
    ir::Copy copy;
    std::int64_t length = 1;  ///< elements of a run
    std::int64_t runs = 1;    ///< in a row of the tile
    std::int64_t rows = 1;    ///< rows of the tile that a thread copies
    ir::Expr data;            ///< the number from the weights that chooses the row, in terms of coordinates
    bool one_number = false;  ///< whether it is the same for all rows of the tile
    /// Where blocks may have half of the slots: whether the block, or the two, have the thread's rows, by the
    /// first of these, or the run.
    ir::Expr has_rows, has_run;
    /// Where iterations may take two: how many slots half of them are, and which one the row or the run is.
    std::int64_t half = 0;
    ir::Expr slot;
    ir::BufferRef loaded;  ///< the number that a lane has loaded, for each turn
    ir::BufferRef coming;  ///< the numbers of the first turns of the loop that comes next
    ir::BufferRef whole;   ///< whether none of the warp's numbers is the mark of padding
    ir::BufferRef chosen;  ///< the numbers of all rows of the thread
  };

  Gathered gathered(const ir::Copy& copy) const;
  void take_slots_of_block(Gathered& gather) const;
  ir::Expr row_of(const Gathered& gather, const ir::Expr& round) const;
  ir::Substitution place_of_run(const Gathered& gather, const ir::Expr& round, std::int64_t part) const;
  ir::Expr second_block(const Gathered& gather) const;
  void shift_second(const Gathered& gather, ir::Substitution& place) const;
  ir::Expr number_of(const Gathered& gather, const ir::Expr& block, const ir::Expr& takes_two) const;
  bool takes_two() const { return mixed_ && mixed_->takes_two(); }
  /// The variable that iterations count with: their number, where some take two blocks, else the block; and
  /// where it begins and ends.
  ir::Expr counter() const;
  ir::Expr first() const;
  ir::Expr end() const;
  ir::Stmt load_number(const Gathered& gather, const ir::Expr& turn, const ir::Expr& count) const;
  template <class Place>
  static ir::Expr holds_for_all_rows(const Gathered& gather, const Place& at, const std::string& round);
  ir::Stmt copy_rows(const Gathered& gather, const ir::Expr& slot, const ir::Expr& turn) const;
  ir::Stmt blocks_copied(const ir::Copy& copy, const ir::Expr& slot) const;
  ir::Stmt bulk(const ir::Copy& copy, const ir::Expr& slot) const;
  /// Announces an iteration's bytes, and begins the copies of it that wait for no launch.
  ir::Stmt announced(const ir::Expr& slot) const;

  const ir::Program& program_;
  const ir::For& loop_;
  std::optional<MixedBlocks> mixed_;
  BlockList list_;  ///< by its names
  ir::Expr thread_;
  std::int64_t threads_;
  ir::BufferRef full_;
  std::vector<Gathered> gathers_;
  std::vector<ElementGather> elements_;
  std::vector<ir::Copy> blocks_;
  std::int64_t bulk_bytes_ = 0;
};

}  // namespace weft::passes
