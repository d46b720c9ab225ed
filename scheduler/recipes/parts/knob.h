// The knobs of a recipe by name, with their ranges: what --recipe, --set, spaces and records call them. Each
// family of recipes has its lists.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/limits/constraint.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft {

/// One knob of a recipe.
struct RecipeKnob {
  std::string_view name;
  std::int64_t most = 1;                         ///< what the largest GPU has room for
  std::int64_t least = 1;                        ///< 0 where there can be none of what it counts
  std::span<const std::string_view> words = {};  ///< names of the values 1, 2, …; empty: a number
  std::int64_t multiple = 1;  ///< the number is a multiple of it: instructions are so large

  /// "256" or "baked", as --recipe takes it; nothing for a number that leaves it to the recipe.
  std::string word_of(std::int64_t value) const;
};

/// "tile_m=64,stages=4", as --recipe takes it behind the recipe's name; without those that are left to the
/// recipe.
std::string text_of_point(std::span<const RecipeKnob> knobs, const KnobValues& point);

/// The knob of that name; null where there is none.
const RecipeKnob* knob_named(std::span<const RecipeKnob> knobs, std::string_view name);

/// The field of a struct of knobs that a knob is.
template <class Knobs>
struct KnobField : RecipeKnob {
  void (*set)(Knobs& knobs, std::int64_t value);
  std::optional<std::int64_t> (*get)(const Knobs& knobs);  ///< nothing where it is left to the recipe
};

/// The value of a knob that is a word.
template <class Word>
  requires std::is_enum_v<Word>
constexpr std::int64_t number_of(Word word) {
  return static_cast<std::int64_t>(word);
}

namespace recipe_knobs {

template <auto Member, class Knobs>
void set(Knobs& knobs, std::int64_t value) {
  knobs.*Member = static_cast<std::decay_t<decltype(knobs.*Member)>>(value);
}

/// 0 leaves a plain number, and a word, to the recipe.
template <auto Member, class Knobs>
std::optional<std::int64_t> get(const Knobs& knobs) {
  const auto& value = knobs.*Member;
  if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<std::int64_t>>) {
    return value;
  } else {
    const auto number = static_cast<std::int64_t>(value);
    return number == 0 ? std::nullopt : std::optional(number);
  }
}

template <class Knobs, class Field>
Knobs owner_of(Field Knobs::*);

/// The knob of a field, called as the field is.
template <auto Member>
constexpr auto knob_of(std::string_view name, std::int64_t most, std::int64_t least = 1,
                       std::span<const std::string_view> words = {}, std::int64_t multiple = 1) {
  using Knobs = decltype(owner_of(Member));
  return KnobField<Knobs>{{name, most, least, words, multiple}, set<Member, Knobs>, get<Member, Knobs>};
}

/// Fields of a struct of knobs: how many values it can be made of.
struct AnyField {
  template <class Field>
  operator Field() const;
};
template <class Knobs, class... Fields>
consteval std::size_t fields_of() {
  if constexpr (requires { Knobs{Fields()..., AnyField()}; })
    return fields_of<Knobs, Fields..., AnyField>();
  else
    return sizeof...(Fields);
}

/// The list of a recipe's knobs, which has to name every field.
template <class Knobs, class... Rest>
consteval auto list_of(KnobField<Knobs> first, Rest... rest) {
  static_assert(fields_of<Knobs>() == 1 + sizeof...(Rest), "a field of the knobs has no name in the list");
  return std::array{first, rest...};
}

// What no GPU has more of, and what no kernel gains from more of.
inline constexpr std::int64_t most_threads = 1024, most_warps = 32, lanes_of_warp = 32, most_buffers = 8;
inline constexpr std::int64_t most_tile = 1024, most_of_lane = 64, most_registers = 255;
/// The size of instructions that multiply tiles; runs of results are of as many columns.
inline constexpr std::int64_t rows_of_instruction = 16, columns_of_instruction = 8;
inline constexpr std::int64_t most_blocks = 65'535, most_rows = 1 << 20;

}  // namespace recipe_knobs

template <class Knobs>
std::vector<RecipeKnob> rows_of(std::span<const KnobField<Knobs>> fields) {
  return {fields.begin(), fields.end()};
}

/// The knobs of a point; those that it lacks, or that are less than there can be, are left to the recipe.
template <class Knobs>
Knobs knobs_of(std::span<const KnobField<Knobs>> fields, const KnobValues& point) {
  Knobs knobs;
  for (const KnobField<Knobs>& field : fields) {
    const auto value = point.find(std::string(field.name));
    if (value != point.end() && value->second >= field.least) field.set(knobs, value->second);
  }
  return knobs;
}

/// Those that are not left to the recipe.
template <class Knobs>
KnobValues values_of(std::span<const KnobField<Knobs>> fields, const Knobs& knobs) {
  KnobValues point;
  for (const KnobField<Knobs>& field : fields) {
    if (const std::optional<std::int64_t> value = field.get(knobs)) point[std::string(field.name)] = *value;
  }
  return point;
}

/// Throws what a recipe refused, and names a knob without which it works, where leaving out one of those that
/// were given, or all, does: `make` tries others.
[[noreturn]] void refuse_with_knob_left_out(const UserError& refused, std::span<const RecipeKnob> knobs,
                                            const KnobValues& given,
                                            const std::function<void(const KnobValues&)>& make);

/// What a recipe makes with its knobs. Where the user's own call asked for it and it is refused, other knobs
/// are tried.
template <class Knobs, class Make>
auto made_with_knobs(CallPlace place, std::span<const KnobField<Knobs>> fields, const Knobs& knobs,
                     const Make& make) {
  const SourcePlace own(place);
  return user_call(own, [&] {
    try {
      return make(knobs);
    } catch (const UserError& refused) {
      if (detail::UserCall::outermost() != &own) throw;
      refuse_with_knob_left_out(refused, rows_of(fields), values_of(fields, knobs),
                                [&](const KnobValues& point) { make(knobs_of(fields, point)); });
    }
  });
}

/// UserError for a knob out of its range: which, its number, and the numbers that there are.
void require_in_range(std::string_view recipe, const RecipeKnob& knob, std::int64_t value);

/// The same for each of them that was given. Returns those, "tile_n = 64, stages = 2"; nothing where all are
/// left to the recipe.
template <class Knobs>
std::string require_in_range(std::string_view recipe, std::span<const KnobField<Knobs>> fields,
                             const Knobs& knobs) {
  std::string given;
  for (const KnobField<Knobs>& field : fields) {
    const std::optional<std::int64_t> value = field.get(knobs);
    if (!value) continue;
    require_in_range(recipe, field, *value);
    given += (given.empty() ? "" : ", ") + std::string(field.name) + " = " + field.word_of(*value);
  }
  return given;
}

}  // namespace weft
