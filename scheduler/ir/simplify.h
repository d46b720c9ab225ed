// Arithmetic on index expressions: what values they can take, and shorter equals.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <map>
#include <optional>
#include <string>

namespace weft::ir {

/// The values that an expression can take, both ends included. Ends may be unknown.
struct Range {
  std::optional<std::int64_t> minimum;
  std::optional<std::int64_t> maximum;
};
using Ranges = std::map<std::string, Range>;

/// The values of an integer expression, by interval arithmetic. All that is known of a load is whether its
/// buffer holds no negative numbers.
Range range_of(const Expr& expr, const Ranges& variables);
/// The values of the loops inside that have iterations, where constants say which; of one that stands in
/// several parts, those of all.
Ranges loop_ranges(const Stmt& stmt);

/// An integer expression as constant + sum of coefficient * atom, where atoms are whatever is not a sum or a
/// product with a constant. Terms are ordered by the printed atom; equal atoms are one term, and x / d * d +
/// x % d is x.
struct Linear {
  struct Term {
    Expr atom;
    std::int64_t coefficient = 0;
  };
  std::vector<Term> terms;
  std::int64_t constant = 0;

  /// The coefficient of a plain variable.
  std::int64_t coefficient_of(const std::string& variable) const;
  Expr expr() const;
};
Linear linear(const Expr& expr);

/// Whether loops of one iteration become their body and loops of none go. A schedule keeps them, because
/// later steps may name them.
enum class ShortLoops : std::uint8_t { keep, remove };

/// Drops conditions that always hold and branches that never run; folds index arithmetic. Runtime extents are
/// at least 1.
Program simplify(Program program, ShortLoops short_loops);
Expr simplify(const Expr& expr, const Ranges& variables);

/// True when the condition holds for all values in the ranges.
bool always(const Expr& condition, const Ranges& variables);

}  // namespace weft::ir
