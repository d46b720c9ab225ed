#include <fmt/format.h>
#include <weft/formats/io/npy_member.h>
#include <weft/formats/io/scipy_sparse.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

namespace weft::io {
namespace {

std::optional<std::size_t> find_member(const ZipArchive& archive, std::string_view name) {
  const auto& members = archive.members();
  const auto found = std::ranges::find(members, std::string(name) + ".npy", &ZipArchive::Member::name);
  if (found == members.end()) return std::nullopt;
  return static_cast<std::size_t>(found - members.begin());
}

/// The parts of a saved matrix, and what is common to all layouts.
class MatrixParts {
 public:
  MatrixParts(const ZipArchive& archive, std::string origin, std::optional<DType> reinterpret_as)
      : archive_(archive), origin_(std::move(origin)), reinterpret_as_(reinterpret_as) {
    const Array extents = integers("shape", 1);
    for (std::int64_t i = 0; i < extents.size(); ++i) shape.push_back(extents.get_integer(i));
    check_weight_shape(shape, archive.size(), origin_, "member \"shape\"");
    rows = shape.size() == 1 ? 1 : shape[0];
    columns = element_count(std::span(shape).subspan(shape.size() == 1 ? 0 : 1), origin_);
  }

  std::vector<std::int64_t> shape;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  /// The entries, in the order of the values.
  std::vector<std::int64_t> row;
  std::vector<std::int64_t> column;

  bool has(std::string_view name) const { return find_member(archive_, name).has_value(); }

  /// A member of integers with so many dimensions.
  Array integers(const std::string& name, std::size_t dimensions) const {
    Array array = load(name, std::nullopt);
    if (is_float(array.dtype()) || array.dtype() == DType::boolean || array.shape().size() != dimensions)
      refuse_member(name, fmt::format("{} {}", name_of(array.dtype()), text_of_shape(array.shape())),
                    fmt::format("integers of {} dimensions", dimensions));
    return array;
  }

  /// The values, NaN and infinity refused.
  Array data(std::size_t dimensions) const {
    Array array = load("data", reinterpret_as_);
    if (array.shape().size() != dimensions)
      refuse_member("data", text_of_shape(array.shape()), fmt::format("{} dimensions", dimensions));
    check_finite(array, origin_, [&](std::int64_t i) {
      return fmt::format("member \"data\", element {}", text_of_position(i, array.shape()));
    });
    return array;
  }

  /// Element `index` of the member `name`, which must be in 0 … extent - 1.
  std::int64_t coordinate(const Array& array, const std::string& name, std::int64_t index,
                          std::int64_t extent) const {
    const std::int64_t value = array.get_integer(index);
    if (value < 0 || value >= extent)
      refuse(origin_, fmt::format("member \"{}\", element {}", name, index), fmt::format("{}", value),
             fmt::format("0 to {}", extent - 1));
    return value;
  }

  void expect_size(const std::string& name, std::int64_t found, std::int64_t expected) const {
    if (found != expected)
      refuse_member(name, fmt::format("{} elements", found), fmt::format("{} elements", expected));
  }

  [[noreturn]] void refuse_member(const std::string& name, std::string found, std::string accepted) const {
    refuse(origin_, "member \"" + name + "\"", std::move(found), std::move(accepted));
  }

  WeightMatrix matrix(const Array& values) const {
    WeightMatrix result = from_coordinates(rows, columns, row, column, values, origin_);
    result.shape = shape;
    check_finite(result.values, origin_,
                 [](std::int64_t i) { return fmt::format("the sum of duplicates that became entry {}", i); });
    return result;
  }

 private:
  Array load(const std::string& name, std::optional<DType> reinterpret_as) const {
    const auto index = find_member(archive_, name);
    if (!index) refuse(origin_, {}, "no member \"" + name + "\"", "the members that the sparse format has");
    const std::string member = origin_ + ":" + name;
    return parse_npy(npy_member(archive_, *index, member, reinterpret_as), member,
                     {.reinterpret_as = reinterpret_as});
  }

  const ZipArchive& archive_;
  std::string origin_;
  std::optional<DType> reinterpret_as_;
};

/// Calls `visit(major, position)` for every stored entry (or block) of a compressed layout.
template <class Visit>
void walk_compressed(const MatrixParts& parts, std::int64_t major_extent, std::int64_t stored,
                     Visit&& visit) {
  const Array begin = parts.integers("indptr", 1);
  parts.expect_size("indptr", begin.size(), major_extent + 1);
  std::int64_t position = 0;
  for (std::int64_t major = 0; major < major_extent; ++major) {
    const std::int64_t first = begin.get_integer(major);
    const std::int64_t last = begin.get_integer(major + 1);
    if (first != position || last < first || last > stored)
      parts.refuse_member("indptr",
                          fmt::format("{} and {} at elements {} and {}", first, last, major, major + 1),
                          fmt::format("offsets that ascend from 0 to {}", stored));
    for (; position < last; ++position) visit(major, position);
  }
  if (position != stored)
    parts.refuse_member("indptr", fmt::format("{} at the end", position), fmt::format("{}", stored));
}

Array read_compressed(MatrixParts& parts, bool by_row) {
  Array values = parts.data(1);
  const Array indices = parts.integers("indices", 1);
  parts.expect_size("indices", indices.size(), values.size());
  auto& major_of = by_row ? parts.row : parts.column;
  auto& minor_of = by_row ? parts.column : parts.row;
  const std::int64_t minor_extent = by_row ? parts.columns : parts.rows;
  walk_compressed(parts, by_row ? parts.rows : parts.columns, values.size(), [&](auto major, auto position) {
    major_of.push_back(major);
    minor_of.push_back(parts.coordinate(indices, "indices", position, minor_extent));
  });
  return values;
}

Array read_blocks(MatrixParts& parts) {
  Array values = parts.data(3);
  const std::int64_t blocks = values.shape()[0];
  const std::int64_t height = values.shape()[1];
  const std::int64_t width = values.shape()[2];
  if (height < 1 || width < 1 || parts.rows % height != 0 || parts.columns % width != 0)
    parts.refuse_member("data", fmt::format("blocks of {} x {}", height, width),
                        fmt::format("blocks that divide {} x {}", parts.rows, parts.columns));
  const Array indices = parts.integers("indices", 1);
  parts.expect_size("indices", indices.size(), blocks);
  walk_compressed(parts, parts.rows / height, blocks, [&](auto block_row, auto position) {
    const std::int64_t block_column = parts.coordinate(indices, "indices", position, parts.columns / width);
    for (std::int64_t r = 0; r < height; ++r) {
      for (std::int64_t c = 0; c < width; ++c) {
        parts.row.push_back(block_row * height + r);
        parts.column.push_back(block_column * width + c);
      }
    }
  });
  const std::int64_t size = values.size();
  return std::move(values).reshaped({size});
}

/// Members row and col, or coords with one row for each dimension.
Array read_coordinates(MatrixParts& parts) {
  Array values = parts.data(1);
  const std::int64_t stored = values.size();
  if (!parts.has("coords")) {
    const Array row = parts.integers("row", 1);
    const Array column = parts.integers("col", 1);
    parts.expect_size("row", row.size(), stored);
    parts.expect_size("col", column.size(), stored);
    for (std::int64_t i = 0; i < stored; ++i) {
      parts.row.push_back(parts.coordinate(row, "row", i, parts.rows));
      parts.column.push_back(parts.coordinate(column, "col", i, parts.columns));
    }
    return values;
  }
  const Array coordinates = parts.integers("coords", 2);
  const auto dimensions = static_cast<std::int64_t>(parts.shape.size());
  if (coordinates.shape() != std::vector<std::int64_t>{dimensions, stored})
    parts.refuse_member("coords", text_of_shape(coordinates.shape()),
                        fmt::format("[{}, {}]", dimensions, stored));
  for (std::int64_t i = 0; i < stored; ++i) {
    std::int64_t column = 0;
    for (std::int64_t d = dimensions == 1 ? 0 : 1; d < dimensions; ++d) {
      const std::int64_t extent = parts.shape[d];
      column = column * extent + parts.coordinate(coordinates, "coords", d * stored + i, extent);
    }
    parts.row.push_back(dimensions == 1 ? 0 : parts.coordinate(coordinates, "coords", i, parts.rows));
    parts.column.push_back(column);
  }
  return values;
}

/// -0.0 is zero; integers are compared as such, since not every one has a double of its own.
bool is_zero(const Array& array, std::int64_t index) {
  return is_float(array.dtype()) ? array.get(index) == 0 : array.is_zero_bits(index);
}

/// data[d][j] stands in column j of the diagonal column - row == offsets[d]; zeros there are padding.
Array read_diagonals(MatrixParts& parts) {
  const Array data = parts.data(2);
  const Array offsets = parts.integers("offsets", 1);
  parts.expect_size("offsets", offsets.size(), data.shape()[0]);
  const std::int64_t length = data.shape()[1];
  const std::size_t width = size_of(data.dtype());
  std::vector<std::byte> kept;
  std::set<std::int64_t> seen;
  for (std::int64_t d = 0; d < offsets.size(); ++d) {
    const std::int64_t offset = offsets.get_integer(d);
    if (!seen.insert(offset).second || offset <= -parts.rows || offset >= parts.columns)
      parts.refuse_member("offsets", fmt::format("the diagonal {}", offset),
                          fmt::format("each of {} to {} once", 1 - parts.rows, parts.columns - 1));
    const std::int64_t last = std::min({length, parts.columns, parts.rows + offset});
    for (std::int64_t column = std::max<std::int64_t>(0, offset); column < last; ++column) {
      const std::int64_t index = d * length + column;
      if (is_zero(data, index)) continue;
      const std::byte* element = data.data() + static_cast<std::size_t>(index) * width;
      kept.insert(kept.end(), element, element + width);
      parts.row.push_back(column - offset);
      parts.column.push_back(column);
    }
  }
  Array values(data.dtype(), {static_cast<std::int64_t>(parts.row.size())});
  std::ranges::copy(kept, values.data());
  return values;
}

/// How a matrix is laid out.
struct Layout {
  std::string_view name;
  Array (*read)(MatrixParts& parts);
};
constexpr std::array layouts{Layout{"csr", [](MatrixParts& parts) { return read_compressed(parts, true); }},
                             Layout{"csc", [](MatrixParts& parts) { return read_compressed(parts, false); }},
                             Layout{"bsr", read_blocks}, Layout{"coo", read_coordinates},
                             Layout{"dia", read_diagonals}};

/// One of these that the shape can have.
const Layout& layout_of(const ZipArchive& archive, const std::string& origin, const MatrixParts& parts) {
  const std::size_t member = *find_member(archive, "format");
  if (archive.members()[member].size > npy_header_room)
    refuse(origin, "member \"format\"", fmt::format("{} bytes", archive.members()[member].size),
           "a short string");
  const std::string name = parse_npy_string(archive.content(member), origin + ":format");
  const auto layout = std::ranges::find(layouts, name, &Layout::name);
  const bool flat = parts.shape.size() == 1 && name == "csr";
  if (parts.shape.size() != 2 && name != "coo" && !flat)
    parts.refuse_member("shape", text_of_shape(parts.shape), "two extents for " + in_quotes(name));
  if (layout == layouts.end())
    refuse(origin, "member \"format\"", in_quotes(name), "csr, csc, bsr, coo or dia");
  return *layout;
}

}  // namespace

bool is_scipy_sparse(const ZipArchive& archive) {
  return find_member(archive, "format") && find_member(archive, "shape") && find_member(archive, "data");
}

WeightMatrix parse_scipy_sparse(const ZipArchive& archive, const std::string& origin,
                                std::optional<DType> reinterpret_as) {
  MatrixParts parts(archive, origin, reinterpret_as);
  return parts.matrix(layout_of(archive, origin, parts).read(parts));
}

ListedWeight summarize_scipy_sparse(const ZipArchive& archive, const std::string& path) {
  const MatrixParts parts(archive, path, std::nullopt);
  ListedWeight weight{
      .path = path,
      .dtype =
          summarize_npy(archive.beginning(*find_member(archive, "data"), npy_header_room), path + ":data")
              .first,
      .shape = parts.shape,
      .stored_as = fmt::format("scipy {}", layout_of(archive, path, parts).name)};
  for (const ZipArchive::Member& member : archive.members()) weight.bytes += member.packed;
  return weight;
}

}  // namespace weft::io
