#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/shifted_copy.h>
#include <weft/scheduler/steps/parts/staged_region.h>

#include <algorithm>
#include <utility>

namespace weft::steps {
namespace {

constexpr std::int64_t most_shifts = 64;  ///< columns of a filter, each a copy of its own

/// The index of a dimension as the sum of where the filter's column lies, what the loops over results step
/// through in whole vectors, and the rest.
struct ShiftedIndex {
  Expr shift = 0;  ///< from 0 on
  std::int64_t shifts = 1, of_shift = 1;
  ir::For vector;  ///< the loop that is a vector
  Expr panel = 0;  ///< which vector, of those that lie behind one another
  std::int64_t lanes = 0, of_step = 0;
  Expr rest;
};

class ShiftedCopy {
 public:
  ShiftedCopy(const Stmt& body, const ir::BufferRef& buffer, const ir::Program& program,
              const StepContext& context, std::string name)
      : body_(body),
        buffer_(buffer),
        program_(program),
        step_(context.step),
        coordinates_(context),
        loops_(ir::inner_loops(body)),
        name_(std::move(name)) {}

  std::variant<Stmt, Reason> operator()() {
    if (auto refused = find_load()) return *refused;
    if (auto refused = find_dimension()) return *refused;
    auto found = shifted(fused_.empty() ? load_->indices[dimension_] : place_);
    if (auto* refused = std::get_if<Reason>(&found)) return *refused;
    const ShiftedIndex& index = std::get<ShiftedIndex>(found);
    const Expr vector = ir::variable(index.vector.name);
    const Span panels = span_of(index.panel, 1, loops_, coordinates_);
    if (!panels.begin.defined() || ir::integer_value(panels.extent) == nullptr)
      return refuse(fmt::format("{} has no constant range", ir::print(index.panel)));
    Expr pixel =
        (panels.begin + add(panels.extent, ir::linear(index.panel - panels.begin).expr())) * index.lanes;
    const Expr shift = index.shifts > 1 ? add(index.shifts, index.shift) : ir::integer(0);
    first_line_ = std::ssize(names_);
    std::vector<Expr> source(load_->indices.size());
    for (const std::size_t i : other_dimensions()) {
      const Span span = span_of(load_->indices[i], buffer_->shape[i], loops_, coordinates_);
      if (!span.begin.defined() || !ir::is_constant(program_, span.extent))
        return refuse(
            fmt::format("the place {} fills no tile of constant size", ir::print(load_->indices[i])));
      source[i] = span.begin;
      // A dimension of one element is there too, where conditions name the loop that goes through it.
      if (ir::uses_any(load_->indices[i], loops_))
        source[i] = span.begin + add(span.extent, ir::linear(load_->indices[i] - span.begin).expr());
    }
    pixel = pixel + add(index.lanes, vector);
    const Expr place = index.rest + shift * index.of_shift + pixel * index.of_step;
    source[dimension_] = place;
    for (const std::size_t i : fused_) source[i] = in_dimension(i, place);
    for (const Expr& each : source) {
      if (ir::any<ir::Load>(each)) return refuse("its place is read");
    }
    return with_copy(std::move(source));
  }

 private:
  Reason refuse(std::string found) const {
    return {
        4, buffer_->name + ": " + std::move(found),
        "an image, at the end of whose lines a vectorized loop over pixels and the columns of a filter are "
        "added up; else shared",
        buffer_->name};
  }

  std::optional<Reason> find_load() {
    const auto loads =
        ir::find_all<ir::Load>(body_, [&](const ir::Load& load) { return load.buffer == buffer_; });
    load_ = loads.front();
    for (const ir::Load* load : loads) {
      if (!ir::same(load->indices, load_->indices)) return refuse("it is read at two different places");
    }
    return std::nullopt;
  }

  /// The dimension, or the last of those of which vectors go through one line after the other.
  std::optional<Reason> find_dimension() {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < load_->indices.size(); ++i) {
      const bool steps = std::ranges::any_of(loops_, [&](const auto& entry) {
        return entry.second.kind == LoopKind::vectorized && ir::uses(load_->indices[i], entry.first);
      });
      if (steps) found.push_back(i);
    }
    const bool are_lines = found.size() > 1 && are_fused(found);
    if (found.empty() || (found.size() > 1 && !are_lines))
      return refuse("no vectorized loop steps through one dimension of it");
    dimension_ = found.back();
    return std::nullopt;
  }

  /// Whether vectors go through all of these dimensions, one line after the other.
  bool are_fused(const std::vector<std::size_t>& dimensions) {
    const auto* pixel = ir::as_binary(load_->indices[dimensions.back()], ir::BinaryOperator::remainder);
    const bool follow = dimensions.back() - dimensions.front() + 1 == dimensions.size();
    const bool are_known = std::all_of(dimensions.begin() + 1, dimensions.end(), [&](std::size_t i) {
      return ir::integer_value(buffer_->shape[i]) != nullptr;
    });
    if (pixel == nullptr || !follow || !are_known) return false;
    fused_ = dimensions;
    place_ = pixel->left;
    const bool whole = std::ranges::all_of(
        dimensions, [&](std::size_t i) { return ir::same(load_->indices[i], in_dimension(i, place_)); });
    if (!whole) fused_.clear();
    return whole;
  }

  /// Where the place among all that is fused lies in one of the dimensions.
  Expr in_dimension(std::size_t dimension, const Expr& place) const {
    std::int64_t behind = 1;
    for (std::size_t i = dimension + 1; i <= fused_.back(); ++i)
      behind *= *ir::integer_value(buffer_->shape[i]);
    const Expr number = behind == 1 ? place : place / behind;
    return dimension == fused_.front() ? number : number % buffer_->shape[dimension];
  }

  /// Those that are not gone through by vectors. What loops around all weights step through comes first: one
  /// of their iterations reads what lies together, not a part of each line, as far apart as lines are long.
  std::vector<std::size_t> other_dimensions() const {
    std::vector<std::size_t> dimensions;
    for (std::size_t i = 0; i < load_->indices.size(); ++i)
      if (i != dimension_ && std::ranges::find(fused_, i) == fused_.end()) dimensions.push_back(i);
    std::ranges::stable_partition(dimensions, [&](std::size_t i) {
      return std::ranges::any_of(loops_, [&](const auto& entry) {
        return ir::is_over_output(entry.second.role) && ir::uses(load_->indices[i], entry.first) &&
               is_around_weights(entry.second);
      });
    });
    return dimensions;
  }

  /// Whether all loops over rows, which the operand has nothing of, stand inside of it.
  bool is_around_weights(const ir::For& loop) const {
    const ir::InnerLoops inside = ir::inner_loops(loop.body);
    const auto range = ir::constant_iterations(loop);
    const bool is_one = range && range->extent == 1;
    return !is_one && std::ranges::all_of(loops_, [&](const auto& entry) {
      const bool is_of_operand = std::ranges::any_of(
          load_->indices, [&](const Expr& index) { return ir::uses(index, entry.first); });
      return is_of_operand || !ir::is_over_output(entry.second.role) || inside.contains(entry.first);
    });
  }

  /// Loops over results step, numbers of the weights shift.
  std::variant<ShiftedIndex, Reason> shifted(const Expr& index) const {
    ShiftedIndex result;
    ir::Linear rest, panels;
    const ir::Linear sum = ir::linear(index);
    rest.constant = sum.constant;
    Expr data;
    for (const ir::Linear::Term& term : sum.terms) {
      const auto* variable = term.atom.as<ir::Variable>();
      if (!ir::uses_any(term.atom, loops_)) {
        rest.terms.push_back(term);
      } else if (variable != nullptr && ir::is_over_output(loops_.at(variable->name).role)) {
        const ir::For& loop = loops_.at(variable->name);
        if (loop.kind != LoopKind::vectorized) {
          panels.terms.push_back(term);
          continue;
        }
        result.vector = loop;
        result.of_step = term.coefficient;
      } else if (!data.defined()) {
        data = term.atom;
        result.of_shift = term.coefficient;
      } else {
        return refuse(fmt::format("{} is several numbers added up", ir::print(index)));
      }
    }
    const auto lanes = ir::constant_iterations(result.vector);
    if (result.of_step < 1 || !lanes || lanes->begin != 0)
      return refuse(fmt::format("no vector steps through {}", ir::print(index)));
    result.lanes = lanes->extent;
    for (ir::Linear::Term& term : panels.terms) {
      if (term.coefficient % (result.of_step * result.lanes) != 0)
        return refuse(fmt::format("{} steps by {}, vectors by {} times {}", ir::print(term.atom),
                                  term.coefficient, result.lanes, result.of_step));
      term.coefficient /= result.of_step * result.lanes;
    }
    result.panel = panels.expr();
    if (data.defined()) {
      ir::Ranges ranges;
      const Expr named = coordinates_.named(data, ranges);
      const ir::Range range = ir::range_of(named, ranges);
      if (!range.minimum || !range.maximum || *range.maximum - *range.minimum >= most_shifts)
        return refuse(
            fmt::format("{} is not known to lie in fewer than {} places", ir::print(data), most_shifts));
      result.shift = data - *range.minimum;
      result.shifts = *range.maximum - *range.minimum + 1;
      rest.constant += *range.minimum * result.of_shift;
    }
    result.rest = rest.expr();
    return result;
  }

  /// A dimension of the copy: how many there are, and which of them the body reads. Gives the one that is
  /// copied.
  Expr add(Expr extent, Expr place) {
    names_.push_back(fmt::format("{}.{}", name_, names_.size()));
    coordinates_of_copy_.push_back(ir::variable(names_.back()));
    extents_.push_back(std::move(extent));
    places_.push_back(std::move(place));
    return coordinates_of_copy_.back();
  }

  Stmt with_copy(std::vector<Expr> source) {
    const auto tile = ir::make_tile(name_, *buffer_, ir::Scope::shared, extents_);
    // What is read of a line of the image is read at once: by shifts and panels inside of lines.
    std::vector<std::string> order(names_.begin() + first_line_, names_.end() - 1);
    order.insert(order.end(), names_.begin(), names_.begin() + first_line_);
    std::vector<Expr> extents(extents_.begin() + first_line_, extents_.end() - 1);
    extents.insert(extents.end(), extents_.begin(), extents_.begin() + first_line_);
    order.push_back(names_.back());
    extents.push_back(extents_.back());
    ir::Copy copy{tile, coordinates_of_copy_, buffer_, std::move(source), std::move(extents), step_, false,
                  {},   std::move(order)};
    const Stmt rest = ir::rewrite<ir::Load>(body_, [&](const ir::Load& load, const Expr& e) {
      return load.buffer == buffer_ ? ir::load(tile, places_) : e;
    });
    return ir::allocate(tile, ir::block({ir::copy(std::move(copy)), rest}));
  }

  const Stmt& body_;
  const ir::BufferRef& buffer_;
  const ir::Program& program_;
  int step_;
  Coordinates coordinates_;
  ir::InnerLoops loops_;
  std::string name_;
  const ir::Load* load_ = nullptr;
  std::size_t dimension_ = 0;
  std::ptrdiff_t first_line_ = 0;   ///< dimensions in front of it are panels and shifts
  std::vector<std::size_t> fused_;  ///< dimensions that vectors go through as one, where those are several
  Expr place_;                      ///< where in all of them
  std::vector<std::string> names_;
  std::vector<Expr> coordinates_of_copy_, extents_, places_;
};

}  // namespace

std::variant<Stmt, Reason> with_shifted_copy(const Stmt& body, const ir::BufferRef& buffer,
                                             const ir::Program& program, const StepContext& context,
                                             const std::string& name) {
  return ShiftedCopy(body, buffer, program, context, name)();
}

}  // namespace weft::steps
