#include <fmt/format.h>
#include <weft/search/choice/known_choices.h>
#include <weft/search/records/json_fields.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

/// Algorithms and types, which many problems share.
using Kinds = std::vector<std::map<std::string, std::string>>;

/// In the order in which they tell more of weights.
constexpr std::array<std::string_view, 5> patterns{"v_n_m", "n_m", "mixed", "vector_wise", "shfl_bw"};

/// Densities of weights that were drawn alike.
constexpr double alike = 0.05;

/// What fewer found is what they happened to try. Where that is the default schedule, others had no time.
constexpr int least_trials = 3;

double density_of(const Record& record) {
  const double elements =
      static_cast<double>(record.problem.size("M")) * static_cast<double>(record.problem.size("K"));
  return static_cast<double>(record.pattern.stored) / elements;
}

std::optional<Baseline> dense_of(const Record& record) {
  const auto found = std::ranges::find_if(
      record.baselines, [](const Baseline& one) { return one.dense && one.whose == BaselineOf::library; });
  return found == record.baselines.end() ? std::nullopt : std::optional(*found);
}

/// What a search of one problem found.
struct Search {
  int right = 0;  ///< kernels
  std::set<std::string> formats;
  const Record* best = nullptr;
  double microseconds = 0;
};

std::string structure_of_search(const Search& search) {
  std::vector<Format> formats;
  for (const std::string& format : search.formats) formats.push_back(parse_format(format));
  return structure_of(formats);
}

KnownChoice choice_of(const Search& search) {
  const Record& best = *search.best;
  return {best.problem,        structure_of_search(search),
          density_of(best),    parse_format(best.pattern.kind),
          best.recipe,         best.config,
          search.microseconds, dense_of(best)};
}

auto order_of(const KnownChoice& one) {
  return std::tie(one.problem.words, one.problem.sizes, one.structure, one.density);
}

bool are_alike(const KnownChoice& one, const KnownChoice& other) {
  return one.problem == other.problem && one.structure == other.structure &&
         std::abs(one.density - other.density) <= alike * one.density;
}

/// Of weights that were drawn several times the fastest kernel alone; the choices come in order.
std::vector<KnownChoice> fastest_of_alike(const std::vector<KnownChoice>& choices) {
  std::vector<KnownChoice> fastest;
  for (const KnownChoice& one : choices) {
    if (fastest.empty() || !are_alike(fastest.back(), one))
      fastest.push_back(one);
    else if (one.microseconds < fastest.back().microseconds)
      fastest.back() = one;
  }
  return fastest;
}

double rounded(double number) {
  constexpr double digits = 1e4;
  return std::round(number * digits) / digits;
}

Format read_format(const JsonFields& fields) {
  const auto text = fields.required<std::string>("format");
  try {
    return parse_format(text);
  } catch (const UserError& error) {
    fields.refuse("format", text, error.report().accepted);
  }
}

/// The order of the choices is that of their kinds.
Kinds kinds_of(const KnownChoices& known) {
  Kinds kinds;
  for (const KnownChoice& one : known.choices) {
    if (kinds.empty() || kinds.back() != one.problem.words) kinds.push_back(one.problem.words);
  }
  return kinds;
}

Json json_of_choice(const KnownChoice& one, std::ptrdiff_t kind) {
  Json json{{"kind", kind},
            {"sizes", one.problem.sizes},
            {"structure", one.structure},
            {"density", rounded(one.density)},
            {"format", one.format.text()},
            {"recipe", one.recipe},
            {"config", one.point},
            {"us", rounded(one.microseconds)}};
  if (!one.dense) return json;
  json["dense"] = one.dense->name;
  json["dense_us"] = rounded(one.dense->microseconds);
  return json;
}

/// A line of a list, behind those before it.
void add_line(std::string& text, const Json& json) {
  text += fmt::format("{}\n{}", text.back() == '[' ? "" : ",", json.dump());
}

KnownChoice read_choice(const JsonFields& fields, const Kinds& kinds) {
  KnownChoice choice;
  fields.read("sizes", choice.problem.sizes);
  const auto last = static_cast<std::int64_t>(kinds.size()) - 1;
  choice.problem.words = kinds[static_cast<std::size_t>(fields.required<std::int64_t>("kind", 0, last))];
  choice.structure = fields.required<std::string>("structure");
  choice.density = fields.required<double>("density", 0.0, 1.0);
  choice.format = read_format(fields);
  choice.recipe = fields.required<std::string>("recipe");
  fields.read("config", choice.point);
  choice.microseconds = fields.required<double>("us", 0.0);
  if (fields.has("dense"))
    choice.dense =
        Baseline{fields.required<std::string>("dense"), true, fields.required<double>("dense_us", 0.0)};
  return choice;
}

}  // namespace

const KnownChoice* KnownChoices::find(const Record::Problem& problem, std::string_view structure,
                                      double density) const {
  const Record::Problem sum = sum_of(problem);
  const KnownChoice* nearest = nullptr;
  double distance = alike * density;
  for (const KnownChoice& one : choices) {
    const double away = std::abs(one.density - density);
    if (away > distance || one.structure != structure || one.problem != sum) continue;
    distance = away;
    nearest = &one;
  }
  return nearest;
}

Record::Problem sum_of(Record::Problem problem) {
  for (const char* told : {"extent_m", "extent_k", "extent_n"}) problem.sizes.erase(told);
  std::string& text = problem.words["algorithm"];
  const std::size_t begin = text.find("sum("), output = text.find(" = ");
  if (begin == std::string::npos || output == std::string::npos) return problem;
  std::size_t end = begin;
  for (int open = 0; end < text.size();) {
    const char letter = text[end++];
    open += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    if (open == 0 && letter == ')') break;
  }
  text = text.substr(0, output) + " = " + text.substr(begin, end - begin);
  return problem;
}

std::string structure_of(std::span<const Format> formats) {
  for (const std::string_view pattern : patterns) {
    const auto found = std::ranges::find(formats, pattern, &Format::name);
    if (found != formats.end()) return found->text();
  }
  return "csr";
}

KnownChoices known_choices_of(std::span<const Record> records, const std::string& target) {
  std::map<std::string, Search> searches;
  for (const Record& record : records) {
    const std::optional<double> time = record.time_of_correct();
    if (record.measure != "gpu" || record.target.name != target || !time || record.sums_roughly()) continue;
    Search& search = searches[record.problem_key()];
    search.formats.insert(record.pattern.kind);
    ++search.right;
    if (search.best != nullptr && search.microseconds <= *time) continue;
    search.best = &record;
    search.microseconds = *time;
  }
  KnownChoices known{target, {}};
  for (const auto& [key, search] : searches) {
    if (search.right >= least_trials && search.best->recipe != "default")
      known.choices.push_back(choice_of(search));
  }
  std::ranges::sort(known.choices, {}, order_of);
  known.choices = fastest_of_alike(known.choices);
  return known;
}

std::string json_of(const KnownChoices& known) {
  const Kinds kinds = kinds_of(known);
  std::string text =
      fmt::format("{{\n\"weft_known\": 1,\n\"target\": {},\n\"kinds\": [", Json(known.target).dump());
  for (const auto& kind : kinds) add_line(text, Json{{"words", kind}});
  text += "\n],\n\"choices\": [";
  for (const KnownChoice& one : known.choices)
    add_line(text, json_of_choice(one, std::ranges::find(kinds, one.problem.words) - kinds.begin()));
  return text + "\n]\n}\n";
}

KnownChoices known_choices_of_json(std::string_view json, const std::string& origin) {
  const JsonOrigin from{"known choices cannot be read", origin, "what known_choices of tests/bench writes"};
  const Json document = parse_json(json, from);
  const JsonFields fields(document, from);
  require_version(fields, "weft_known", 1);
  KnownChoices known;
  known.target = fields.required<std::string>("target");
  Kinds kinds;
  for (std::size_t i = 0; i < fields.list("kinds").size(); ++i)
    fields.element("kinds", i).read("words", kinds.emplace_back());
  for (std::size_t i = 0; i < fields.list("choices").size(); ++i)
    known.choices.push_back(read_choice(fields.element("choices", i), kinds));
  return known;
}

}  // namespace weft
