// Tiles of bytes with lines along places that numbers choose, of an operand whose columns lie beside one
// another: X [k, n] of weights that list their columns, as tensor cores read it.
#pragma once

#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>

#include <cstdint>
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

/// How a warp fills such a tile: it copies rows of the operand as they lie to an array of its own, a batch of
/// them ahead, and turns them from there. A lane takes 16 places of a few columns and stores 16 bytes of each
/// column. Lanes beside one another take the places of a line, so that what they store together lies in one
/// line of 128 bytes; the array is rotated so that what they load together lies in 32 banks as well.
class WordGather {
 public:
  /// The bytes that each warp copies ahead: of a tile that has more.
  static constexpr std::int64_t most_bytes_ahead = 16'384;
  /// Those of up to 128 places with which each lane has a word of 16 places.
  static constexpr std::int64_t least_bytes = 2048;

  /// `numbers` has those of the places of a line in the lanes of the warp, 32 beside one another in each, and
  /// `next` those of the warp's next iteration, the `warps`th behind. `data` is the number that chooses a
  /// row, in terms of the copy's coordinates.
  WordGather(const ir::Copy& copy, const ir::For& loop, std::int64_t warps, ir::Expr data,
             ir::BufferRef numbers, ir::BufferRef next);

  /// Why a tile has no whole words for the lanes of a warp, and what would have.
  static std::optional<RefusedGather> why_not(const ir::Copy& copy);

  /// What is copied in front of the warp's first iteration of a loop.
  ir::Stmt begin() const;
  /// Turns what is copied into the buffer of that number, and copies what comes next.
  ir::Stmt fill(const ir::Expr& slot) const;
  /// The array, and the registers.
  ir::Stmt around(ir::Stmt body) const;

 private:
  /// How lanes share out a batch, and how many batches there are.
  struct Shares {
    explicit Shares(const ir::Copy& copy);

    std::int64_t lanes_down = 1, lanes_across = 1;      ///< along places, and along columns
    std::int64_t columns_of_lane = 1;                   ///< beside one another
    std::int64_t places = 1, columns = 1;               ///< that a batch has
    std::int64_t batches_down = 1, batches_across = 1;  ///< that a tile has
    std::int64_t ahead = 1;                             ///< batches that are copied ahead

    std::int64_t batches() const { return batches_down * batches_across; }
    std::int64_t bytes() const { return places * columns; }
    /// Eight lanes that store together, by how many columns they take.
    std::int64_t columns_together() const;
  };

  std::int64_t first_place(std::int64_t batch) const {
    return batch / shares_.batches_across * shares_.places;
  }
  std::int64_t first_column(std::int64_t batch) const {
    return batch % shares_.batches_across * shares_.columns;
  }
  ir::Substitution place(const ir::Expr& column, const ir::Expr& place_of_line) const;
  std::vector<ir::Expr> place_in_array(std::int64_t batch, const ir::Expr& row, const ir::Expr& column) const;
  ir::Stmt copy_run(std::int64_t batch, std::int64_t round, const ir::Expr& iteration, bool whole) const;
  ir::Stmt copy_batch(std::int64_t batch, const ir::BufferRef& numbers, const ir::Expr& iteration) const;
  ir::Stmt load(std::int64_t batch) const;
  ir::Stmt store(std::int64_t batch, const ir::Expr& slot) const;
  std::string name(const char* what) const { return copy_.destination->name + what; }

  ir::Copy copy_;
  const ir::For& loop_;
  std::int64_t warps_;
  ir::Expr data_;
  Shares shares_;
  ir::BufferRef numbers_, next_, array_, chosen_, whole_, words_, turned_;
};

}  // namespace weft::passes
