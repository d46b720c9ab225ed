#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <algorithm>

namespace weft {

std::string RecipeKnob::word_of(std::int64_t value) const {
  if (value < least) return {};
  const bool has_word = value >= 1 && value <= std::ssize(words);
  return has_word ? std::string(words[value - 1]) : std::to_string(value);
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

}  // namespace weft
