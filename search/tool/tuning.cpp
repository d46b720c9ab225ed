#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/tuning.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ranges>
#include <string_view>
#include <utility>
#include <variant>

namespace weft::tool {
namespace {

using Member = std::variant<std::string ProblemOptions::*, std::int64_t ProblemOptions::*,
                            std::uint64_t ProblemOptions::*, std::optional<double> ProblemOptions::*>;

/// What is not told here makes no difference to the problem.
const std::array<std::pair<std::string_view, Member>, 25> members{{
    {"n", &ProblemOptions::n},
    {"batch", &ProblemOptions::batch},
    {"seed", &ProblemOptions::seed},
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
    {"groups", &ProblemOptions::groups},
    {"layout", &ProblemOptions::layout},
    {"activation", &ProblemOptions::activation},
    {"scale", &ProblemOptions::scale},
    {"token-scale", &ProblemOptions::token_scale},
    {"bias", &ProblemOptions::bias},
    {"b", &ProblemOptions::b},
    {"c", &ProblemOptions::c},
    {"c-type", &ProblemOptions::c_type},
    {"c-scale", &ProblemOptions::c_scale},
    {"alpha", &ProblemOptions::alpha},
    {"beta", &ProblemOptions::beta},
}};

/// What the text says, as the member has it.
template <class Number>
void read(const std::string& name, const std::string& text, Number& number) {
  const auto read = read_number<Number>(text);
  if (!read) throw UserError("the source of a record cannot be read", "source." + name, text, "a number");
  number = *read;
}
void read(const std::string& /*name*/, const std::string& text, std::string& word) {
  word = text;
}
void read(const std::string& name, const std::string& text, std::optional<double>& number) {
  read(name, text, number.emplace());
}

template <class Value>
std::string text_of(const Value& value) {
  return fmt::format("{}", value);
}
std::string text_of(const std::optional<double>& value) {
  return text_of(*value);
}

}  // namespace

std::map<std::string, std::string> source_of(const ProblemOptions& options) {
  const ProblemOptions usual;
  std::map<std::string, std::string> source{{"op", options.op}, {"weights", options.weights}};
  for (const auto& [name, member] : members) {
    std::visit(
        [&, key = std::string(name)](auto field) {
          if (options.*field != usual.*field) source[key] = text_of(options.*field);
        },
        member);
  }
  return source;
}

ProblemOptions options_of_source(const std::map<std::string, std::string>& source) {
  ProblemOptions options;
  for (const auto& [name, value] : source) {
    if (!is_flag(name)) continue;
    const auto known = std::ranges::find(members, name, &std::pair<std::string_view, Member>::first);
    if (known == members.end())
      throw UserError("the source of a record has an unknown flag", "source." + name, value,
                      fmt::format("{}", fmt::join(members | std::views::keys, ", ")));
    std::visit([&](auto field) { read(name, value, options.*field); }, known->second);
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
  problem.convolution = made.convolution;
  problem.image_groups = options.groups;
  problem.source = source_of(options);
  return problem;
}

}  // namespace weft::tool
