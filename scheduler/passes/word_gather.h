// Tiles of bytes with lines along places that numbers choose, of an operand whose columns lie beside one
// another: X [k, n] of weights that list their columns, as tensor cores read it.
#pragma once

#include <weft/scheduler/ir/simplify.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weft::passes {

/// The extent of a coordinate of a tile whose size is known, and the places of its lines, which all but the
/// first coordinate count.
std::int64_t extent_of(const ir::Copy& copy, std::size_t coordinate);
std::int64_t places_of_line(const ir::Copy& copy);

/// What is wrong with a tile that a warp shall fill, and what it could fill.
struct RefusedGather {
  std::string found, accepted;
};

/// Whether a row of the operand is chosen for each place of a line, and its columns are the tile's lines.
bool is_by_words(const ir::Copy& copy);

/// How a warp fills such a tile: a lane loads words of four columns from the rows of four places beside one
/// another, and stores the same 16 bytes as words of four places. Eight lanes take 32 columns beside one
/// another, which are one sector of memory, and the other three eights the places behind. In every round the
/// eight lanes store to lines of different swizzles, so that words go to 32 banks.
class WordGather {
 public:
  /// `numbers` has those of the places of a line in the lanes of the warp, 32 beside one another in each.
  /// `data` is the number that chooses a row, in terms of the copy's coordinates.
  WordGather(const ir::Copy& copy, ir::Expr data, ir::BufferRef numbers);

  /// Why a tile has no whole words for the lanes of a warp, and what would have.
  static std::optional<RefusedGather> why_not(const ir::Copy& copy);

  std::int64_t batches() const { return batches_down_ * batches_across_; }
  ir::Stmt load(std::int64_t batch) const;
  ir::Stmt store(std::int64_t batch, const ir::Expr& slot) const;
  /// The registers of a batch.
  ir::Stmt around(ir::Stmt body) const;

 private:
  ir::Stmt each(const char* what, std::int64_t count,
                const std::function<ir::Stmt(const ir::Expr& number)>& body) const;
  using OfWord = std::function<ir::Stmt(const ir::Expr& down, const ir::Expr& across)>;
  ir::Stmt each_word(const OfWord& body) const;
  ir::Stmt choose(std::int64_t batch) const;
  std::int64_t first_down(std::int64_t batch) const { return batch / batches_across_ * down_; }
  std::int64_t first_across(std::int64_t batch) const { return batch % batches_across_ * across_; }
  ir::Expr first_place(std::int64_t batch, const ir::Expr& down) const;
  ir::Expr first_column(std::int64_t batch, const ir::Expr& across) const;
  ir::Substitution place(const ir::Expr& column, const ir::Expr& place_of_line) const;
  std::string name(const char* what) const { return copy_.destination->name + what; }

  ir::Copy copy_;
  ir::Expr data_;
  ir::BufferRef numbers_, chosen_, words_, turned_;
  std::int64_t down_ = 1, across_ = 1;  ///< words of a lane in a batch, along lines and across them
  std::int64_t batches_down_ = 1, batches_across_ = 1;
};

}  // namespace weft::passes
