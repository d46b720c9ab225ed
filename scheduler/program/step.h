// A step of a schedule: a checked rewrite of the program, as data.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/knob.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/ir/program.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

/// One argument of a step: `m = 64` has a name and a number, `block_x` only a word.
struct Argument {
  std::string name;
  std::variant<std::int64_t, std::string, KnobChoice> value;
};

/// What the user asked for and where. Prints as C++, stores as JSON, applies through its row in the list.
struct Step {
  std::string name;
  std::vector<Argument> arguments;
  SourcePlace place;
  std::string file = {};  ///< that it was read from; empty: none

  /// ".tile(m = 4, n = 64)": what C++ takes where m and n are declared with WEFT_INDEX.
  std::string cpp() const;
};

/// Why a step does not apply. `precondition` is its number in the documentation of the step.
struct Reason {
  int precondition = 0;
  std::string found;
  std::string accepted;
  std::string marked;  ///< the loop or buffer at fault, to be marked in the printed program
};

/// What a step may look at besides the program.
struct StepContext {
  const Algorithm& algorithm;
  const SparseTensor* weights = nullptr;  ///< null where no operand is sparse
  const Target& target;
  int step = 0;  ///< number of the step, for provenance
};

using StepResult = std::variant<ir::Program, Reason>;

/// One row of the list of steps. A new step is one file in steps/ that fills a row, one line in the list in
/// steps/list.cpp, and a member of Schedule that spells it.
struct StepKind {
  std::string_view name;
  std::string_view usage;  ///< ".tile(m = 64, n = 256)"
  std::size_t least_arguments = 1;
  std::size_t most_arguments = SIZE_MAX;
  StepResult (*apply)(const ir::Program& program, const Step& step, const StepContext& context);
};

/// Every step.
std::span<const StepKind> step_kinds();
/// The row of that name; UserError that lists the steps when there is none.
const StepKind& step_kind(std::string_view name);

}  // namespace weft
