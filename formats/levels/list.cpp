// The one list of level kinds. Each row is filled by the file of its name.
#include <weft/dsl/errors.h>
#include <weft/formats/levels/kinds.h>

#include <array>

namespace weft {

std::span<const LevelKindRow> level_kinds() {
  static const std::array list{levels::dense(),   levels::compressed(), levels::singleton(),
                               levels::n_of_m(),  levels::bucketed(),   levels::bitmap(),
                               levels::streamed()};
  return list;
}

const LevelKindRow& level_kind(LevelKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  if (number >= level_kinds().size()) throw InternalError("a level of an unknown kind");
  return level_kinds()[number];
}

}  // namespace weft
