// How the accumulators of a tensor instruction lie in the registers of its threads: what tensorize writes
// into the program and what lower_tensor_operations reads there.
#pragma once

#include <weft/scheduler/hardware/tensor_instructions.h>
#include <weft/scheduler/ir/node.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// What counts the loops that take the place of those over the rows and over the columns of a tile.
struct FragmentLoops {
  ir::Expr row_tile, warp, half, row_lane;
  ir::Expr column_tile, column_lane, eight, pair;

  FragmentLoops(const std::string& rows, const std::string& columns);
};

/// A tile of rows x columns of accumulators, in registers of an array with the dimensions
///   [row tile][column tile][warp][lane of rows][lane of columns][eight][half][pair]
/// of which the product's layout has the last six as digits: of m16n8 sums, row = m * row tile + 16 * warp +
/// 8 * half + lane of rows; column = n * column tile + 8 * eight + 2 * lane of columns + pair. Warps and
/// lanes are loops of those kinds, so each thread keeps the last three dimensions, and the elements of one
/// instruction follow one another.
struct Fragments {
  const TensorProduct& product;
  std::int64_t rows = 0, columns = 0;
  std::string row_loop, column_loop;  ///< the loops that the tile had

  FragmentLoops loops() const { return {row_loop, column_loop}; }
  /// The loops that the tile had whose fragments these loops go over; nothing where they go over none.
  static std::optional<std::pair<std::string, std::string>> tile_of(const std::vector<ir::For>& loops);

  static constexpr std::size_t dimensions = 8;
  std::vector<ir::Expr> shape() const;
  /// The indices of the element (row, column), for any expressions.
  std::vector<ir::Expr> place_of(const ir::Expr& row, const ir::Expr& column) const;
  /// The same inside the loops of `over_rows` and `over_columns`.
  std::vector<ir::Expr> place_in_loops() const;
  /// The begin of the elements of one instruction in each thread.
  std::vector<ir::Expr> begin_of(const ir::Expr& row_tile, const ir::Expr& column_tile) const;

  /// What the loop over the rows becomes: `body` with its variable written in those of the new loops.
  ir::Stmt over_rows(const ir::Stmt& body, int step) const { return over(true, body, step); }
  ir::Stmt over_columns(const ir::Stmt& body, int step) const { return over(false, body, step); }
  /// Loops over the threads of an instruction alone.
  ir::Stmt over_threads(const ir::Stmt& body, int step) const;
  /// The number of the lane, inside `over_threads`.
  ir::Expr lane() const;

 private:
  /// One of the last six dimensions.
  struct Digit {
    ir::Expr variable;
    LayoutDigit number;
    ir::LoopKind kind;
    ir::LoopRole role;

    bool is_of_rows() const { return number.rows > 0; }
    bool is_of_threads() const { return kind == ir::LoopKind::warp || kind == ir::LoopKind::lane; }
    std::int64_t step() const { return is_of_rows() ? number.rows : number.columns; }
    /// The only warp is any one of the program's.
    bool has_loop() const { return kind != ir::LoopKind::warp || number.extent > 1; }
  };
  std::vector<Digit> digits() const;
  ir::Stmt loop_over(const Digit& digit, const ir::Stmt& body, int step) const;
  ir::Stmt over(bool of_rows, const ir::Stmt& body, int step) const;
};

}  // namespace weft
