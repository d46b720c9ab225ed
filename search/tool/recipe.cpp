#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/default_schedule.h>
#include <weft/search/tool/recipe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace weft::tool {
namespace {

using NumberOfKnobs = std::int64_t SparseRtKnobs::*;

constexpr std::array<std::pair<std::string_view, NumberOfKnobs>, 10> numbers{{
    {"rows", &SparseRtKnobs::rows},
    {"threads", &SparseRtKnobs::threads},
    {"groups", &SparseRtKnobs::groups},
    {"columns", &SparseRtKnobs::columns},
    {"lanes", &SparseRtKnobs::lanes},
    {"places", &SparseRtKnobs::places},
    {"panel_rows", &SparseRtKnobs::panel_rows},
    {"lines", &SparseRtKnobs::lines},
    {"chunk", &SparseRtKnobs::chunk},
    {"depth", &SparseRtKnobs::depth},
}};

// The form takes the room of a number, image and order that of another one.
static_assert(sizeof(SparseRtKnobs) == (numbers.size() + 2) * sizeof(std::int64_t),
              "SparseRtKnobs has a knob that --recipe does not know");

constexpr std::array<std::pair<std::string_view, SparseRtForm>, 3> forms{
    {{"baked", SparseRtForm::baked},
     {"streaming", SparseRtForm::streaming},
     {"row_per_warp", SparseRtForm::row_per_warp}}};

constexpr std::array<std::pair<std::string_view, SparseRtImage>, 2> images{
    {{"staged", SparseRtImage::staged}, {"clamped", SparseRtImage::clamped}}};

constexpr std::array<std::pair<std::string_view, SparseRtOrder>, 2> orders{
    {{"given", SparseRtOrder::given}, {"dealt", SparseRtOrder::dealt}}};

constexpr std::int64_t most = 1'000'000;  ///< whatever is made of it fits an index

[[noreturn]] void refuse(std::string what, std::string_view found, std::string accepted) {
  throw UserError({std::move(what), "--recipe", std::string(found.substr(0, 100)), std::move(accepted)});
}

/// The value of a name in a list; refuses others.
template <class List>
auto named(const List& list, std::string_view name, const char* what) {
  std::vector<std::string_view> names;
  for (const auto& [known, value] : list) {
    if (known == name) return value;
    names.push_back(known);
  }
  refuse(what, name, fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(name, names)));
}

std::int64_t number_of(std::string_view recipe, std::string_view word, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > most)
    refuse(fmt::format("a knob of {} cannot be read", recipe), fmt::format("{}={}", word, text),
           fmt::format("a whole number from 1 to {}", most));
  return number;
}

void set_knob(SparseRtKnobs& knobs, std::string_view word, std::string_view value) {
  if (word == "form") {
    knobs.form = named(forms, value, "sparsert has no such form");
  } else if (word == "image") {
    knobs.image = named(images, value, "sparsert has no such image");
  } else if (word == "order") {
    knobs.order = named(orders, value, "sparsert has no such order of rows");
  } else {
    std::vector<std::string_view> words{"form", "image", "order"};
    for (const auto& [name, member] : numbers) words.push_back(name);
    const auto* const found = std::ranges::find(numbers, word, &decltype(numbers)::value_type::first);
    if (found == numbers.end())
      refuse("sparsert has no such knob", word,
             fmt::format("{}{}", fmt::join(words, ", "), did_you_mean(word, words)));
    knobs.*found->second = number_of("sparsert", word, value);
  }
}

void set_knob(ShflBwKnobs& knobs, std::string_view word, std::string_view value) {
  const std::vector<std::pair<std::string_view, std::int64_t ShflBwKnobs::*>> known{
      {"columns", &ShflBwKnobs::columns}, {"stages", &ShflBwKnobs::stages}, {"blocks", &ShflBwKnobs::blocks}};
  knobs.*named(known, word, "shfl_bw has no such knob") = number_of("shfl_bw", word, value);
}

}  // namespace

RecipeChoice parse_recipe(std::string_view text) {
  RecipeChoice choice;
  choice.text = std::string(text);
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::array<std::string_view, 3> names{"default", "sparsert", "shfl_bw"};
  if (std::ranges::find(names, name) == names.end())
    refuse("there is no such recipe", name, "default, sparsert or shfl_bw" + did_you_mean(name, names));
  choice.name = std::string(name);
  if (colon == std::string_view::npos) return choice;
  if (choice.name == "default") refuse("the recipe has no knobs", text, "default");
  choice.has_knobs = true;
  std::vector<std::string_view> given;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      refuse(fmt::format("a knob of {} has no value", name), part,
             name == "sparsert" ? "sparsert:form=baked,rows=32" : "shfl_bw:columns=256,stages=3");
    const std::string_view word = part.substr(0, equals);
    if (std::ranges::find(given, word) != given.end())
      refuse(fmt::format("a knob of {} is given twice", name), word, "each knob once");
    given.push_back(word);
    const std::string_view value = part.substr(equals + 1);
    name == "sparsert" ? set_knob(choice.knobs, word, value) : set_knob(choice.grouped, word, value);
    if (comma == std::string_view::npos) return choice;
    rest = rest.substr(comma + 1);
  }
}

Schedule schedule_by_recipe(const RecipeChoice& recipe, const Algorithm& algorithm,
                            std::shared_ptr<const SparseTensor> weights, const Target& target) {
  if (recipe.name == "default") return default_schedule(algorithm, std::move(weights), target);
  if (recipe.name == "shfl_bw") {
    Schedule chosen = shfl_bw(algorithm, weights, target, recipe.grouped);
    // The recipe alone knows what it leaves to the default schedule, which never asks for tensor cores.
    if (recipe.has_knobs &&
        std::ranges::find(chosen.steps(), "tensorize", &Step::name) == chosen.steps().end())
      throw UserError(
          {"knobs of shfl_bw would have no effect", "--recipe " + recipe.text,
           fmt::format("{} of {} for {}", weights->format().text(), name_of(weights->dtype()), target.name),
           "f16 or bf16 weights in shfl_bw or vector_wise with V=16 or more, for a GPU with such "
           "tensor cores"});
    const bool persists = std::ranges::find(chosen.steps(), "persist", &Step::name) != chosen.steps().end();
    if (recipe.grouped.blocks > 0 && !persists)
      throw UserError({"the knob blocks of shfl_bw would have no effect", "--recipe " + recipe.text,
                       fmt::format("{}, where every tile has a block", target.name),
                       "sm_90a, and a number of columns that is a multiple of 8"});
    if (recipe.grouped.stages > 1 && target.sm < 80)
      throw UserError({"the knob stages of shfl_bw would have no effect", "--recipe " + recipe.text,
                       target.name + ", whose copies cannot run ahead", "sm_80 or newer"});
    return chosen;
  }
  if (recipe.has_knobs && (!target.is_gpu() || weights->format().name != "csr"))
    throw UserError({"knobs of sparsert would have no effect", "--recipe " + recipe.text,
                     fmt::format("{} for {}", weights->format().text(), target.name),
                     "weights in csr, for a GPU"});
  return sparsert(algorithm, std::move(weights), target, recipe.knobs);
}

}  // namespace weft::tool
