#include <weft/scheduler/passes/number_fields.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace weft::passes {
namespace {

using ir::Expr;

constexpr std::int64_t bits_of_word = 31;

bool is_of(const Expr& expr, const Expr& data) {
  if (ir::same(expr, data) || ir::integer_value(expr) != nullptr) return true;
  const auto* e = expr.as<ir::Binary>();
  return e != nullptr && is_of(e->left, data) && is_of(e->right, data);
}

bool divides(const Expr& expr) {
  const auto* e = expr.as<ir::Binary>();
  return e != nullptr && (e->op == ir::BinaryOperator::divide || e->op == ir::BinaryOperator::remainder);
}

/// The quotients and remainders of the data that are in no other, and the data where it stands alone.
void find_parts(const Expr& expr, const Expr& data, std::vector<Expr>& parts) {
  if (ir::same(expr, data) || (divides(expr) && is_of(expr, data) && ir::integer_value(expr) == nullptr)) {
    const bool known = std::ranges::any_of(parts, [&](const Expr& each) { return ir::same(each, expr); });
    if (!known) parts.push_back(expr);
  } else if (const auto* e = expr.as<ir::Binary>()) {
    find_parts(e->left, data, parts);
    find_parts(e->right, data, parts);
  }
}

std::int64_t bits_of(std::int64_t largest) {
  return std::bit_width(static_cast<std::uint64_t>(largest));
}

}  // namespace

NumberFields::NumberFields(const ir::Copy& copy, const Expr& data) : data_(data) {
  const Expr no_padding = ir::integer(0) <= data;
  std::vector<Expr> parts;
  for (const Expr& index : copy.source_begin) find_parts(index, data, parts);
  if (parts.empty() || !std::ranges::all_of(parts, divides)) return;
  ir::Rewriter named;
  named.on_expr = [&](const Expr& e) { return ir::same(e, data) ? ir::variable("number") : e; };
  const ir::Ranges number{{"number", {0, {}}}};
  std::vector<Field> fields{{no_padding, "number.counts", 1, 1}};
  for (const Expr& part : parts) {
    std::optional<std::int64_t> largest = ir::range_of(named(part), number).maximum;
    for (std::size_t i = 0; i < copy.source_begin.size(); ++i) {
      const std::int64_t* extent = ir::integer_value(copy.source->shape[i]);
      if (extent != nullptr && ir::same(copy.source_begin[i], part) && !largest) largest = *extent - 1;
    }
    if (!largest) return;
    fields.push_back({part, "number.part" + std::to_string(fields.size()), *largest, 1});
  }
  std::int64_t bits = 0;
  for (Field& field : fields) {
    field.place = std::int64_t{1} << bits;
    bits += bits_of(field.largest);
    if (bits > bits_of_word) return;
  }
  fields_ = std::move(fields);
}

Expr NumberFields::named(const Expr& expr) const {
  ir::Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& e) {
    for (const Field& field : fields_) {
      if (!ir::same(e, field.part)) continue;
      return &field == fields_.data() ? ir::integer(0) < ir::variable(field.name) : ir::variable(field.name);
    }
    return e;
  };
  return rewriter(expr);
}

ir::Ranges NumberFields::ranges() const {
  ir::Ranges ranges;
  for (const Field& field : fields_) ranges[field.name] = {0, field.largest};
  return ranges;
}

Expr NumberFields::word(const Expr& number) const {
  ir::Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& e) {
    return ir::same(e, data_) ? ir::maximum(number, ir::integer(0)) : e;
  };
  Expr word = ir::integer(1);
  for (std::size_t i = 1; i < fields_.size(); ++i)
    word = word + rewriter(fields_[i].part) * ir::integer(fields_[i].place);
  return ir::select(ir::integer(0) <= number, word, ir::integer(0));
}

ir::Substitution NumberFields::of_word(const Expr& word) const {
  ir::Substitution parts;
  for (const Field& field : fields_) {
    const Expr above = word / ir::integer(field.place);
    const bool last = &field == &fields_.back();
    parts[field.name] = last ? above : above % ir::integer(std::int64_t{1} << bits_of(field.largest));
  }
  return parts;
}

}  // namespace weft::passes
