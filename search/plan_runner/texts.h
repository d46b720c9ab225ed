// The program that measures a plan, as text.
#pragma once

#include <string_view>

namespace weft {

/// runner.c.in, made into a source by CMake.
extern const std::string_view plan_runner_text;

}  // namespace weft
