// What recipes write the conditions of their points with.
#pragma once

#include <weft/scheduler/recipes/parts/recipe.h>

#include <string>
#include <utility>
#include <vector>

namespace weft {

using Summands = std::vector<std::pair<std::string, ir::Expr>>;

/// The value of a knob.
inline ir::Expr v(const char* knob) {
  return ir::variable(knob);
}

inline ir::Expr negated(ir::Expr condition) {
  return unary(ir::UnaryOperator::logical_not, std::move(condition));
}

/// 1 where the condition holds, else 0.
inline ir::Expr one_if(const ir::Expr& condition) {
  return ir::select(condition, 1, 0);
}

/// Registers that each of so many threads of a block may have: whole eights of them.
inline ir::Expr registers_there(const Target& target, const SpaceOptions& options, const ir::Expr& threads) {
  const ir::Expr of_block = target.registers_per_multiprocessor / options.resident_blocks;
  return ir::minimum(target.registers_per_thread, of_block / threads / 8 * 8);
}

/// A list of named conditions while it is written.
class Conditions {
 public:
  /// What follows is asked only where `condition` holds; of everybody after `everywhere()`.
  void where(ir::Expr condition) { where_ = std::move(condition); }
  void everywhere() { where_ = {}; }

  /// left <= limit
  void at_most(std::string name, std::string text, std::string unit, const ir::Expr& left,
               const ir::Expr& limit) {
    add({std::move(name), std::move(text), std::move(unit), left, limit, {}});
  }
  /// The sum of the parts <= limit.
  void sum_at_most(std::string name, std::string text, std::string unit, Summands summed,
                   const ir::Expr& limit) {
    ir::Expr sum = 0;
    for (const auto& [part, expr] : summed) sum = sum + expr;
    add({std::move(name), std::move(text), std::move(unit), sum, limit, std::move(summed)});
  }
  /// What is left over of `whole` when it is cut into pieces of `part` is nothing.
  void divides(std::string name, std::string text, const ir::Expr& part, const ir::Expr& whole) {
    at_most(std::move(name), std::move(text), {}, whole % part, 0);
  }
  void nothing(std::string name, std::string text, const ir::Expr& left) {
    at_most(std::move(name), std::move(text), {}, left, 0);
  }

  std::vector<Constraint> take() { return std::move(list_); }

 private:
  /// Elsewhere 0 <= 0: the side that is not taken is not computed either.
  ir::Expr guarded(const ir::Expr& side) const {
    return where_.defined() ? ir::select(where_, side, 0) : side;
  }
  void add(Constraint constraint) {
    constraint.left = guarded(constraint.left);
    constraint.limit = guarded(constraint.limit);
    for (auto& [name, part] : constraint.parts) part = guarded(part);
    list_.push_back(std::move(constraint));
  }

  ir::Expr where_;
  std::vector<Constraint> list_;
};

}  // namespace weft
