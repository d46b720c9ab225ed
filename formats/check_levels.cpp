#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/level_kind.h>

namespace weft {

void refuse_damaged(const SparseTensor& tensor, std::string where, std::string found, std::string accepted) {
  throw UserError({"a packed weight in format " + tensor.format().text() + " is damaged", std::move(where),
                   std::move(found), std::move(accepted)});
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
    if (!exists || (i > 0 && !level_kind(levels[static_cast<std::size_t>(level)].kind).counted))
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

}  // namespace weft
