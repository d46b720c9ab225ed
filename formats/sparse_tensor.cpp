#include <weft/dsl/errors.h>
#include <weft/formats/index_numbers.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/value_place.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

/// Goes through the levels of a tensor whose arrays are right.
class Walker {
 public:
  explicit Walker(const SparseTensor& tensor)
      : levels_(tensor.levels()),
        rows_(tensor.rows()),
        columns_(tensor.columns()),
        values_(tensor.array("values")),
        value_place_(levels_, tensor.value_order(), size_of(tensor.dtype())),
        begin_(levels_.size()),
        width_(levels_.size()),
        index_(levels_.size()),
        position_(levels_.size(), 0),
        child_(levels_.size(), 0) {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const Level& level = levels_[i];
      if (!level.begin.empty()) begin_[i] = tensor.array(level.begin).as<std::int32_t>();
      if (!level.width.empty()) width_[i] = tensor.array(level.width).as<std::int32_t>();
      if (level.kind == LevelKind::n_of_m) {
        kept_ = KeptSlots(tensor.array(level.index));
      } else if (!level.index.empty()) {
        index_[i] = IndexNumbers(tensor.array(level.index), level.index_bits);
      }
    }
  }

  template <class Visit>
  void each(const Visit& visit) {
    descend(0, 0, 0, visit);
  }

 private:
  template <class Visit>
  void descend(std::size_t depth, std::int64_t row, std::int64_t column, const Visit& visit) {
    if (depth == levels_.size()) return visit(row, column, value_place_(position_, child_));
    const Level& level = levels_[depth];
    const std::int64_t parent = parent_position(level, depth);
    if (level.kind == LevelKind::n_of_m) return descend_kept(depth, parent, row, column, visit);
    if (level.kind == LevelKind::dense && level.across >= 0) {
      child_[depth] = child_[static_cast<std::size_t>(level.across)];
      position_[depth] = parent * level.extent + child_[depth];
      return descend(depth + 1, row, column, visit);
    }
    std::int64_t first = level.kind == LevelKind::dense ? parent * level.extent : parent;
    std::int64_t last = first + (level.kind == LevelKind::dense ? level.extent : 1);
    if (level.kind == LevelKind::compressed) {
      first = begin_[depth][static_cast<std::size_t>(parent)];
      last = begin_[depth][static_cast<std::size_t>(parent) + 1];
    }
    bool numbered = level.kind == LevelKind::dense;
    const bool bucketed = level.kind == LevelKind::bucketed;
    if (bucketed) {
      const std::int64_t width = width_[depth][static_cast<std::size_t>(parent)];
      first = begin_[depth][static_cast<std::size_t>(parent)] +
              child_[static_cast<std::size_t>(level.across)] * width;
      last = first + width;
      numbered = width == level.extent;
    }
    const auto& index = index_[depth];
    for (std::int64_t position = first; position < last; ++position) {
      if (bucketed && values_.is_zero_bits(position)) continue;
      position_[depth] = position;
      child_[depth] = position - first;
      const std::int64_t coordinate = numbered        ? position - first
                                      : index.empty() ? 0
                                                      : index[static_cast<std::size_t>(position)];
      if (level.padded && coordinate < 0) continue;
      move(depth, coordinate, row, column, visit);
    }
  }

  template <class Visit>
  void descend_kept(std::size_t depth, std::int64_t parent, std::int64_t row, std::int64_t column,
                    const Visit& visit) {
    const std::int64_t extent = levels_[depth].extent;
    const std::int64_t line = child_[value_place_.level(1)];
    for (std::int64_t place = 0; place < extent; ++place) {
      const std::int64_t slot = kept_(parent, line, place);
      position_[depth] = parent * 2 * extent + slot;
      child_[depth] = place;
      move(depth, slot, row, column, visit);
    }
  }

  template <class Visit>
  void move(std::size_t depth, std::int64_t coordinate, std::int64_t row, std::int64_t column,
            const Visit& visit) {
    const Level& level = levels_[depth];
    const std::int64_t at_row = row + (level.dimension == Dimension::row ? coordinate * level.stride : 0);
    const std::int64_t at_column =
        column + (level.dimension == Dimension::column ? coordinate * level.stride : 0);
    // The rest of a block at the edge.
    if (at_row < rows_ && at_column < columns_) descend(depth + 1, at_row, at_column, visit);
  }

  std::int64_t parent_position(const Level& level, std::size_t depth) const {
    if (level.parent >= 0) return position_[static_cast<std::size_t>(level.parent)];
    return depth == 0 ? 0 : position_[depth - 1];
  }

  const std::vector<Level>& levels_;
  std::int64_t rows_;
  std::int64_t columns_;
  const Array& values_;
  ValuePlace value_place_;
  std::vector<std::span<const std::int32_t>> begin_;
  std::vector<std::span<const std::int32_t>> width_;
  std::vector<IndexNumbers> index_;
  KeptSlots kept_;
  std::vector<std::int64_t> position_;
  std::vector<std::int64_t> child_;
};

/// repack, whose arguments it has.
SparseTensor packed_anew(const SparseTensor& tensor, const Format& format) {
  tensor.check();
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  std::vector<std::int64_t> positions;
  tensor.walk([&](std::int64_t row, std::int64_t column, std::int64_t position) {
    rows.push_back(row);
    columns.push_back(column);
    positions.push_back(position);
  });
  Array values(tensor.dtype(), {static_cast<std::int64_t>(positions.size())});
  for (std::size_t i = 0; i < positions.size(); ++i)
    values.copy_element(static_cast<std::int64_t>(i), tensor.array("values"), positions[i]);
  WeightMatrix weights = from_coordinates(tensor.rows(), tensor.columns(), rows, columns, values,
                                          "weights in " + tensor.format().text());
  weights.shape = tensor.shape();
  return pack(weights, format);
}

}  // namespace

SparseTensor::SparseTensor(Format format, std::vector<std::int64_t> shape, std::int64_t rows,
                           std::int64_t columns, std::vector<Level> levels, std::vector<NamedArray> arrays,
                           ValueOrder value_order)
    : format_(std::move(format)),
      shape_(std::move(shape)),
      rows_(rows),
      columns_(columns),
      levels_(std::move(levels)),
      arrays_(std::move(arrays)),
      value_order_(std::move(value_order)) {}

bool SparseTensor::has_array(const std::string& name) const {
  return std::any_of(arrays_.begin(), arrays_.end(),
                     [&](const NamedArray& named) { return named.name == name; });
}

const Array& SparseTensor::array(const std::string& name, std::source_location place) const {
  for (const NamedArray& named : arrays_) {
    if (named.name == name) return named.array;
  }
  return user_call(place, [&]() -> const Array& {
    std::string names;
    for (const NamedArray& named : arrays_) names += (names.empty() ? "" : ", ") + named.name;
    throw UserError({"a weight in format " + format_.text() + " does not have the array that is asked for",
                     {},
                     "array " + name,
                     names.empty() ? "a weight with arrays" : names});
  });
}

std::size_t SparseTensor::bytes() const {
  std::size_t sum = 0;
  for (const NamedArray& named : arrays_) sum += named.array.bytes();
  return sum;
}

std::optional<std::string> SparseTensor::row_order() const {
  for (const Level& level : levels_) {
    if (level.kind == LevelKind::singleton && level.dimension == Dimension::row) return level.index;
    if (level.kind != LevelKind::dense || level.dimension != Dimension::none) break;
  }
  return std::nullopt;
}

std::size_t SparseTensor::row_levels() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].dimension == Dimension::row) count = i + 1;
  }
  const auto last = levels_.begin() + static_cast<std::ptrdiff_t>(count);
  const bool listed = row_order().has_value();
  const bool choose = std::all_of(levels_.begin(), last, [&](const Level& level) {
    if (level.kind == LevelKind::dense) return level.dimension == (listed ? Dimension::none : Dimension::row);
    return level.kind == LevelKind::singleton && level.dimension == Dimension::row;
  });
  return choose ? count : 0;
}

void SparseTensor::walk(const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) const {
  Walker(*this).each(visit);
}

Array SparseTensor::to_dense() const {
  const Array& values = array("values");
  Array dense(values.dtype(), {rows_, columns_});
  Walker(*this).each([&](std::int64_t row, std::int64_t column, std::int64_t place) {
    dense.copy_element(row * columns_ + column, values, place);
  });
  return dense;
}

SparseTensor pack(const WeightMatrix& weights, const Format& format, std::source_location place) {
  return user_call(place, [&] {
    weights.check();
    for (const NamedFormat& named : named_formats()) {
      if (named.name != format.name) continue;
      SparseTensor tensor = named.pack(weights, format);
      tensor.check_entries();
      return tensor;
    }
    parse_format(format.name);  // says which formats there are
    throw InternalError("a format that was parsed is not in the list: " + format.text());
  });
}

SparseTensor repack(const SparseTensor& tensor, const Format& format, std::source_location place) {
  return user_call(place, [&] { return packed_anew(tensor, format); });
}

}  // namespace weft
