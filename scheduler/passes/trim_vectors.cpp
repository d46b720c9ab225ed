// trim_vectors.
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/guarded_vector.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <bit>

namespace weft::passes {
namespace {

/// Elements of a vector of 32-bit numbers in the widest registers there are.
constexpr std::int64_t widest = 16;

/// How many elements pass `condition` when those that do come first: it says variable < number. Else `all`.
std::int64_t passing(const Expr& condition, const std::string& variable, std::int64_t all) {
  const auto* comparison = condition.as<ir::Binary>();
  if (comparison == nullptr) return all;
  if (comparison->op == ir::BinaryOperator::logical_and)
    return std::min(passing(comparison->left, variable, all), passing(comparison->right, variable, all));
  if (comparison->op != ir::BinaryOperator::less) return all;
  const ir::Linear sum = ir::linear(comparison->left - comparison->right);
  if (sum.terms.size() != 1 || sum.coefficient_of(variable) != 1) return all;
  return std::min(all, -sum.constant);
}

/// The shortest vector that holds `elements` and costs no more instructions than that: whole registers, and
/// behind them a power of two.
std::int64_t rounded(std::int64_t elements) {
  const auto rest = static_cast<std::uint64_t>(elements % widest);
  return elements - elements % widest + static_cast<std::int64_t>(rest == 0 ? 0 : std::bit_ceil(rest));
}

}  // namespace

ir::Program trim_vectors(ir::Program program) {
  program.body = ir::rewrite<ir::For>(program.body, [](const ir::For& loop, const Stmt& s) {
    const auto vector = guarded_vector(loop);
    if (!vector) return s;
    const std::int64_t count = passing(vector->guard->condition, loop.name, vector->elements);
    if (count < 1 || rounded(count) >= vector->elements) return s;
    ir::For shorter = loop;
    shorter.extent = rounded(count);
    return ir::for_loop(std::move(shorter));
  });
  return program;
}

}  // namespace weft::passes
