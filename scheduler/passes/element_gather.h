// Tiles of which numbers from the weights choose each element of a line, as producer warps fill them.
#pragma once

#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/passes/word_gather.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weft::passes {

/// Whether lines of the tile go along places that numbers choose, as X [n, k] of weights that list their
/// columns: its first coordinate counts lines, and numbers depend on the others. Of X [k, n], is_by_words.
bool is_by_elements(const ir::Copy& copy);

/// How a warp fills such a tile: lanes beside one another take places beside one another, whose columns
/// follow one another in the list, so that a warp reads few lines of memory. Elements cannot be copied by
/// instructions that go on by themselves, and who waits for one load may wait for all that it has begun: so
/// each warp has iterations of its own, in which it loads elements into registers and stores them, while the
/// other warps are at theirs. The numbers of the warp's next iteration are loaded meanwhile.
class ElementGather {
 public:
  /// Of all iterations of the ring every `warps`th is a warp's own, through all loops that a block goes
  /// through.
  ElementGather(const ir::Copy& copy, const ir::For& loop, std::int64_t warps);

  /// Why so many warps cannot fill the buffers of the tile, and what they could. A warp that comes to a
  /// buffer for the second time tells by one bit whether it was read since: with fewer buffers than warps it
  /// could miss that it was not even filled by another one in between.
  static std::optional<RefusedGather> why_not(const ir::Copy& copy, std::int64_t buffers, std::int64_t warps);

  /// Which iteration of a loop is the warp's first, of a loop that so many iterations came before.
  ir::Expr first_own(const ir::Expr& before) const;
  /// Loads the numbers of that iteration.
  ir::Stmt load_first_numbers(const ir::Expr& before) const;
  /// Those of a loop that comes later, whose begin and extent are given: `at` says what an expression is
  /// there. When it begins, they are taken.
  ir::Stmt load_coming(const std::function<ir::Expr(const ir::Expr&)>& at, const ir::Expr& begin,
                       const ir::Expr& extent, const ir::Expr& before) const;
  ir::Stmt take_coming() const;
  /// What an iteration begins with: it loads elements, and the numbers of the warp's next iteration.
  ir::Stmt load_ahead() const;
  /// Stores the elements, and loads and stores those that are left.
  ir::Stmt store(const ir::Expr& slot) const;
  /// The registers that live through all iterations.
  ir::Stmt around(ir::Stmt body) const;

 private:
  ir::Substitution place(const ir::Expr& line, const ir::Expr& part) const;
  ir::Expr number_of(const ir::Expr& part, const ir::Expr& iteration) const;
  ir::Stmt load_numbers(const ir::BufferRef& to, const ir::Expr& iteration) const;
  ir::Stmt take(const ir::BufferRef& from) const;
  ir::Stmt each_number(const std::function<ir::Stmt(const ir::Expr& part)>& body) const;
  using OfElement =
      std::function<ir::Stmt(const ir::Expr& line, const ir::Expr& part, const ir::Expr& element)>;
  ir::Stmt each_element(std::int64_t batch, const OfElement& body) const;
  ir::Stmt load(std::int64_t batch) const;
  ir::Stmt store(std::int64_t batch, const ir::Expr& slot) const;
  std::string line_name() const { return copy_.destination->name + ".line"; }

  ir::Copy copy_;
  const ir::For& loop_;
  std::int64_t warps_, lanes_ = 1, parts_ = 1;
  std::int64_t lines_ = 1, batches_ = 1;  ///< that a thread fills in a batch, and those
  ir::Expr data_;                         ///< the number that chooses a place, in terms of coordinates
  ir::Ranges ranges_;
  ir::BufferRef numbers_, next_, coming_, values_;
  std::optional<WordGather> words_;  ///< in place of elements, where X lies as [k, n]
};

}  // namespace weft::passes
