// SparseTensor::check: sizes first, so that the walk over the arrays that follows cannot leave them.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/index_numbers.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/value_place.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace weft {
namespace {

constexpr std::int64_t largest_extent = std::numeric_limits<std::int32_t>::max();

struct Place {
  std::int64_t row = 0;
  std::int64_t column = 0;
  bool padding = false;
};

class Checker {
 public:
  explicit Checker(const SparseTensor& tensor) : tensor_(tensor) {}

  void check_sizes_alone() {
    check_shape();
    check_levels(tensor_);
    check_sizes();
  }

  void run() {
    check_sizes_alone();
    check_row_order();
    position_.resize(tensor_.levels().size());
    child_.resize(tensor_.levels().size());
    value_place_.emplace(tensor_.levels(), tensor_.value_order(), size_of(values_->dtype()));
    descend(0, {});
    if (!by_row_ && !by_column_) check_twice();
  }

 private:
  [[noreturn]] void refuse(std::string where, std::string found, std::string accepted) const {
    refuse_damaged(tensor_, std::move(where), std::move(found), std::move(accepted));
  }

  /// "row 3, begin[4]": what is known of the place from the levels before `depth`, then the element.
  std::string where(std::size_t depth, const Place& place, const std::string& array,
                    std::int64_t element) const {
    std::string text;
    bool row = false;
    bool column = false;
    for (std::size_t i = 0; i < depth; ++i) {
      row = row || tensor_.levels()[i].dimension == Dimension::row;
      column = column || tensor_.levels()[i].dimension == Dimension::column;
    }
    if (row) text += fmt::format("row {}, ", place.row);
    if (column) text += fmt::format("column {}, ", place.column);
    return text + fmt::format("{}[{}]", array, element);
  }

  void check_shape() const {
    const auto fits = [](std::int64_t extent) { return extent >= 0 && extent <= largest_extent; };
    if (fits(tensor_.rows()) && fits(tensor_.columns()) &&
        makes_up(tensor_.shape(), tensor_.rows(), tensor_.columns())) {
      return;
    }
    refuse("the shape",
           fmt::format("{} rows, {} columns, shape {}", tensor_.rows(), tensor_.columns(),
                       text_of_shape(tensor_.shape())),
           fmt::format("0 to {} rows, the product of the shape's first dimensions, and as many columns, that "
                       "of the others",
                       largest_extent));
  }

  enum class Content : std::uint8_t { values, offsets, coordinates, inside_blocks };

  void check_size(const std::string& name, std::int64_t size, Content content) const {
    if (!tensor_.has_array(name)) refuse("array " + name, "it is missing", "an array that the levels name");
    const Array& array = tensor_.array(name);
    const bool narrow = content == Content::coordinates && array.dtype() == DType::i16;
    const bool bytes = content == Content::inside_blocks;
    if (content != Content::values && array.dtype() != (bytes ? DType::u8 : DType::i32) && !narrow)
      refuse("array " + name, std::string(name_of(array.dtype())),
             bytes                             ? "u8"
             : content == Content::coordinates ? "i32 or i16"
                                               : "i32");
    if (array.size() == size) return;
    refuse("array " + name, fmt::format("{} elements", array.size()), fmt::format("{} elements", size));
  }

  /// Follows the number of positions from level to level. Where offsets decide it, the index array is trusted
  /// here and the offsets are compared with it in the walk.
  void check_sizes() {
    for (const Level& level : tensor_.levels()) {
      const std::size_t number = places_.size();
      std::int64_t positions = number == 0 ? 1 : places_[parent_of(number)];
      if (level.kind == LevelKind::dense) {
        if (level.extent < 0 || __builtin_mul_overflow(positions, level.extent, &positions)) {
          refuse("a dense level", fmt::format("extent {}", level.extent), "at least 0, positions below 2^63");
        }
      } else if (level.kind == LevelKind::singleton) {
        check_size(level.index, positions, Content::coordinates);
      } else if (level.kind == LevelKind::n_of_m) {
        check_codes(level, positions);
        positions *= 2 * level.extent;
      } else if (level.kind == LevelKind::bucketed) {
        positions = check_buckets(level, positions);
      } else {
        check_size(level.begin, positions + 1, Content::offsets);
        positions = places_of(level);
        check_ends(level.begin, positions);
      }
      begin_.push_back(offsets_of(level.begin));
      width_.push_back(offsets_of(level.width));
      const bool has_coordinates = !level.index.empty() && level.kind != LevelKind::n_of_m;
      index_.push_back(has_coordinates ? IndexNumbers(tensor_.array(level.index), level.index_bits)
                                       : IndexNumbers());
      places_.push_back(positions);
    }
    check_values();
  }

  void check_codes(const Level& level, std::int64_t blocks) {
    const auto rows = static_cast<std::size_t>(tensor_.value_order().levels.at(1));
    const std::vector<std::int64_t> shape{blocks, tensor_.levels()[rows].extent / rows_of_words,
                                          level.extent / (slots_of_words / 2), lanes_of_words};
    check_size(level.index, element_count(shape, level.index), Content::offsets);
    const Array& codes = tensor_.array(level.index);
    if (codes.shape() != shape)
      refuse("array " + level.index, "shape " + text_of_shape(codes.shape()),
             "shape " + text_of_shape(shape));
    kept_ = KeptSlots(codes);
  }

  /// The places of each parent lie one behind the other, in any order, and fill the array. Returns their
  /// number.
  std::int64_t check_buckets(const Level& level, std::int64_t parents) const {
    check_size(level.begin, parents + 1, Content::offsets);
    check_size(level.width, parents, Content::offsets);
    check_size(level.index, tensor_.has_array(level.index) ? tensor_.array(level.index).size() : 0,
               Content::inside_blocks);
    const std::int64_t numbered = tensor_.array(level.index).size() * 8 / level.index_bits;
    const std::int64_t rows = tensor_.levels()[static_cast<std::size_t>(level.across)].extent;
    const auto begin = offsets_of(level.begin);
    const auto width = offsets_of(level.width);
    std::vector<std::pair<std::int64_t, std::int64_t>> ends_by_begin;
    for (std::size_t i = 0; i < width.size(); ++i) {
      if (width[i] < 0 || width[i] > level.extent)
        refuse(fmt::format("{}[{}]", level.width, i), std::to_string(width[i]),
               fmt::format("0 to {}", level.extent));
      const std::int64_t end = begin[i] + rows * width[i];
      if (begin[i] < 0 || end > (width[i] == level.extent ? begin.back() : numbered))
        refuse(fmt::format("{}[{}]", level.begin, i), fmt::format("places {} to {}", begin[i], end - 1),
               fmt::format("places below {}", width[i] == level.extent ? begin.back() : numbered));
      ends_by_begin.emplace_back(begin[i], end);
    }
    std::ranges::sort(ends_by_begin);
    ends_by_begin.emplace_back(begin.back(), begin.back());
    std::int64_t end = 0;
    for (const auto& [first, behind] : ends_by_begin) {
      if (first != end)
        refuse("array " + level.begin, fmt::format("places from {} after others that end at {}", first, end),
               "places that follow one another");
      end = behind;
    }
    return begin.back();
  }

  std::size_t parent_of(std::size_t level) const {
    const int parent = tensor_.levels()[level].parent;
    return parent >= 0 ? static_cast<std::size_t>(parent) : level - 1;
  }

  void check_values() {
    const std::vector<int>& order = tensor_.value_order().levels;
    std::vector<std::int64_t> shape;
    for (const int level : order) {
      const auto at = static_cast<std::size_t>(level);
      shape.push_back(shape.empty() ? places_[at] : tensor_.levels()[at].extent);
    }
    check_size("values", order.empty() ? places_.back() : element_count(shape, "values"), Content::values);
    values_ = &tensor_.array("values");
    if (!order.empty() && values_->shape() != shape)
      refuse("array values", "shape " + text_of_shape(values_->shape()), "shape " + text_of_shape(shape));
    const std::size_t lines = std::size_t{128} << tensor_.value_order().swizzle;
    if (tensor_.value_order().swizzle > 0 && values_->bytes() % lines != 0)
      refuse("array values", fmt::format("{} bytes, swizzled", values_->bytes()),
             fmt::format("a multiple of {} bytes", lines));
  }

  /// Rows that are listed one by one: each once.
  void check_row_order() {
    const std::optional<std::string> name = tensor_.row_order();
    if (!name) return;
    const Array& array = tensor_.array(*name);
    if (array.dtype() != DType::i32) refuse("array " + *name, std::string(name_of(array.dtype())), "i32");
    const auto order = array.as<std::int32_t>();
    const bool padded = std::ranges::find(tensor_.levels(), LevelKind::singleton, &Level::kind)->padded;
    const std::int64_t listed =
        std::ranges::count_if(order, [&](std::int32_t row) { return !padded || row != -1; });
    if (listed != tensor_.rows())
      refuse("array " + *name, fmt::format("{} rows", listed), fmt::format("{} rows", tensor_.rows()));
    std::vector<std::int64_t> place(static_cast<std::size_t>(tensor_.rows()), -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int32_t row = order[i];
      if (padded && row == -1) continue;
      if (row < 0 || row >= tensor_.rows())
        refuse(fmt::format("{}[{}]", *name, i), fmt::format("row {}", row),
               fmt::format("0 to {}", tensor_.rows() - 1));
      std::int64_t& before = place[static_cast<std::size_t>(row)];
      if (before >= 0)
        refuse(fmt::format("{}[{}]", *name, i), fmt::format("row {} appears twice", row),
               fmt::format("every row once; that one is {}[{}] already", *name, before));
      before = static_cast<std::int64_t>(i);
    }
    has_row_order_ = true;
  }

  /// The number of positions of a compressed level: as many as it has coordinates, or as its offsets say.
  std::int64_t places_of(const Level& level) const {
    if (level.index.empty()) return tensor_.array(level.begin).as<std::int32_t>().back();
    check_size(level.index, tensor_.has_array(level.index) ? tensor_.array(level.index).size() : 0,
               Content::coordinates);
    return tensor_.array(level.index).size();
  }

  std::span<const std::int32_t> offsets_of(const std::string& name) const {
    return name.empty() ? std::span<const std::int32_t>() : tensor_.array(name).as<std::int32_t>();
  }

  void check_ends(const std::string& name, std::int64_t positions) const {
    const auto begin = tensor_.array(name).as<std::int32_t>();
    if (begin.front() != 0) refuse(name + "[0]", std::to_string(begin.front()), "0");
    if (begin.back() == positions) return;
    refuse(fmt::format("{}[{}]", name, begin.size() - 1), std::to_string(begin.back()),
           fmt::format("{}, the number of places that follow", positions));
  }

  void descend(std::size_t depth, const Place& place) {
    if (depth == tensor_.levels().size()) return visit(depth, place);
    const Level& level = tensor_.levels()[depth];
    const bool dense = level.kind == LevelKind::dense;
    const std::int64_t parent = depth == 0 ? 0 : position_[parent_of(depth)];
    if (level.kind == LevelKind::n_of_m) return descend_kept(depth, place, parent);
    if (dense && level.across >= 0) {
      child_[depth] = child_[static_cast<std::size_t>(level.across)];
      position_[depth] = parent * level.extent + child_[depth];
      return descend(depth + 1, place);
    }
    std::int64_t first = dense ? parent * level.extent : parent;
    std::int64_t last = first + (dense ? level.extent : 1);
    if (level.kind == LevelKind::compressed) std::tie(first, last) = children(depth, place, parent);
    const bool bucketed = level.kind == LevelKind::bucketed;
    bool numbered = dense;
    if (bucketed) {
      const std::int64_t width = width_[depth][static_cast<std::size_t>(parent)];
      first = begin_[depth][static_cast<std::size_t>(parent)] +
              child_[static_cast<std::size_t>(level.across)] * width;
      last = first + width;
      numbered = width == level.extent;
    }
    const bool innermost = depth + 1 == tensor_.levels().size();
    const std::int64_t rest = innermost && !bucketed ? behind_run(depth, place, first, last) : first;
    for (std::int64_t position = rest; position < last; ++position) {
      Place next = place;
      position_[depth] = position;
      child_[depth] = position - first;
      const auto& index = index_[depth];
      const std::int64_t coordinate = numbered        ? position - first
                                      : index.empty() ? 0
                                                      : index[static_cast<std::size_t>(position)];
      if (bucketed && coordinate >= level.extent)
        refuse(where(depth, place, level.index, position), fmt::format("offset {}", coordinate),
               fmt::format("0 to {}", level.extent - 1));
      if ((level.padded && coordinate == -1) || (bucketed && values_->is_zero_bits(position))) {
        next.padding = true;
      } else {
        move(depth, next, coordinate, [&] {
          return dense ? fmt::format("a dense level, child {}", coordinate)
                       : where(depth, place, level.index, position);
        });
      }
      descend(depth + 1, next);
    }
  }

  /// Most of the work of most tensors in one short loop: positions of the innermost level from `first` whose
  /// places ascend inside the matrix. What it cannot say of the first position behind them, the walk does.
  std::int64_t behind_run(std::size_t depth, const Place& place, std::int64_t first, std::int64_t last) {
    const Level& level = tensor_.levels()[depth];
    const bool is_row = level.dimension == Dimension::row;
    const bool ordered = !has_row_order_ || !is_row;
    if (place.padding || level.dimension == Dimension::none || level.stride < 1 || !ordered) return first;
    const std::int64_t room =
        (is_row ? tensor_.rows() - place.row : tensor_.columns() - place.column) + level.stride - 1;
    const std::int64_t extent = room / level.stride;
    const bool dense = level.kind == LevelKind::dense;
    const std::span<const std::int32_t> index = index_[depth].numbers();
    if (!dense && index.empty()) return first;
    const auto coordinate = [&](std::int64_t position) {
      return dense ? position - first : std::int64_t{index[static_cast<std::size_t>(position)]};
    };
    const auto visit_at = [&](std::int64_t position) {
      Place here = place;
      (is_row ? here.row : here.column) += coordinate(position) * level.stride;
      visit(depth + 1, here);
    };
    std::int64_t behind = first;
    if (dense) {
      behind = first + std::min(last - first, extent);
    } else {
      for (std::int64_t before = -1; behind < last; ++behind) {
        const std::int64_t here = coordinate(behind);
        if (here <= before || here >= extent) break;
        before = here;
      }
    }
    if (behind > first) visit_at(first);
    if (behind > first + 1) visit_at(behind - 1);
    return behind;
  }

  /// Tensor cores read codes of all rows, also of those that fill up a group.
  void descend_kept(std::size_t depth, const Place& place, std::int64_t block) {
    const Level& level = tensor_.levels()[depth];
    const std::int64_t row = child_[value_place_->level(1)];
    for (std::int64_t kept = 0; kept < level.extent; ++kept) {
      const std::int64_t slot = kept_(block, row, kept);
      if (kept % kept_of_quad == 0 && kept_(block, row, kept + 1) <= slot)
        refuse_code(depth, place, block, kept);
      Place next = place;
      position_[depth] = block * 2 * level.extent + slot;
      child_[depth] = kept;
      move(depth, next, slot, [&] { return where(depth, place, level.index, kept); });
      descend(depth + 1, next);
    }
  }

  /// Names the first column that the quad may keep.
  [[noreturn]] void refuse_code(std::size_t depth, const Place& place, std::int64_t block,
                                std::int64_t kept) const {
    const Level& level = tensor_.levels()[depth];
    const std::int64_t row = child_[value_place_->level(1)];
    const std::int64_t first_slot = kept / kept_of_quad * slots_of_quad;
    const bool listed = depth + 1 < tensor_.levels().size();
    const std::int64_t column =
        listed ? index_[depth + 1][static_cast<std::size_t>(block * 2 * level.extent + first_slot)]
               : place.column + first_slot;
    const std::int64_t first = kept_(block, row, kept) - first_slot;
    const std::int64_t second = kept_(block, row, kept + 1) - first_slot;
    const std::string of_row =
        place.padding ? fmt::format("row {} of the last group", row) : fmt::format("row {}", place.row);
    refuse(fmt::format("{}, {}, {} of block {}", of_row,
                       column < 0 ? "no column" : fmt::format("column {}", column), level.index, block),
           fmt::format("code 0x{:X}, slots {} and {}", code_of(first, second), first, second),
           "two slots in ascending order: 0x4, 0x8, 0x9, 0xC, 0xD or 0xE");
  }

  std::pair<std::int64_t, std::int64_t> children(std::size_t depth, const Place& place,
                                                 std::int64_t position) const {
    const auto parent = static_cast<std::size_t>(position);
    const std::int64_t first = begin_[depth][parent];
    const std::int64_t last = begin_[depth][parent + 1];
    const std::int64_t places = places_[depth];
    if (first <= last && last <= places) return {first, last};
    refuse(where(depth, place, tensor_.levels()[depth].begin, position + 1),
           fmt::format("offset {} after {}", last, first),
           fmt::format("offsets that do not decrease and end by {}", places));
  }

  /// The rest of a block at the edge of the matrix: a dense level inside another level of its dimension,
  /// whose coordinate lies inside. Or blocks beyond the edge, which fill up their number.
  bool ends_a_block(std::size_t depth) const {
    const auto& levels = tensor_.levels();
    const auto here = levels.begin() + static_cast<std::ptrdiff_t>(depth);
    const bool fills = here->kind == LevelKind::dense || here->kind == LevelKind::n_of_m;
    const bool of_blocks = here->kind == LevelKind::dense && here->stride > 1;
    return of_blocks || (fills && std::any_of(levels.begin(), here, [&](const Level& outer) {
                           return outer.dimension == here->dimension && outer.stride > here->stride;
                         }));
  }

  /// Adds a coordinate. Strides are positive, so that a sum past the edge stays past it.
  template <class Where>
  void move(std::size_t depth, Place& place, std::int64_t coordinate, const Where& where_it_is) const {
    const Level& level = tensor_.levels()[depth];
    if (level.dimension == Dimension::none) return;
    const bool is_row = level.dimension == Dimension::row;
    std::int64_t& sum = is_row ? place.row : place.column;
    const std::int64_t extent = is_row ? tensor_.rows() : tensor_.columns();
    const bool outside = coordinate < 0 || level.stride < 1 || coordinate > largest_extent / level.stride ||
                         sum + coordinate * level.stride >= extent;
    if (outside && coordinate >= 0 && ends_a_block(depth)) {
      place.padding = true;
      return;
    }
    if (outside) {
      refuse(where_it_is(), fmt::format("{} {}", is_row ? "row" : "column", sum + coordinate * level.stride),
             fmt::format("0 to {}{}", extent - 1, level.padded ? ", or -1 for padding" : ""));
    }
    sum += coordinate * level.stride;
  }

  void visit(std::size_t depth, const Place& place) {
    if (place.padding) {
      const std::int64_t value = (*value_place_)(position_, child_);
      if (values_->is_zero_bits(value)) return;
      refuse(where(depth - 1, place, "values", value), "a value other than +0 in padding", "+0");
    }
    // A row that is listed once comes once.
    if (has_row_order_ && place.row != last_row_) last_row_key_ = -1;
    last_row_ = place.row;
    const std::int64_t row_key = place.row * tensor_.columns() + place.column;
    const std::int64_t column_key = place.column * tensor_.rows() + place.row;
    by_row_ = by_row_ && row_key > last_row_key_;
    by_column_ = by_column_ && column_key > last_column_key_;
    last_row_key_ = row_key;
    last_column_key_ = column_key;
  }

  /// By a bit for each place of the matrix, where these do not take more memory than a list of what is
  /// stored.
  bool may_come_twice() const {
    const std::int64_t matrix = tensor_.rows() * tensor_.columns();
    if (matrix / 64 > values_->size()) return true;
    std::vector<bool> stored(static_cast<std::size_t>(matrix));
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
    std::sort(places.begin(), places.end());
    const auto same = [](const auto& left, const auto& right) { return left.first == right.first; };
    const auto twice = std::adjacent_find(places.begin(), places.end(), same);
    if (twice == places.end()) return;
    refuse(fmt::format("row {}, column {}, values[{}]", twice->first / tensor_.columns(),
                       twice->first % tensor_.columns(), std::next(twice)->second),
           fmt::format("stored before, as values[{}]", twice->second), "every place at most once");
  }

  const SparseTensor& tensor_;
  const Array* values_ = nullptr;
  std::vector<std::span<const std::int32_t>> begin_;
  std::vector<std::span<const std::int32_t>> width_;
  std::vector<IndexNumbers> index_;
  KeptSlots kept_;
  bool has_row_order_ = false;
  std::vector<std::int64_t> places_;    ///< positions of each level
  std::vector<std::int64_t> position_;  ///< of the place that the walk stands at, by level
  std::vector<std::int64_t> child_;
  std::optional<ValuePlace> value_place_;
  bool by_row_ = true;
  bool by_column_ = true;
  std::int64_t last_row_ = -1;
  std::int64_t last_row_key_ = -1;
  std::int64_t last_column_key_ = -1;
};

}  // namespace

void SparseTensor::check_entries() const {
  Checker(*this).run();
  const auto named = std::ranges::find(named_formats(), format_.name, &NamedFormat::name);
  if (named != named_formats().end() && named->check != nullptr) named->check(*this);
  found_.set_right();
}

void SparseTensor::check(std::source_location place) const {
  if (found_.right()) return;
  user_call(place, [&] {
    Checker(*this).check_sizes_alone();
    check_layout(*this);
    check_entries();
  });
}

}  // namespace weft
