// SparseTensor::check: sizes first, so that the walk over the arrays that follows cannot leave them.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/level_kind.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace weft {
namespace {

void check_shape(const SparseTensor& tensor) {
  const auto fits = [](std::int64_t extent) { return extent >= 0 && extent <= largest_extent; };
  if (fits(tensor.rows()) && fits(tensor.columns()) &&
      makes_up(tensor.shape(), tensor.rows(), tensor.columns()))
    return;
  refuse_damaged(
      tensor, "the shape",
      fmt::format("{} rows, {} columns, shape {}", tensor.rows(), tensor.columns(),
                  text_of_shape(tensor.shape())),
      fmt::format("0 to {} rows, the product of the shape's first dimensions, and as many columns, "
                  "that of the others",
                  largest_extent));
}

/// `positions` of each level.
void check_values(const SparseTensor& tensor, const std::vector<std::int64_t>& positions) {
  const std::vector<int>& order = tensor.value_order().levels;
  std::vector<std::int64_t> shape;
  for (const int level : order) {
    const auto at = static_cast<std::size_t>(level);
    shape.push_back(shape.empty() ? positions[at] : tensor.levels()[at].extent);
  }
  check_array(tensor, "values", Content::values,
              order.empty() ? positions.back() : element_count(shape, "values"));
  const Array& values = tensor.array("values");
  if (!order.empty() && values.shape() != shape)
    refuse_damaged(tensor, "array values", "shape " + text_of_shape(values.shape()),
                   "shape " + text_of_shape(shape));
  const std::size_t lines = std::size_t{128} << tensor.value_order().swizzle;
  if (tensor.value_order().swizzle > 0 && values.bytes() % lines != 0)
    refuse_damaged(tensor, "array values", fmt::format("{} bytes, swizzled", values.bytes()),
                   fmt::format("a multiple of {} bytes", lines));
}

}  // namespace

void check_sizes(const SparseTensor& tensor) {
  check_shape(tensor);
  check_levels(tensor);
  std::vector<std::int64_t> positions;
  for (std::size_t i = 0; i < tensor.levels().size(); ++i) {
    const Level& level = tensor.levels()[i];
    const int parent = parent_of(tensor.levels(), i);
    const std::int64_t parents = parent < 0 ? 1 : positions[parent];
    positions.push_back(level_kind(level.kind).check_arrays(tensor, level, parents));
  }
  check_values(tensor, positions);
}

namespace {

/// Whether places come in an order in which none comes twice, by numbers that grow then.
struct Ascent {
  bool holds = true;
  std::int64_t first = -1, last = -1;

  void go_on_to(std::int64_t number) {
    holds = holds && number > last;
    last = number;
    if (first < 0) first = number;
  }
  /// Behind these, the others.
  void join(const Ascent& others) {
    holds = holds && others.holds && (others.first < 0 || others.first > last);
    if (others.last >= 0) last = others.last;
  }
};

/// A tensor whose arrays have the right sizes, from one child of its outermost level to before another.
class Entries {
 public:
  Entries(const SparseTensor& tensor, std::int64_t begin, std::int64_t end)
      : tensor_(tensor),
        values_(tensor.array("values")),
        has_row_order_(tensor.row_order().has_value()),
        cursor_(tensor),
        begin_(begin),
        end_(end) {}

  void check() { descend({tensor_, cursor_.levels()}); }
  const Ascent& by_row() const { return by_row_; }
  const Ascent& by_column() const { return by_column_; }

 private:
  [[noreturn]] void refuse(std::string where, std::string found, std::string accepted) const {
    refuse_damaged(tensor_, std::move(where), std::move(found), std::move(accepted));
  }

  void descend(const CheckPlace& place) {
    if (place.level == place.levels.size()) return visit(place);
    const OpenLevel& open = place.levels[place.level];
    const Children children = cursor_.children(place.level);
    if (open.kind->check_children != nullptr) open.kind->check_children(place, children);
    const bool outermost = place.level == 0;
    const std::int64_t end = outermost ? std::min(end_, children.count) : children.count;
    for (std::int64_t number = outermost ? begin_ : behind_run(place, children); number < end; ++number) {
      const Child child = cursor_.enter(place.level, children, number);
      if (open.kind->check_child != nullptr) open.kind->check_child(place, children, child);
      CheckPlace next = place;
      next.padding = place.padding || child.padding;
      if (!child.padding) move(next, child);
      ++next.level;
      descend(next);
    }
  }

  /// Most of the work of most tensors in one short loop: children of the innermost level, from the first,
  /// whose places ascend inside the matrix. What it cannot say of the first child behind them, the walk does.
  std::int64_t behind_run(const CheckPlace& place, const Children& children) {
    const OpenLevel& open = place.levels[place.level];
    const Level& level = *open.level;
    const bool innermost = place.level + 1 == place.levels.size();
    const bool is_row = level.dimension == Dimension::row;
    if (!innermost || open.kind->ascending == nullptr || place.padding || level.stride < 1 ||
        level.dimension == Dimension::none || (has_row_order_ && is_row))
      return 0;
    const std::int64_t room = std::min(
        size_of_block(place), is_row ? tensor_.rows() - place.row : tensor_.columns() - place.column);
    const std::int64_t count = open.kind->ascending(open, children, ceil_divide(room, level.stride));
    const auto visit_at = [&](std::int64_t number) {
      CheckPlace here = place;
      (is_row ? here.row : here.column) +=
          cursor_.enter(place.level, children, number).coordinate * level.stride;
      visit(here);
    };
    if (count > 0) visit_at(0);
    if (count > 1) visit_at(count - 1);
    return count;
  }

  /// The rest of a block at the edge of the matrix: a level inside another of its dimension, whose coordinate
  /// lies inside. Or blocks beyond the edge, which fill up their number.
  static bool ends_a_block(const CheckPlace& place) {
    const Level& here = *place.levels[place.level].level;
    return place.levels[place.level].kind->counted &&
           (here.stride > 1 || std::ranges::any_of(place.levels.first(place.level), [&](const auto& outer) {
              return outer.level->dimension == here.dimension && outer.level->stride > here.stride;
            }));
  }

  /// What coordinates of a level lie below, times its stride: the stride of the level around it in its
  /// dimension, so that no block lists what belongs to the next; or all slots of a block that may begin
  /// inside of another.
  static std::int64_t size_of_block(const CheckPlace& place) {
    const Level& here = *place.levels[place.level].level;
    std::int64_t size = largest_extent;
    for (const OpenLevel& outer : place.levels.first(place.level)) {
      if (outer.level->dimension == here.dimension && outer.level->stride > here.stride)
        size = std::min(size, outer.level->stride);
    }
    const std::int64_t slots = here.extent * place.levels[place.level].kind->slots;
    return here.kind == LevelKind::n_of_m ? std::max(size, slots) : size;
  }

  /// Adds a coordinate. Strides are positive, so that a sum past the edge stays past it.
  void move(CheckPlace& place, const Child& child) const {
    const Level& level = *place.levels[place.level].level;
    if (level.dimension == Dimension::none) return;
    const bool is_row = level.dimension == Dimension::row;
    const std::int64_t coordinate = child.coordinate;
    std::int64_t& sum = is_row ? place.row : place.column;
    const std::int64_t whole = is_row ? tensor_.rows() : tensor_.columns();
    const std::int64_t extent = std::min(whole, sum + size_of_block(place));
    const bool outside = coordinate < 0 || level.stride < 1 || coordinate > largest_extent / level.stride ||
                         sum + coordinate * level.stride >= extent;
    if (!outside) {
      sum += coordinate * level.stride;
    } else if (coordinate >= 0 && ends_a_block(place)) {
      place.padding = true;
    } else {
      refuse(level.index.empty() ? fmt::format("level {}, child {}", place.level, coordinate)
                                 : place.where(level.index, child.position),
             fmt::format("{} {}", is_row ? "row" : "column", sum + coordinate * level.stride),
             fmt::format("{} to {}{}", extent < whole ? sum : 0, extent - 1,
                         level.padded ? ", or -1 for padding" : ""));
    }
  }

  void visit(CheckPlace place) {
    if (place.padding) {
      const std::int64_t value = cursor_.value_place();
      if (value < 0 || values_.is_zero_bits(value)) return;
      place.level = place.levels.size() - 1;
      refuse(place.where("values", value), "a value other than +0 in padding", "+0");
    }
    // A row that is listed once comes once.
    if (has_row_order_ && place.row != last_row_) ++rows_;
    last_row_ = place.row;
    by_row_.go_on_to((has_row_order_ ? rows_ : place.row) * tensor_.columns() + place.column);
    by_column_.go_on_to(place.column * tensor_.rows() + place.row);
  }

  const SparseTensor& tensor_;
  const Array& values_;
  bool has_row_order_;
  LevelCursor cursor_;
  std::int64_t begin_, end_;
  Ascent by_row_, by_column_;
  std::int64_t last_row_ = -1, rows_ = 0;
};

/// All entries, in parts that threads share.
class AllEntries {
 public:
  explicit AllEntries(const SparseTensor& tensor) : tensor_(tensor), values_(tensor.array("values")) {}

  void check() const {
    const std::optional<std::string> row_order = tensor_.row_order();
    if (row_order) check_row_order(*row_order);
    const LevelCursor cursor(tensor_);
    const std::int64_t count = cursor.children(0).count;
    const std::int64_t threads = threads_for(values_.size());
    std::vector<std::optional<Entries>> checked(static_cast<std::size_t>(parts_for(threads, count)));
    parallel_parts(threads, count, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      checked[static_cast<std::size_t>(part)].emplace(tensor_, begin, end);
      checked[static_cast<std::size_t>(part)]->check();
    });
    Ascent by_row, by_column;
    for (const auto& part : checked) {
      by_column.join(part->by_column());
      // A row that is listed once comes once.
      if (row_order)
        by_row.holds = by_row.holds && part->by_row().holds;
      else
        by_row.join(part->by_row());
    }
    if (!by_row.holds && !by_column.holds) check_twice();
  }

 private:
  [[noreturn]] void refuse(std::string where, std::string found, std::string accepted) const {
    refuse_damaged(tensor_, std::move(where), std::move(found), std::move(accepted));
  }

  /// Rows that are listed one by one: each once.
  void check_row_order(const std::string& name) const {
    const Array& array = tensor_.array(name);
    if (array.dtype() != DType::i32) refuse("array " + name, std::string(name_of(array.dtype())), "i32");
    const auto order = array.as<std::int32_t>();
    const bool padded = std::ranges::find(tensor_.levels(), name, &Level::index)->padded;
    const std::int64_t listed =
        std::ranges::count_if(order, [&](std::int32_t row) { return !padded || row != -1; });
    if (listed != tensor_.rows())
      refuse("array " + name, fmt::format("{} rows", listed), fmt::format("{} rows", tensor_.rows()));
    std::vector<std::int64_t> place(tensor_.rows(), -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int32_t row = order[i];
      if (padded && row == -1) continue;
      if (row < 0 || row >= tensor_.rows())
        refuse(fmt::format("{}[{}]", name, i), fmt::format("row {}", row),
               fmt::format("0 to {}", tensor_.rows() - 1));
      std::int64_t& before = place[row];
      if (before >= 0)
        refuse(fmt::format("{}[{}]", name, i), fmt::format("row {} appears twice", row),
               fmt::format("every row once; that one is {}[{}] already", name, before));
      before = static_cast<std::int64_t>(i);
    }
  }

  /// By a bit for each place of the matrix, where these do not take more memory than a list of what is
  /// stored.
  bool may_come_twice() const {
    const std::int64_t matrix = tensor_.rows() * tensor_.columns();
    if (matrix / 64 > values_.size()) return true;
    std::vector<bool> stored(matrix);
    bool twice = false;
    tensor_.walk([&](std::int64_t row, std::int64_t column, std::int64_t) {
      const auto bit = static_cast<std::size_t>(row * tensor_.columns() + column);
      twice = twice || stored[bit];
      stored[bit] = true;
    });
    return twice;
  }

  /// For places that come neither row by row nor column by column: only then can one come twice.
  void check_twice() const {
    if (!may_come_twice()) return;
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    tensor_.walk([&](std::int64_t row, std::int64_t column, std::int64_t position) {
      places.emplace_back(row * tensor_.columns() + column, position);
    });
    std::ranges::sort(places);
    const auto same = [](const auto& left, const auto& right) { return left.first == right.first; };
    const auto twice = std::ranges::adjacent_find(places, same);
    if (twice == places.end()) return;
    refuse(fmt::format("row {}, column {}, values[{}]", twice->first / tensor_.columns(),
                       twice->first % tensor_.columns(), std::next(twice)->second),
           fmt::format("stored before, as values[{}]", twice->second), "every place at most once");
  }

  const SparseTensor& tensor_;
  const Array& values_;
};

}  // namespace

void SparseTensor::check_entries() const {
  check_sizes(*this);
  AllEntries(*this).check();
  const auto named = std::ranges::find(named_formats(), format_.name, &NamedFormat::name);
  if (named != named_formats().end() && named->check != nullptr) named->check(*this);
  found_.set_right();
}

void SparseTensor::check(CallPlace place) const {
  if (found_.right()) return;
  user_call(place, [&] {
    check_sizes(*this);
    check_layout(*this);
    check_entries();
  });
}

}  // namespace weft
