// A format as a hierarchy of levels: how stored positions are walked, and which row and column each one
// means.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// How a level finds the children of a position. After Chou, Kjolstad, Amarasinghe, "Format abstraction for
/// sparse tensor algebra compilers" (OOPSLA 2018).
enum class LevelKind : std::uint8_t {
  dense,       ///< children 0 .. extent-1 of every position; position = parent * extent + child
  compressed,  ///< children begin[parent] .. begin[parent+1]; position = child; coordinate = index[position],
               ///< where there is an index
  singleton,   ///< exactly one child, at the parent's own position; coordinate = index[position]
};

/// The dimension of the matrix that a level's coordinate belongs to.
enum class Dimension : std::uint8_t {
  row,
  column,
  none,  ///< a slot, or a group of slots, that carries no coordinate, as the slots of an ELL row
};

/// One level. A coordinate of a dimension is the sum of `coordinate * stride` over the levels of that
/// dimension, so that blocks are two levels: the block with stride b, and the place inside with stride 1.
struct Level {
  LevelKind kind = LevelKind::dense;
  Dimension dimension = Dimension::row;
  std::int64_t extent = 0;  ///< children of a dense level; unused otherwise
  std::int64_t stride = 1;
  std::string begin = {};  ///< array of a compressed level: parents + 1 offsets
  std::string index = {};  ///< array of a compressed or singleton level: coordinates; empty: it has none
  bool padded = false;     ///< index may hold -1: nothing is stored in that place
};

}  // namespace weft
