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

/// A loop as a step names it in C++: n.outer, or "m.block" where no index has such a piece.
std::string loop_text(const std::string& loop);
/// ".split(n = 64)", or ".split(LoopName("m.block") = 64)".
std::string split_text(const std::string& loop, std::int64_t factor);

/// Why a step does not apply. `precondition` is its number in the step's row.
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

/// What an argument of a step says.
enum class ParameterKind : std::uint8_t {
  loop,         ///< a loop of the program
  factor,       ///< a loop and a number for it: n = 64
  tensor,       ///< an operand, or an array of the weights
  word,         ///< one of a list
  number,       ///< or a knob
  instruction,  ///< a name in scheduler/hardware/tensor_instructions.h
};
std::string_view name_of(ParameterKind kind);

/// What a step takes. A knob may stand wherever a number may.
struct Parameter {
  std::string_view name;  ///< written in front of it where it is `named`
  ParameterKind kind = ParameterKind::loop;
  std::string_view example = {};  ///< a value as C++, "\"B\"" or "64"; of a factor "n = 64"
  std::string_view sentence = {};
  int precondition = 1;  ///< that a number out of range breaks, or a word that is none of the list
  bool required = true;
  bool named = false;     ///< depth = 4; others are known by their place
  bool repeated = false;  ///< one or more of them
  std::int64_t least = 1, most = INT64_MAX;
  std::int64_t otherwise = 0;                    ///< the number where none is given
  std::span<const std::string_view> words = {};  ///< the first one where none is given
  /// The rewrite takes a knob as a symbol. Others are made with one value of it, and again for each other one
  /// when a search asks (space_of).
  bool symbolic = false;
  bool by_extent = false;  ///< how many iterations this loop has decides whether the step applies
};

/// What a step asks, under the number by which refusals call it.
struct Precondition {
  int number;
  std::string_view text;
};

class StepArguments;

/// One row of the list of steps. A new step is one file in steps/ that fills a row, one line in the list in
/// steps/list.cpp, and a member of Schedule that spells it.
struct StepKind {
  std::string_view name;
  std::string_view sentence;   ///< what it does
  std::string_view more = {};  ///< what else is to be known
  std::span<const Parameter> parameters;
  std::span<const Precondition> preconditions;
  StepResult (*apply)(const ir::Program& program, const StepArguments& arguments, const StepContext& context);
  /// The loops that it makes, by name, as the members of Schedule give them back; null: none.
  std::vector<std::string> (*loops)(const StepArguments& arguments, const Algorithm& algorithm) = nullptr;

  /// Asked again after each later step: why that one would break what this one says; null: nothing can.
  std::optional<Reason> (*broken)(const ir::Program& program, const StepContext& context) = nullptr;

  /// ".tile(m = 4, n = 64)", from the examples of its parameters.
  std::string usage() const;
};

/// Every step.
std::span<const StepKind> step_kinds();
/// The row of that name; UserError that lists the steps when there is none.
const StepKind& step_kind(std::string_view name);

}  // namespace weft
