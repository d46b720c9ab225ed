// What is known of the coordinates that a format stores.
#pragma once

#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/program/step.h>

namespace weft::steps {

/// The values that stored coordinates can take: those of a dimension of the weights, and -1 where padding is
/// marked.
class Coordinates {
 public:
  explicit Coordinates(const StepContext& context);

  /// The expression with a variable in place of every coordinate that is known; its range is added to
  /// `ranges`. Equal coordinates become one variable.
  ir::Expr named(const ir::Expr& expr, ir::Ranges& ranges) const;

 private:
  std::map<std::string, ir::Range> by_buffer_;
};

}  // namespace weft::steps
