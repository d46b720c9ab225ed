#include <fmt/format.h>
#include <weft/search/model/learnt_times.h>
#include <weft/search/records/json_fields.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

double logarithm(double number) {
  return std::log2(1 + std::max(0.0, number));
}
double logarithm(std::int64_t number) {
  return logarithm(static_cast<double>(number));
}

struct Number {
  std::string_view name;
  double (*of)(const KernelOutline& kernel);
};

/// How often, on average, an element of the dense operand is read as another row of the product: more than
/// once in images.
double overlap(const KernelOutline& kernel) {
  const double elements = static_cast<double>(kernel.problem.k) * static_cast<double>(kernel.problem.n);
  return elements > 0 ? static_cast<double>(kernel.problem.dense_elements) / elements : 0;
}

template <std::int64_t most>
double common(std::int64_t size) {
  return static_cast<double>(std::gcd(size, most));
}

/// The value of a knob; 0 where the point does not have it.
double value_of_knob(const KernelOutline& kernel, const char* name) {
  const auto value = kernel.point.find(name);
  return value == kernel.point.end() ? 0 : static_cast<double>(value->second);
}

/// Tiles of so many along a size; 0 where the kernel has none.
double tiles_along(std::int64_t size, double tile) {
  return tile > 0 ? std::ceil(static_cast<double>(size) / tile) : 0;
}

/// Thread blocks, or their turns, with those that share a sum.
double tiles_of_kernel(const KernelOutline& kernel) {
  return tiles_along(kernel.problem.m, value_of_knob(kernel, "tile_m")) *
         tiles_along(kernel.problem.n, value_of_knob(kernel, "tile_n")) *
         std::max(1.0, value_of_knob(kernel, "groups"));
}

/// How often a block goes on along the sum of a tile.
double steps_of_kernel(const KernelOutline& kernel) {
  const double tile = value_of_knob(kernel, "tile_k");
  const auto gathered = static_cast<double>(kernel.problem.gathered_columns());
  return tile > 0 ? gathered / tile / std::max(1.0, value_of_knob(kernel, "groups")) : 0;
}

/// The share of the tiles along a size that there is something in.
double filled_share(std::int64_t size, double tile) {
  return tile > 0 ? static_cast<double>(size) / (tile * tiles_along(size, tile)) : -1;
}

double logarithm_of_ratio(double one, double other) {
  return other > 0 ? logarithm(one / other) : -1;
}

/// Of images, by their algorithm; -1 of products, and where it is not known.
template <class Value>
double of_images(const KernelOutline& kernel, Value value) {
  return kernel.problem.of_images == nullptr ? -1 : value(*kernel.problem.of_images);
}

/// Results that lie one behind the other in memory: pixels of a line, filters, or images.
double innermost(const KernelOutline& kernel) {
  return of_images(kernel, [](const Algorithm& algorithm) {
    const std::string* last = algorithm.output.indices.back().plain();
    return last == nullptr ? -1 : logarithm(algorithm.index(*last).extent.value);
  });
}

/// The largest step from one element that is read to that of the next result.
double stride(const KernelOutline& kernel) {
  return of_images(kernel, [](const Algorithm& algorithm) {
    std::int64_t largest = 1;
    for (const TensorAccess& factor : algorithm.factors) {
      for (const AffineIndex& index : factor.indices)
        for (const auto& [name, coefficient] : index.terms)
          if (!algorithm.index(name).reduction) largest = std::max(largest, coefficient);
    }
    return static_cast<double>(largest);
  });
}

using Outline = const KernelOutline&;
constexpr std::array<Number, 35> of_problem{{
    {"m", [](Outline kernel) { return logarithm(kernel.problem.m); }},
    {"k", [](Outline kernel) { return logarithm(kernel.problem.k); }},
    {"n", [](Outline kernel) { return logarithm(kernel.problem.n); }},
    {"m_divisor", [](Outline kernel) { return common<64>(kernel.problem.m); }},
    {"k_divisor", [](Outline kernel) { return common<16>(kernel.problem.k); }},
    {"n_divisor", [](Outline kernel) { return common<8>(kernel.problem.n); }},
    {"f32", [](Outline kernel) { return kernel.problem.dtype == DType::f32 ? 1.0 : 0.0; }},
    {"bf16", [](Outline kernel) { return kernel.problem.dtype == DType::bf16 ? 1.0 : 0.0; }},
    {"convolution", [](Outline kernel) { return kernel.problem.convolution ? 1.0 : 0.0; }},
    {"stored", [](Outline kernel) { return logarithm(kernel.problem.stored); }},
    {"density", [](Outline kernel) { return kernel.problem.density(); }},
    {"byte", [](Outline kernel) { return size_of(kernel.problem.dtype) == 1 ? 1.0 : 0.0; }},
    {"dense_elements", [](Outline kernel) { return logarithm(kernel.problem.dense_elements); }},
    {"overlap", overlap},
    {"innermost", innermost},
    {"stride", stride},
    {"images_across", [](Outline kernel) { return kernel.problem.images_across ? 1.0 : 0.0; }},
    {"images_fill_warps", [](Outline kernel) { return kernel.problem.images_fill_warps ? 1.0 : 0.0; }},
    {"row_variation", [](Outline kernel) { return kernel.problem.row_variation; }},
    {"group_rows", [](Outline kernel) { return logarithm(kernel.problem.group_rows); }},
    {"kept_of", [](Outline kernel) { return static_cast<double>(kernel.problem.kept_of); }},
    {"of_group", [](Outline kernel) { return static_cast<double>(kernel.problem.of_group); }},
    {"kept_columns", [](Outline kernel) { return logarithm(kernel.problem.kept_columns()); }},
    {"gathered_columns", [](Outline kernel) { return logarithm(kernel.problem.gathered_columns()); }},
    {"tiles", [](Outline kernel) { return logarithm(tiles_of_kernel(kernel)); }},
    {"steps", [](Outline kernel) { return logarithm(steps_of_kernel(kernel)); }},
    {"rings",
     [](Outline kernel) {
       return logarithm_of_ratio(steps_of_kernel(kernel), value_of_knob(kernel, "stages"));
     }},
    {"filled_rows",
     [](Outline kernel) { return filled_share(kernel.problem.m, value_of_knob(kernel, "tile_m")); }},
    {"filled_columns",
     [](Outline kernel) { return filled_share(kernel.problem.n, value_of_knob(kernel, "tile_n")); }},
    {"filled_lanes",
     [](Outline kernel) {
       return filled_share(kernel.problem.n,
                           value_of_knob(kernel, "columns") * value_of_knob(kernel, "lanes"));
     }},
    {"warps",
     [](Outline kernel) {
       return logarithm_of_ratio(value_of_knob(kernel, "tile_m") * value_of_knob(kernel, "tile_n"),
                                 value_of_knob(kernel, "warp_m") * value_of_knob(kernel, "warp_n"));
     }},
    {"ring",
     [](Outline kernel) {
       return logarithm(value_of_knob(kernel, "stages") * value_of_knob(kernel, "tile_k") *
                        (value_of_knob(kernel, "tile_m") + value_of_knob(kernel, "tile_n")));
     }},
    {"bound", [](Outline kernel) { return std::log2(kernel.bound.microseconds); }},
    {"modelled", [](Outline kernel) { return std::log2(kernel.modelled); }},
    {"second_cache", [](Outline kernel) { return logarithm(kernel.target.second_cache_bytes); }},
}};

constexpr std::string_view of_part = "part:", of_recipe = "recipe:", of_format = "format:", of_knob = "knob:";

/// What a name asks for; nothing for one that is none.
std::function<double(const KernelOutline&)> number_named(const std::string& name) {
  const auto found = std::ranges::find(of_problem, name, &Number::name);
  if (found != of_problem.end()) return found->of;
  const std::string_view text = name;
  const std::string rest = name.substr(std::min(name.size(), name.find(':') + 1));
  if (text.starts_with(of_recipe))
    return [rest](const KernelOutline& kernel) { return kernel.recipe == rest ? 1.0 : 0.0; };
  if (text.starts_with(of_format))
    return [rest](const KernelOutline& kernel) { return kernel.format.name == rest ? 1.0 : 0.0; };
  if (text.starts_with(of_knob))
    return [rest](const KernelOutline& kernel) {
      const auto value = kernel.point.find(rest);
      return value == kernel.point.end() ? -1 : logarithm(value->second);
    };
  for (std::size_t i = 0; i < resource_count && text.starts_with(of_part); ++i) {
    const auto resource = static_cast<Resource>(i);
    if (rest == name_of(resource))
      return [resource](const KernelOutline& kernel) {
        return kernel.bound.part(resource) / kernel.bound.microseconds;
      };
  }
  return {};
}

Json json_of_tree(const BoostedTrees::Tree& tree) {
  Json json = Json::array();
  for (const BoostedTrees::Node& node : tree)
    json.push_back(node.feature < 0 ? Json{node.value} : Json{node.feature, node.threshold, node.right});
  return json;
}

/// Checks while it reads.
class ReadingTimes {
 public:
  explicit ReadingTimes(const JsonFields& fields) : fields_(fields) {}

  LearntTimes operator()() {
    require_version(fields_, "weft_times", 1);
    LearntTimes times;
    times.target = fields_.required<std::string>("target");
    times.recipes = texts("recipes");
    const std::vector<std::string> names = texts("numbers");
    for (const std::string& name : names) {
      if (!KernelNumbers::is_known(name))
        fields_.refuse("numbers", name, "numbers that are known of a kernel");
    }
    times.numbers = KernelNumbers(names);
    std::vector<BoostedTrees::Tree> trees;
    for (const Json& json : fields_.list("trees")) trees.push_back(tree(json, names.size()));
    times.trees = BoostedTrees(std::move(trees));
    return times;
  }

 private:
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> found;
    for (const Json& one : fields_.list(name)) {
      if (!one.is_string()) fields_.refuse(name, shown(one), "texts");
      found.push_back(one);
    }
    return found;
  }

  BoostedTrees::Tree tree(const Json& json, std::size_t numbers) const {
    BoostedTrees::Tree nodes;
    const auto refuse = [&](const Json& found) {
      fields_.refuse("trees", shown(found),
                     "lists of nodes, [value] or [number, threshold, place of the right child]");
    };
    if (!json.is_array() || json.empty()) refuse(json);
    constexpr std::size_t of_leaf = 1, of_comparison = 3;
    for (const Json& node : json) {
      const bool is_list = node.is_array() && (node.size() == of_leaf || node.size() == of_comparison) &&
                           std::ranges::all_of(node, [](const Json& one) { return one.is_number(); });
      if (!is_list) refuse(node);
      if (node.size() == of_leaf) {
        nodes.push_back({.value = node[0]});
        continue;
      }
      nodes.push_back({node[0], node[1], node[2]});
      const bool fits = nodes.back().feature >= 0 && nodes.back().feature < static_cast<int>(numbers) &&
                        nodes.back().right > static_cast<int>(nodes.size()) &&
                        nodes.back().right < static_cast<int>(json.size());
      if (!fits) refuse(node);
    }
    return nodes;
  }

  const JsonFields& fields_;
};

}  // namespace

KernelNumbers::KernelNumbers(std::vector<std::string> names) : names_(std::move(names)) {
  for (const std::string& name : names_) {
    numbers_.push_back(number_named(name));
    internal_check(static_cast<bool>(numbers_.back()), "a number that is known of no kernel: " + name);
  }
}

bool KernelNumbers::is_known(const std::string& name) {
  return static_cast<bool>(number_named(name));
}

KernelNumbers KernelNumbers::all(const std::vector<std::string>& recipes,
                                 const std::vector<std::string>& formats,
                                 const std::vector<std::string>& knobs) {
  std::vector<std::string> names;
  for (const Number& one : of_problem) names.emplace_back(one.name);
  for (std::size_t i = 0; i < resource_count; ++i)
    names.push_back(fmt::format("{}{}", of_part, name_of(static_cast<Resource>(i))));
  for (const std::string& one : recipes) names.push_back(fmt::format("{}{}", of_recipe, one));
  for (const std::string& one : formats) names.push_back(fmt::format("{}{}", of_format, one));
  for (const std::string& one : knobs) names.push_back(fmt::format("{}{}", of_knob, one));
  return KernelNumbers(std::move(names));
}

std::vector<double> KernelNumbers::operator()(const KernelOutline& kernel) const {
  std::vector<double> values;
  values.reserve(numbers_.size());
  for (const auto& number : numbers_) values.push_back(number(kernel));
  return values;
}

bool LearntTimes::is_of(std::string_view recipe, const Target& on) const {
  const bool alike =
      on.name == target || (!on.is_gpu() && on.vector_bytes == target_named(target).vector_bytes);
  return alike && std::ranges::find(recipes, recipe) != recipes.end();
}

double LearntTimes::correction(const KernelOutline& kernel) const {
  return std::exp(trees.value(numbers(kernel)));
}

std::string json_of(const LearntTimes& times) {
  std::string text =
      fmt::format("{{\n\"weft_times\": 1,\n\"target\": {},\n\"recipes\": {},\n\"numbers\": {},\n",
                  Json(times.target).dump(), Json(times.recipes).dump(), Json(times.numbers.names()).dump());
  text += "\"trees\": [";
  for (const BoostedTrees::Tree& tree : times.trees.trees())
    text += fmt::format("{}\n{}", text.back() == '[' ? "" : ",", json_of_tree(tree).dump());
  return text + "]\n}\n";
}

LearntTimes learnt_times_of(std::string_view json, const std::string& origin) {
  const JsonOrigin from{"learnt times cannot be read", origin, "what learn_times of tests/bench writes"};
  const Json document = parse_json(json, from);
  const JsonFields fields(document, from);
  return ReadingTimes(fields)();
}

}  // namespace weft
