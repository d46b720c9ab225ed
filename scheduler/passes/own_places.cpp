#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/loads_ahead.h>
#include <weft/scheduler/passes/own_places.h>
#include <weft/scheduler/passes/own_variables.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::passes {
namespace {

constexpr std::int64_t under_way = 16;    ///< elements that a thread loads before it stores the first
constexpr std::int64_t most_pixels = 32;  ///< whose places a thread keeps, in three registers each or so

/// What a thread copies: `columns` of the weights, for each of them `runs` runs of `length` pixels.
struct CopyShares {
  bool along_columns = false;  ///< neighbouring threads take neighbouring columns, else pixels
  std::int64_t length = 1, runs = 1, columns = 1;
  std::int64_t threads_beside = 1;  ///< threads that share the pixels, or the columns where these run fastest
};

bool uses_pixels(const ir::Copy& copy, const Expr& expr) {
  return std::any_of(copy.coordinates.begin() + 1, copy.coordinates.end(),
                     [&](const std::string& name) { return ir::uses(expr, name); });
}
bool uses_column(const ir::Copy& copy, const Expr& expr) {
  return ir::uses(expr, copy.coordinates.front());
}

/// A sum of what the pixel gives and what the column gives.
struct Parts {
  Expr of_pixel, of_column;
};

std::optional<Parts> parts_of(const ir::Copy& copy, const Expr& expr) {
  ir::Linear sum = ir::linear(expr), of_column;
  for (const ir::Linear::Term& term : sum.terms) {
    if (uses_column(copy, term.atom) && uses_pixels(copy, term.atom)) return std::nullopt;
    if (uses_column(copy, term.atom)) of_column.terms.push_back(term);
  }
  std::erase_if(sum.terms, [&](const ir::Linear::Term& term) { return uses_column(copy, term.atom); });
  of_column.constant = std::exchange(sum.constant, 0);
  return Parts{sum.expr(), of_column.expr()};
}

/// Quotients and remainders of multiples as multiples themselves, which shows where runs begin.
Expr with_multiples_outside(const Expr& expr) {
  return ir::rewrite<ir::Binary>(expr, [](const ir::Binary& e, const Expr& all) {
    const std::int64_t* divisor = ir::integer_value(e.right);
    const bool divides = e.op == ir::BinaryOperator::divide || e.op == ir::BinaryOperator::remainder;
    if (!divides || divisor == nullptr || *divisor < 1) return all;
    ir::Linear sum = ir::linear(e.left);
    std::int64_t common = std::gcd(*divisor, sum.constant);
    for (const ir::Linear::Term& term : sum.terms) common = std::gcd(common, term.coefficient);
    sum.constant /= common;
    for (ir::Linear::Term& term : sum.terms) term.coefficient /= common;
    if (e.op == ir::BinaryOperator::divide) return sum.expr() / (*divisor / common);
    return sum.expr() % (*divisor / common) * common;
  });
}

/// An index that the condition keeps inside of its dimension.
struct Checked {
  Expr index;
  Parts parts;
  bool from_zero = false;
  std::vector<Expr> ends;
};

/// Where an element lies, and whether it is there.
struct Place {
  Parts offset;
  std::vector<Checked> checked;
  Parts alone{ir::boolean(true), ir::boolean(true)};  ///< conditions about the pixel or the column alone
};

std::optional<Place> place_of(const ir::Copy& copy, const Expr& inside) {
  const auto offset = parts_of(copy, ir::offset_of(*copy.source, copy.source_begin));
  if (!offset) return std::nullopt;
  Place place;
  place.offset = *offset;
  for (const Expr& part : ir::conjuncts_of(inside)) {
    if (!uses_column(copy, part) || !uses_pixels(copy, part)) {
      Expr& alone = uses_column(copy, part) ? place.alone.of_column : place.alone.of_pixel;
      alone = alone && part;
      continue;
    }
    const auto bound = ir::bound_of(part);
    const auto parts = bound ? parts_of(copy, bound->index) : std::nullopt;
    if (!parts || (bound->end.defined() && ir::integer_value(bound->end) == nullptr)) return std::nullopt;
    auto found = std::ranges::find_if(
        place.checked, [&](const Checked& each) { return ir::same(each.index, bound->index); });
    if (found == place.checked.end()) found = place.checked.insert(found, {bound->index, *parts, false, {}});
    if (bound->end.defined())
      found->ends.push_back(bound->end);
    else
      found->from_zero = true;
  }
  return place;
}

class OwnPlaces {
 public:
  OwnPlaces(const ir::Copy& copy, Place place, std::string name, const CopyShares& shares)
      : copy_(copy), place_(std::move(place)), name_(std::move(name)), shares_(shares), data_(data_of(copy)) {
    of_pixels_.push_back(registers(".pixel_offset", {shares_.runs, shares_.length}));
    of_columns_.push_back(registers(".column_offset", {shares_.columns}));
    for (std::size_t i = 0; i < place_.checked.size(); ++i) {
      of_pixels_.push_back(registers(".pixel" + std::to_string(i), {shares_.runs, shares_.length}));
      of_columns_.push_back(registers(".column" + std::to_string(i), {shares_.columns}));
    }
    const auto asked = std::ranges::find(place_.checked, true, &Checked::from_zero);
    far_ = static_cast<std::size_t>(asked - place_.checked.begin());
  }

  Stmt operator()() const {
    const std::int64_t pieces = shares_.columns * shares_.runs;
    const std::int64_t at_once = std::min(pieces, under_way / shares_.length);
    std::vector<Stmt> statements{pixels(), columns()};
    for (std::int64_t first = 0; first < pieces; first += at_once)
      statements.push_back(batch(first, std::min(at_once, pieces - first)));
    Stmt result = ir::block(std::move(statements));
    for (const auto* list : {&of_pixels_, &of_columns_})
      for (const ir::BufferRef& buffer : *list) result = ir::allocate(buffer, result);
    return result;
  }

 private:
  ir::BufferRef registers(const std::string& what, std::vector<Expr> shape) const {
    return ir::make_buffer(name_ + what, DType::i32, ir::Scope::registers, ir::Access::read_write,
                           std::move(shape));
  }

  bool says_by_index() const { return far_ < place_.checked.size(); }

  /// What is kept of the pixel or the column becomes `otherwise` where it is not there. In the registers:
  /// what is computed beside a condition would be computed once more where it holds, and sums of what is not
  /// chosen are taken apart and added up in 64 bits for each element.
  static Stmt chosen(const Expr& condition, const ir::BufferRef& kept, const std::vector<Expr>& place,
                     std::int64_t otherwise) {
    if (ir::always(condition, {})) return {};
    return ir::store(kept, place, ir::select(condition, ir::load(kept, place), ir::integer(otherwise)));
  }

  /// Conditions of the pixel or the column alone: an index far outside, where one is asked anyway.
  Stmt chosen_parts(const Expr& condition, const std::vector<ir::BufferRef>& kept,
                    const std::vector<Expr>& place) const {
    constexpr std::int64_t far = -(1 << 28);
    return ir::block({chosen(condition, kept.front(), place, 0),
                      says_by_index() ? chosen(condition, kept[far_ + 1], place, far) : Stmt()});
  }

  Stmt unrolled(const Expr& variable, std::int64_t extent, Stmt body) const {
    return ir::for_range(variable, extent, ir::LoopKind::unrolled, copy_.step, std::move(body));
  }

  /// The column of the tile that the thread takes in that round.
  Expr column_of(const Expr& round) const {
    const Expr thread = thread_number();
    return shares_.along_columns ? round * shares_.threads_beside + thread % shares_.threads_beside
                                 : thread / shares_.threads_beside * shares_.columns + round;
  }

  ir::Substitution of_column(const Expr& round) const {
    return {{copy_.coordinates.front(), column_of(round)}};
  }

  ir::Substitution of_pixel(const Expr& run, const Expr& pixel) const {
    const Expr thread = thread_number();
    Expr rest = shares_.along_columns ? thread / shares_.threads_beside * shares_.runs + run
                                      : run * shares_.threads_beside + thread % shares_.threads_beside;
    ir::Substitution place;
    for (std::size_t i = copy_.coordinates.size(); i-- > 1;) {
      const bool last = i + 1 == copy_.coordinates.size();
      const std::int64_t extent = *ir::integer_value(copy_.extents[i]) / (last ? shares_.length : 1);
      const Expr own = extent == 1 ? ir::integer(0) : i == 1 ? rest : rest % extent;
      place[copy_.coordinates[i]] = last ? own * shares_.length + pixel : own;
      rest = rest / extent;
    }
    return place;
  }

  /// Where the thread's pixels lie.
  Stmt pixels() const {
    const Expr run = ir::variable(name_ + ".run"), pixel = ir::variable(name_ + ".pixel");
    const ir::Substitution place = of_pixel(run, pixel);
    std::vector<Stmt> stored{
        ir::store(of_pixels_.front(), {run, pixel}, ir::substitute(place_.offset.of_pixel, place))};
    for (std::size_t i = 0; i < place_.checked.size(); ++i)
      stored.push_back(ir::store(of_pixels_[i + 1], {run, pixel},
                                 ir::substitute(place_.checked[i].parts.of_pixel, place)));
    stored.push_back(chosen_parts(ir::substitute(place_.alone.of_pixel, place), of_pixels_, {run, pixel}));
    return unrolled(run, shares_.runs, unrolled(pixel, shares_.length, ir::block(std::move(stored))));
  }

  /// What its columns stand for. All numbers are loaded before the first is used.
  Stmt columns() const {
    const Expr column = ir::variable(name_ + ".column");
    const ir::Substitution place = of_column(column);
    const ir::BufferRef numbers = registers(".numbers", {shares_.columns});
    const auto known = [&](const Expr& e) {
      return ir::substitute(data_.defined() ? with_number(e, data_, ir::load(numbers, {column})) : e, place);
    };
    std::vector<Stmt> stored{ir::store(of_columns_.front(), {column}, known(place_.offset.of_column))};
    for (std::size_t i = 0; i < place_.checked.size(); ++i)
      stored.push_back(ir::store(of_columns_[i + 1], {column}, known(place_.checked[i].parts.of_column)));
    stored.push_back(chosen_parts(known(place_.alone.of_column), of_columns_, {column}));
    Stmt all = unrolled(column, shares_.columns, ir::block(std::move(stored)));
    if (!data_.defined()) return all;
    const Stmt loaded = ir::store(numbers, {column}, ir::substitute(data_, place));
    return ir::allocate(numbers, ir::block({unrolled(column, shares_.columns, loaded), all}));
  }

  Expr inside(const Expr& column, const Expr& run, const Expr& pixel) const {
    Expr all = ir::boolean(true);
    for (std::size_t i = 0; i < place_.checked.size(); ++i) {
      const Expr index = ir::load(of_pixels_[i + 1], {run, pixel}) + ir::load(of_columns_[i + 1], {column});
      if (place_.checked[i].from_zero) all = all && ir::integer(0) <= index;
      for (const Expr& end : place_.checked[i].ends) all = all && index < end;
    }
    if (says_by_index()) return all;
    return all && ir::substitute(place_.alone.of_column, of_column(column)) &&
           ir::substitute(place_.alone.of_pixel, of_pixel(run, pixel));
  }

  Stmt batch(std::int64_t first, std::int64_t count) const {
    const ir::BufferRef loaded = ir::make_tile(name_ + ".loaded", *copy_.source, ir::Scope::registers,
                                               {ir::integer(count), ir::integer(shares_.length)});
    const Expr piece = ir::variable(name_ + ".piece"), pixel = ir::variable(name_ + ".pixel");
    const Expr column = (piece + first) / shares_.runs, run = (piece + first) % shares_.runs;
    std::vector<Expr> from(copy_.source_begin.size(), ir::integer(0));
    from.back() = ir::load(of_pixels_.front(), {run, pixel}) + ir::load(of_columns_.front(), {column});
    // Lines of a tile hold whole runs.
    ir::Substitution first_of_run = of_pixel(run, ir::integer(0));
    first_of_run.merge(of_column(column));
    std::vector<Expr> to = copy_.destination_begin;
    for (Expr& index : to)
      index = with_multiples_outside(ir::simplify(ir::substitute(index, first_of_run), {}));
    to.back() = to.back() + pixel;
    const Stmt load =
        ir::store(loaded, {piece, pixel},
                  ir::select(inside(column, run, pixel), ir::load(copy_.source, std::move(from)),
                             ir::zero_of(copy_.destination->dtype)));
    const Stmt kept = ir::store(copy_.destination, std::move(to), ir::load(loaded, {piece, pixel}));
    return ir::allocate(
        loaded, ir::block({unrolled(piece, count, unrolled(pixel, shares_.length, load)),
                           unrolled(piece, count,
                                    ir::for_range(pixel, shares_.length, ir::LoopKind::vectorized, copy_.step,
                                                  kept))}));
  }

  const ir::Copy& copy_;
  Place place_;
  std::string name_;
  CopyShares shares_;
  Expr data_;            ///< the number from the weights that says what a column stands for
  std::size_t far_ = 0;  ///< the first index that is compared with zero
  std::vector<ir::BufferRef> of_pixels_, of_columns_;  ///< parts of the offset, and of what is checked
};

std::optional<CopyShares> shares_of(const ir::Copy& copy, std::int64_t threads) {
  const std::int64_t columns = *ir::integer_value(copy.extents.front());
  if (columns == 0) return std::nullopt;  // weights without entries
  const std::int64_t pixels = *ir::product_of(copy.extents) / columns;
  CopyShares shares;
  shares.along_columns = !uses_pixels(copy, copy.source_begin.back());
  // Lanes with columns beside one another store vectors of eight without conflicts. Where lanes have pixels,
  // longer runs take what a column stands for apart less often, and touch more sectors: 2, 4 and 8
  // took 10.8, 9.7 and 10.7 us (docs/measurements/row_groups.md).
  shares.length = shares.along_columns ? 8 : 4;
  const std::int64_t all_runs = pixels / shares.length;
  if (all_runs == 0) return std::nullopt;
  // Other threads than those beside one another share out what is left, a run or column each at least.
  const std::int64_t of_others = shares.along_columns ? all_runs : columns;
  const std::int64_t beside =
      std::min(std::max(lanes_of_warp, threads / of_others), shares.along_columns ? columns : all_runs);
  const std::int64_t others = threads / beside;
  if (*ir::integer_value(copy.extents.back()) % shares.length != 0 || threads % beside != 0)
    return std::nullopt;
  shares.threads_beside = beside;
  const std::int64_t by_columns = shares.along_columns ? beside : others;
  const std::int64_t by_runs = shares.along_columns ? others : beside;
  if (columns % by_columns != 0 || all_runs % by_runs != 0) return std::nullopt;
  shares.columns = columns / by_columns;
  shares.runs = all_runs / by_runs;
  if (shares.runs * shares.length > most_pixels) return std::nullopt;
  return shares;
}

/// Whether an offset is a number of 32 bits, and elements of the last dimension lie beside one another.
bool has_small_offsets(const ir::Buffer& buffer) {
  const std::int64_t* step = ir::integer_value(buffer.strides.back());
  std::int64_t last = 0;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    const std::int64_t *size = ir::integer_value(buffer.shape[i]),
                       *stride = ir::integer_value(buffer.strides[i]);
    if (size == nullptr || stride == nullptr) return false;
    last += (*size - 1) * *stride;
  }
  return step != nullptr && *step == 1 && last < INT32_MAX && buffer.swizzle == 0;
}

}  // namespace

std::optional<Stmt> by_own_places(const ir::Copy& copy, const Expr& inside, std::int64_t threads,
                                  const std::string& name) {
  if (copy.coordinates.size() < 2 || !has_small_offsets(*copy.source)) return std::nullopt;
  const Expr data = data_of(copy);
  if (data.defined() && uses_pixels(copy, data)) return std::nullopt;
  const auto shares = shares_of(copy, threads);
  auto place = place_of(copy, inside);
  if (!shares || !place) return std::nullopt;
  return OwnPlaces(copy, std::move(*place), name, *shares)();
}

}  // namespace weft::passes
