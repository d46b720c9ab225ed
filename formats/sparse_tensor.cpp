#include <weft/formats/check_layout.h>
#include <weft/formats/level_kind.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

#ifdef NDEBUG
constexpr bool checks_what_is_packed = false;
#else
constexpr bool checks_what_is_packed = true;
#endif

using Visit = std::function<void(std::int64_t, std::int64_t, std::int64_t)>;

/// Goes through the levels of a tensor whose arrays are right, from `depth` on.
void descend(const SparseTensor& tensor, LevelCursor& cursor, std::size_t depth, std::int64_t row,
             std::int64_t column, const Visit& visit) {
  if (depth == cursor.levels().size()) return visit(row, column, cursor.value_place());
  const Level& level = *cursor.levels()[depth].level;
  const std::int64_t row_stride = level.dimension == Dimension::row ? level.stride : 0;
  const std::int64_t column_stride = level.dimension == Dimension::column ? level.stride : 0;
  const Children children = cursor.children(depth);
  for (std::int64_t number = 0; number < children.count; ++number) {
    const Child child = cursor.enter(depth, children, number);
    const std::int64_t at_row = row + child.coordinate * row_stride;
    const std::int64_t at_column = column + child.coordinate * column_stride;
    // The rest of a block at the edge is padding, too.
    const bool inside = at_row < tensor.rows() && at_column < tensor.columns();
    if (!child.padding && inside) descend(tensor, cursor, depth + 1, at_row, at_column, visit);
  }
}

/// The entries of a tensor, which are right.
WeightMatrix entries_of(const SparseTensor& tensor) {
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
  return weights;
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
  return std::ranges::find(arrays_, name, &NamedArray::name) != arrays_.end();
}

const Array& SparseTensor::array(const std::string& name, CallPlace place) const {
  const auto found = std::ranges::find(arrays_, name, &NamedArray::name);
  if (found != arrays_.end()) return found->array;
  return user_call(place, [&]() -> const Array& {
    std::string names;
    for (const NamedArray& named : arrays_) names += (names.empty() ? "" : ", ") + named.name;
    throw UserError("a weight in format " + format_.text() + " does not have the array that is asked for",
                    "array " + name, names.empty() ? "a weight with arrays" : names);
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
  LevelCursor cursor(*this);
  descend(*this, cursor, 0, 0, 0, visit);
}

Array SparseTensor::to_dense() const {
  const Array& values = array("values");
  Array dense(values.dtype(), {rows_, columns_});
  walk([&](std::int64_t row, std::int64_t column, std::int64_t place) {
    dense.copy_element(row * columns_ + column, values, place);
  });
  return dense;
}

SparseTensor pack(const WeightMatrix& weights, const Format& format, CallPlace place) {
  return user_call(place, [&] {
    weights.check();
    for (const NamedFormat& named : named_formats()) {
      if (named.name != format.name) continue;
      SparseTensor tensor = named.pack(weights, format);
      // What formats pack is right: their tests and builds with assertions look at each entry, at several
      // times the cost of packing.
      if constexpr (checks_what_is_packed)
        tensor.check_entries();
      else
        check_sizes(tensor);
      tensor.found_.set_right();
      return tensor;
    }
    parse_format(format.name);  // says which formats there are
    throw InternalError("a format that was parsed is not in the list: " + format.text());
  });
}

std::shared_ptr<const SparseTensor> pack(std::shared_ptr<const WeightMatrix> weights, const Format& format,
                                         CallPlace place) {
  SparseTensor tensor = pack(*weights, format, place);
  tensor.source_ = std::move(weights);
  return std::make_shared<const SparseTensor>(std::move(tensor));
}

std::shared_ptr<const SparseTensor> SparseTensor::Repacked::in(const Format& format,
                                                               const SparseTensor& tensor) {
  std::shared_ptr<Made> made;
  {
    const std::lock_guard lock(guard_);
    std::shared_ptr<Made>& known = made_[format.text()];
    if (known == nullptr) known = std::make_shared<Made>();
    made = known;
  }
  std::call_once(made->once,
                 [&] { made->tensor = std::make_shared<const SparseTensor>(repack(tensor, format)); });
  return made->tensor;
}

std::shared_ptr<const SparseTensor> SparseTensor::repacked(const Format& format) const {
  return repacked_.in(format, *this);
}

SparseTensor repack(const SparseTensor& tensor, const Format& format, CallPlace place) {
  return user_call(place, [&] {
    if (tensor.source_ != nullptr) {
      SparseTensor packed = pack(*tensor.source_, format);
      packed.source_ = tensor.source_;
      return packed;
    }
    tensor.check();
    return pack(entries_of(tensor), format);
  });
}

}  // namespace weft
