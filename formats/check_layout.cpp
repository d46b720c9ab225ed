// A kernel's loops, and what recipes ask of a format, follow from the name of the format and its parameters.
// What these say is known best by pack: a weight of the same size without entries is packed and compared.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/level_kind.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <tuple>

namespace weft {
namespace {

std::string_view name_of(Dimension dimension) {
  constexpr std::array names{"rows", "columns", "no coordinate"};
  const auto number = static_cast<std::size_t>(dimension);
  return number < names.size() ? names[number] : "an unknown dimension";
}

/// Everything of a level but its extent.
std::string text_of(const Level& level) {
  std::string text = fmt::format("{}, of {}, stride {}", level_kind(level.kind).name,
                                 name_of(level.dimension), level.stride);
  for (const auto& [name, value] : {std::pair{"begin", &level.begin}, std::pair{"index", &level.index},
                                    std::pair{"width", &level.width}, std::pair{"loop", &level.loop}}) {
    if (!value->empty()) text += fmt::format(", {} \"{}\"", name, *value);
  }
  if (level.padded) text += ", padded";
  for (const auto& [name, value, usual] : {std::tuple{"parent", level.parent, -1},
                                           {"across", level.across, -1},
                                           {"index bits", level.index_bits, 8},
                                           {"width step", level.width_step, 1},
                                           {"one width", int{level.one_width}, 0}}) {
    if (value != usual) text += fmt::format(", {} {}", name, value);
  }
  if (level.fill != 0) text += fmt::format(", fill {}", level.fill);
  return text;
}

/// Everything of an array but its numbers and how many they are.
std::string text_of(const SparseTensor::NamedArray& named) {
  std::string text = fmt::format("{} of {}, [entries", named.name, weft::name_of(named.array.dtype()));
  for (const std::int64_t extent : named.array.shape() | std::views::drop(1))
    text += fmt::format(", {}", extent);
  return text + "]";
}

std::string text_of(const ValueOrder& order) {
  return fmt::format("levels [{}], swizzle {}", fmt::join(order.levels, ", "), order.swizzle);
}

std::string names_of(const SparseTensor& tensor) {
  return fmt::format(
      "{}",
      fmt::join(tensor.arrays() | std::views::transform([](const auto& named) { return named.name; }), ", "));
}

/// A weight of the same size without entries, as pack makes it.
SparseTensor empty_one(const SparseTensor& tensor) {
  const auto named = std::ranges::find(named_formats(), tensor.format().name, &NamedFormat::name);
  if (named == named_formats().end()) parse_format(tensor.format().name);  // says which formats there are
  const WeightMatrix weights = from_coordinates(tensor.rows(), tensor.columns(), {}, {},
                                                Array(tensor.dtype(), {0}), "a weight made by hand");
  return named->pack(weights, tensor.format());
}

}  // namespace

void refuse_damaged(const SparseTensor& tensor, std::string where, std::string found, std::string accepted) {
  throw UserError("a packed weight in format " + tensor.format().text() + " is damaged", std::move(where),
                  std::move(found), std::move(accepted));
}

void check_levels(const SparseTensor& tensor) {
  const auto& levels = tensor.levels();
  const ValueOrder& order = tensor.value_order();
  if (levels.empty()) refuse_damaged(tensor, "the levels", "no level", "at least one");
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string where = fmt::format("level {}", i);
    const auto kind = static_cast<std::size_t>(levels[i].kind);
    if (kind >= level_kinds().size())
      refuse_damaged(tensor, where, fmt::format("kind {}", kind), "a kind of level that there is");
    if (levels[i].parent < -1 || levels[i].parent >= static_cast<int>(i))
      refuse_damaged(tensor, where, fmt::format("parent {}", levels[i].parent), "a level before it");
  }
  for (std::size_t i = 0; i < order.levels.size(); ++i) {
    const int level = order.levels[i];
    const bool exists = level >= 0 && level < std::ssize(levels);
    if (!exists || (i > 0 && !level_kind(levels[level].kind).counted))
      refuse_damaged(tensor, "the order of values", fmt::format("level {}", level),
                     "a level, after the first a dense one");
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const LevelKindRow& kind = level_kind(levels[i].kind);
    if (kind.check_level != nullptr) kind.check_level(tensor, i);
  }
  if (order.swizzle < 0 || order.swizzle > 3)
    refuse_damaged(tensor, "the order of values", fmt::format("swizzle {}", order.swizzle), "0 to 3");
}

void check_layout(const SparseTensor& tensor) {
  const SparseTensor pattern = empty_one(tensor);
  const auto expect = [&](const std::string& where, const std::string& found, const std::string& accepted) {
    if (found == accepted) return;
    throw UserError("a packed weight is not laid out as its format " + tensor.format().text(), where, found,
                    accepted + ", as pack(weights, format) makes it");
  };
  expect("the levels", fmt::format("{} levels", tensor.levels().size()),
         fmt::format("{} levels", pattern.levels().size()));
  for (std::size_t i = 0; i < pattern.levels().size(); ++i) {
    const Level& level = tensor.levels()[i];
    const Level& wanted = pattern.levels()[i];
    expect(fmt::format("level {}", i), text_of(level), text_of(wanted));
    // The widths of ell, which a weight without entries does not have.
    if (wanted.extent != 0)
      expect(fmt::format("level {}", i), fmt::format("extent {}", level.extent),
             fmt::format("extent {}", wanted.extent));
  }
  expect("the arrays", names_of(tensor), names_of(pattern));
  for (std::size_t i = 0; i < pattern.arrays().size(); ++i)
    expect("array " + pattern.arrays()[i].name, text_of(tensor.arrays()[i]), text_of(pattern.arrays()[i]));
  expect("the order of values", text_of(tensor.value_order()), text_of(pattern.value_order()));
}

}  // namespace weft
