#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <algorithm>
#include <vector>

namespace weft {

std::string RecipeKnob::word_of(std::int64_t value) const {
  if (value < least) return {};
  const bool has_word = value >= 1 && value <= std::ssize(words);
  return has_word ? std::string(words[value - 1]) : std::to_string(value);
}

std::string text_of_point(std::span<const RecipeKnob> knobs, const KnobValues& point) {
  std::string text;
  for (const RecipeKnob& knob : knobs) {
    const auto value = point.find(std::string(knob.name));
    const std::string word = value == point.end() ? "" : knob.word_of(value->second);
    if (!word.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : ",", knob.name, word);
  }
  return text;
}

const RecipeKnob* knob_named(std::span<const RecipeKnob> knobs, std::string_view name) {
  const auto found = std::ranges::find(knobs, name, &RecipeKnob::name);
  return found == knobs.end() ? nullptr : &*found;
}

void require_in_range(std::string_view recipe, const RecipeKnob& knob, std::int64_t value) {
  const auto words = static_cast<std::int64_t>(knob.words.size());
  const std::int64_t most = words > 0 ? words : knob.most;
  if (knob.least <= value && value <= most && value % knob.multiple == 0) return;
  std::string accepted =
      fmt::format("{} from {} to {}", knob.name, std::max(knob.least, knob.multiple), most);
  if (knob.multiple > 1) accepted += fmt::format(", a multiple of {}", knob.multiple);
  throw UserError(fmt::format("a knob of {} is out of its range", recipe),
                  fmt::format("{} = {}", knob.name, value), std::move(accepted));
}

namespace {

/// Numbers that a knob may have in place of one, the nearest first, those below it before those above: all of
/// them where there are few, else powers of two times its multiple.
std::vector<std::int64_t> numbers_near(const RecipeKnob& knob, std::int64_t value) {
  constexpr std::int64_t most_tries = 8;  // each makes a schedule
  const bool are_few = knob.most <= most_tries * knob.multiple;
  std::vector<std::int64_t> below, above;
  for (std::int64_t number = knob.multiple; number <= knob.most;
       number = are_few ? number + knob.multiple : 2 * number) {
    if (number >= knob.least && number < value) below.insert(below.begin(), number);
    if (number > value) above.push_back(number);
  }
  below.insert(below.end(), above.begin(), above.end());
  if (std::ssize(below) > most_tries) below.resize(most_tries);
  return below;
}

}  // namespace

void refuse_with_knob_left_out(const UserError& refused, std::span<const RecipeKnob> knobs,
                               const KnobValues& given, const std::function<void(const KnobValues&)>& make) {
  const auto works = [&](const KnobValues& point) {
    try {
      make(point);
      return true;
    } catch (const UserError&) {
      return false;
    }
  };
  std::string left_out, in_its_place;
  for (const auto& [name, value] : given) {
    KnobValues others = given;
    others.erase(name);
    const RecipeKnob* knob = knob_named(knobs, name);
    if (knob == nullptr || !works(others)) continue;
    const std::string word = knob->word_of(value);  // none of a value below the least
    left_out = name + " = " + (word.empty() ? std::to_string(value) : word);
    if (!knob->words.empty()) break;
    for (const std::int64_t number : numbers_near(*knob, value)) {
      others[name] = number;
      if (!works(others)) continue;
      in_its_place = fmt::format(", or {} = {} in its place", name, number);
      break;
    }
    break;
  }
  if (left_out.empty() && given.size() > 1 && works({})) left_out = "all knobs";
  UserError::Report report = refused.report();
  // Behind the first line may stand the program.
  if (!left_out.empty())
    report.accepted.insert(std::min(report.accepted.find('\n'), report.accepted.size()),
                           "; tried, and legal: " + left_out + " left out" + in_its_place);
  if (dynamic_cast<const InfeasibleError*>(&refused) != nullptr) throw InfeasibleError(std::move(report));
  throw UserError(std::move(report));
}

}  // namespace weft
