// Loops over the levels of a sparse operand's format: which row and column the entry at each stored position
// has, and under which conditions a place holds one. A new kind of level is one more case here.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/ir/program.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weft {

/// Where a walk over the levels stands.
struct LevelPlace {
  std::vector<ir::Expr> position;  ///< of each level so far
  std::vector<ir::Expr> child;     ///< its number among the children of a parent, of dense levels
  ir::Expr row = ir::integer(0);
  ir::Expr column = ir::integer(0);
  std::vector<ir::Expr> of_row;      ///< conditions for a row to exist
  std::vector<ir::Expr> conditions;  ///< for a place to hold an entry
};

class LevelWalk {
 public:
  struct Operand {
    const Algorithm& algorithm;
    const SparseTensor& weights;
    std::map<std::string, ir::BufferRef> arrays;  ///< of `weights`, by name
    std::vector<std::string> rows;                ///< indices of the algorithm, outermost first
    std::vector<std::string> columns;
  };
  using Body = std::function<ir::Stmt(const LevelPlace&)>;

  explicit LevelWalk(Operand operand);

  /// Loops over the levels from `first` to before `last`, from `place` on, around `body`.
  ir::Stmt loops(std::size_t first, std::size_t last, const LevelPlace& place, const Body& body);

  /// The indices of the value in "values", at a place below all levels.
  std::vector<ir::Expr> value_place(const LevelPlace& place) const;

 private:
  std::string loop_name(std::size_t number, bool stored);
  void meet(std::size_t number, const ir::Expr& coordinate, LevelPlace& place) const;
  ir::Stmt buckets(std::size_t number, LevelPlace place, const Body& body);
  ir::Expr kept_slot_of(const Level& level, const LevelPlace& place, const ir::Expr& block,
                        const ir::Expr& slot) const;
  ir::Expr stored_number(const Level& level, const ir::Expr& position) const;
  ir::Expr extent_of(Dimension dimension) const;
  bool reaches_beyond(Dimension dimension, std::int64_t length) const;
  bool ends_blocks(std::size_t number) const;

  Operand operand_;
  bool any_weights_;        ///< sizes and pattern are given at launch
  std::size_t row_levels_;  ///< 0 where the weight is not stored row by row
  std::map<std::string, int> used_names_;
};

}  // namespace weft
