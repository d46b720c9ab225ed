// The part of a program that bake_values writes out.
#pragma once

#include <weft/scheduler/program/step.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/known_weights.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weft::steps {

/// The nest that is written out: row loop, output loops between it and the sum, the sum.
struct BakedNest {
  ir::For rows;                        ///< body unset
  std::int64_t begin = 0, extent = 0;  ///< range of the row loop
  std::vector<ir::For> around;         ///< output loops found inside the row loop; they move outside
  std::vector<ir::Expr> outside;       ///< conditions that do not depend on the row
  std::vector<ir::Expr> of_row;        ///< conditions that do
  std::vector<ir::Expr> of_first_row;  ///< those around the groups of a split sum, for the first row
  ir::BufferRef sum;                   ///< sum of one row
  std::vector<ir::Stmt> first, last;   ///< statements before and after the sum
  std::vector<ir::For> entries;        ///< loops over stored entries; bodies unset
  std::vector<ir::For> columns;        ///< loops of the sum that do not choose the entry
  std::vector<ir::Expr> conditions;    ///< around the sum's update
  ir::Expr value;                      ///< what is added
  std::vector<ir::Expr> place;         ///< where in `sum`
  ir::Expr position;                   ///< where the entry is in `values`
  std::vector<ir::For> selectors;      ///< loops around the rows that choose the block; constant ranges
  std::optional<GroupedSum> groups;    ///< where the sum is split: its loop and parts; own and result unset
  std::vector<ir::Expr> of_thread;     ///< conditions inside the loops over the groups of a split sum
  ir::Stmt result;                     ///< what follows a split sum, for one row
  std::int64_t copies = 1;             ///< times that an entry is written out: columns of a thread
};

/// The nest inside the only loop called `loop`, or why the program has another shape: preconditions 1, 2, 4,
/// 5 and 6 of bake_values.
std::variant<BakedNest, Reason> baked_nest(const ir::Program& program, const KnownWeights& weights,
                                           const StepContext& context, const std::string& loop);
/// Whether entries of a column differ in their values alone, wherever they are: neither what is added nor the
/// conditions depend on the row or the place of an entry beside what the weights' arrays hold there.
bool differ_in_values(const BakedNest& nest, const KnownWeights& weights,
                      const std::vector<ir::Expr>& conditions);
/// Precondition 4.
Reason other_shape_than_baked(const std::string& found, const std::string& loop);

}  // namespace weft::steps
