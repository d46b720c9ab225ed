// How steps are spelled in C++: words, arguments with names, loops with numbers; and what is said while
// compiling about those that are none.
#pragma once

#include <weft/dsl/index.h>
#include <weft/dsl/loop.h>
#include <weft/dsl/refused_call.h>
#include <weft/scheduler/program/step.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft {

namespace detail {

template <class Found>
constexpr void refuse_number() {
  static_assert(never<Found>,
                "weft: an argument of a step is neither an integer nor a knob; found: the type beside Found; "
                "accepted: depth = 2, or depth = "
                "knob(\"depth\", {2, 3}) for numbers to choose from");
}

}  // namespace detail

/// A word of a step, as `block_x` in `.bind(n.outer, block_x)`.
struct Word {
  std::string_view text;

  constexpr explicit Word(const char* word) : text(word) {}
  template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
  Word(const Text&) {
    static_assert(
        detail::never<Text>,
        "weft: a word of a step is a text; accepted: the word itself, such as block_x, warp, lane or "
        "thread in .bind(m, block_x), or shared in .stage(\"B\", shared, at = k.outer)");
  }
};
inline constexpr Word block_x{"block_x"}, block_y{"block_y"}, block_z{"block_z"}, warp{"warp"}, lane{"lane"},
    thread{"thread"}, shared{"shared"}, registers{"registers"}, shifted{"shifted"}, atomic{"atomic"},
    second_pass{"second_pass"};
#if defined(WEFT_NO_NAME)
#define WEFT_NO_WORD(name)                                                                          \
  WEFT_NO_NAME("there is no " #name                                                                 \
               "; accepted: thread, or warp and lane, of one loop: .bind(n.inner, thread), of two " \
               ".fuse(m.inner, n.inner) before it")
WEFT_NO_WORD(thread_x) inline constexpr Word thread_x{"thread"};
WEFT_NO_WORD(thread_y) inline constexpr Word thread_y{"thread"};
WEFT_NO_WORD(thread_z) inline constexpr Word thread_z{"thread"};
WEFT_NO_WORD(vthread) inline constexpr Word vthread{"thread"};
#undef WEFT_NO_WORD
#endif

/// A named argument of a step: `at = n.outer`.
struct ArgumentName {
  std::string_view name;
  Argument operator=(const LoopName& loop) const { return {std::string(name), loop.text()}; }
  template <std::integral Integer>
  Argument operator=(Integer number) const {
    return {std::string(name), static_cast<std::int64_t>(number)};
  }
  template <std::same_as<Word> Given>
  Argument operator=(Given word) const {
    return {std::string(name), std::string(word.text)};
  }
  Argument operator=(KnobChoice choice) const { return {std::string(name), std::move(choice)}; }
  template <std::floating_point Number>
  Argument operator=(Number) const {
    detail::refuse_number<Number>();
    return {};
  }
  template <class Number>
  Argument operator=(std::initializer_list<Number>) const {
    detail::refuse_number<std::initializer_list<Number>>();
    return {};
  }
  template <class... Given>
  Argument operator()(const Given&...) const {
    static_assert(detail::never<Given...>,
                  "weft: the name of an argument of a step is called; found: the types beside Given; "
                  "accepted: one =, such as at = k.outer, depth = 2 and reduce = atomic; in an algorithm "
                  "sum(k, A(m, k) * B(k, n)) instead of reduce");
    return {};
  }
  template <class Given>
  Argument operator==(const Given&) const {
    static_assert(detail::never<Given>,
                  "weft: an argument of a step is compared; found: ==; accepted: one =, such as at = k.outer "
                  "and depth = 2");
    return {};
  }
};
inline constexpr ArgumentName at{"at"}, chunk{"chunk"}, code_bytes{"code_bytes"}, deal{"deal"},
    depth{"depth"}, blocks{"blocks"}, columns{"columns"}, consumer_registers{"consumer_registers"},
    from_begin{"from_begin"}, from_end{"from_end"}, groups{"groups"}, parts{"parts"},
    producer_registers{"producer_registers"}, producers{"producers"}, promote{"promote"}, reduce{"reduce"},
    workers{"workers"};

/// What a member of Schedule takes where an argument has a name.
struct NamedArgument : Argument {
  template <std::same_as<Argument> Given>
  NamedArgument(const Given& given) : Argument(given) {}
  template <class Other>
    requires(!std::derived_from<Other, Argument>)
  NamedArgument(const Other&) {
    static_assert(
        detail::never<Other>,
        "weft: a step is given a loop, a number or a word without its name; found: the type beside Other; "
        "accepted: each with its "
        "name, as docs/steps.md and weft steps have it, such as at = k.outer, depth = 2, from_end = "
        "1, blocks = 132 or reduce = atomic");
  }
};

/// A first argument that remembers where the user wrote it.
template <class T>
struct Placed {
  T value;
  std::source_location place;
  template <std::convertible_to<T> U>
  Placed(U&& given, std::source_location where = std::source_location::current())
      : value(std::forward<U>(given)), place(where) {}
};

/// A number of a step by itself, in the forms that give loops back.
template <class T>
concept StepNumber = std::integral<T> || std::same_as<T, KnobChoice>;

namespace detail {

/// Of a text, what Word says of one.
constexpr Word word_of(Word word) {
  return word;
}

/// Whether they are a loop, a number for it, and so on.
template <class... Given>
inline constexpr bool are_loops_with_numbers = sizeof...(Given) == 0;
template <class Loop, class Number, class... Rest>
inline constexpr bool are_loops_with_numbers<Loop, Number, Rest...> =
    std::convertible_to<const Loop&, LoopName> && StepNumber<Number> && are_loops_with_numbers<Rest...>;

/// What split and tile are given in neither of their forms.
template <class... Given>
concept NoFactors = sizeof...(Given) == 0 ||
                    (!(std::convertible_to<const Given&, LoopFactor> && ...) &&
                     !(std::same_as<Given, Placed<LoopFactor>> || ...) && !are_loops_with_numbers<Given...>);
template <class... Given>
constexpr void refuse_factors() {
  // What n == 64 becomes has been told of.
  static_assert(never<Given...> || (std::same_as<Given, IndexSum<BrokenIndex>> || ...),
                "weft: split or tile is not given loops with a number or a knob each; found: the types "
                "beside Given; accepted: .split(m = 4, n = "
                "64), or, to get the loops back, .split(m, 4, n, 64)");
}

/// Whether a step with these parameters, as a type of function, takes what is given.
template <class Form, class... Given>
inline constexpr bool takes = std::is_invocable_v<Form*, const Given&...>;
template <std::size_t least, class... Given>
inline constexpr bool are_loops =
    sizeof...(Given) >= least && (std::convertible_to<const Given&, LoopName> && ...);

}  // namespace detail
}  // namespace weft

/// A step of Halide or TVM that has another name here. `written` says what does the same.
#define WEFT_STEP_ELSEWHERE(step, written)                                                          \
  template <class... Given>                                                                         \
  Schedule& step(const Given&...) {                                                                 \
    static_assert(detail::never<Given...>, "weft: there is no step " #step "; accepted: " written); \
    return *this;                                                                                   \
  }

/// A call of a step that fits none of its forms, of which `fits` says so of `Given`, is refused with one
/// sentence, where the compiler would list all that it tried.
#define WEFT_STEP_REFUSED(step, written, fits)                                                     \
  template <class... Given>                                                                        \
    requires(!(fits))                                                                              \
  Schedule& step(const Given&...) {                                                                \
    static_assert(detail::never<Given...>,                                                         \
                  "weft: " #step                                                                   \
                  " is not given what it takes; found: the types beside Given; accepted: " written \
                  ", as docs/steps.md and weft steps " #step " have it");                          \
    return *this;                                                                                  \
  }

/// The same of a step that copies a tensor, and of what is not told where it does.
#define WEFT_COPY_REFUSED(step, written, fits)                                               \
  template <class... Given>                                                                  \
    requires(detail::takes<void(OneTensor, Word), Given...>)                                 \
  Schedule& step(const Given&...) {                                                          \
    static_assert(detail::never<Given...>,                                                   \
                  "weft: " #step " is not told where: `at` is missing; accepted: " written); \
    return *this;                                                                            \
  }                                                                                          \
  WEFT_STEP_REFUSED(step, written, (fits) || (detail::takes<void(OneTensor, Word), Given...>))

/// Loops of a step that stand in braces, as those of reorder may.
#define WEFT_STEP_IN_BRACES(step, written)                                                                   \
  template <class Never = void>                                                                              \
  Schedule& step(std::initializer_list<detail::Anything>, detail::Anything = {}, detail::Anything = {}) {    \
    static_assert(detail::never<Never>,                                                                      \
                  "weft: what " #step " is given stands in braces; accepted: without them, as in " written); \
    return *this;                                                                                            \
  }
