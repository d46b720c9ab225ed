#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/io/file.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/suggestion.h>
#include <weft/search/measure/located_json.h>
#include <weft/search/measure/suite.h>
#include <weft/search/measure/suite_fields.h>
#include <weft/search/records/words.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_bytes_of_suite = 16U << 20U;
// A product of three extents fits 63 bits.
constexpr std::int64_t most_extent = (std::int64_t{1} << 20) - 1;

/// What shows all that a suite needs.
constexpr std::string_view whole_suite =
    R"({"suite": "mine", "problems": [{"id": 1, "M": 64, "K": 96, "N": 32, "dtype": "f32", "sparsity": 0.9, )"
    R"("pattern": "unstructured"}]})";

/// Likewise, of a suite whose problems are alike.
constexpr std::string_view suite_of_one_kind =
    R"({"suite": "mine", "dtype": "f32", "sparsity": [0.9], "problems": [{"id": 1, "M": 64, "K": 96, "N": 32}]})";

/// Not so for what is no number either.
bool is_sparsity(double share) {
  return share >= 0 && share < 1;
}

/// How many rows a group may have in place of these, as shfl_bw says it, which packs them; nothing where it
/// takes them.
std::optional<std::string> why_no_group_of(std::int64_t rows) {
  try {
    pack(from_dense(Array(DType::f32, {1, 1}), "one element"), formats::shfl_bw({.rows = rows}));
    return std::nullopt;
  } catch (const UserError& error) {
    return error.report().accepted;
  }
}

/// Fields of one file, read by name.
class SuiteReader {
 public:
  SuiteReader(const std::string& text, const std::string& origin) : json_(text, origin) {}

  /// One, or one for each problem with a pattern of its own.
  std::vector<Suite> read_all() {
    const Json& root = root_object();
    const Json& problems = list_of(root, "problems");
    if (!problems.front().is_object() || !problems.front().contains("pattern")) return {read()};
    refuse_idle_field(root, "", SuitePart::suite_of_own);
    std::vector<Suite> suites;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      Suite suite = suite_of(problems[i], fmt::format("/problems/{}", i));
      suite.name = string_of(root, "", "suite");
      suite.problems.push_back(problem_of(problems[i], i, SuitePart::own_problem));
      check_groups(suite, i);
      suites.push_back(std::move(suite));
    }
    return suites;
  }

  Suite read() {
    const Json& root = root_object();
    Suite suite;
    suite.name = string_of(root, "", "suite");
    suite.dtype = dtype_of(root, "");
    if (root.contains("patterns")) {
      suite.patterns = patterns_of(root);
    } else {
      suite.sparsity = sparsity_of(root);
      suite.simulated = root.contains("density");
    }
    suite.batch = batch_of(root);
    if (root.contains("V")) suite.group_rows = integers_of(root, "V");
    for (const std::int64_t rows : suite.group_rows) check_group_rows(rows, "/V");
    refuse_idle_field(root, "", SuitePart::suite);
    const Json& problems = list_of(root, "problems");
    for (std::size_t i = 0; i < problems.size(); ++i) {
      suite.problems.push_back(problem_of(problems[i], i, SuitePart::problem));
      check_groups(suite, i);
      check_together(suite, i);
    }
    return suite;
  }

 private:
  const Json& root_object() const {
    const Json& root = json_.document();
    if (!root.is_object())
      refuse("", "", "no object", "an object with the fields suite, dtype, sparsity, problems");
    return root;
  }

  /// What a problem says of its weights.
  Suite suite_of(const Json& object, const std::string& at) const {
    if (!object.is_object()) refuse(at, "problems", object.dump(), "objects");
    Suite suite;
    suite.dtype = dtype_of(object, at);
    const std::string pattern = string_of(object, at, "pattern");
    if (const auto pairs = pair_pattern_named(pattern)) {
      suite.patterns = {*pairs};
    } else {
      const Json& share = field_of(object, at, "sparsity", "a number from 0 to below 1");
      if (!share.is_number() || !is_sparsity(share.get<double>()))
        refuse(at + "/sparsity", "sparsity", share.dump(),
               "a number from 0 to below 1" + as_share(number_of(share)));
      suite.sparsity = {share.get<double>()};
      if (pattern == "shuffled_rows") {
        suite.group_rows = {extent_of(object, at, "V")};
        check_group_rows(suite.group_rows.front(), at + "/V");
      } else if (pattern == "blocks") {
        suite.block = extent_of(object, at, "block");
      } else if (pattern != "unstructured") {
        refuse(at + "/pattern", "pattern", '"' + pattern + '"',
               std::string("\"unstructured\", \"shuffled_rows\", \"blocks\", ") + pair_pattern_spelling);
      }
    }
    suite.batch = {extent_of(object, at, "batch", 1, 1)};
    return suite;
  }

  static double number_of(const Json& json) { return json.is_number() ? json.get<double>() : std::nan(""); }

  /// 0 stands for weights without groups.
  void check_group_rows(std::int64_t rows, const std::string& pointer) const {
    if (rows == 0) return;
    if (const auto accepted = why_no_group_of(rows)) refuse(pointer, "V", std::to_string(rows), *accepted);
  }

  [[noreturn]] void refuse(const std::string& pointer, const std::string& field, const std::string& found,
                           const std::string& accepted) const {
    throw UserError("a suite cannot be read", json_.place(pointer) + problem_at(pointer),
                    field.empty() ? found : fmt::format("field \"{}\": {}", field, found), accepted);
  }

  /// ", problem 3": a line may hold several.
  static std::string problem_at(std::string_view pointer) {
    constexpr std::string_view problems = "/problems/";
    if (!pointer.starts_with(problems)) return {};
    pointer.remove_prefix(problems.size());
    const auto number = read_number<std::size_t>(pointer.substr(0, pointer.find('/')));
    return number ? fmt::format(", problem {}", *number + 1) : "";
  }

  const Json& field_of(const Json& object, const std::string& at, const char* field,
                       const std::string& accepted) const {
    const auto found = object.find(field);
    if (found != object.end()) return *found;
    if (const std::string name = name_in_place_of(object, field); !name.empty())
      refuse(at + "/" + name, name, "no field of a suite, and \"" + std::string(field) + "\" is missing",
             fmt::format("\"{}\" in its place, as it is written here: {}", field, accepted));
    refuse(at + "/" + field, field, "it is missing" + missing_beside(object, at.empty(), field),
           fmt::format("{}, as in {}", accepted, at.empty() ? suite_of_one_kind : whole_suite));
  }

  std::string string_of(const Json& object, const std::string& at, const char* field) const {
    const Json& value = field_of(object, at, field, "a string");
    if (!value.is_string()) refuse(at + "/" + field, field, value.dump(), "a string");
    return value.get<std::string>();
  }

  const Json& list_of(const Json& root, const char* field) const {
    const Json& value = field_of(root, "", field, "a list with at least one element");
    if (!value.is_array() || value.empty())
      refuse(std::string("/") + field, field, value.is_array() ? "an empty list" : "no list",
             "a list with at least one element");
    return value;
  }

  std::int64_t integer(const Json& value, const std::string& pointer, const std::string& field,
                       std::int64_t least) const {
    const bool fits =
        value.is_number_unsigned() ? value.get<std::uint64_t>() <= most_extent : value.is_number_integer();
    if (!fits || value.get<std::int64_t>() < least)
      refuse(pointer, field, value.dump(), fmt::format("an integer from {} to {}", least, most_extent));
    return value.get<std::int64_t>();
  }

  std::int64_t extent_of(const Json& object, const std::string& at, const char* field, std::int64_t least = 1,
                         std::optional<std::int64_t> otherwise = std::nullopt) const {
    if (otherwise && !object.contains(field)) return *otherwise;
    const Json& value = field_of(object, at, field, fmt::format("an integer of at least {}", least));
    return integer(value, at + "/" + field, field, least);
  }

  DType dtype_of(const Json& object, const std::string& at) const {
    const std::string text = string_of(object, at, "dtype");
    const auto dtype = dtype_named(text);
    if (dtype && is_factor(*dtype) && dtype != DType::f64) return *dtype;
    refuse(at + "/dtype", "dtype", '"' + text + '"',
           "\"f32\", \"f16\", \"bf16\", \"e4m3\", \"e5m2\" or \"i8\"");
  }

  std::vector<double> sparsity_of(const Json& root) const {
    const bool by_density = root.contains("density");
    if (by_density && root.contains("sparsity"))
      refuse("/sparsity", "sparsity", "it stands beside \"density\"", "either");
    const char* field = by_density ? "density" : "sparsity";
    std::vector<double> all;
    for (const Json& one : list_of(root, field)) {
      const double share = number_of(one);
      const double sparsity = by_density ? 1 - share : share;
      if (!is_sparsity(sparsity))
        refuse(fmt::format("/{}/{}", field, all.size()), field, one.dump(),
               (by_density ? "a number above 0, up to 1" : "a number from 0 to below 1") + as_share(share));
      all.push_back(sparsity);
    }
    return all;
  }

  std::vector<PairPattern> patterns_of(const Json& root) const {
    for (const char* field : {"sparsity", "density", "V"}) {
      if (root.contains(field))
        refuse(std::string("/") + field, field, "it stands beside \"patterns\"",
               "either: patterns have a sparsity and a V of their own");
    }
    std::vector<PairPattern> all;
    const Json& list = list_of(root, "patterns");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto pattern =
          list[i].is_string() ? pair_pattern_named(list[i].get<std::string>()) : std::nullopt;
      if (!pattern) refuse(fmt::format("/patterns/{}", i), "patterns", list[i].dump(), pair_pattern_spelling);
      all.push_back(*pattern);
    }
    return all;
  }

  std::vector<std::int64_t> batch_of(const Json& root) const {
    for (const char* field : {"n_scale", "batch"}) {
      if (root.contains(field)) return integers_of(root, field);
    }
    return {1};
  }

  std::vector<std::int64_t> integers_of(const Json& root, const char* field) const {
    std::vector<std::int64_t> all;
    const Json& list = list_of(root, field);
    for (std::size_t i = 0; i < list.size(); ++i)
      all.push_back(integer(list[i], fmt::format("/{}/{}", field, i), field, 1));
    return all;
  }

  std::string id_of(const Json& object, const std::string& at, std::size_t number) const {
    const auto id = object.find("id");
    if (id == object.end()) return std::to_string(number + 1);
    if (id->is_string()) return id->get<std::string>();
    return std::to_string(integer(*id, at + "/id", "id", 0));
  }

  std::string label_of(const Json& object, const std::string& at) const {
    for (const char* field : {"net", "model", "layer"}) {
      if (object.contains(field)) return string_of(object, at, field);
    }
    return {};
  }

  SuiteProblem problem_of(const Json& object, std::size_t number, SuitePart part) const {
    const std::string at = fmt::format("/problems/{}", number);
    if (!object.is_object()) refuse(at, "problems", object.dump(), "objects");
    SuiteProblem problem;
    problem.id = id_of(object, at, number);
    problem.label = label_of(object, at);
    if (object.contains("op")) problem.op = string_of(object, at, "op");
    problem.follows_sum = object.contains("bias") || object.contains("activation");
    if (object.contains("C") || object.contains("F")) {
      read_convolution(object, at, problem);
    } else {
      problem.m = extent_of(object, at, "M");
      problem.k = extent_of(object, at, "K");
      problem.n = problem.op == "spmv" ? 1 : extent_of(object, at, "N");
    }
    refuse_idle_field(object, at, part);
    return problem;
  }

  void read_convolution(const Json& object, const std::string& at, SuiteProblem& problem) const {
    Convolution c;
    c.channels = extent_of(object, at, "C");
    c.filters = extent_of(object, at, "F");
    c.image = {extent_of(object, at, "H"), extent_of(object, at, "W")};
    c.filter = {extent_of(object, at, "R"), extent_of(object, at, "S")};
    const std::int64_t stride = extent_of(object, at, "stride", 1, 1);
    c.stride = {stride, stride};
    c.pad = {extent_of(object, at, "pad", 0, (c.filter[0] - 1) / 2),
             extent_of(object, at, "pad", 0, (c.filter[1] - 1) / 2)};
    const std::int64_t dilation = extent_of(object, at, "dilation", 1, 1);
    c.dilation = {dilation, dilation};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t reach = dilation * (c.filter[i] - 1) + 1;
      if (c.image[i] + 2 * c.pad[i] < reach)
        refuse(at, i == 0 ? "R" : "S", fmt::format("a filter of {}, which reaches {}", c.filter[i], reach),
               fmt::format("at most the padded image, {}", c.image[i] + 2 * c.pad[i]));
    }
    problem.image_groups = extent_of(object, at, "groups", 1, 1);
    if (c.channels % problem.image_groups != 0 || c.filters % problem.image_groups != 0)
      refuse(at + "/groups", "groups", std::to_string(problem.image_groups),
             fmt::format("a divisor of {} channels and {} filters", c.channels, c.filters));
    if (object.contains("layout")) {
      const std::string name = string_of(object, at, "layout");
      const auto layout = layout_named(name);
      if (!layout) refuse(at + "/layout", "layout", '"' + name + '"', "\"nchw\", \"nhwc\" or \"chwn\"");
      problem.layout = *layout;
    }
    const auto output = c.output();
    problem.m = c.filters;
    problem.k = c.channels / problem.image_groups * c.filter[0] * c.filter[1];
    problem.n = output[0] * output[1];
    problem.convolution = c;
  }

  /// What nobody would read was meant to be read.
  void refuse_idle_field(const Json& object, const std::string& at, SuitePart part) const {
    if (const auto idle = idle_field(object, part))
      refuse(at + "/" + idle->name, idle->name, object[idle->name].dump(), idle->accepted);
  }

  /// What structured weights keep would not be what is left of them between the groups.
  void check_groups(const Suite& suite, std::size_t number) const {
    const std::int64_t groups = suite.problems.back().image_groups;
    if (groups > 1 && (suite.is_grouped() || suite.is_patterned() || suite.block > 0))
      refuse(fmt::format("/problems/{}/groups", number), "groups", std::to_string(groups),
             "1, or unstructured weights");
  }

  void check_together(const Suite& suite, std::size_t number) const {
    const SuiteProblem& last = suite.problems.back();
    const std::string at = fmt::format("/problems/{}", number);
    if (last.convolution.has_value() != suite.is_convolution())
      refuse(at, "problems", "a product beside a convolution", "one kind of problem in a suite");
    for (std::size_t i = 0; i < number; ++i) {
      if (suite.problems[i].id == last.id)
        refuse(at + "/id", "id", fmt::format("\"{}\" a second time", last.id), "every id once");
    }
  }

  LocatedJson json_;
};

template <class T>
std::vector<T> chosen(const std::vector<T>& wanted, const std::vector<T>& all) {
  return wanted.empty() ? all : wanted;
}

bool is_named(const SuiteProblem& problem, const std::string& name) {
  return name == problem.id || (!name.empty() && name == problem.label) ||
         name == fmt::format("{}x{}x{}", problem.m, problem.k, problem.n);
}

bool is_chosen(const SuiteProblem& problem, const std::vector<std::string>& names) {
  return names.empty() ||
         std::ranges::any_of(names, [&](const std::string& name) { return is_named(problem, name); });
}

/// One made by hand may lack what every file has.
void require_problems(const Suite& suite) {
  if (suite.problems.empty())
    throw UserError("a suite has nothing to measure", "Suite::problems " + suite.name, "no problems",
                    "at least one, as read_suite() gives them");
  if (suite.group_rows.empty() || suite.batch.empty())
    throw UserError("a suite has nothing to measure", "Suite " + suite.name,
                    suite.batch.empty() ? "no batch" : "no group_rows",
                    "{1} for one batch, {0} for no groups");
}

/// "SuiteSelection::problems (--only), suite mine"
std::string place_of(const Suite& suite, std::string_view field, std::string_view option) {
  return fmt::format("SuiteSelection::{} ({}), suite {}", field, option, suite.name);
}

void check(const Suite& suite, const SuiteSelection& selection) {
  for (const std::string& name : selection.problems) {
    const auto named = [&](const SuiteProblem& problem) { return is_named(problem, name); };
    if (std::ranges::any_of(suite.problems, named)) continue;
    std::vector<std::string> known;
    for (const SuiteProblem& problem : suite.problems) known.push_back(problem.id);
    const std::vector<std::string_view> names(known.begin(), known.end());
    throw UserError("the suite has no such problem", place_of(suite, "problems", "--only"), name,
                    fmt::format("{}, a label, or a size as in {}x{}x{}{}", fmt::join(known, ", "),
                                suite.problems.front().m, suite.problems.front().k, suite.problems.front().n,
                                did_you_mean(name, names)));
  }
  const std::string of_sparsity = place_of(suite, "sparsity", "--sparsity");
  if (!selection.sparsity.empty() && suite.is_patterned())
    throw UserError("a sparsity cannot be chosen", of_sparsity, fmt::format("{}", selection.sparsity.front()),
                    "a pattern: a suite with \"patterns\" has the sparsity of each");
  for (const double sparsity : selection.sparsity) {
    if (!is_sparsity(sparsity))
      throw UserError("a sparsity cannot be", of_sparsity, fmt::format("{}", sparsity),
                      "from 0 to below 1" + as_share(sparsity));
  }
  for (const std::int64_t batch : selection.batch) {
    if (batch < 1 || batch > most_extent)
      throw UserError("a batch cannot be", place_of(suite, "batch", "--batch"), std::to_string(batch),
                      fmt::format("1 to {}", most_extent));
  }
  const std::string of_groups = place_of(suite, "group_rows", "--V");
  for (const std::int64_t rows : selection.group_rows) {
    if (!suite.is_grouped())
      throw UserError("groups of rows cannot be chosen", of_groups, fmt::format("V = {}", rows),
                      "a suite with the field \"V\": this one has unstructured weights");
    if (const auto accepted = why_no_group_of(rows))
      throw UserError("groups of rows cannot be", of_groups, fmt::format("V = {}", rows), *accepted);
  }
}

std::vector<PairPattern> chosen_patterns(const Suite& suite, const std::vector<std::string>& names) {
  if (!names.empty() && !suite.is_patterned())
    throw UserError("a pattern cannot be chosen", place_of(suite, "patterns", "--pattern"), names.front(),
                    "a suite with the field \"patterns\"");
  std::vector<PairPattern> all;
  for (const std::string& name : names) {
    const auto pattern = pair_pattern_named(name);
    if (!pattern)
      throw UserError("there is no such pattern", place_of(suite, "patterns", "--pattern"), name,
                      pair_pattern_spelling);
    all.push_back(*pattern);
  }
  return chosen(all, suite.patterns);
}

/// Cases without a problem: what its weights may be.
std::vector<SuiteCase> weights_of(const Suite& suite, const SuiteSelection& selection) {
  std::vector<SuiteCase> all;
  for (const PairPattern& pattern : chosen_patterns(suite, selection.patterns))
    all.push_back({{}, pattern.sparsity(), 1, 0, pattern, 0});
  for (const double sparsity : chosen(selection.sparsity, suite.sparsity)) {
    for (const std::int64_t rows : chosen(selection.group_rows, suite.group_rows))
      all.push_back({{}, sparsity, 1, rows, {}, suite.block});
  }
  return all;
}

/// The file, which nobody has to look for: a refusal of it shows a whole suite.
io::File file_of_suite(const std::string& path) {
  try {
    return io::File(path);
  } catch (const UserError& error) {
    UserError::Report report = error.report();
    report.accepted += fmt::format(", as one that holds {}", whole_suite);
    throw UserError(std::move(report));
  }
}

std::string text_of_suite(const std::string& path) {
  const io::File file = file_of_suite(path);
  const std::string_view text = io::text_of(file.bytes());
  if (text.size() > most_bytes_of_suite)
    throw UserError("a suite cannot be read", path, fmt::format("{} bytes", text.size()),
                    fmt::format("a file of problems of at most {} bytes", most_bytes_of_suite));
  return std::string(text);
}

}  // namespace

Suite parse_suite(const std::string& text, const std::string& origin, CallPlace place) {
  return user_call(place, [&] { return SuiteReader(text, origin).read(); });
}

std::vector<Suite> parse_suites(const std::string& text, const std::string& origin, CallPlace place) {
  return user_call(place, [&] { return SuiteReader(text, origin).read_all(); });
}

Suite read_suite(const std::string& path, CallPlace place) {
  return user_call(place, [&] { return SuiteReader(text_of_suite(path), path).read(); });
}

std::vector<Suite> read_suites(const std::string& path, CallPlace place) {
  return user_call(place, [&] { return SuiteReader(text_of_suite(path), path).read_all(); });
}

std::vector<SuiteCase> cases_of(const Suite& suite, const SuiteSelection& selection, CallPlace place) {
  return user_call(place, [&] {
    require_problems(suite);
    check(suite, selection);
    std::vector<SuiteCase> cases;
    for (const std::int64_t batch : chosen(selection.batch, suite.batch)) {
      for (const SuiteCase& weights : weights_of(suite, selection)) {
        for (const SuiteProblem& problem : suite.problems) {
          if (!is_chosen(problem, selection.problems)) continue;
          cases.push_back(weights);
          cases.back().problem = problem;
          cases.back().batch = batch;
          cases.back().problem.n *= batch;
          if (problem.convolution) cases.back().problem.convolution->batch = batch;
        }
      }
    }
    return cases;
  });
}

}  // namespace weft
