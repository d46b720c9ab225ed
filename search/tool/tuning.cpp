#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/tool/tuning.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>
#include <vector>

namespace weft::tool {
namespace {

using Text = std::string ProblemOptions::*;
using Scalar = std::optional<double> ProblemOptions::*;

constexpr std::array<std::pair<const char*, Text>, 15> texts{{
    {"op", &ProblemOptions::op},
    {"weights", &ProblemOptions::weights},
    {"tensor", &ProblemOptions::tensor},
    {"dtype", &ProblemOptions::dtype},
    {"format", &ProblemOptions::format},
    {"filter", &ProblemOptions::filter},
    {"image", &ProblemOptions::image},
    {"pad", &ProblemOptions::pad},
    {"stride", &ProblemOptions::stride},
    {"dilation", &ProblemOptions::dilation},
    {"layout", &ProblemOptions::layout},
    {"activation", &ProblemOptions::activation},
    {"bias", &ProblemOptions::bias},
    {"b", &ProblemOptions::b},
    {"c", &ProblemOptions::c},
}};
constexpr std::array<std::pair<const char*, Scalar>, 2> scalars{
    {{"alpha", &ProblemOptions::alpha}, {"beta", &ProblemOptions::beta}}};

template <class Number>
Number number_of(const std::string& name, const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw UserError({"the source of a record cannot be read", "source." + name, text, "a number"});
  return number;
}

/// False when there is no such flag.
bool set_flag(ProblemOptions& options, const std::string& name, const std::string& value) {
  for (const auto& [known, member] : texts) {
    if (name == known) return options.*member = value, true;
  }
  for (const auto& [known, member] : scalars) {
    if (name == known) return options.*member = number_of<double>(name, value), true;
  }
  if (name == "n") return options.n = number_of<std::int64_t>(name, value), true;
  if (name == "batch") return options.batch = number_of<std::int64_t>(name, value), true;
  if (name == "seed") return options.seed = number_of<std::uint64_t>(name, value), true;
  return false;
}

std::vector<std::string> names_of_flags() {
  std::vector<std::string> names{"n", "batch", "seed"};
  for (const auto& [name, member] : texts) names.emplace_back(name);
  for (const auto& [name, member] : scalars) names.emplace_back(name);
  return names;
}

}  // namespace

std::map<std::string, std::string> source_of(const ProblemOptions& options) {
  const ProblemOptions usual;
  std::map<std::string, std::string> source{{"op", options.op}, {"weights", options.weights}};
  for (const auto& [name, member] : texts) {
    if (options.*member != usual.*member) source[name] = options.*member;
  }
  for (const auto& [name, member] : scalars) {
    if (options.*member) source[name] = fmt::format("{}", *(options.*member));
  }
  if (options.n != usual.n) source["n"] = std::to_string(options.n);
  if (options.batch != usual.batch) source["batch"] = std::to_string(options.batch);
  if (options.seed != usual.seed) source["seed"] = std::to_string(options.seed);
  return source;
}

ProblemOptions options_of_source(const std::map<std::string, std::string>& source) {
  ProblemOptions options;
  for (const auto& [name, value] : source) {
    if (!set_flag(options, name, value))
      throw UserError({"the source of a record has an unknown flag", "source." + name, value,
                       fmt::format("{}", fmt::join(names_of_flags(), ", "))});
  }
  return options;
}

TrialProblem make_trial_problem(const ProblemOptions& options) {
  Problem made = make_problem(options);
  for (const std::string& note : made.notes) fmt::print(stderr, "note: {}\n", note);
  TrialProblem problem;
  problem.kernel = options.op;
  problem.what.algorithm = std::move(made.algorithm);
  problem.what.format = made.weights->format();
  problem.what.matrix = std::make_shared<const WeightMatrix>(std::move(made.matrix));
  problem.tensors = std::move(made.tensors);
  problem.scalars = made.arguments.scalars;
  problem.columns = made.columns;
  problem.source = source_of(options);
  return problem;
}

}  // namespace weft::tool
