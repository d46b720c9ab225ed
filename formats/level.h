// A format as a hierarchy of levels: how stored positions are walked, and which row and column each one
// means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// How a level finds the children of a position; formats/level_kind.h has what each kind means. After Chou,
/// Kjolstad, Amarasinghe, "Format abstraction for sparse tensor algebra compilers" (OOPSLA 2018).
enum class LevelKind : std::uint8_t {
  dense,       ///< children 0 .. extent-1, or that of `across`; position = parent * extent + child
  compressed,  ///< children begin[parent] .. begin[parent+1]; position = child; coordinate = index[position],
               ///< where there is an index
  singleton,   ///< exactly one child, at the parent's own position; coordinate = index[position]
  /// 2:4 of sparse tensor cores: of 2 * extent slots of a position, two of each four are children: child c is
  /// slot c / 2 * 4 + its code, which lies in the array index as formats/kept_slots.h says, by row: the child
  /// of the dense level `across`. With an array `begin`, child c of parents before begin[child of level 0] is
  /// slot c, and their codes are 0. position = parent * 2 * extent + slot; coordinate = slot
  n_of_m,
  bucketed,  ///< width[parent] children for each child of the dense level `across`, the block's rows:
             ///< position = begin[parent] + child * width[parent] + number; coordinate = index[position],
             ///< but the number itself where the width is `extent`. A place whose value is +0 is padding.
             ///< Always the last level; positions below the size of the index array have a coordinate.
  bitmap,    ///< children begin[parent] .. begin[parent+1], one for each set bit of a 64-bit word; position =
             ///< child; coordinate = the bit's. Half 0 of a word, its lower bits, is index[2 * parent]
  /// Of a row of 32, the child of the dense level `across`, the places of a step whose bits are set:
  /// formats/lane_streams.h says which word and bit a place has, and where the lane's stream goes on there.
  /// Children are numbered by coordinate, 0 .. extent-1; position = the place in the stream. A place whose
  /// value is +0 is padding. Always the last level, below a dense level of steps.
  streamed,
};

/// The dimension of the matrix that a level's coordinate belongs to.
enum class Dimension : std::uint8_t {
  row,
  column,
  none,  ///< a slot, or a group of slots, that carries no coordinate, as the slots of an ELL row
};

/// One level. A coordinate of a dimension is the sum of `coordinate * stride` over the levels of that
/// dimension, so that blocks are two levels: the block with stride b, and the place inside with stride 1.
/// Where the extent of a dimension is no multiple of its blocks, the last block reaches beyond the matrix;
/// what is stored there is padding.
struct Level {
  LevelKind kind = LevelKind::dense;
  Dimension dimension = Dimension::row;
  /// Children of a dense or n_of_m level; coordinates of a bucketed one are below it. Beyond 0 in a
  /// compressed level: so many columns lie behind each coordinate, or all that there are. In a singleton one,
  /// whose index is u8 then: coordinates are below it, and any other number is padding.
  std::int64_t extent = 0;
  std::int64_t stride = 1;
  std::string begin = {};  ///< array of a compressed, bucketed or bitmap level: parents + 1 offsets; of a
                           ///< streamed one: first rows of streams; of n_of_m: see there
  std::string index =
      {};               ///< array of coordinates, codes where n_of_m, bits where bitmap or streamed; or none
  bool padded = false;  ///< index may hold -1: nothing is stored in that place
  /// The level, by number, whose positions this one finds children of; -1: the one before. A level that
  /// skips some in between has the same children for all of theirs: the rows of a group share its columns.
  int parent = -1;
  std::string loop = {};  ///< name of its loop, after the index and a dot, "block"; empty: the index alone
  /// Array of a bucketed level: children of each parent, for each child of `across`. Of a streamed one: rows
  /// of the stream that each lane has taken before each step.
  std::string width = {};
  int across = -1;  ///< the dense level whose child this one asks for; of a dense level, has for its own
  /// Bits of a coordinate in a bucketed level. 4: two in each byte of the index, the first in its low half.
  int index_bits = 8;
  int width_step = 1;      ///< widths of a bucketed level are multiples of this
  bool one_width = false;  ///< every block of a bucketed level is stored, as wide as all others
  std::int64_t fill = 0;   ///< children of each block of rows, in a compressed level; 0: no such blocks
};

/// Where "values" holds the value of a stored place.
struct ValueOrder {
  /// Empty: at the position of the last level. Else "values" has a dimension for each level named here, by
  /// number: in the first one the place is the position of that level, in the others, which are dense or
  /// n_of_m levels, the child's number.
  std::vector<int> levels = {};
  /// As ir::Buffer::swizzle: how the bytes of "values" are mixed.
  int swizzle = 0;
};

}  // namespace weft
