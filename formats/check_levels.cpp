#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/kept_slots.h>

namespace weft {
namespace {

class LevelNumbers {
 public:
  explicit LevelNumbers(const SparseTensor& tensor) : tensor_(tensor) {}

  void run() const {
    if (tensor_.levels().empty()) refuse("the levels", "no level", "at least one");
    const auto& levels = tensor_.levels();
    const auto count = static_cast<int>(levels.size());
    for (int i = 0; i < count; ++i) {
      const int parent = levels[static_cast<std::size_t>(i)].parent;
      if (parent < -1 || parent >= i)
        refuse(fmt::format("level {}", i), fmt::format("parent {}", parent), "a level before it");
      if (levels[static_cast<std::size_t>(i)].kind == LevelKind::bucketed) check_bucketed(i);
      if (levels[static_cast<std::size_t>(i)].kind == LevelKind::dense) check_repeated(i);
    }
    const ValueOrder& order = tensor_.value_order();
    for (std::size_t i = 0; i < order.levels.size(); ++i) {
      const int level = order.levels[i];
      const bool exists = level >= 0 && level < count;
      const auto has_number = [&](LevelKind kind) {
        return kind == LevelKind::dense || kind == LevelKind::n_of_m;
      };
      if (!exists || (i > 0 && !has_number(levels[static_cast<std::size_t>(level)].kind)))
        refuse("the order of values", fmt::format("level {}", level), "a level, after the first a dense one");
    }
    for (int i = 0; i < count; ++i) {
      if (levels[static_cast<std::size_t>(i)].kind == LevelKind::n_of_m) check_kept_level(i);
    }
    if (order.swizzle < 0 || order.swizzle > 3)
      refuse("the order of values", fmt::format("swizzle {}", order.swizzle), "0 to 3");
  }

 private:
  [[noreturn]] void refuse(std::string where, std::string found, std::string accepted) const {
    refuse_damaged(tensor_, std::move(where), std::move(found), std::move(accepted));
  }

  /// Codes go by block, by row and by what is kept, and so do values.
  void check_kept_level(int number) const {
    const auto& levels = tensor_.levels();
    const std::vector<int>& order = tensor_.value_order().levels;
    const Level& level = levels[static_cast<std::size_t>(number)];
    const std::vector<int> expected{level.parent < 0 ? number - 1 : level.parent,
                                    order.size() < 2 ? -1 : order[1], number};
    const bool ordered = order == expected && expected[0] >= 0 && expected[1] < number &&
                         levels[static_cast<std::size_t>(expected[1])].kind == LevelKind::dense;
    if (!ordered)
      refuse(fmt::format("level {}", number), "values in another order than codes",
             "values by its parent, by a dense level before it, and by itself");
    const std::int64_t rows = levels[static_cast<std::size_t>(expected[1])].extent;
    if (rows % rows_of_words != 0 || level.extent < 1 || level.extent % (slots_of_words / 2) != 0)
      refuse(fmt::format("level {}", number), fmt::format("{} rows of {} kept places", rows, level.extent),
             fmt::format("a multiple of {} rows, of {} places", rows_of_words, slots_of_words / 2));
  }

  /// A dense level whose child is that of a level before it.
  void check_repeated(int number) const {
    const auto& levels = tensor_.levels();
    const Level& level = levels[static_cast<std::size_t>(number)];
    if (level.across < 0) return;
    const Level* before = level.across < number ? &levels[static_cast<std::size_t>(level.across)] : nullptr;
    const bool same = before != nullptr && before->kind == LevelKind::dense && before->extent == level.extent;
    if (same && level.dimension == Dimension::none) return;
    refuse(fmt::format("level {}", number), fmt::format("the children of level {}", level.across),
           "a dense level before it, of the same extent, and no coordinate of its own");
  }

  void check_bucketed(int number) const {
    const auto& levels = tensor_.levels();
    const Level& level = levels[static_cast<std::size_t>(number)];
    const bool last = number + 1 == std::ssize(levels) && tensor_.value_order().levels.empty();
    const bool across = level.across >= 0 && level.across < number &&
                        levels[static_cast<std::size_t>(level.across)].kind == LevelKind::dense;
    if (last && across && number > 0 && (level.index_bits == 4 || level.index_bits == 8)) return;
    refuse(fmt::format("level {}", number), "a bucketed level",
           "the last one, across a dense level, with indices of 4 or 8 bits");
  }

  const SparseTensor& tensor_;
};

}  // namespace

void refuse_damaged(const SparseTensor& tensor, std::string where, std::string found, std::string accepted) {
  throw UserError({"a packed weight in format " + tensor.format().text() + " is damaged", std::move(where),
                   std::move(found), std::move(accepted)});
}

void check_levels(const SparseTensor& tensor) {
  LevelNumbers(tensor).run();
}

}  // namespace weft
