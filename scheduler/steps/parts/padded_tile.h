// Tiles that are zero where an operand ends, so that nobody has to ask whether it does.
#pragma once

#include <weft/scheduler/steps/parts/coordinates.h>

#include <string>
#include <vector>

namespace weft::steps {

/// What is left of `conditions`, and what is not: bounds of the indices of an operand, where `value` reads a
/// tile that one copy filled from that operand. Where such a bound does not hold, the tile holds zero, and
/// its element may be read all the same.
struct NeededConditions {
  std::vector<ir::Expr> needed;
  std::vector<ir::Expr> of_padding;  ///< without them what is read is zero
};

NeededConditions needed_conditions(const ir::Program& program, const Coordinates& coordinates,
                                   const std::vector<ir::Expr>& conditions, const ir::Expr& value);

/// The program without conditions that keep the reads of an operand inside of it, where such a tile is read
/// in its place, multiplied by a weight and added: where all weights are finite, zeros add nothing.
ir::Program without_conditions_of_padding(ir::Program program, const std::string& operand,
                                          const StepContext& context);

}  // namespace weft::steps
