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

constexpr std::size_t least_products = 32;  ///< fewer are not worth a call
constexpr std::int64_t bytes_of_value = 4;
constexpr std::int64_t farthest_element = std::int64_t{1} << 27;  ///< as displacements reach
constexpr std::int64_t vectors_of_displacement = 16;  ///< on average, where displacements are to be a byte

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

/// A displacement of one byte counts vectors or, without AVX-512, bytes; one of four reaches anything.
class Pointer {
 public:
  Pointer(const char* name, std::int64_t unit, bool near) : name_(name), unit_(unit), near_(near) {}

  /// "-64(%rdi)", behind an instruction that moves the pointer on where a byte does not reach.
  std::string operand(std::int64_t byte, std::string& text) {
    constexpr std::int64_t least = -128, most = 127, farthest = INT32_MAX / 2;
    const bool reached =
        near_ ? byte - at_ >= least * unit_ && byte - at_ <= most * unit_ : std::abs(byte - at_) <= farthest;
    if (!reached) {
      const std::int64_t next = byte - least * unit_;
      fmt::format_to(std::back_inserter(text), "addq ${}, {}\n", next - at_, name_);
      at_ = next;
    }
    return fmt::format("{}({})", byte - at_, name_);
  }

 private:
  const char* name_;
  std::int64_t unit_;
  bool near_;            ///< it moves on so that a byte is enough
  std::int64_t at_ = 0;  ///< the byte that it points to
};

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
  std::optional<Sum> sum = sum_of(statements);
  if (!sum) return std::nullopt;
  name(*sum, nullptr);
  return std::move(sum->what);
}

void SumCoder::name(Sum& sum, const CodedBlock* block) {
  const auto [known, fresh] =
      by_text_.try_emplace(text_of(sum, block), fmt::format("weft_sum_{}", by_text_.size()));
  sum.what.name = known->second;
  if (fresh) assembly_ += fmt::format(".p2align 6\n{}:\n{}", known->second, known->first);
}

std::optional<SumCoder::Sum> SumCoder::sum_of(std::span<const Stmt> statements) const {
  Sum sum;
  std::size_t products = 0;
  for (const Stmt& statement : statements) {
    if (!add(sum, statement)) break;
    products += sum.columns.back().updates.size();
    ++sum.what.statements;
  }
  // Sums are loaded and stored once.
  if (products < std::max(least_products, 4 * sum.rows.size())) return std::nullopt;
  if (sum.what.dense == sum.what.sums || !are_apart(sum.rows, registers_.lanes())) return std::nullopt;
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

namespace {

/// What is behind a condition that the last elements do not meet, if there is one; its number of elements,
/// which only the launch or a loop outside knows, is taken.
const Stmt* behind_end(const Stmt& body, EachRow& each) {
  const auto* guard = body.as<ir::If>();
  const auto* less = guard != nullptr && !guard->otherwise.defined()
                         ? ir::as_binary(guard->condition, ir::BinaryOperator::less)
                         : nullptr;
  if (less == nullptr || is_float(less->left.dtype())) return &body;
  const ir::Linear sum = ir::linear(less->right - less->left + ir::variable(each.lane));
  const bool is_end = std::ranges::none_of(sum.terms, [&](const ir::Linear::Term& term) {
    return ir::uses(term.atom, each.lane) || ir::uses(term.atom, each.loop->name);
  });
  if (!is_end) return &body;
  each.elements = ir::minimum(each.elements, sum.expr());
  return &guard->then;
}

std::optional<EachRow> each_row(const Stmt& stmt) {
  EachRow each;
  each.loop = stmt.as<ir::For>();
  if (each.loop == nullptr || each.loop->kind == LoopKind::vectorized ||
      each.loop->kind == LoopKind::parallel || !ir::constant_iterations(*each.loop))
    return std::nullopt;
  const Stmt* body = &each.loop->body;
  if (const auto* guard = body->as<ir::If>(); guard != nullptr && !guard->otherwise.defined())
    body = &guard->then;
  if (const auto* lanes = body->as<ir::For>()) {
    const auto asked = asked_of(*lanes, body);
    if (!asked) return std::nullopt;
    each.lane = asked->lane;
    each.elements = ir::integer(asked->count);
    body = behind_end(*body, each);
  } else {
    each.elements = ir::integer(1);
  }
  each.store = body->as<ir::Store>();
  return each.store != nullptr && !each.store->accumulate ? std::optional(each) : std::nullopt;
}

bool is_zero(const Expr& expr) {
  const auto* constant = expr.as<ir::Constant>();
  return constant != nullptr && is_float(constant->dtype) && constant->real == 0;
}

/// The rows' distance, where they lie evenly and lanes beside one another; `first` is the first one's place.
std::optional<std::int64_t> distance_of_rows(const ir::Store& store, const EachRow& each, Expr& first) {
  if (store.buffer->dtype != DType::f32 || store.buffer->swizzle != 0) return std::nullopt;
  ir::Linear place = ir::linear(ir::offset_of(*store.buffer, store.indices));
  const std::int64_t distance = place.coefficient_of(each.loop->name);
  if (!each.lane.empty() && place.coefficient_of(each.lane) != 1) return std::nullopt;
  const std::int64_t begin = ir::constant_iterations(*each.loop)->begin;
  place.constant += begin * distance;
  std::erase_if(place.terms, [&](const ir::Linear::Term& term) {
    const auto* variable = term.atom.as<ir::Variable>();
    return variable != nullptr && (variable->name == each.loop->name || variable->name == each.lane);
  });
  first = place.expr();
  const bool apart = !ir::uses(first, each.loop->name) && (each.lane.empty() || !ir::uses(first, each.lane));
  return apart && distance > 0 ? std::optional(distance) : std::nullopt;
}

}  // namespace

/// Runs that add up to the sums, of rows that are `most` elements of them at most.
bool SumCoder::are_runs(const Stmt& sums, std::int64_t most) const {
  if (!sums.defined()) return false;
  if (const auto* choice = sums.as<ir::If>())
    return are_runs(choice->then, most) && are_runs(choice->otherwise, most);
  const auto* several = sums.as<ir::Sequence>();
  const std::span<const Stmt> run = several != nullptr ? std::span(several->statements) : std::span(&sums, 1);
  const std::optional<Sum> sum = sum_of(run);
  return sum && sum->what.statements == run.size() && *sum->rows.rbegin() < most;
}

/// bake_values writes out no entry of a row that the conditions on rows leave out, so that what a run adds to
/// may be stored.
std::optional<CodedBlock> SumCoder::block(const ir::Allocate& allocation) const {
  const auto* block = allocation.body.as<ir::Sequence>();
  if (registers_.bytes == 0 || block == nullptr || block->statements.size() < 3) return std::nullopt;
  const std::vector<Stmt>& statements = block->statements;
  const auto first = each_row(statements.front());
  if (!first || first->store->buffer != allocation.buffer || !is_zero(first->store->value))
    return std::nullopt;
  CodedBlock coded;
  const auto between_sums = distance_of_rows(*first->store, *first, coded.place);
  const std::int64_t* begin_of_sums = between_sums ? ir::integer_value(coded.place) : nullptr;
  if (begin_of_sums == nullptr || *begin_of_sums != 0) return std::nullopt;
  const auto rows = *ir::constant_iterations(*first->loop);
  coded.row = first->loop->name;
  coded.begin = rows.begin;
  coded.rows = rows.extent;
  coded.stored = allocation.buffer;
  coded.between_stored = coded.between_sums = *between_sums;
  coded.elements = ir::integer(registers_.lanes());
  coded.zero_of_row = first->loop->body;
  coded.results = statements.back();
  coded.sums = ir::block({statements.begin() + 1, statements.end() - 1});
  if (!are_runs(coded.sums, coded.rows * coded.between_sums)) return std::nullopt;
  leave_from_registers(coded, statements.back());
  return coded;
}

/// Where results are the sums as they are.
void SumCoder::leave_from_registers(CodedBlock& coded, const Stmt& results) const {
  const auto last = each_row(results);
  const auto* sums = last ? last->store->value.as<ir::Load>() : nullptr;
  if (sums == nullptr || sums->buffer != coded.stored) return;
  const ir::Store& store = *last->store;
  if (store.buffer->scope != ir::Scope::global || store.buffer->streams) return;
  Expr of_sums, place;
  const ir::Store read{sums->buffer, sums->indices, {}, false};
  const auto between_sums = distance_of_rows(read, *last, of_sums);
  const auto between_rows = distance_of_rows(store, *last, place);
  const std::int64_t* begin_of_sums = between_sums ? ir::integer_value(of_sums) : nullptr;
  const auto rows = *ir::constant_iterations(*last->loop);
  const std::int64_t* elements = ir::integer_value(last->elements);
  const bool whole = elements != nullptr && *elements == registers_.lanes();
  const bool masked =
      registers_.bytes == VectorRegisters::widest && (elements == nullptr || *elements < registers_.lanes());
  if (begin_of_sums == nullptr || *begin_of_sums != 0 || between_sums != coded.between_sums ||
      !between_rows || rows.begin != coded.begin || rows.extent != coded.rows || !(whole || masked))
    return;
  coded.row = last->loop->name;
  coded.stored = store.buffer;
  coded.place = place;
  coded.between_stored = *between_rows;
  coded.elements = last->elements;
  coded.zero_of_row = ir::rewrite<ir::Store>(last->loop->body, [](const ir::Store& each, const Stmt&) {
    return ir::store(each.buffer, each.indices, ir::constant(each.buffer->dtype, 0));
  });
  coded.results = {};
}

SumCoder::Leaf SumCoder::leaf(const CodedBlock& block, const Stmt& run) {
  const auto* several = run.as<ir::Sequence>();
  Sum sum = *sum_of(several != nullptr ? std::span(several->statements) : std::span(&run, 1));
  name(sum, &block);
  Leaf leaf{std::move(sum.what), {}};
  for (std::int64_t row = 0; row < block.rows; ++row) {
    if (!sum.rows.contains(row * block.between_sums)) leaf.without.push_back(row + block.begin);
  }
  return leaf;
}

/// Without its name, so that functions that are alike are one. Its values have the local label 1.
std::string SumCoder::text_of(const Sum& sum, const CodedBlock* block) const {
  const bool wide = registers_.bytes == VectorRegisters::widest;
  const char* const vector = wide ? "%zmm" : "%ymm";
  const std::int64_t of_operand = registers_.sums(), of_value = of_operand + 1;
  // What a byte of displacement counts.
  const std::int64_t of_vectors = wide ? registers_.bytes : 1, of_values = wide ? bytes_of_value : 1;
  std::map<std::int64_t, std::int64_t> register_of;
  for (const std::int64_t row : sum.rows) register_of.emplace(row, std::ssize(register_of));
  std::string text = "leaq 1f(%rip), %rax\n";
  const auto out = std::back_inserter(text);
  // Moving on takes an instruction, which pays where it serves many vectors.
  const bool near = sum.columns.back().place * bytes_of_value <
                    std::ssize(sum.columns) * of_vectors * vectors_of_displacement;
  Pointer sums("%rsi", of_vectors, block == nullptr), operand("%rdi", of_vectors, near),
      value("%rax", of_values, true);
  if (block != nullptr && wide) text += "kmovw %edx, %k1\n";
  for (const auto& [row, number] : register_of) {
    if (block != nullptr) {
      fmt::format_to(out, "vxorps %xmm{0}, %xmm{0}, %xmm{0}\n", number);
      continue;
    }
    const std::string place = sums.operand(row * bytes_of_value, text);
    fmt::format_to(out, "vmovups {}, {}{}\n", place, vector, number);
  }
  std::string values;
  std::int64_t used = 0;
  for (const Column& column : sum.columns) {
    const std::string place = operand.operand(column.place * bytes_of_value, text);
    fmt::format_to(out, "vmovups {}, {}{}\n", place, vector, of_operand);
    for (const Update& update : column.updates) {
      const std::string at = value.operand(used++ * bytes_of_value, text);
      const std::int64_t row = register_of.at(update.sum);
      fmt::format_to(std::back_inserter(values), ".long {}\n", std::bit_cast<std::uint32_t>(update.factor));
      if (wide) {
        fmt::format_to(out, "vfmadd231ps {}{{1to16}}, {}{}, {}{}\n", at, vector, of_operand, vector, row);
      } else {
        fmt::format_to(out, "vbroadcastss {}, {}{}\nvfmadd231ps {}{}, {}{}, {}{}\n", at, vector, of_value,
                       vector, of_value, vector, of_operand, vector, row);
      }
    }
  }
  for (const auto& [row, number] : register_of) {
    const std::int64_t element = block == nullptr ? row : row / block->between_sums * block->between_stored;
    const std::string place = sums.operand(element * bytes_of_value, text);
    fmt::format_to(out, "vmovups {}{}, {}{}\n", vector, number, place,
                   block != nullptr && wide ? "{%k1}" : "");
  }
  fmt::format_to(out, "vzeroupper\nretq\n.p2align 6\n1:\n{}", values);
  return text;
}

}  // namespace weft::llvm_backend
