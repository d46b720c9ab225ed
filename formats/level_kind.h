// What a kind of level means: one row a kind, filled by the file of its name in formats/levels/. What walks,
// checks or describes levels goes through them and asks these rows.
#pragma once

#include <weft/formats/index_numbers.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/value_place.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct LevelKindRow;

/// One level of a tensor, its arrays ready to be read. The tensor has to outlive it.
struct OpenLevel {
  OpenLevel(const SparseTensor& tensor, const Level& of);

  const Level* level;
  const LevelKindRow* kind;
  const Array* values;
  std::span<const std::int32_t> begin = {}, width = {};
  IndexNumbers index = {};       ///< where the array lists coordinates; else …
  const Array* codes = nullptr;  ///< … what it holds
};

/// The children of a position.
struct Children {
  std::int64_t parent = 0;
  std::int64_t across = 0;  ///< the child of the level that this one goes across
  std::int64_t first = 0;   ///< the position of child 0
  std::int64_t count = 0;
};
struct Child {
  std::int64_t position = 0;  ///< below 0 where the padding has none
  std::int64_t number = 0;
  std::int64_t coordinate = 0;
  bool padding = false;  ///< nothing is stored in the place
};

/// Where the check of a tensor stands: the level that it looks at, and the row and column so far.
struct CheckPlace {
  const SparseTensor& tensor;
  std::span<const OpenLevel> levels;
  std::size_t level = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  bool padding = false;

  /// "row 3, begin[4]": what levels before this one say of the place, then the element.
  std::string where(const std::string& array, std::int64_t element) const;
};

struct LevelKindRow {
  LevelKind kind;
  std::string_view name;
  Children (*children)(const OpenLevel& open, std::int64_t parent, std::int64_t across);
  Child (*child)(const OpenLevel& open, const Children& children, std::int64_t number);
  /// Checks the arrays, names and sizes, of a level whose parents are so many; answers with its positions.
  /// Where offsets decide these, the index array is trusted here, and the offsets in check_children.
  std::int64_t (*check_arrays)(const SparseTensor& tensor, const Level& level, std::int64_t parents);
  /// UserError where the level, by its number, does not fit the others. Null, here and below: nothing to ask.
  void (*check_level)(const SparseTensor& tensor, std::size_t number) = nullptr;
  void (*check_children)(const CheckPlace& place, const Children& children) = nullptr;
  void (*check_child)(const CheckPlace& place, const Children& children, const Child& child) = nullptr;
  /// Of children that may be many: how many, from the first, have coordinates that ascend below the extent.
  std::int64_t (*ascending)(const OpenLevel& open, const Children& children, std::int64_t extent) = nullptr;
  bool counted = false;    ///< a position has `extent` children, which have numbers for an order of values
  std::int64_t slots = 1;  ///< coordinates for a child of a counted level, one of which is its own
  bool listed = true;      ///< the index array, where there is one, holds coordinates
};

/// Every kind, in the order of LevelKind.
std::span<const LevelKindRow> level_kinds();
/// InternalError for a number that is no kind.
const LevelKindRow& level_kind(LevelKind kind);

/// The level, by number, whose positions are the parents of this one's children; -1: the tensor itself.
inline int parent_of(const std::vector<Level>& levels, std::size_t number) {
  return levels[number].parent >= 0 ? levels[number].parent : static_cast<int>(number) - 1;
}

/// Where a walk through the levels of a tensor stands, whose arrays have the right sizes.
class LevelCursor {
 public:
  explicit LevelCursor(const SparseTensor& tensor);

  std::span<const OpenLevel> levels() const { return levels_; }
  /// Those of the place where the levels before stand.
  Children children(std::size_t level) const {
    const OpenLevel& open = levels_[level];
    const int across = open.level->across;
    const int parent = parents_[level];
    return open.kind->children(open, parent < 0 ? 0 : position_[parent], across < 0 ? 0 : child_[across]);
  }
  /// Stands at one of them.
  Child enter(std::size_t level, const Children& children, std::int64_t number) {
    const Child child = levels_[level].kind->child(levels_[level], children, number);
    position_[level] = child.position;
    child_[level] = child.number;
    return child;
  }
  /// The place in "values", below all levels.
  std::int64_t value_place() const { return value_place_(position_, child_); }

 private:
  std::vector<OpenLevel> levels_;
  std::vector<int> parents_;
  ValuePlace value_place_;
  std::vector<std::int64_t> position_, child_;
};

/// What an array of a tensor holds, which says the element types that it may have.
enum class Content : std::uint8_t { values, offsets, coordinates, inside_blocks };
/// UserError unless the tensor has that array, of such elements, and so many where they are given.
void check_array(const SparseTensor& tensor, const std::string& name, Content content,
                 std::optional<std::int64_t> size = std::nullopt);

}  // namespace weft
