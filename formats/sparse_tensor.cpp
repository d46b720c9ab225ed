#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

/// A level whose array names have been looked up.
struct ResolvedLevel {
  Level level;
  std::span<const std::int32_t> begin;
  std::span<const std::int32_t> index;
};

struct Place {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t position = 0;
};

std::vector<ResolvedLevel> resolved(const SparseTensor& tensor) {
  std::vector<ResolvedLevel> result;
  for (const Level& level : tensor.levels()) {
    ResolvedLevel next{level, {}, {}};
    if (!level.begin.empty()) next.begin = tensor.array(level.begin).as<std::int32_t>();
    if (!level.index.empty()) next.index = tensor.array(level.index).as<std::int32_t>();
    result.push_back(std::move(next));
  }
  return result;
}

Place moved(const Level& level, Place place, std::int64_t position, std::int64_t coordinate) {
  place.position = position;
  if (level.dimension == Dimension::row) place.row += coordinate * level.stride;
  if (level.dimension == Dimension::column) place.column += coordinate * level.stride;
  return place;
}

template <class Visit>
void descend(std::span<const ResolvedLevel> levels, const Place& place, const Visit& visit) {
  if (levels.empty()) {
    visit(place.row, place.column, place.position);
    return;
  }
  const auto& [level, begin, index] = levels.front();
  const auto inner = levels.subspan(1);
  if (level.kind == LevelKind::dense) {
    for (std::int64_t child = 0; child < level.extent; ++child) {
      descend(inner, moved(level, place, place.position * level.extent + child, child), visit);
    }
    return;
  }
  const bool compressed = level.kind == LevelKind::compressed;
  const auto parent = static_cast<std::size_t>(place.position);
  const std::int64_t first = compressed ? begin[parent] : place.position;
  const std::int64_t last = compressed ? begin[parent + 1] : place.position + 1;
  for (std::int64_t position = first; position < last; ++position) {
    const std::int64_t coordinate = index.empty() ? 0 : index[static_cast<std::size_t>(position)];
    if (level.padded && coordinate < 0) continue;
    descend(inner, moved(level, place, position, coordinate), visit);
  }
}

}  // namespace

SparseTensor::SparseTensor(Format format, std::vector<std::int64_t> shape, std::int64_t rows,
                           std::int64_t columns, std::vector<Level> levels, std::vector<NamedArray> arrays)
    : format_(std::move(format)),
      shape_(std::move(shape)),
      rows_(rows),
      columns_(columns),
      levels_(std::move(levels)),
      arrays_(std::move(arrays)) {}

bool SparseTensor::has_array(const std::string& name) const {
  return std::any_of(arrays_.begin(), arrays_.end(),
                     [&](const NamedArray& named) { return named.name == name; });
}

const Array& SparseTensor::array(const std::string& name) const {
  for (const NamedArray& named : arrays_) {
    if (named.name == name) return named.array;
  }
  throw InternalError("a tensor of format " + format_.text() + " has no array " + name);
}

std::size_t SparseTensor::bytes() const {
  std::size_t sum = 0;
  for (const NamedArray& named : arrays_) sum += named.array.bytes();
  return sum;
}

std::optional<std::string> SparseTensor::row_order() const {
  const bool listed = levels_.size() > 1 && levels_[0].kind == LevelKind::dense &&
                      levels_[0].dimension == Dimension::none && levels_[1].kind == LevelKind::singleton &&
                      levels_[1].dimension == Dimension::row;
  return listed ? std::optional(levels_[1].index) : std::nullopt;
}

std::size_t SparseTensor::row_levels() const {
  const auto of_row = [](const Level& level) { return level.dimension == Dimension::row; };
  std::size_t count = row_order() ? 2 : 0;
  while (count < levels_.size() && of_row(levels_[count]) && levels_[count].kind == LevelKind::dense) ++count;
  const auto rest = levels_.begin() + static_cast<std::ptrdiff_t>(count);
  return std::any_of(rest, levels_.end(), of_row) ? 0 : count;
}

void SparseTensor::walk(const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) const {
  const std::vector<ResolvedLevel> levels = resolved(*this);
  descend(levels, {}, visit);
}

Array SparseTensor::to_dense() const {
  const Array& values = array("values");
  Array dense(values.dtype(), {rows_, columns_});
  const std::vector<ResolvedLevel> levels = resolved(*this);
  descend(levels, {}, [&](std::int64_t row, std::int64_t column, std::int64_t position) {
    dense.copy_element(row * columns_ + column, values, position);
  });
  return dense;
}

SparseTensor pack(const WeightMatrix& weights, const Format& format) {
  weights.check();
  for (const NamedFormat& named : named_formats()) {
    if (named.name != format.name) continue;
    SparseTensor tensor = named.pack(weights, format);
    tensor.check();
    return tensor;
  }
  parse_format(format.name);  // says which formats there are
  throw InternalError("a format that was parsed is not in the list: " + format.text());
}

SparseTensor repack(const SparseTensor& tensor, const Format& format) {
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

}  // namespace weft
