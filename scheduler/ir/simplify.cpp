#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/fold.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/settled.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace weft::ir {
namespace {

using OptionalInteger = std::optional<std::int64_t>;

OptionalInteger add(OptionalInteger a, OptionalInteger b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return {};
  return sum;
}

OptionalInteger multiply(OptionalInteger a, std::int64_t factor) {
  std::int64_t product = 0;
  if (!a || __builtin_mul_overflow(*a, factor, &product)) return {};
  return product;
}

Range scale(const Range& range, std::int64_t factor) {
  if (factor >= 0) return {multiply(range.minimum, factor), multiply(range.maximum, factor)};
  return {multiply(range.maximum, factor), multiply(range.minimum, factor)};
}

Range range_of_product(const Range& a, const Range& b) {
  if (!a.minimum || !a.maximum || !b.minimum || !b.maximum) {
    const bool positive = a.minimum && b.minimum && *a.minimum >= 0 && *b.minimum >= 0;
    return positive ? Range{multiply(a.minimum, *b.minimum), {}} : Range{};
  }
  Range result;
  for (const OptionalInteger& x : {a.minimum, a.maximum}) {
    for (const OptionalInteger& y : {b.minimum, b.maximum}) {
      const OptionalInteger product = multiply(x, *y);
      if (!product) return {};
      result.minimum = result.minimum ? std::min(*result.minimum, *product) : *product;
      result.maximum = result.maximum ? std::max(*result.maximum, *product) : *product;
    }
  }
  return result;
}

Range range_of_quotient(const Range& a, std::int64_t divisor) {
  Range result;
  if (a.minimum) result.minimum = floor_divide(*a.minimum, divisor);
  if (a.maximum) result.maximum = floor_divide(*a.maximum, divisor);
  return result;
}

Range range_of_extremum(const Range& a, const Range& b, bool smaller) {
  const auto either = [&](const OptionalInteger& x, const OptionalInteger& y) -> OptionalInteger {
    if (x && y) return smaller ? std::min(*x, *y) : std::max(*x, *y);
    return {};
  };
  Range result{either(a.minimum, b.minimum), either(a.maximum, b.maximum)};
  // min(x, c) is at most c whatever x is; max(x, c) at least c.
  if (smaller && !result.maximum) result.maximum = a.maximum ? a.maximum : b.maximum;
  if (!smaller && !result.minimum) result.minimum = a.minimum ? a.minimum : b.minimum;
  return result;
}

/// Where no number is negative, bits above the highest of both stay zero.
Range range_of_exclusive_or(const Range& a, const Range& b) {
  if (!a.minimum || !b.minimum || *a.minimum < 0 || *b.minimum < 0) return {};
  if (!a.maximum || !b.maximum) return {0, {}};
  const auto largest = static_cast<std::uint64_t>(std::max(*a.maximum, *b.maximum));
  const auto bits = std::bit_width(largest);
  return {0, bits > 62 ? OptionalInteger() : OptionalInteger((std::int64_t{1} << bits) - 1)};
}

Range range_of_binary(const Binary& e, const Ranges& variables) {
  const Range a = range_of(e.left, variables);
  const Range b = range_of(e.right, variables);
  const std::int64_t* constant = integer_value(e.right);
  switch (e.op) {
    case BinaryOperator::add: return {add(a.minimum, b.minimum), add(a.maximum, b.maximum)};
    case BinaryOperator::subtract: {
      const Range minus = scale(b, -1);
      return {add(a.minimum, minus.minimum), add(a.maximum, minus.maximum)};
    }
    case BinaryOperator::multiply: return constant != nullptr ? scale(a, *constant) : range_of_product(a, b);
    case BinaryOperator::divide:
      if (constant != nullptr && *constant > 0) return range_of_quotient(a, *constant);
      return a.minimum && *a.minimum >= 0 ? Range{0, a.maximum} : Range{};
    case BinaryOperator::remainder:
      if (constant != nullptr && *constant > 0) {
        const bool inside = a.minimum && a.maximum && *a.minimum >= 0 && *a.maximum < *constant;
        return inside ? a : Range{0, *constant - 1};
      }
      return {0, {}};
    case BinaryOperator::minimum: return range_of_extremum(a, b, true);
    case BinaryOperator::maximum: return range_of_extremum(a, b, false);
    case BinaryOperator::exclusive_or: return range_of_exclusive_or(a, b);
    default: return {0, 1};
  }
}

void add_linear(const Expr& expr, std::int64_t factor, Linear& sum) {
  if (const std::int64_t* value = integer_value(expr)) {
    sum.constant += factor * *value;
    return;
  }
  if (const auto* e = expr.as<Binary>()) {
    if (e->op == BinaryOperator::add || e->op == BinaryOperator::subtract) {
      add_linear(e->left, factor, sum);
      add_linear(e->right, e->op == BinaryOperator::add ? factor : -factor, sum);
      return;
    }
    const std::int64_t* c = integer_value(e->right);
    if (e->op == BinaryOperator::multiply && c != nullptr) {
      add_linear(e->left, factor * *c, sum);
      return;
    }
  }
  for (Linear::Term& term : sum.terms) {
    if (same(term.atom, expr)) {
      term.coefficient += factor;
      return;
    }
  }
  sum.terms.push_back({expr, factor});
}

/// The terms x / d * (c d) and x % d * c, whose sum is x * c, as their places among the terms.
std::optional<std::pair<std::size_t, std::size_t>> quotient_with_remainder(const Linear& sum) {
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    const auto* remainder = sum.terms[i].atom.as<Binary>();
    const bool there =
        remainder != nullptr && remainder->op == BinaryOperator::remainder && sum.terms[i].coefficient != 0;
    if (!there) continue;
    const std::int64_t* divisor = integer_value(remainder->right);
    std::int64_t whole = 0;
    if (divisor == nullptr || __builtin_mul_overflow(sum.terms[i].coefficient, *divisor, &whole)) continue;
    const Expr quotient = remainder->left / remainder->right;
    for (std::size_t j = 0; j < sum.terms.size(); ++j) {
      if (sum.terms[j].coefficient == whole && same(sum.terms[j].atom, quotient)) return std::pair{i, j};
    }
  }
  return std::nullopt;
}

/// Conditions are compared as "left - right", so that equal terms on both sides cancel.
Range difference(const Expr& left, const Expr& right, const Ranges& variables) {
  const Linear sum = linear(left - right);
  Range total{sum.constant, sum.constant};
  for (const Linear::Term& term : sum.terms) {
    const Range range = scale(range_of(term.atom, variables), term.coefficient);
    total = {add(total.minimum, range.minimum), add(total.maximum, range.maximum)};
  }
  return total;
}

/// Whether the values of variables may decide the expression.
bool depends_on_ranges(const Expr& expr) {
  const auto* e = expr.as<Binary>();
  if (e == nullptr) return false;
  switch (e->op) {
    case BinaryOperator::less:
    case BinaryOperator::less_equal:
    case BinaryOperator::minimum:
    case BinaryOperator::maximum:
    case BinaryOperator::divide:
    case BinaryOperator::remainder: return !is_float(e->left.dtype()) && e->left.dtype() != DType::boolean;
    default: return false;
  }
}

Expr decide(const Expr& expr, const Ranges& variables) {
  if (!depends_on_ranges(expr)) return expr;
  const auto* e = expr.as<Binary>();
  switch (e->op) {
    case BinaryOperator::less:
    case BinaryOperator::less_equal: {
      const Range d = difference(e->left, e->right, variables);
      const std::int64_t limit = e->op == BinaryOperator::less ? -1 : 0;
      if (d.maximum && *d.maximum <= limit) return boolean(true);
      if (d.minimum && *d.minimum > limit) return boolean(false);
      return expr;
    }
    case BinaryOperator::minimum:
    case BinaryOperator::maximum: {
      const Range d = difference(e->left, e->right, variables);
      const bool smaller = e->op == BinaryOperator::minimum;
      if (d.maximum && *d.maximum <= 0) return smaller ? e->left : e->right;
      if (d.minimum && *d.minimum >= 0) return smaller ? e->right : e->left;
      return expr;
    }
    case BinaryOperator::divide:
    case BinaryOperator::remainder: {
      const std::int64_t* divisor = integer_value(e->right);
      if (divisor == nullptr || *divisor <= 0) return expr;
      const Range range = range_of(e->left, variables);
      if (!range.minimum || !range.maximum) return expr;
      const std::int64_t quotient = floor_divide(*range.minimum, *divisor);
      if (quotient != floor_divide(*range.maximum, *divisor)) return expr;
      return e->op == BinaryOperator::divide ? integer(quotient) : e->left - integer(quotient * *divisor);
    }
    default: return expr;
  }
}

class Simplifier {
 public:
  /// `settled`: nullptr for none.
  Simplifier(Ranges variables, ShortLoops short_loops, Settled* settled = nullptr)
      : variables_(std::move(variables)),
        remove_(short_loops == ShortLoops::remove),
        known_(settled == nullptr ? Settled::Simple() : std::exchange(settled->simple, {})),
        found_(settled == nullptr ? nullptr : &settled->simple) {}

  Expr operator()(const Expr& expr) {
    return decided(with_children(expr, [this](const Expr& child) { return (*this)(child); }));
  }

  Stmt operator()(const Stmt& stmt) {
    if (!stmt.defined()) return stmt;
    return std::visit([&](const auto& node) { return statement(node, stmt); }, stmt.node().kind());
  }

 private:
  Expr decided(const Expr& expr) {
    depending_ += depends_on_ranges(expr) ? 1 : 0;
    return decide(expr, variables_);
  }

  // What does not change is shared: programs that are written out are long, and every step and pass comes
  // here.
  template <class Kind>
  Stmt statement(const Kind&, const Stmt& stmt) {
    return with_children(stmt, overloaded{[this](const Expr& child) { return (*this)(child); },
                                          [this](const Stmt& child) { return (*this)(child); }});
  }
  Stmt statement(const For& s, const Stmt&) {
    For loop = s;
    loop.begin = (*this)(s.begin);
    loop.extent = (*this)(s.extent);
    const std::int64_t* extent = integer_value(loop.extent);
    if (remove_ && extent != nullptr && *extent <= 0) return {};
    if (remove_ && extent != nullptr && *extent == 1 && !is_bound(s.kind))
      return (*this)(substitute(s.body, {{s.name, loop.begin}}));
    const Range begin = range_of(loop.begin, variables_);
    const Range end = range_of(loop.begin + loop.extent, variables_);
    variables_[s.name] = {begin.minimum, end.maximum ? OptionalInteger(*end.maximum - 1) : OptionalInteger()};
    loop.body = (*this)(s.body);
    variables_.erase(s.name);
    return for_loop(std::move(loop));
  }
  Stmt statement(const Sequence& s, const Stmt& stmt) {
    const bool remembers = found_ != nullptr && s.statements.size() >= long_block;
    if (remembers && known_.count(stmt.identity()) != 0) {
      found_->emplace(stmt.identity(), stmt);
      return stmt;
    }
    const std::int64_t depending = depending_;
    std::vector<Stmt> statements;
    statements.reserve(s.statements.size());
    bool kept = true;
    for (const Stmt& child : s.statements) {
      statements.push_back((*this)(child));
      kept = kept && statements.back().identity() == child.identity();
    }
    if (remembers && kept && depending == depending_) found_->emplace(stmt.identity(), stmt);
    return kept ? stmt : block(std::move(statements));
  }
  Stmt statement(const Let& s, const Stmt& stmt) {
    const Expr value = (*this)(s.value);
    if (integer_value(value) != nullptr || value.as<Variable>() != nullptr)
      return (*this)(substitute(s.body, {{s.name, value}}));
    if (!is_float(value.dtype())) variables_[s.name] = range_of(value, variables_);
    Stmt body = (*this)(s.body);
    variables_.erase(s.name);
    if (!uses(body, s.name)) return body;
    const bool kept = value.identity() == s.value.identity() && body.identity() == s.body.identity();
    return kept ? stmt : let(s.name, value, body);
  }
  Stmt statement(const Copy& s, const Stmt& stmt) {
    for (std::size_t i = 0; i < s.coordinates.size(); ++i) {
      const std::int64_t* extent = integer_value(s.extents[i]);
      variables_[s.coordinates[i]] = {0,
                                      extent != nullptr ? OptionalInteger(*extent - 1) : OptionalInteger()};
    }
    Stmt simple = with_children(stmt, [this](const Expr& child) { return (*this)(child); });
    for (const std::string& name : s.coordinates) variables_.erase(name);
    Copy changed = *simple.as<Copy>();
    const std::int64_t* inside = integer_value(changed.inside);
    if (inside == nullptr || *inside == 0) return simple;
    changed.inside = {};
    return copy(std::move(changed));
  }

  Ranges variables_;
  bool remove_;
  Settled::Simple known_;   ///< blocks of the program before
  Settled::Simple* found_;  ///< blocks of this program; nullptr: nobody asks
  std::int64_t depending_ = 0;
};

}  // namespace

Range range_of(const Expr& expr, const Ranges& variables) {
  return std::visit(overloaded{
                        [](const Constant& e) { return Range{e.integer, e.integer}; },
                        [](const Load& e) { return e.buffer->non_negative ? Range{0, {}} : Range{}; },
                        [&](const Variable& e) {
                          const auto found = variables.find(e.name);
                          return found == variables.end() ? Range{} : found->second;
                        },
                        [&](const Binary& e) { return range_of_binary(e, variables); },
                        [&](const Select& e) {
                          const Range a = range_of(e.when_true, variables);
                          const Range b = range_of(e.when_false, variables);
                          const bool low = a.minimum && b.minimum;
                          const bool high = a.maximum && b.maximum;
                          return Range{
                              low ? OptionalInteger(std::min(*a.minimum, *b.minimum)) : OptionalInteger(),
                              high ? OptionalInteger(std::max(*a.maximum, *b.maximum)) : OptionalInteger()};
                        },
                        [](const auto&) { return Range{}; },
                    },
                    expr.node().kind());
}

Ranges loop_ranges(const Stmt& stmt) {
  Ranges ranges;
  std::set<std::string> unknown;
  each<For>(stmt, [&](const For& loop) {
    const auto known = constant_iterations(loop);
    if (!known) unknown.insert(loop.name);
    if (!known || known->extent <= 0) return;
    const OptionalInteger first = known->begin, last = known->begin + known->extent - 1;
    const auto [place, is_new] = ranges.emplace(loop.name, Range{first, last});
    if (is_new) return;
    place->second.minimum = std::min(place->second.minimum, first);
    place->second.maximum = std::max(place->second.maximum, last);
  });
  each<SparseProduct>(stmt, [&](const SparseProduct& product) {
    const auto take = [&](const std::string& name, const EntryTable::Extremes& extremes) {
      if (extremes.least > extremes.largest) return;
      Range& range = ranges.try_emplace(name, Range{extremes.least, extremes.largest}).first->second;
      range.minimum = std::min(range.minimum, OptionalInteger(extremes.least));
      range.maximum = std::max(range.maximum, OptionalInteger(extremes.largest));
    };
    for (std::size_t i = 0; i < product.coordinates.size(); ++i)
      take(product.coordinates[i], product.table->coordinate(i));
    take(product.row, product.table->rows());
  });
  std::erase_if(ranges, [&](const auto& range) { return unknown.contains(range.first); });
  return ranges;
}

std::int64_t Linear::coefficient_of(const std::string& name) const {
  for (const Term& term : terms) {
    const auto* v = term.atom.as<Variable>();
    if (v != nullptr && v->name == name) return term.coefficient;
  }
  return 0;
}

Expr Linear::expr() const {
  Expr sum;
  for (const bool positive : {true, false}) {
    for (const Term& term : terms) {
      if ((term.coefficient > 0) != positive) continue;
      const Expr scaled = term.atom * integer(positive ? term.coefficient : -term.coefficient);
      if (sum.defined())
        sum = positive ? sum + scaled : sum - scaled;
      else
        sum = positive ? scaled : integer(0) - scaled;
    }
  }
  return sum.defined() ? sum + integer(constant) : integer(constant);
}

Linear linear(const Expr& expr) {
  Linear sum;
  add_linear(expr, 1, sum);
  while (const auto both = quotient_with_remainder(sum)) {
    const Linear::Term remainder = sum.terms[both->first];
    sum.terms[both->first].coefficient = sum.terms[both->second].coefficient = 0;
    add_linear(remainder.atom.as<Binary>()->left, remainder.coefficient, sum);
  }
  std::erase_if(sum.terms, [](const Linear::Term& term) { return term.coefficient == 0; });
  std::ranges::stable_sort(
      sum.terms, [](const Linear::Term& a, const Linear::Term& b) { return print(a.atom) < print(b.atom); });
  return sum;
}

bool always(const Expr& condition, const Ranges& variables) {
  const Expr simple = simplify(condition, variables);
  const std::int64_t* value = integer_value(simple);
  return value != nullptr && *value != 0;
}

Expr simplify(const Expr& expr, const Ranges& variables) {
  return Simplifier(variables, ShortLoops::keep)(expr);
}

namespace {

Program simplified(Program program, ShortLoops short_loops, Settled* settled) {
  Ranges ranges;
  for (const Variable& extent : program.extents) ranges[extent.name] = {1, {}};
  for (const Knob& knob : program.knobs) {
    const auto [low, high] = std::minmax_element(knob.values.begin(), knob.values.end());
    ranges[knob.name] = {*low, *high};
  }
  program.body = Simplifier(ranges, short_loops, settled)(program.body);
  return program;
}

}  // namespace

Program simplify(Program program, ShortLoops short_loops) {
  return simplified(std::move(program), short_loops, nullptr);
}

Program simplify(Program program, ShortLoops short_loops, Settled& settled) {
  return simplified(std::move(program), short_loops, &settled);
}

}  // namespace weft::ir
