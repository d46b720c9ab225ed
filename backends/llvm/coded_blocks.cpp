// Blocks of rows whose sums are code: their results leave from the registers.
#include <weft/backends/llvm/coded_sums.h>
#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace weft::llvm_backend {

using ir::Expr;
using ir::Stmt;

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
  each.guard = guard->condition;
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

constexpr std::int64_t bytes_of_entry = 7, bytes_of_column = 10, bytes_of_weight = 4;
/// A piece stays in the first cache of code. Where it fetches the next one and there is much of either code
/// or vectors, short ones are better: what is fetched and what is read make room for one another.
constexpr std::int64_t most_bytes_of_piece = 28 * 1024, most_bytes_of_short_piece = 12 * 1024;
constexpr std::int64_t kept_in_cache = 600 * 1024;  ///< bytes of code and values, beside the operands
constexpr std::int64_t first_cache = 40 * 1024;     ///< bytes of vectors that stay in it

}  // namespace

/// What a leaf of the conditions adds up.
const SumCoder::Sum& SumCoder::run(const Stmt& stmt, const Expr& guard) {
  const auto [known, fresh] = runs_.try_emplace(stmt.identity());
  if (fresh) known->second = {stmt, sum_of(stmt, guard)};
  return known->second.second;
}

/// Whether all leaves are runs, of rows that are `most` elements of the sums at most.
bool SumCoder::are_runs(const Stmt& sums, std::int64_t most, const Expr& guard) {
  if (!sums.defined()) return false;
  if (const auto* choice = sums.as<ir::If>())
    return are_runs(choice->then, most, guard) && are_runs(choice->otherwise, most, guard);
  const Sum& sum = run(sums, guard);
  return !sum.rows.empty() && *sum.rows.rbegin() < most;
}

const SumCoder::Sum& SumCoder::first_run(const Stmt& sums) {
  const auto* choice = sums.as<ir::If>();
  return choice != nullptr ? first_run(choice->then) : run(sums);
}

/// Whether they do the same, for whichever elements.
bool SumCoder::are_alike(const Stmt& a, const Stmt& b) {
  const auto *one = a.as<ir::If>(), *other = b.as<ir::If>();
  if (one != nullptr || other != nullptr)
    return one != nullptr && other != nullptr && ir::same(one->condition, other->condition) &&
           are_alike(one->then, other->then) && are_alike(one->otherwise, other->otherwise);
  const Sum &left = run(a), &right = run(b);
  return left.what.dense == right.what.dense && ir::same(left.what.of_dense, right.what.of_dense) &&
         left.table == right.table && *left.places == *right.places && left.rows == right.rows;
}

namespace {

/// Puts the results where sums go, if each is made of its own sum alone, and what is then done there.
void leave_from_registers(CodedBlock& coded, const Stmt& results) {
  const auto last = each_row(results);
  if (!last) return;
  const ir::Store& store = *last->store;
  if (store.buffer->scope != ir::Scope::global || store.buffer->streams ||
      ir::reads(store.value, store.buffer))
    return;
  std::vector<const ir::Load*> reads;
  ir::each<ir::Load>(store.value, [&](const ir::Load& load) {
    if (load.buffer == coded.stored) reads.push_back(&load);
  });
  if (reads.empty()) return;
  for (const ir::Load* read : reads) {
    Expr begin;
    const auto between = distance_of_rows({read->buffer, read->indices, {}, false}, *last, begin);
    const std::int64_t* number = between ? ir::integer_value(begin) : nullptr;
    if (between != coded.between_sums || number == nullptr || *number != 0) return;
  }
  Expr place;
  const auto between_rows = distance_of_rows(store, *last, place);
  const auto rows = *ir::constant_iterations(*last->loop);
  // An instruction reaches every row from the first one.
  constexpr std::int64_t farthest = std::int64_t{1} << 27;
  if (!between_rows || rows.begin != coded.begin || rows.extent != coded.rows ||
      *between_rows > farthest / coded.rows)
    return;
  const auto with_value = [&](const Expr& value) {
    return ir::rewrite<ir::Store>(last->loop->body, [&](const ir::Store& each, const Stmt&) {
      return ir::store(each.buffer, each.indices, value);
    });
  };
  const bool is_plain = store.value.as<ir::Load>() != nullptr;
  const Expr there = ir::rewrite<ir::Load>(store.value, [&](const ir::Load& load, const Expr& e) {
    return load.buffer == coded.stored ? ir::load(store.buffer, store.indices) : e;
  });
  ir::For loop = *last->loop;
  loop.body = with_value(there);
  coded.results = is_plain ? Stmt() : ir::for_loop(std::move(loop));
  coded.row = last->loop->name;
  coded.zero_of_row = with_value(ir::constant(DType::f32, 0));
  coded.stored = store.buffer;
  coded.place = place;
  coded.between_stored = *between_rows;
  coded.elements = last->elements;
}

}  // namespace

/// bake_values writes out no entry of a row that the conditions on rows leave out, so that what a run adds to
/// may be stored.
std::optional<CodedBlock> SumCoder::block(const ir::Allocate& allocation) {
  const auto* block = allocation.body.as<ir::Sequence>();
  allocated(allocation);
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
  coded.zero_of_row = first->loop->body;
  coded.results = statements.back();
  coded.sums = ir::block({statements.begin() + 1, statements.end() - 1});
  if (!are_runs(coded.sums, coded.rows * coded.between_sums, first->guard)) return std::nullopt;
  coded.lanes = first_run(coded.sums).vectors.lanes();
  coded.elements = ir::integer(coded.lanes);
  leave_from_registers(coded, statements.back());
  return coded;
}

/// One of two that differ in how many elements a row has, as where a last vector is not whole.
std::optional<CodedBlock> SumCoder::either(const ir::If& choice) {
  const auto *then = choice.then.as<ir::Allocate>(), *otherwise = choice.otherwise.as<ir::Allocate>();
  if (then == nullptr || otherwise == nullptr) return std::nullopt;
  auto one = block(*then);
  const auto other = one ? block(*otherwise) : std::nullopt;
  if (!other || one->stored != other->stored || one->results.defined() != other->results.defined() ||
      one->begin != other->begin || one->rows != other->rows || one->lanes != other->lanes ||
      one->between_stored != other->between_stored || one->between_sums != other->between_sums ||
      !ir::same(one->place, other->place) || !are_alike(one->sums, other->sums))
    return std::nullopt;
  one->elements = ir::select(choice.condition, one->elements, other->elements);
  const auto either = [&](const Stmt& a, const Stmt& b) {
    return a.defined() ? ir::if_then(choice.condition, a, b) : a;
  };
  one->zero_of_row =
      either(one->zero_of_row, ir::substitute(other->zero_of_row, {{other->row, ir::variable(one->row)}}));
  one->results = either(one->results, other->results);
  return one;
}

namespace {

/// Gives each iteration of the loops sums of its own; false where there are too many, or it is not known how
/// many.
bool keep_sums(CodedNest& nest) {
  constexpr std::int64_t most_elements = 1 << 18;
  CodedBlock& block = nest.block;
  std::vector<Expr> shape, iteration;
  std::int64_t elements = 1;
  for (const auto& [loop, guard] : nest.loops) {
    const auto range = ir::constant_iterations(*loop);
    if (!range || __builtin_mul_overflow(elements, range->extent, &elements)) return false;
    shape.emplace_back(range->extent);
    iteration.push_back(ir::variable(loop->name) - range->begin);
  }
  for (const Expr& extent : block.stored->shape) {
    const std::int64_t* number = ir::integer_value(extent);
    if (number == nullptr || __builtin_mul_overflow(elements, *number, &elements)) return false;
    shape.push_back(extent);
  }
  if (elements > most_elements) return false;
  nest.own = ir::make_buffer(block.stored->name, block.stored->dtype, block.stored->scope,
                             block.stored->access, shape);
  const auto moved = [&](const std::vector<Expr>& indices) {
    std::vector<Expr> all = iteration;
    all.insert(all.end(), indices.begin(), indices.end());
    return all;
  };
  for (Stmt* statement : {&block.zero_of_row, &block.results})
    if (statement->defined()) *statement = ir::replace_buffer(*statement, block.stored, nest.own, moved);
  block.place = ir::offset_of(*nest.own, moved(std::vector<Expr>(block.stored->shape.size(), 0)));
  block.stored = nest.own;
  return true;
}

}  // namespace

std::optional<CodedNest> SumCoder::nest(const Stmt& stmt) {
  if (registers_.bytes == 0) return std::nullopt;
  CodedNest nest;
  const Stmt* body = &stmt;
  for (const auto* loop = body->as<ir::For>(); loop != nullptr; loop = body->as<ir::For>()) {
    if (loop->kind != LoopKind::serial) return std::nullopt;
    nest.loops.push_back({loop});
    body = &loop->body;
    const auto* guard = body->as<ir::If>();
    if (guard == nullptr || guard->otherwise.defined()) continue;
    nest.loops.back().guard = guard->condition;
    body = &guard->then;
  }
  const auto* allocation = body->as<ir::Allocate>();
  const auto* choice = body->as<ir::If>();
  auto found = allocation != nullptr ? block(*allocation)
               : choice != nullptr   ? either(*choice)
                                     : std::nullopt;
  if (!found) return std::nullopt;
  const bool chooses = std::ranges::any_of(nest.loops, [&](const CodedNest::Loop& each) {
    return ir::any<ir::If>(found->sums,
                           [&](const ir::If& one) { return ir::uses(one.condition, each.loop->name); });
  });
  if (chooses) return std::nullopt;
  const std::int64_t all = bytes_of_all(found->sums);
  std::int64_t calls = all > kept_in_cache ? 1 : 0;
  found->short_pieces =
      reads_apart(nest.loops, found->sums) &&
      (all > 2 * kept_in_cache || (all > kept_in_cache && bytes_of_vectors(found->sums) > first_cache));
  for (const auto& [loop, guard] : nest.loops) {
    const auto range = ir::constant_iterations(*loop);
    calls *= range ? range->extent : 0;
  }
  found->calls = calls;
  nest.block = *std::move(found);
  nest.block.fetched = fetched_ahead(nest);
  if (nest.block.is_array() && !keep_sums(nest)) return std::nullopt;
  return nest;
}

std::int64_t SumCoder::bytes_of_code(const Sum& sum) {
  std::int64_t bytes = 0;
  for (std::size_t column = sum.begin; column < sum.end; ++column)
    bytes += bytes_of_column + bytes_of_entry * std::ssize(sum.table->entries(column));
  return bytes;
}

/// Code and values of all runs.
std::int64_t SumCoder::bytes_of_all(const Stmt& sums) {
  if (const auto* choice = sums.as<ir::If>())
    return bytes_of_all(choice->then) + bytes_of_all(choice->otherwise);
  return bytes_of_code(run(sums)) / bytes_of_entry * (bytes_of_entry + bytes_of_weight);
}

/// Of the dense operand, that one run reads: the most.
std::int64_t SumCoder::bytes_of_vectors(const Stmt& sums) {
  if (const auto* choice = sums.as<ir::If>())
    return std::max(bytes_of_vectors(choice->then), bytes_of_vectors(choice->otherwise));
  const Sum& sum = run(sums);
  return static_cast<std::int64_t>(sum.end - sum.begin) * sum.vectors.lanes() * sum.bytes_of_dense;
}

/// Whether iterations read other vectors, as of panels of a product; lines of an image share most of theirs.
bool SumCoder::reads_apart(const std::vector<CodedNest::Loop>& loops, const Stmt& sums) {
  const Sum& sum = first_run(sums);
  const auto [least, most] = std::ranges::minmax(*sum.places);
  return std::ranges::all_of(loops, [&, span = most - least](const CodedNest::Loop& each) {
    const std::int64_t between = std::abs(sum.first.coefficient_of(each.loop->name));
    return between == 0 || between > span;
  });
}

std::int64_t SumCoder::most_bytes_of(const CodedBlock& block) {
  return block.short_pieces ? most_bytes_of_short_piece : most_bytes_of_piece;
}

/// Alike in length, of at most so many bytes of code.
std::vector<SumCoder::Sum> SumCoder::pieces_of(const Sum& sum, std::int64_t most) const {
  const std::int64_t all = bytes_of_code(sum), count = ceil_divide(all, most);
  std::vector<Sum> pieces;
  std::int64_t before = 0;
  for (std::size_t column = sum.begin; column < sum.end; ++column) {
    const auto entries = sum.table->entries(column);
    if (pieces.empty() || before >= all * std::ssize(pieces) / count) {
      pieces.push_back(sum);
      pieces.back().begin = column;
      // The first one stores the sums of all rows.
      if (pieces.size() > 1) pieces.back().rows.clear();
    }
    before += bytes_of_column + bytes_of_entry * std::ssize(entries);
    pieces.back().end = column + 1;
    for (const ir::EntryTable::Entry& entry : entries) pieces.back().rows.insert(sum.element_of(entry.row));
  }
  return pieces;
}

SumCoder::Leaf SumCoder::leaf(const CodedBlock& block, const Stmt& stmt) {
  const Sum& sum = run(stmt);
  Leaf leaf;
  for (Sum& piece : pieces_of(sum, most_bytes_of(block))) {
    constexpr std::int64_t line = 64;
    // The next one is about as long.
    if (block.calls > 0)
      piece.what.ahead =
          line * ceil_divide(bytes_of_code(piece) / bytes_of_entry * (bytes_of_entry + bytes_of_weight),
                             line * block.calls);
    if (block.fetched) fetch(*block.fetched, sum, std::ssize(leaf.pieces), piece);
    name(piece, &block, leaf.pieces.empty() ? Begin::zero : Begin::stored);
    leaf.pieces.push_back(std::move(piece.what));
  }
  for (std::int64_t row = 0; row < block.rows; ++row) {
    if (!sum.rows.contains(row * block.between_sums)) leaf.without.push_back(row + block.begin);
  }
  return leaf;
}

}  // namespace weft::llvm_backend
