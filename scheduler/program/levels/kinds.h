// The rows of level kinds in programs.
#pragma once

#include <weft/scheduler/program/level_facts.h>
#include <weft/scheduler/program/walk_levels.h>

namespace weft::level_programs {

LevelProgram dense();
LevelProgram compressed();
LevelProgram singleton();
LevelProgram n_of_m();
LevelProgram bucketed();
LevelProgram bitmap();
LevelProgram streamed();

}  // namespace weft::level_programs
