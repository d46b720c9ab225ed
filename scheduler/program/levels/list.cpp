// The one list of level kinds in programs. Each row is filled by the file of its name.
#include <weft/dsl/errors.h>
#include <weft/scheduler/program/levels/kinds.h>

#include <array>

namespace weft {

const LevelProgram& level_program(LevelKind kind) {
  using namespace level_programs;
  static const std::array list{dense(),    compressed(), singleton(), n_of_m(),
                               bucketed(), bitmap(),     streamed()};
  for (const LevelProgram& row : list) {
    if (row.kind == kind) return row;
  }
  throw InternalError("a level of a kind that no program has");
}

}  // namespace weft
