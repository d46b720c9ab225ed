// Loops over the levels of a sparse operand's format: which row and column the entry at each stored position
// has, and under which conditions a place holds one. What each kind of level adds stands in program/levels/.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/program/own_names.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// Where a walk over the levels stands.
struct LevelPlace {
  std::vector<ir::Expr> position;  ///< positions in each level so far
  std::vector<ir::Expr> child;     ///< its number among the children of a parent, of counted levels
  ir::Expr row = 0;
  ir::Expr column = 0;
  std::vector<ir::Expr> of_row;      ///< conditions for a row to exist
  std::vector<ir::Expr> conditions;  ///< for a place to hold an entry

  /// Goes to a child of the level before.
  void enter(ir::Expr place, ir::Expr number = {}) {
    position.push_back(std::move(place));
    child.push_back(std::move(number));
  }
};

class LevelWalk {
 public:
  struct Operand {
    const Algorithm& algorithm;
    const SparseTensor& weights;
    std::map<std::string, ir::BufferRef> arrays;  ///< arrays of `weights`, by name
    SparseIndices indices;                        ///< indices of the algorithm
  };
  using Body = std::function<ir::Stmt(const LevelPlace&)>;

  explicit LevelWalk(Operand operand);

  /// Loops over the levels from `first` to before `last`, from `place` on, around `body`.
  ir::Stmt loops(std::size_t first, std::size_t last, const LevelPlace& place, const Body& body);

  /// The indices of the value in "values", at a place below all levels.
  std::vector<ir::Expr> value_place(const LevelPlace& place) const;

  // ---- for the kinds of levels ----

  const Operand& operand() const { return operand_; }
  const Level& level(std::size_t number) const { return operand_.weights.levels()[number]; }
  /// An element of an array of the weights.
  ir::Expr load(const std::string& array, std::vector<ir::Expr> indices) const;
  /// The position whose children the level has.
  ir::Expr parent(std::size_t number, const LevelPlace& place) const;
  /// Children of a position of a counted level.
  ir::Expr extent(std::size_t number) const;
  ir::Expr extent_of(Dimension dimension) const;
  /// The loop of a level, without bounds. `stored`: over what is stored, which is not every row.
  ir::For loop(std::size_t number, bool stored);
  /// What a coordinate of a level adds to the row or column, and the conditions that come with it.
  void meet(std::size_t number, const ir::Expr& coordinate, LevelPlace& place) const;
  /// Whether blocks of that length, of which there may be more than the matrix asks for, may reach beyond it.
  bool may_reach_beyond(Dimension dimension, std::int64_t length) const;

 private:
  bool ends_blocks(std::size_t number) const;

  Operand operand_;
  bool any_weights_;        ///< sizes and pattern are given at launch
  std::size_t row_levels_;  ///< 0 where the weight is not stored row by row
  std::map<std::string, int> used_names_;
};

/// The rows or the columns that the sparse operand has.
ir::Expr sparse_extent(const Algorithm& algorithm, const SparseTensor& weights, Dimension dimension);

class LevelFacts;

/// What a kind of level is in a program: one row a kind, filled by the file of its name in program/levels/.
struct LevelProgram {
  LevelKind kind;
  /// Goes to a child of the place. The loop over all children, without its body; nothing where there is one.
  std::optional<ir::For> (*enter)(LevelWalk& walk, std::size_t number, LevelPlace& place);
  /// What a right tensor's arrays hold, of a level with so many parents; answers with its positions.
  ir::Expr (*facts)(LevelFacts& facts, std::size_t number, const ir::Expr& parents);
};
const LevelProgram& level_program(LevelKind kind);

}  // namespace weft
