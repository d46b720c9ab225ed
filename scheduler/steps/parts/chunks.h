// Columns of the weights cut into pieces of one length, for code that is written out piece by piece.
#pragma once

#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace weft::steps {

/// The loop over them is called after the index that is summed over.
inline constexpr std::string_view chunk_suffix = ".chunk";

/// The loop over the pieces, and where dense operands are read at a column of the weights.
struct Chunks {
  ir::For loop;                               ///< "k.chunk"; body unset
  std::int64_t columns = 0;                   ///< columns of a piece
  std::map<std::string, std::size_t> summed;  ///< by operand: the dimension that the sum runs over

  /// The expression of one column of the weights, with what it reads at that number in terms of the loop.
  ir::Expr placed(const ir::Expr& expr, std::int64_t column) const;
};

/// Precondition 8 of bake_values, whose rows are those of `rows`: a sum over one index.
std::variant<Chunks, Reason> chunks_of(const ir::Program& program, const StepContext& context,
                                       const std::string& rows, std::int64_t columns);

}  // namespace weft::steps
