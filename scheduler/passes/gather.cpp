#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/loads_ahead.h>
#include <weft/scheduler/passes/own_places.h>
#include <weft/scheduler/passes/own_variables.h>

#include <algorithm>
#include <optional>

namespace weft::passes {
namespace {

constexpr std::int64_t most_written_out = 64;  ///< rounds of a copy

class Gather {
 public:
  Gather(const ir::Copy& copy, std::int64_t threads, const ir::Ranges& ranges, std::string name)
      : copy_(copy), threads_(threads), ranges_(ranges), name_(std::move(name)) {
    for (std::size_t i = 0; i < copy.coordinates.size(); ++i)
      ranges_[copy.coordinates[i]] = {0, *ir::integer_value(copy.extents[i]) - 1};
    // What the run asks, it asks at its first element.
    for (const std::int64_t bytes : {16, 8, 4}) {
      const std::int64_t length = bytes / size();
      if (length_ == 1 && length > 1 && has_runs(length)) length_ = length;
    }
  }

  GatherRuns runs() const { return {length_, unless_always(condition())}; }
  Stmt operator()() const {
    if (threads_ > 0) return shared_out();
    if (!is_vector()) return one_after_the_other();
    const auto across = coordinate_across();
    return across ? in_squares(*across) : in_vectors();
  }

 private:
  std::int64_t size() const { return ir::element_bytes(*copy_.source); }
  const std::string& last() const { return copy_.coordinates.back(); }
  std::int64_t extent(std::size_t i) const { return *ir::integer_value(copy_.extents[i]); }

  /// Runs begin at multiples of their length: neighbours in both buffers, aligned, inside together or not at
  /// all. The destination is a tile whose lines hold whole runs.
  bool has_runs(std::int64_t length) const {
    if (extent(copy_.extents.size() - 1) % length != 0) return false;
    const ir::Buffer& source = *copy_.source;
    const Expr& index = copy_.source_begin.back();
    const std::int64_t* step = ir::integer_value(source.strides.back());
    const bool neighbours = slope(index, length) == 1 && step != nullptr && *step == 1;
    const auto stays = [&](const Expr& e) { return slope(e, length) == 0; };
    if (!neighbours || !std::all_of(copy_.source_begin.begin(), copy_.source_begin.end() - 1, stays) ||
        !divides(length, at_first(index)) ||
        !std::all_of(source.strides.begin(), source.strides.end() - 1,
                     [&](const Expr& stride) { return divides(length, stride); }))
      return false;
    return divides(length, source.shape.back()) && asks_by_runs(condition(), length);
  }

  Expr at_first(const Expr& expr) const { return ir::substitute(expr, {{last(), ir::integer(0)}}); }

  /// By how much the expression grows from element to element of a run, where that is the same for all runs
  /// of that length that begin at multiples of it.
  std::optional<std::int64_t> slope(const Expr& expr, std::int64_t length) const {
    if (!ir::uses(expr, last())) return 0;
    if (expr.as<ir::Variable>() != nullptr) return 1;
    const auto* e = expr.as<ir::Binary>();
    if (e == nullptr) return std::nullopt;
    const auto left = slope(e->left, length), right = slope(e->right, length);
    if (!left || !right) return std::nullopt;
    const std::int64_t* factor = ir::integer_value(e->right);
    switch (e->op) {
      case ir::BinaryOperator::add: return *left + *right;
      case ir::BinaryOperator::subtract: return *left - *right;
      case ir::BinaryOperator::multiply:
        return factor != nullptr           ? std::optional(*left * *factor)
               : *left == 0 && *right == 0 ? std::optional<std::int64_t>(0)
                                           : std::nullopt;
      case ir::BinaryOperator::divide:
      case ir::BinaryOperator::remainder: {
        if (*left == 0 && *right == 0) return 0;
        // A run lies between two multiples of the divisor.
        const bool within =
            *left == 1 && factor != nullptr && *factor % length == 0 && divides(length, at_first(e->left));
        if (!within) return std::nullopt;
        return e->op == ir::BinaryOperator::remainder ? 1 : 0;
      }
      default: return *left == 0 && *right == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
    }
  }

  /// Whether the condition has one answer for a whole run: it is about other coordinates, or compares this
  /// one with a multiple of the length.
  bool asks_by_runs(const Expr& condition, std::int64_t length) const {
    if (!ir::uses(condition, last())) return true;
    const auto* e = condition.as<ir::Binary>();
    if (e == nullptr) return false;
    if (e->op == ir::BinaryOperator::logical_and)
      return asks_by_runs(e->left, length) && asks_by_runs(e->right, length);
    const auto left = slope(e->left, length), right = slope(e->right, length);
    if (!left || !right) return false;
    if (*left == 0 && *right == 0) return true;
    const bool apart = divides(length, at_first(e->right) - at_first(e->left));
    if (e->op == ir::BinaryOperator::less) return *left == 1 && *right == 0 && apart;
    return e->op == ir::BinaryOperator::less_equal && *left == 0 && *right == 1 && apart;
  }

  Expr condition() const {
    Expr all = copy_.inside.defined() ? copy_.inside : ir::boolean(true);
    const std::vector<Expr> asked = ir::conjuncts_of(all);
    for (std::size_t i = 0; i < copy_.source_begin.size(); ++i) {
      const Expr& index = copy_.source_begin[i];
      if (is_of_data(index)) continue;
      const ir::Bound bound = ir::undivided({index, copy_.source->shape[i]});
      for (const Expr& part : {ir::integer(0) <= bound.index, bound.index < bound.end}) {
        if (!ir::always(part, ranges_) && !ir::contains(asked, part)) all = all && part;
      }
    }
    return all;
  }

  /// Coordinates that come from data have been checked when the weights were, and so the first of several
  /// indices that a coordinate stands for, its quotient; the mark of padding among them is what `inside`
  /// asks.
  static bool is_of_data(const Expr& index) {
    if (index.as<ir::Load>() != nullptr) return true;
    const auto* e = ir::as_binary(index, ir::BinaryOperator::divide);
    return e != nullptr && ir::integer_value(e->right) != nullptr && is_of_data(e->left);
  }

  std::vector<Expr> at(const std::vector<Expr>& indices, const ir::Substitution& place) const {
    std::vector<Expr> result;
    for (const Expr& index : indices) result.push_back(ir::substitute(index, place));
    return result;
  }

  /// Whether something is read at a place that exists only where the condition holds.
  bool reads_beyond(const std::vector<Expr>& exprs, const Expr& condition) const {
    const auto is_beyond = [&](const ir::Load& load) {
      for (std::size_t i = 0; i < load.indices.size(); ++i) {
        const Expr& index = load.indices[i];
        if (ir::share_an_atom(index, condition) &&
            !ir::always(ir::integer(0) <= index && index < load.buffer->shape[i], ranges_))
          return true;
      }
      return false;
    };
    return std::ranges::any_of(exprs, [&](const Expr& expr) { return ir::any<ir::Load>(expr, is_beyond); });
  }

  /// The condition, of which a part is asked only where those in front of it hold, if it reads at places that
  /// they keep inside; the same condition where no part does.
  Expr asked_in_turn(const Expr& condition) const {
    const std::vector<Expr> parts = ir::conjuncts_of(condition);
    Expr rest = parts.back();
    bool in_turn = false;
    for (std::size_t i = parts.size() - 1; i-- > 0;) {
      const bool keeps_inside = reads_beyond({rest}, parts[i]);
      in_turn = in_turn || keeps_inside;
      rest = keeps_inside ? ir::select(parts[i], rest, ir::boolean(false)) : parts[i] && rest;
    }
    return in_turn ? rest : condition;
  }

  /// Whether the place that is copied can be computed only where some part of the condition holds.
  bool guards_its_place(const Expr& condition) const {
    return std::ranges::any_of(ir::conjuncts_of(condition),
                               [&](const Expr& part) { return reads_beyond(copy_.source_begin, part); });
  }

  /// The copy of the run that begins at the place, which is started here and goes on by itself. `inside` is
  /// undefined where the run always is.
  Stmt started(const ir::Substitution& place, Expr inside) const {
    ir::Copy run = copy_;
    run.destination_begin = at(copy_.destination_begin, place);
    run.source_begin = at(copy_.source_begin, place);
    run.extents = {ir::integer(length_)};
    run.coordinates = {name_ + ".place"};
    run.of_one_thread = true;
    run.inside = std::move(inside);
    return ir::copy(std::move(run));
  }

  /// The run that begins at the place.
  Stmt move(const ir::Substitution& place) const {
    const Expr whole = condition();
    const Expr inside = ir::substitute(asked_in_turn(whole), place);
    const bool goes_on = copy_.asynchronous && length_ * size() >= least_asynchronous_bytes && threads_ > 0;
    // A started copy computes its place whether or not it is inside.
    const bool asks_first = goes_on && guards_its_place(whole);
    if (goes_on && !asks_first) return started(place, unless_always(inside));
    const auto each = [&](const auto& element) {
      if (length_ == 1) return element(place);
      ir::Substitution behind = place;
      behind[last()] = place.at(last()) + ir::variable(name_ + ".run");
      return ir::for_loop({name_ + ".run", ir::integer(0), ir::integer(length_), ir::LoopKind::vectorized,
                           copy_.step, element(behind)});
    };
    const Stmt copied = asks_first ? started(place, {}) : each([&](const ir::Substitution& here) {
      return ir::store(copy_.destination, at(copy_.destination_begin, here),
                       ir::load(copy_.source, at(copy_.source_begin, here)));
    });
    const Stmt cleared = each([&](const ir::Substitution& here) {
      return ir::store(copy_.destination, at(copy_.destination_begin, here),
                       ir::zero_of(copy_.destination->dtype));
    });
    return ir::if_then(inside, copied, cleared);
  }

  /// Quotients and remainders may be one line of an image after the other.
  bool steps_evenly(const Expr& offset) const {
    return std::ranges::all_of(ir::linear(offset).terms, [&](const ir::Linear::Term& term) {
      return term.atom.as<ir::Variable>() != nullptr || !ir::uses(term.atom, last());
    });
  }

  /// Whether the last coordinate steps evenly through the source, and without gaps through the destination:
  /// then a CPU copies its elements together, those outside of the source as zeros.
  bool is_vector() const {
    constexpr std::int64_t longest_vector = 1024;
    const std::int64_t length = extent(copy_.extents.size() - 1);
    const Expr to = ir::offset_of(*copy_.destination, copy_.destination_begin);
    return length > 1 && length <= longest_vector && copy_.destination->swizzle == 0 && steps_evenly(to) &&
           ir::linear(to).coefficient_of(last()) == 1 && copy_.source->swizzle == 0 &&
           steps_evenly(ir::offset_of(*copy_.source, copy_.source_begin));
  }

  Stmt in_vectors() const {
    const Expr inside = unless_always(asked_in_turn(condition()));
    Expr moved = ir::load(copy_.source, copy_.source_begin);
    if (inside.defined()) moved = ir::select(inside, moved, ir::zero_of(copy_.destination->dtype));
    Stmt body = ir::store(copy_.destination, copy_.destination_begin, moved);
    for (std::size_t i = copy_.coordinates.size(); i-- > 0;) {
      const bool vector = i + 1 == copy_.coordinates.size();
      body = ir::for_loop({copy_.coordinates[i], ir::integer(0), copy_.extents[i],
                           vector ? ir::LoopKind::vectorized : ir::LoopKind::serial, copy_.step, body});
    }
    return body;
  }

  /// The coordinate whose elements lie beside one another in the source, where those of the last one lie
  /// apart and all of them are asked for alike.
  std::optional<std::size_t> coordinate_across() const {
    constexpr std::int64_t least = 4;
    const ir::Linear from = ir::linear(ir::offset_of(*copy_.source, copy_.source_begin));
    if (from.coefficient_of(last()) == 1 || extent(copy_.extents.size() - 1) < least) return std::nullopt;
    for (std::size_t i = 0; i + 1 < copy_.coordinates.size(); ++i) {
      const std::string& name = copy_.coordinates[i];
      const bool is_even = std::ranges::none_of(from.terms, [&](const ir::Linear::Term& term) {
        return term.atom.as<ir::Variable>() == nullptr && ir::uses(term.atom, name);
      });
      if (is_even && from.coefficient_of(name) == 1 && extent(i) >= least) return i;
    }
    return std::nullopt;
  }

  /// By squares, which come by rows of the source and leave by rows of the copy.
  Stmt in_squares(std::size_t across) const {
    constexpr std::int64_t side = 16;
    const std::size_t inner = copy_.coordinates.size() - 1;
    const auto tile = ir::make_tile(name_ + ".square", *copy_.source, ir::Scope::shared, {side, side});
    const Expr row = ir::variable(name_ + ".row"), column = ir::variable(name_ + ".column");
    const auto block = [&](std::size_t i) { return ir::variable(copy_.coordinates[i] + ".block"); };
    const ir::Substitution place{{copy_.coordinates[across], block(across) * side + column},
                                 {last(), block(inner) * side + row}};
    const Expr inside = unless_always(ir::substitute(asked_in_turn(condition()), place));
    Expr moved = ir::load(copy_.source, at(copy_.source_begin, place));
    if (inside.defined()) moved = ir::select(inside, moved, ir::zero_of(copy_.destination->dtype));
    const auto within = [&](std::size_t i, Stmt body) {
      if (extent(i) % side == 0) return body;
      return ir::if_then(place.at(copy_.coordinates[i]) < ir::integer(extent(i)), std::move(body));
    };
    const auto loop = [&](const Expr& variable, ir::LoopKind kind, Stmt body) {
      return ir::for_loop({variable.as<ir::Variable>()->name, ir::integer(0), ir::integer(side), kind,
                           copy_.step, std::move(body)});
    };
    const Stmt in = within(across, ir::store(tile, {row, column}, moved));
    const Stmt out = within(inner, ir::store(copy_.destination, at(copy_.destination_begin, place),
                                             ir::load(tile, {row, column})));
    Stmt body = ir::block(
        {loop(row, ir::LoopKind::serial, within(inner, loop(column, ir::LoopKind::vectorized, in))),
         loop(column, ir::LoopKind::serial, within(across, loop(row, ir::LoopKind::vectorized, out)))});
    body = ir::allocate(tile, std::move(body));
    for (std::size_t i = copy_.coordinates.size(); i-- > 0;) {
      const bool cut = i == across || i == inner;
      body = ir::for_loop({cut ? copy_.coordinates[i] + ".block" : copy_.coordinates[i], ir::integer(0),
                           ir::integer(cut ? ceil_divide(extent(i), side) : extent(i)), ir::LoopKind::serial,
                           copy_.step, std::move(body)});
    }
    return body;
  }

  Stmt one_after_the_other() const {
    ir::Substitution place;
    for (const std::string& name : copy_.coordinates) place[name] = ir::variable(name);
    place[last()] = ir::variable(last()) * length_;
    Stmt body = move(place);
    for (std::size_t i = copy_.coordinates.size(); i-- > 0;) {
      const bool runs = i + 1 == copy_.coordinates.size();
      body =
          ir::for_loop({copy_.coordinates[i], ir::integer(0), ir::integer(extent(i) / (runs ? length_ : 1)),
                        ir::LoopKind::serial, copy_.step, body});
    }
    return body;
  }

  /// Whether no copy of a run goes on by itself, and every place can be computed whether or not it is inside.
  bool is_loaded() const {
    const bool goes_on = copy_.asynchronous && length_ * size() >= least_asynchronous_bytes;
    const Expr whole = condition();
    return length_ == 1 && !goes_on && has_elements(*copy_.source) &&
           copy_.destination->scope == ir::Scope::shared && copy_.source->scope == ir::Scope::global &&
           !guards_its_place(whole) && ir::same(asked_in_turn(whole), whole);
  }

  Stmt loaded(std::int64_t rounds) const {
    std::vector<Expr> from;
    for (std::size_t i = 0; i < copy_.source_begin.size(); ++i)
      from.push_back(moved_inside(*copy_.source, i, copy_.source_begin[i], ranges_));
    const Expr inside = condition();
    const auto place = [this](const Expr& round) { return place_of(round * threads_ + thread_number()); };
    return loads_ahead(
        copy_, rounds, name_,
        {[&](const Expr& round) { return at(from, place(round)); },
         [&](const Expr& round) { return at(copy_.destination_begin, place(round)); },
         [&](const Expr& round) { return ir::substitute(inside, place(round)); }},
        rounds <= most_written_out && !is_image() ? ir::LoopKind::unrolled : ir::LoopKind::serial);
  }

  /// Places of operands of two dimensions take little to compute once they are written out; those of an
  /// image are quotients. Where threads cannot keep their pixels, computing them in a loop is faster
  /// (docs/measurements/choice.md).
  bool is_image() const { return copy_.source_begin.size() > 2; }

  /// Consecutive threads take consecutive runs.
  Stmt shared_out() const {
    const std::int64_t total = *ir::product_of(copy_.extents) / length_;
    const Expr thread = thread_number();
    const std::string round = name_ + ".round";
    const auto runs_at = [&](const Expr& number) { return move(place_of(number)); };
    const std::int64_t rounds = total / threads_;
    const std::int64_t left = total % threads_;
    const auto by_runs = [&] {
      return ir::for_loop({round, ir::integer(0), ir::integer(rounds),
                           rounds <= most_written_out ? ir::LoopKind::unrolled : ir::LoopKind::serial,
                           copy_.step, runs_at(ir::variable(round) * threads_ + thread)});
    };
    const auto own =
        is_loaded() && is_image() ? by_own_places(copy_, condition(), threads_, name_) : std::nullopt;
    Stmt body = own ? *own : rounds == 0 ? Stmt() : is_loaded() ? loaded(rounds) : by_runs();
    if (left > 0 && !own)
      body = ir::block({body, ir::if_then(thread < left, runs_at(ir::integer(rounds * threads_) + thread))});
    body = ir::let(thread_name, ir::call("thread", DType::i64, {}), body);
    return copy_.asynchronous ? body : ir::block({ir::barrier(), body, ir::barrier()});
  }

  ir::Substitution place_of(Expr number) const {
    ir::Substitution place;
    for (std::size_t i = copy_.coordinates.size(); i-- > 0;) {
      const bool runs = i + 1 == copy_.coordinates.size();
      const std::int64_t here = extent(i) / (runs ? length_ : 1);
      Expr own = here == 1 ? ir::integer(0) : i == 0 ? number : number % here;
      place[copy_.coordinates[i]] = runs ? own * length_ : own;
      number = number / here;
    }
    return place;
  }

  const ir::Copy& copy_;
  std::int64_t threads_;
  ir::Ranges ranges_;
  std::string name_;
  std::int64_t length_ = 1;
};

}  // namespace

bool divides(std::int64_t number, const Expr& expr) {
  const auto fits = [&](const ir::Linear::Term& term) {
    if (term.coefficient % number == 0) return true;
    if (const auto* call = term.atom.as<ir::Call>(); call != nullptr && call->instruction == slots_of_block) {
      const std::int64_t* slots = ir::integer_value(call->arguments.back());
      return slots != nullptr && *slots / 2 % number == 0;
    }
    const auto* e = ir::as_binary(term.atom, ir::BinaryOperator::remainder);
    return e != nullptr && divides(number, e->left) && divides(number, e->right);
  };
  const ir::Linear sum = ir::linear(expr);
  return sum.constant % number == 0 && std::ranges::all_of(sum.terms, fits);
}

Expr unless_always(const Expr& condition) {
  const std::int64_t* value = ir::integer_value(condition);
  return value != nullptr && *value != 0 ? Expr() : condition;
}

Expr data_of(const ir::Copy& copy) {
  for (const Expr& index : copy.source_begin) {
    const auto loads = ir::find_all<ir::Load>(index, [](const ir::Load&) { return true; });
    if (!loads.empty()) return ir::load(loads.front()->buffer, loads.front()->indices);
  }
  return {};
}

Expr with_number(const Expr& expr, const Expr& data, const Expr& loaded) {
  ir::Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& e) {
    if (ir::same(e, data)) return loaded;
    const auto* quotient = e.as<ir::Binary>();
    const bool divides =
        quotient != nullptr && ir::same(quotient->left, loaded) &&
        (quotient->op == ir::BinaryOperator::divide || quotient->op == ir::BinaryOperator::remainder);
    return divides ? ir::binary(quotient->op, ir::maximum(loaded, 0), quotient->right) : e;
  };
  return rewriter(expr);
}

GatherRuns gather_runs(const ir::Copy& copy, const ir::Ranges& ranges) {
  return Gather(copy, 0, ranges, {}).runs();
}

Stmt lower_gather(const ir::Copy& copy, std::int64_t threads, const ir::Ranges& ranges,
                  const std::string& name) {
  return Gather(copy, threads, ranges, name)();
}

}  // namespace weft::passes
