// What a step is given, read as its row declares it.
#pragma once

#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The number of an argument, or its knob as a variable.
ir::Expr symbol_of(const Argument& argument);

/// The parameter that argument number `index` of the step is for; null where the row has none.
const Parameter* parameter_of(const StepKind& kind, const Step& step, std::size_t index);

/// The arguments of a step by the names of its parameters.
class StepArguments {
 public:
  StepArguments(const StepKind& kind, const Step& step) : kind_(&kind), step_(&step) {}

  const StepKind& kind() const { return *kind_; }
  const Step& step() const { return *step_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// A loop, a tensor, an instruction or a word; of a word that is not given, the first one. UserError where
  /// what has to be given is not.
  std::string text(std::string_view name) const;
  /// Those of a parameter that is repeated.
  std::vector<std::string> texts(std::string_view name) const;
  /// The number, or what stands for one that is not given.
  std::int64_t number(std::string_view name) const;
  /// The same for a number that the rewrite takes as a symbol too.
  ir::Expr symbol(std::string_view name) const;

 private:
  const Parameter& parameter(std::string_view name) const;
  const Argument* find(std::string_view name) const;

  const StepKind* kind_;
  const Step* step_;
};

/// What is wrong with a step whatever the program: how many arguments it has, their names, whether they are
/// words or numbers.
std::optional<UserError::Report> malformed(const StepKind& kind, const Step& step);

/// A refusal unless the number, or each value of a knob, is from `least` to `most`: `otherwise`, but for what
/// was found.
std::optional<Reason> require_range(const Argument& argument, std::int64_t least, std::int64_t most,
                                    const Reason& otherwise);
/// The same, of all numbers of a well-formed step; and that words are ones of its row, and knobs have names
/// that nothing else of the program has.
std::optional<Reason> check_values(const StepKind& kind, const Step& step, const ir::Program& program,
                                   bool for_gpu);

/// The knobs of the step that its rewrite does not take as symbols, each once.
std::vector<std::string> replayed_knobs(const Step& step);
/// The step with numbers in place of the knobs that have one.
Step with_values(Step step, const std::map<std::string, std::int64_t>& values);
/// The program with the knobs of the step that it does not have yet.
ir::Program with_knobs(ir::Program program, const Step& step);

/// What a variable of that name is in the program ("a loop", "a scalar"); empty: there is none.
std::string variable_called(const ir::Program& program, const std::string& name);

}  // namespace weft
