// weft check: whether knobs of a recipe, or of a schedule, fit a target, and what clashes where they do not.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/recipe.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

using Json = nlohmann::ordered_json;

struct CheckVerb {
  ProblemOptions problem;
  std::vector<std::string> targets;
  std::vector<std::string> set;
  bool explain = false;
  bool json = false;
};

/// The first way whose recipe has the knobs; the first of all where none has them, which says which it has.
const Way& way_with(const std::vector<std::string>& knobs, const Choice& choice) {
  const auto has_all = [&](const Way& way) {
    return std::ranges::all_of(knobs, [&](const std::string& knob) {
      return knob_named(way.recipe->knobs, knob.substr(0, knob.find('='))) != nullptr;
    });
  };
  const auto found = std::ranges::find_if(choice.ways, has_all);
  return found == choice.ways.end() ? choice.ways.front() : *found;
}

/// That of --schedule, else of what is named, else of what would be chosen, which is told on stderr.
Space space_to_check(const CheckVerb& options, const Target& target) {
  if (!options.problem.schedule.empty())
    return space_of(schedule_of(make_problem(options.problem), options.problem, target));
  SpaceProblem problem = make_space_problem(options.problem);
  const std::string name = options.problem.recipe.substr(0, options.problem.recipe.find(':'));
  if (name != automatic && options.problem.format != automatic) return space_of(name, problem, target);
  const Choice choice = choice_of(problem.algorithm, *problem.matrix, options.problem, target);
  const Way& way = way_with(options.set, choice);
  fmt::print(stderr, "chosen for {}: {} in {}\n", target.name, way.recipe->name, way.format.text());
  problem.format = way.format;
  return space_of(std::string(way.recipe->name), problem, target);
}

/// A knob that the space has is told with its values, so that the next call is right.
[[noreturn]] void refuse_without_value(const std::string& option, const std::string& knob,
                                       const Space& space) {
  const auto found = std::ranges::find(space.knobs(), knob, &ir::Knob::name);
  if (found == space.knobs().end()) of_option(option, [&] { return space.value_of(knob, ""); });
  std::vector<std::string> words;
  for (const std::int64_t value : found->values) words.push_back(space.word_of(knob, value));
  throw UserError("a knob has no value", option, knob,
                  fmt::format("{}{}={}; it can be {}", option == "--set" ? "--set " : "", knob, words.back(),
                              fmt::join(words, ", ")));
}

/// What "--recipe shfl_bw:stages=4" and "--set stages=4" fix.
KnobValues fixed_knobs(const CheckVerb& options, const Space& space) {
  KnobValues fixed;
  const auto fix = [&](const std::string& option, const std::string& part) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) refuse_without_value(option, part, space);
    const std::string knob = part.substr(0, equals);
    const std::int64_t value =
        of_option(option, [&] { return space.value_of(knob, part.substr(equals + 1)); });
    const auto [place, is_new] = fixed.emplace(knob, value);
    if (!is_new && place->second != value)
      throw UserError("a knob is given twice", option, part, fmt::format("{}={}", knob, place->second));
  };
  const std::size_t colon = options.problem.recipe.find(':');
  if (colon != std::string::npos)
    for (const std::string& part : CLI::detail::split(options.problem.recipe.substr(colon + 1), ','))
      fix("--recipe", part);
  for (const std::string& part : options.set) fix("--set", part);
  return fixed;
}

Json json_of(const Clash& clash, const KnobWords& words) {
  Json constraints = Json::array();
  for (const Constraint& constraint : clash.core) {
    Json parts = Json::object();
    for (const auto& [name, expr] : constraint.parts) parts[name] = evaluate(expr, clash.numbers);
    constraints.push_back({{"name", constraint.name},
                           {"text", constraint.text},
                           {"value", evaluate(constraint.left, clash.numbers)},
                           {"limit", evaluate(constraint.limit, clash.numbers)},
                           {"unit", constraint.unit},
                           {"parts", parts}});
  }
  return {{"constraints", constraints},
          {"knobs", clash.fixed},
          {"proved", clash.proved},
          {"message", explain(clash, words)}};
}

Json json_of(const Space& space, const KnobValues& fixed, const Feasibility& answer, const KnobWords& words) {
  const char* const names[] = {"feasible", "infeasible", "unknown"};
  Json document{{"target", space.target()},
                {"recipe", space.recipe()},
                {"format", space.format().text()},
                {"answer", names[static_cast<int>(answer.answer)]},
                {"fixed", fixed},
                {"points", space.size()},
                {"message", explain(answer, space.target(), words)}};
  if (answer.answer == Answer::feasible) {
    document["witness"] = answer.witness;
    document["text"] = space.text(answer.witness);
  }
  if (answer.answer != Answer::infeasible) return document;
  const char* const kinds[] = {"at most", "at least", "exactly"};
  for (const Clash& clash : answer.clashes) document["clashes"].push_back(json_of(clash, words));
  document["remedies"] = Json::array();
  for (const Remedy& remedy : answer.remedies)
    document["remedies"].push_back(
        {{"knob", remedy.knob}, {"kind", kinds[static_cast<int>(remedy.kind)]}, {"value", remedy.value}});
  document["nearest"] = answer.nearest;
  return document;
}

/// Every condition, with its numbers at the point.
std::string conditions_of(const Space& space, const KnobValues& point) {
  Table table({"condition", "value", "limit", "unit", "what it counts"});
  for (const Constraint& constraint : space.constraints())
    table.row({constraint.name, std::to_string(evaluate(constraint.left, point)),
               std::to_string(evaluate(constraint.limit, point)), constraint.unit, constraint.text});
  return table.text();
}

int run(const CheckVerb& options) {
  int code = exit_ok;
  Json documents = Json::array();
  for (const std::string& name : options.targets) {
    const Space space = space_to_check(options, named_target(name));
    const KnobWords words = [&space](const std::string& knob, std::int64_t value) {
      return space.word_of(knob, value);
    };
    const KnobValues fixed = fixed_knobs(options, space);
    const Feasibility answer = space.complete(fixed);
    if (answer.answer == Answer::infeasible) code = exit_infeasible;
    if (answer.answer == Answer::unknown && code == exit_ok) code = exit_failed;
    documents.push_back(json_of(space, fixed, answer, words));
    if (options.json) continue;
    fmt::print("{}\n", explain(answer, space.target(), words));
    if (!options.explain || answer.answer == Answer::unknown) continue;
    fmt::print("{}",
               conditions_of(space, answer.answer == Answer::feasible ? answer.witness
                                                                      : answer.clashes.front().numbers));
  }
  if (options.json) fmt::print("{}\n", documents.dump(2));
  return code;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<CheckVerb>(
      app, action, "check", "whether knobs fit a target; where not, what clashes",
      "Exit code 0 with a point that has these knobs, 3 with the conditions that clash, their numbers and\n"
      "what would fit. Knobs are those of --schedule, or of the recipe that is named or chosen; those not\n"
      "set are open.\n"
      "Example: weft check --weights layer.npy --n 196 --dtype f16 --target sm_75 --set tile_n=512,stages=8",
      run);
  add_problem_flags(verb, options.problem);
  add_list(verb, "--target", options.targets, "see weft targets; with commas", "TARGET")->required();
  add_list(verb, "--set", options.set, "fixes a knob: tile_n=128; several, or joined by commas", "KNOB=N");
  begin_group(verb, "Output");
  verb.add_flag("--explain", options.explain, "every condition, with its numbers");
  add_json_flag(verb, options.json);
}

}  // namespace weft::tool
