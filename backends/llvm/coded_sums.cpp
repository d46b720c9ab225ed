#include <fmt/format.h>
#include <weft/backends/llvm/coded_sums.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace weft::llvm_backend {
namespace {

using ir::Expr;
using ir::Stmt;

constexpr std::size_t least_products = 32;                        ///< fewer are not worth a call
constexpr std::int64_t farthest_element = std::int64_t{1} << 27;  ///< as displacements reach

using Asked = AskedLanes;

/// Whether a whole vector lies in a row of a local array, from the first element that is asked for.
bool has_room(const ir::Buffer& buffer, const std::vector<Expr>& indices, const Asked& asked,
              std::int64_t lanes) {
  if (asked.count == lanes) return true;
  const std::int64_t* row = ir::integer_value(buffer.shape.back());
  const std::int64_t* step = buffer.strides.empty() ? nullptr : ir::integer_value(buffer.strides.back());
  const bool beside = buffer.strides.empty() || (step != nullptr && *step == 1);
  if (buffer.scope == ir::Scope::global || row == nullptr || !beside) return false;
  const ir::Linear last = ir::linear(indices.back());
  const bool of_lane = asked.lane.empty() ? last.terms.empty()
                                          : last.terms.size() == 1 && last.coefficient_of(asked.lane) == 1;
  return of_lane && last.constant == 0 && lanes <= *row;
}

/// Takes the variable out; its coefficient, if nothing else has it.
std::optional<std::int64_t> taken_out(ir::Linear& place, const std::string& name) {
  const std::int64_t coefficient = place.coefficient_of(name);
  std::erase_if(place.terms, [&](const ir::Linear::Term& term) {
    const auto* variable = term.atom.as<ir::Variable>();
    return variable != nullptr && variable->name == name;
  });
  const bool is_used =
      std::ranges::any_of(place.terms, [&](const auto& term) { return ir::uses(term.atom, name); });
  return is_used ? std::nullopt : std::optional(coefficient);
}

/// The offset of lane 0, where lanes lie beside one another.
std::optional<ir::Linear> first_lane_of(const ir::Buffer& buffer, const std::vector<Expr>& indices,
                                        const Asked& asked, std::int64_t lanes) {
  if (indices.empty() || buffer.swizzle != 0 || !has_room(buffer, indices, asked, lanes)) return std::nullopt;
  ir::Linear place = ir::linear(ir::offset_of(buffer, indices));
  if (asked.lane.empty()) return place;
  return taken_out(place, asked.lane) == 1 ? std::optional(std::move(place)) : std::nullopt;
}

/// Whether no element is in two of the vectors that begin there: registers would not know of one another.
bool are_apart(const std::set<std::int64_t>& vectors, std::int64_t lanes) {
  return std::ranges::adjacent_find(vectors, [&](std::int64_t one, std::int64_t next) {
           return next - one < lanes;
         }) == vectors.end();
}

/// Of all columns, in elements from the first one, which becomes the constant of `place`.
std::optional<std::vector<std::int64_t>> places_of(const ir::SparseProduct& product, ir::Linear& place) {
  std::vector<std::int64_t> between;
  for (const std::string& coordinate : product.coordinates) {
    const auto coefficient = taken_out(place, coordinate);
    if (!coefficient) return std::nullopt;
    between.push_back(*coefficient);
  }
  std::vector<std::int64_t> places;
  for (std::size_t column = 0; column < product.table->columns(); ++column) {
    const auto at = product.table->place(column);
    places.push_back(std::inner_product(at.begin(), at.end(), between.begin(), std::int64_t{0}));
  }
  if (places.empty()) return std::nullopt;
  const std::int64_t first = places.front();
  place.constant += first;
  for (std::int64_t& each : places) {
    each -= first;
    if (std::abs(each) > farthest_element) return std::nullopt;
  }
  return places;
}

}  // namespace

/// Elements that a vectorized loop asks for, and what it does with each: a condition inside may leave the
/// last ones out. Nothing for other loops.
std::optional<AskedLanes> asked_of(const ir::For& loop, const Stmt*& body) {
  const auto range = ir::constant_iterations(loop);
  if (loop.kind != LoopKind::vectorized || !range || range->begin != 0) return std::nullopt;
  Asked asked{loop.name, range->extent, range->extent};
  body = &loop.body;
  const auto* guard = body->as<ir::If>();
  const auto* less = guard != nullptr && !guard->otherwise.defined()
                         ? ir::as_binary(guard->condition, ir::BinaryOperator::less)
                         : nullptr;
  if (less == nullptr || is_float(less->left.dtype())) return asked;
  const ir::Linear sum = ir::linear(less->left - less->right);
  if (sum.terms.size() != 1 || sum.coefficient_of(loop.name) != 1) return asked;
  asked.count = std::min(asked.count, -sum.constant);
  body = &guard->then;
  return asked;
}

void SumCoder::allocated(const ir::Allocate& allocation) {
  if (registers_.bytes == 0 || allocation.buffer->scope != ir::Scope::registers) return;
  ir::Ranges ranges = ir::loop_ranges(allocation.body);
  std::map<std::string, std::int64_t> last_lanes;
  ir::each<ir::For>(allocation.body, [&](const ir::For& loop) {
    const Stmt* body = nullptr;
    const auto asked = asked_of(loop, body);
    std::int64_t& last = last_lanes[loop.name];
    last = std::max(last, asked ? asked->count - 1 : INT64_MAX);
  });
  for (const auto& [lane, last] : last_lanes) {
    if (last < INT64_MAX) ranges[lane] = {0, last};
  }
  std::optional<std::int64_t> used = 0;
  const auto take = [&](const ir::BufferRef& buffer, const std::vector<Expr>& indices) {
    if (buffer != allocation.buffer || indices.empty() || !used) return;
    const ir::Range range = ir::range_of(indices.back(), ranges);
    used = range.maximum ? std::optional(std::max(*used, *range.maximum + 1)) : std::nullopt;
  };
  ir::each<ir::Store>(allocation.body, [&](const ir::Store& store) { take(store.buffer, store.indices); });
  ir::each<ir::Load>(allocation.body, [&](const ir::Load& load) { take(load.buffer, load.indices); });
  used_[allocation.buffer.get()] = used.value_or(INT64_MAX);
}

/// Whether nobody has elements behind those that are asked for, whose sums may then be anything.
bool SumCoder::is_nobody_behind(const ir::Buffer& sums, std::int64_t asked, std::int64_t lanes) const {
  const auto used = used_.find(&sums);
  return asked == lanes || (used != used_.end() && used->second <= asked);
}

std::map<std::int64_t, std::int64_t> SumCoder::Sum::registers() const {
  std::map<std::int64_t, std::int64_t> register_of;
  for (const std::int64_t row : rows) register_of.emplace(row, std::ssize(register_of));
  return register_of;
}

std::optional<CodedSum> SumCoder::coded(const Stmt& statement) {
  if (registers_.bytes == 0) return std::nullopt;
  Sum sum = sum_of(statement);
  // Sums are loaded and stored once.
  if (sum.table == nullptr || sum.table->entries().size() < std::max(least_products, 4 * sum.rows.size()))
    return std::nullopt;
  name(sum, nullptr, Begin::in_array);
  return std::move(sum.what);
}

void SumCoder::name(Sum& sum, const CodedBlock* block, Begin begin) {
  const std::string text = text_of(sum, block, begin);
  const std::size_t hash = std::hash<std::string>()(text);
  for (auto [known, end] = texts_.equal_range(hash); known != end; ++known) {
    const CodedText& other = known->second;
    if (assembly_.compare(other.begin, other.length, text) == 0) {
      sum.what.name = other.name;
      return;
    }
  }
  sum.what.name = fmt::format("weft_sum_{}", texts_.size());
  assembly_ += fmt::format(".p2align 6\n{}:\n", sum.what.name);
  texts_.emplace(hash, CodedText{sum.what.name, assembly_.size(), text.size()});
  assembly_ += text;
}

/// Halves where so many elements are asked for, or a few of so many that there is room for.
VectorRegisters SumCoder::registers_of(const ir::Buffer& sums, const Asked& asked) const {
  const std::int64_t* const room = sums.shape.empty() ? nullptr : ir::integer_value(sums.shape.back());
  const VectorRegisters as_asked = registers_.with_lanes(asked.whole);
  return as_asked.halves || room == nullptr ? as_asked : registers_.with_lanes(*room);
}

/// The product that the statement is; without a table where it is none, or a sum could not stay in a
/// register.
SumCoder::Sum SumCoder::sum_of(const Stmt& statement, const Expr& guard) const {
  const Stmt* each = &statement;
  Asked asked;
  if (const auto* loop = statement.as<ir::For>()) {
    const auto lanes = asked_of(*loop, each);
    if (!lanes || lanes->count < 1 || lanes->count > registers_.lanes()) return {};
    asked = *lanes;
  }
  const auto* condition = each->as<ir::If>();
  const bool is_guarded = condition != nullptr && guard.defined() && !condition->otherwise.defined() &&
                          ir::same(condition->condition, guard);
  if (is_guarded) each = &condition->then;
  const auto* product = each->as<ir::SparseProduct>();
  if (product == nullptr || product->dense == product->sums ||
      (is_guarded && product->dense->scope == ir::Scope::global))
    return {};
  const VectorRegisters vectors = registers_of(*product->sums, asked);
  auto place = first_lane_of(*product->dense, product->of_dense, asked, vectors.lanes());
  auto row = first_lane_of(*product->sums, product->of_sums, asked, vectors.lanes());
  if (!place || !row || !is_nobody_behind(*product->sums, asked.count, vectors.lanes())) return {};
  auto places = places_of(*product, *place);
  const auto between_rows = taken_out(*row, product->row);
  if (!places || !between_rows || !row->terms.empty()) return {};
  Sum sum{.what = {},
          .vectors = vectors,
          .first = *place,
          .table = product->table,
          .places = std::make_shared<const std::vector<std::int64_t>>(*std::move(places)),
          .begin = 0,
          .end = product->table->columns(),
          .first_row = row->constant,
          .between_rows = *between_rows,
          .rows = {},
          .bytes_of_dense = static_cast<std::int64_t>(size_of(product->dense->dtype))};
  for (const ir::EntryTable::Entry& entry : sum.table->entries()) sum.rows.insert(sum.element_of(entry.row));
  if (std::ssize(sum.rows) > vectors.sums() || !are_apart(sum.rows, vectors.lanes())) return {};
  sum.what.dense = product->dense;
  sum.what.sums = product->sums;
  sum.what.of_dense = sum.first.expr();
  return sum;
}

}  // namespace weft::llvm_backend
