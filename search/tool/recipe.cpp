#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/limits/compilable.h>
#include <weft/search/choice/choice.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/recipe.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace weft::tool {
namespace {

constexpr std::int64_t most_of_knob = 1'000'000;  ///< whatever is made of it fits an index

[[noreturn]] void refuse(std::string what, std::string_view found, std::string accepted) {
  throw UserError(std::move(what), "--recipe", std::string(found.substr(0, 100)), std::move(accepted));
}

std::int64_t number_of(std::string_view recipe, const RecipeKnob& knob, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < knob.least ||
      number > most_of_knob)
    refuse(fmt::format("a knob of {} cannot be read", recipe), fmt::format("{}={}", knob.name, text),
           fmt::format("a whole number from {} to {}", knob.least, most_of_knob));
  return number;
}

/// "; V is of the format: --format shfl_bw:V=64", where a format that the recipe takes has such a parameter.
std::string as_of_format(const Recipe& recipe, std::string_view word, std::string_view value) {
  std::string text;
  for (const NamedFormat& format : named_formats()) {
    const bool has =
        std::ranges::find(format.parameters, word, &FormatParameter::name) != format.parameters.end();
    const bool nearer = text.empty() || format.name == recipe.name;
    if (has && nearer && recipe.is_format({std::string(format.name), {}}))
      text = fmt::format("; {} is of the format: --format {}:{}={}", word, format.name, word, value);
  }
  return text;
}

std::int64_t value_of(const Recipe& recipe, std::string_view word, std::string_view value) {
  const RecipeKnob* const knob = knob_named(recipe.knobs, word);
  if (knob == nullptr) {
    std::vector<std::string_view> words;
    for (const RecipeKnob& known : recipe.knobs) words.push_back(known.name);
    refuse(fmt::format("{} has no such knob", recipe.name), word,
           fmt::format("{}{}{}", fmt::join(words, ", "), did_you_mean(word, words),
                       as_of_format(recipe, word, value)));
  }
  if (knob->words.empty()) return number_of(recipe.name, *knob, value);
  const auto named = std::ranges::find(knob->words, value);
  if (named == knob->words.end())
    refuse(fmt::format("{} has no such {}", recipe.name, word), value,
           fmt::format("{}{}", fmt::join(knob->words, ", "), did_you_mean(value, knob->words)));
  return named - knob->words.begin() + 1;
}

const Recipe& known_recipe(std::string_view name) {
  if (const Recipe* recipe = recipe_named(name)) return *recipe;
  std::vector<std::string_view> names;
  for (const Recipe& recipe : recipes()) names.push_back(recipe.name);
  names.push_back(automatic);
  refuse("there is no such recipe", name,
         fmt::format("{} or {}{}", fmt::join(names.begin(), names.end() - 1, ", "), names.back(),
                     did_you_mean(name, names)));
}

/// A recipe that is named is followed or refused: nobody asks for the default schedule by another name.
void require_fitting(const RecipeChoice& choice, const SparseTensor& weights, const Target& target) {
  const Recipe& recipe = *choice.recipe;
  const auto refuse_it = [&](std::string found, std::string_view accepted) {
    throw UserError(fmt::format("the recipe {} does not fit", recipe.name), "--recipe " + choice.text,
                    std::move(found), fmt::format("{}, or --recipe default", accepted));
  };
  if (recipe.of_gpus && !target.is_gpu())
    refuse_it("the target " + target.name, "a GPU: --device sim:sm_90a, --target sm_90a");
  if (recipe.of_cpus && target.is_gpu())
    refuse_it("the target " + target.name, "a CPU: --target cpu, or --device cpu of a verb that runs");
  const bool halves = !recipe.of_halves || is_of_tensor_cores(weights.dtype());
  if (!recipe.is_format(weights.format()))
    refuse_it(fmt::format("weights in {}{}", weights.format().text(),
                          halves ? std::string() : fmt::format(" of {}", name_of(weights.dtype()))),
              halves ? fmt::format("--format {}", recipe.formats)
                     : fmt::format("--dtype f16 or --dtype bf16, with no --format or with --format {}",
                                   recipe.formats));
  if (!halves)
    refuse_it(fmt::format("weights of {}", name_of(weights.dtype())), "--dtype f16 or --dtype bf16");
}

/// What the steps of a recipe break is told with its knobs, where numbers were found that do not: whoever
/// names a recipe writes no steps. Another target is no step.
UserError::Report by_knobs(UserError::Report report) {
  const std::size_t knobs = report.accepted.find("tried, and legal: ");
  if (knobs == std::string::npos || report.accepted.find(" in its place", knobs) == std::string::npos ||
      report.accepted.substr(0, knobs).find("target") != std::string::npos)
    return report;
  report.accepted.erase(0, knobs);
  report.accepted.erase(std::min(report.accepted.find('\n'), report.accepted.size()));
  return report;
}

}  // namespace

RecipeChoice parse_recipe(std::string_view text) {
  const std::size_t colon = text.find(':');
  const Recipe& recipe = known_recipe(text.substr(0, colon));
  RecipeChoice choice{&recipe, {}, std::string(text)};
  if (colon == std::string_view::npos) return choice;
  if (recipe.knobs.empty()) refuse("the recipe has no knobs", text, std::string(recipe.name));
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      refuse(fmt::format("a knob of {} has no value", recipe.name), part,
             fmt::format("{}:{}", recipe.name, recipe.some_knobs));
    const std::string_view word = part.substr(0, equals);
    if (choice.point.contains(std::string(word)))
      refuse(fmt::format("a knob of {} is given twice", recipe.name), word, "each knob once");
    choice.point[std::string(word)] = value_of(recipe, word, part.substr(equals + 1));
    if (comma == std::string_view::npos) return choice;
    rest = rest.substr(comma + 1);
  }
}

Schedule schedule_by_recipe(const RecipeChoice& choice, const Algorithm& algorithm,
                            std::shared_ptr<const SparseTensor> weights, const Target& target) {
  const Recipe& recipe = *choice.recipe;
  require_fitting(choice, *weights, target);
  const auto write = [&](const KnobValues& point) {
    Schedule schedule = recipe.write(algorithm, weights, target, point, CallPlace());
    require_compilable(schedule, target);
    return schedule;
  };
  const auto tried = [&] {
    try {
      return write(choice.point);
    } catch (const UserError& refused) {
      refuse_with_knob_left_out(refused, recipe.knobs, choice.point, write);
    }
  };
  const std::string option = "--recipe " + choice.text;
  const auto told_by_knobs = [&] {
    try {
      return tried();
    } catch (const InfeasibleError& error) {
      throw InfeasibleError(by_knobs(with_option(option, error.report()).report()));
    } catch (const UserError& error) {
      const bool is_of_step = error.report().what.starts_with(".");
      throw UserError(is_of_step ? by_knobs(error.report()) : error.report());
    }
  };
  Schedule chosen = of_option(option, told_by_knobs);
  if (is_left_to_default(recipe, chosen))
    throw UserError(
        fmt::format("the recipe {} does not fit", recipe.name), "--recipe " + choice.text,
        fmt::format("{} of {} for {}", weights->format().text(), name_of(weights->dtype()), target.name),
        "a GPU with such tensor cores, such as sm_90a, and groups or blocks of 16 rows or more; "
        "or --recipe default");
  return chosen;
}

}  // namespace weft::tool
