#include <fmt/format.h>
#include <weft/backends/llvm/coded_sums.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iterator>
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

/// The offset of lane 0, where lanes lie beside one another.
std::optional<ir::Linear> first_lane_of(const ir::Buffer& buffer, const std::vector<Expr>& indices,
                                        const Asked& asked, std::int64_t lanes) {
  if (indices.empty() || buffer.swizzle != 0 || buffer.dtype != DType::f32 ||
      !has_room(buffer, indices, asked, lanes))
    return std::nullopt;
  ir::Linear place = ir::linear(ir::offset_of(buffer, indices));
  if (asked.lane.empty()) return place;
  if (place.coefficient_of(asked.lane) != 1) return std::nullopt;
  std::erase_if(place.terms, [&](const ir::Linear::Term& term) {
    const auto* variable = term.atom.as<ir::Variable>();
    return variable != nullptr && variable->name == asked.lane;
  });
  const bool uses_lane =
      std::ranges::any_of(place.terms, [&](const auto& term) { return ir::uses(term.atom, asked.lane); });
  return uses_lane ? std::nullopt : std::optional(std::move(place));
}

/// How far one is from the other, where that is a number.
std::optional<std::int64_t> distance(const ir::Linear& from, const ir::Linear& to) {
  const bool alike = std::ranges::equal(from.terms, to.terms, [](const auto& a, const auto& b) {
    return a.coefficient == b.coefficient && ir::same(a.atom, b.atom);
  });
  return alike ? std::optional(to.constant - from.constant) : std::nullopt;
}

/// Whether no element is in two of the vectors that begin there: registers would not know of one another.
bool are_apart(const std::set<std::int64_t>& vectors, std::int64_t lanes) {
  return std::ranges::adjacent_find(vectors, [&](std::int64_t one, std::int64_t next) {
           return next - one < lanes;
         }) == vectors.end();
}

/// The constant of `sum = fma(constant, vector, sum)`.
std::optional<float> factor_of(const ir::Store& store, const std::string& vector) {
  const auto* product = store.value.as<ir::Call>();
  if (store.accumulate || product == nullptr || product->instruction != "fma_f32") return std::nullopt;
  const auto* factor = product->arguments[0].as<ir::Constant>();
  const auto* variable = product->arguments[1].as<ir::Variable>();
  const auto* before = product->arguments[2].as<ir::Load>();
  if (factor == nullptr || variable == nullptr || variable->name != vector || before == nullptr ||
      before->buffer != store.buffer || !ir::same(before->indices, store.indices))
    return std::nullopt;
  return static_cast<float>(factor->real);
}

std::vector<const ir::Store*> stores_of(const Stmt& body) {
  if (const auto* one = body.as<ir::Store>()) return {one};
  std::vector<const ir::Store*> stores;
  if (const auto* block = body.as<ir::Sequence>()) {
    for (const Stmt& statement : block->statements) stores.push_back(statement.as<ir::Store>());
  }
  return stores;
}

}  // namespace

/// Elements that a vectorized loop asks for, and what it does with each: a condition inside may leave the
/// last ones out. Nothing for other loops.
std::optional<AskedLanes> asked_of(const ir::For& loop, const Stmt*& body) {
  const auto range = ir::constant_iterations(loop);
  if (loop.kind != LoopKind::vectorized || !range || range->begin != 0) return std::nullopt;
  Asked asked{loop.name, range->extent};
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
bool SumCoder::is_nobody_behind(const ir::Buffer& sums, std::int64_t asked) const {
  const auto used = used_.find(&sums);
  return asked == registers_.lanes() || (used != used_.end() && used->second <= asked);
}

std::optional<CodedSum> SumCoder::coded(std::span<const Stmt> statements) {
  if (registers_.bytes == 0) return std::nullopt;
  Sum sum = sum_of(statements);
  // Sums are loaded and stored once.
  std::size_t products = 0;
  for (const Column& column : sum.columns) products += column.updates.size();
  if (products < std::max(least_products, 4 * sum.rows.size())) return std::nullopt;
  name(sum, nullptr, Begin::in_array);
  return std::move(sum.what);
}

void SumCoder::name(Sum& sum, const CodedBlock* block, Begin begin) {
  const auto [known, fresh] =
      by_text_.try_emplace(text_of(sum, block, begin), fmt::format("weft_sum_{}", by_text_.size()));
  sum.what.name = known->second;
  if (fresh) assembly_ += fmt::format(".p2align 6\n{}:\n{}", known->second, known->first);
}

/// As many as are products of constants from the first one on; none where a sum could not stay in a register.
SumCoder::Sum SumCoder::sum_of(std::span<const Stmt> statements) const {
  Sum sum;
  for (const Stmt& statement : statements) {
    if (!add(sum, statement)) break;
    ++sum.what.statements;
  }
  if (sum.what.dense == sum.what.sums || !are_apart(sum.rows, registers_.lanes())) return {};
  sum.what.of_dense = sum.first.expr();
  return sum;
}

/// Where a vector is read once in the statement and added, times constants, to sums in registers.
bool SumCoder::add(Sum& sum, const Stmt& statement) const {
  const Stmt* each = &statement;
  Asked asked;
  if (const auto* loop = statement.as<ir::For>()) {
    const auto lanes = asked_of(*loop, each);
    if (!lanes || lanes->count < 1 || lanes->count > registers_.lanes()) return false;
    asked = *lanes;
  }
  const auto* read = each->as<ir::Let>();
  const auto* vector = read != nullptr ? read->value.as<ir::Load>() : nullptr;
  if (vector == nullptr || (sum.what.dense != nullptr && sum.what.dense != vector->buffer)) return false;
  const auto place = first_lane_of(*vector->buffer, vector->indices, asked, registers_.lanes());
  if (!place) return false;
  ir::BufferRef sums = sum.what.sums;
  if (sum.columns.empty()) sum.first = *place;
  const auto from_first = distance(sum.first, *place);
  if (!from_first || std::abs(*from_first) > farthest_element) return false;
  Column column{*from_first, {}};
  for (const ir::Store* store : stores_of(read->body)) {
    const auto factor = store != nullptr ? factor_of(*store, read->name) : std::nullopt;
    if (!factor || (sums != nullptr && sums != store->buffer)) return false;
    sums = store->buffer;
    const auto row = first_lane_of(*store->buffer, store->indices, asked, registers_.lanes());
    if (!row || !row->terms.empty() || !is_nobody_behind(*store->buffer, asked.count)) return false;
    column.updates.push_back({row->constant, *factor});
  }
  std::set<std::int64_t> rows = sum.rows;
  for (const Update& update : column.updates) rows.insert(update.sum);
  if (column.updates.empty() || std::ssize(rows) > registers_.sums()) return false;
  sum.rows = std::move(rows);
  sum.what.dense = vector->buffer;
  sum.what.sums = std::move(sums);
  sum.columns.push_back(std::move(column));
  return true;
}

}  // namespace weft::llvm_backend
