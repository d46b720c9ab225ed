#include <fmt/format.h>
#include <weft/formats/suggestion.h>
#include <weft/search/measure/suite_fields.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace weft {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string_view>;

std::optional<IdleField> first_of(const Json& object, const Names& names, const std::string& accepted) {
  for (const std::string_view name : names) {
    if (object.contains(name)) return IdleField{std::string(name), accepted};
  }
  return std::nullopt;
}

bool is_convolution(const Json& object) {
  return object.contains("C") || object.contains("F");
}

/// Without these a problem is another one than was meant, and nobody would see it.
Names optional_names(const Json& object, SuitePart part) {
  if (part == SuitePart::suite) return {"n_scale", "batch", "density", "patterns"};
  Names names;
  if (is_convolution(object)) names = {"stride", "pad", "dilation", "groups", "layout"};
  if (part == SuitePart::own_problem) names.push_back("batch");
  return names;
}

std::optional<IdleField> misspelled(const Json& object, const Names& names) {
  for (const auto& [name, value] : object.items()) {
    if (name.size() < 3 || std::ranges::find(names, name) != names.end()) continue;
    const std::string_view meant = nearest_name(name, names);
    if (!meant.empty() && !object.contains(meant))
      return IdleField{name, fmt::format("\"{}\", as a suite has it", meant)};
  }
  return std::nullopt;
}

/// What holds for every problem alike stands beside the list.
std::optional<IdleField> of_all_problems(const Json& object) {
  return first_of(object, {"V", "sparsity", "density", "pattern", "patterns", "dtype", "batch", "n_scale"},
                  "the field beside \"problems\", for all of them; or a \"pattern\" in every problem, beside "
                  "which it has a dtype, a sparsity and a V of its own");
}

std::optional<IdleField> of_other_patterns(const Json& object) {
  const auto pattern = object.find("pattern");
  if (pattern == object.end() || !pattern->is_string()) return std::nullopt;
  const bool shuffled = *pattern == "shuffled_rows", blocks = *pattern == "blocks";
  if (!shuffled && object.contains("V")) return IdleField{"V", "\"pattern\": \"shuffled_rows\", or no \"V\""};
  if (!blocks && object.contains("block"))
    return IdleField{"block", "\"pattern\": \"blocks\", or no \"block\""};
  return std::nullopt;
}

std::optional<IdleField> of_other_operations(const Json& object) {
  if (is_convolution(object))
    return first_of(object, {"M", "K", "N"},
                    "C, F, H, W, R and S of a convolution, or M, K and N of a product");
  return first_of(object, {"stride", "pad", "dilation", "groups", "layout", "H", "W", "R", "S"},
                  "a convolution, with C, F, H, W, R and S in place of M, K and N");
}

std::optional<IdleField> of_no_operation(const Json& object) {
  const auto op = object.find("op");
  if (op == object.end() || !op->is_string()) return std::nullopt;
  const bool convolution = is_convolution(object);
  const Names names = convolution ? Names{"conv2d"} : Names{"spmm", "spmv", "linear"};
  if (std::ranges::find(names, op->get<std::string>()) != names.end()) return std::nullopt;
  return IdleField{"op", convolution
                             ? "\"conv2d\", which has C, F, H, W, R and S"
                             : "\"spmm\", \"spmv\" or \"linear\", which have M, K and N; \"conv2d\" with "
                               "C, F, H, W, R and S"};
}

/// Without which there is no problem.
Names needed_by_problem(const Json& object) {
  Names names;
  if (object.contains("pattern")) {
    names = {"dtype"};
    const Json& pattern = object["pattern"];
    if (pattern == "unstructured" || pattern == "shuffled_rows" || pattern == "blocks")
      names.push_back("sparsity");
    if (pattern == "shuffled_rows") names.push_back("V");
    if (pattern == "blocks") names.push_back("block");
  }
  const bool convolution = is_convolution(object), one_column = object.value("op", Json()) == "spmv";
  std::ranges::copy(convolution ? Names{"C", "F", "H", "W", "R", "S"} : Names{"M", "K"},
                    std::back_inserter(names));
  if (!convolution && !one_column) names.push_back("N");
  return names;
}

Names needed_by_suite(const Json& root) {
  const auto problems = root.find("problems");
  const bool of_own = problems != root.end() && problems->is_array() && !problems->empty() &&
                      problems->front().is_object() && problems->front().contains("pattern");
  Names names{"suite", "problems"};
  if (of_own) return names;
  names.push_back("dtype");
  if (!root.contains("density") && !root.contains("patterns")) names.push_back("sparsity");
  return names;
}

}  // namespace

std::string name_in_place_of(const Json& object, std::string_view field) {
  Names names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  // Of sizes, which are letters, others are no neighbours.
  const auto same = [&](std::string_view name) {
    return std::ranges::equal(name, field, {}, ::toupper, ::toupper);
  };
  if (const auto found = std::ranges::find_if(names, same); found != names.end()) return std::string(*found);
  if (field.size() < 3) return {};
  // What both begin with is enough: "sparsities".
  constexpr std::size_t beginning = 5;
  std::string_view near = nearest_name(field, names);
  for (const std::string_view name : names)
    if (near.empty() && name.substr(0, beginning) == field.substr(0, beginning)) near = name;
  const Names known{"suite", "problems", "dtype", "sparsity", "density", "patterns", "pattern", "V", "block"};
  return std::ranges::find(known, near) == known.end() ? std::string(near) : std::string();
}

std::string missing_beside(const Json& object, bool is_suite, std::string_view field) {
  Names missing = is_suite ? needed_by_suite(object) : needed_by_problem(object);
  std::erase_if(missing, [&](std::string_view name) { return name == field || object.contains(name); });
  if (missing.empty()) return {};
  return fmt::format(", as {} {}", missing.size() == 1 ? "is" : "are", fmt::join(missing, ", "));
}

std::optional<IdleField> idle_field(const Json& object, SuitePart part) {
  std::optional<IdleField> found;
  if (part == SuitePart::suite_of_own)
    found =
        first_of(object, {"V", "sparsity", "density", "patterns", "dtype", "batch", "n_scale"},
                 "the field in every problem, as all have a \"pattern\" of their own; n_scale as larger N");
  if (part == SuitePart::problem) found = of_all_problems(object);
  if (part == SuitePart::own_problem) found = of_other_patterns(object);
  const bool is_problem = part == SuitePart::problem || part == SuitePart::own_problem;
  if (!found && is_problem) found = of_no_operation(object);
  if (!found && is_problem) found = of_other_operations(object);
  return found ? found : misspelled(object, optional_names(object, part));
}

}  // namespace weft
