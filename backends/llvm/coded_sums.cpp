#include <fmt/format.h>
#include <weft/backends/llvm/coded_sums.h>
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

/// Elements of a vector that statements ask for: those of a loop over lanes, or one.
struct Asked {
  std::string lane;  ///< the loop; empty: none
  std::int64_t count = 1;
};

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

void SumCoder::allocated(const ir::Allocate& allocation) {
  if (registers_.bytes == 0 || allocation.buffer->scope != ir::Scope::registers) return;
  const ir::Ranges ranges = ir::loop_ranges(allocation.body);
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
  const auto [known, fresh] =
      by_text_.try_emplace(text_of(*sum), fmt::format("weft_sum_{}", by_text_.size()));
  sum->what.name = known->second;
  if (fresh) assembly_ += fmt::format(".p2align 6\n{}:\n{}", known->second, known->first);
  return std::move(sum->what);
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
  const auto* loop = statement.as<ir::For>();
  Asked asked;
  if (loop != nullptr) {
    const std::int64_t *begin = ir::integer_value(loop->begin), *extent = ir::integer_value(loop->extent);
    if (loop->kind != LoopKind::vectorized || begin == nullptr || *begin != 0 || extent == nullptr ||
        *extent < 1 || *extent > registers_.lanes())
      return false;
    asked = {loop->name, *extent};
  }
  const auto* read = (loop != nullptr ? loop->body : statement).as<ir::Let>();
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

/// Without its name, so that functions that are alike are one. Its values have the local label 1.
std::string SumCoder::text_of(const Sum& sum) const {
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
  Pointer sums("%rsi", of_vectors, true), operand("%rdi", of_vectors, near), value("%rax", of_values, true);
  for (const auto& [row, number] : register_of) {
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
    const std::string place = sums.operand(row * bytes_of_value, text);
    fmt::format_to(out, "vmovups {}{}, {}\n", vector, number, place);
  }
  fmt::format_to(out, "vzeroupper\nretq\n.p2align 6\n1:\n{}", values);
  return text;
}

}  // namespace weft::llvm_backend
