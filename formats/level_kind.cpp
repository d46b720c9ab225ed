#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/level_kind.h>

namespace weft {
namespace {

bool holds(Content content, DType dtype) {
  switch (content) {
    case Content::values: return true;
    case Content::offsets: return dtype == DType::i32;
    case Content::coordinates: return dtype == DType::i32 || dtype == DType::i16;
    case Content::inside_blocks: return dtype == DType::u8;
  }
  return false;
}

}  // namespace

OpenLevel::OpenLevel(const SparseTensor& tensor, const Level& of)
    : level(&of), kind(&level_kind(of.kind)), values(&tensor.array("values")) {
  const auto offsets = [&](const std::string& name) {
    return name.empty() ? std::span<const std::int32_t>() : tensor.array(name).as<std::int32_t>();
  };
  begin = offsets(of.begin);
  width = offsets(of.width);
  if (of.index.empty()) return;
  if (kind->listed)
    index = IndexNumbers(tensor.array(of.index), of.index_bits);
  else
    codes = &tensor.array(of.index);
}

LevelCursor::LevelCursor(const SparseTensor& tensor)
    : value_place_(tensor.levels(), tensor.value_order(), size_of(tensor.dtype())),
      position_(tensor.levels().size(), 0),
      child_(tensor.levels().size(), 0) {
  for (std::size_t i = 0; i < tensor.levels().size(); ++i) {
    levels_.emplace_back(tensor, tensor.levels()[i]);
    parents_.push_back(parent_of(tensor.levels(), i));
  }
}

std::string CheckPlace::where(const std::string& array, std::int64_t element) const {
  bool has_row = false;
  bool has_column = false;
  for (const OpenLevel& before : levels.first(level)) {
    has_row = has_row || before.level->dimension == Dimension::row;
    has_column = has_column || before.level->dimension == Dimension::column;
  }
  return (has_row ? fmt::format("row {}, ", row) : "") +
         (has_column ? fmt::format("column {}, ", column) : "") + fmt::format("{}[{}]", array, element);
}

void check_array(const SparseTensor& tensor, const std::string& name, Content content,
                 std::optional<std::int64_t> size) {
  const std::string where = "array " + name;
  if (!tensor.has_array(name))
    refuse_damaged(tensor, where, "it is missing", "an array that the levels name");
  const Array& array = tensor.array(name);
  if (!holds(content, array.dtype()))
    refuse_damaged(tensor, where, std::string(name_of(array.dtype())),
                   content == Content::offsets       ? "i32"
                   : content == Content::coordinates ? "i32 or i16"
                                                     : "u8");
  if (size && array.size() != *size)
    refuse_damaged(tensor, where, fmt::format("{} elements", array.size()),
                   fmt::format("{} elements", *size));
}

}  // namespace weft
