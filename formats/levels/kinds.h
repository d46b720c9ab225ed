// The rows of level kinds, and what those share whose coordinates are listed.
#pragma once

#include <weft/formats/level_kind.h>

namespace weft::levels {

LevelKindRow dense();
LevelKindRow compressed();
LevelKindRow singleton();
LevelKindRow n_of_m();
LevelKindRow bucketed();
LevelKindRow bitmap();
LevelKindRow streamed();

/// The coordinate of a child stands at its position in the index array, if there is one.
Child listed_child(const OpenLevel& open, const Children& children, std::int64_t number);
std::int64_t listed_ascending(const OpenLevel& open, const Children& children, std::int64_t extent);

/// UserError unless the level has so many offsets and one more, the first of them 0. Answers with the last.
std::int64_t check_offset_array(const SparseTensor& tensor, const Level& level, std::int64_t parents);
/// The children from one offset to before the next.
Children between_offsets(const OpenLevel& open, std::int64_t parent, std::int64_t across);
/// UserError unless these offsets do not decrease and end by the last of all.
void check_offsets(const CheckPlace& place, const Children& children);

}  // namespace weft::levels
