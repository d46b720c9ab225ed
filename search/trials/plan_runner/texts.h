// The program that measures a plan, as text.
#pragma once

#include <array>
#include <string_view>

namespace weft {

struct PlanRunnerText {
  std::string_view name;  ///< name of its file: "runner.c"
  std::string_view text;
};

/// The templates of this folder, made into a source by CMake.
extern const std::array<PlanRunnerText, 3> plan_runner_texts;

}  // namespace weft
