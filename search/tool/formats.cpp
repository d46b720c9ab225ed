// weft formats: how weights can be stored.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/search/tool/pages.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

const NamedFormat& row_of_format(std::string_view name) {
  return *std::ranges::find(named_formats(), name, &NamedFormat::name);
}

bool can_be_pruned_to(const Format& format) {
  try {
    granularity_of(format);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

/// A small weight that the format takes.
SparseTensor packed_example(const Format& format) {
  WeightMatrix weights =
      synthetic_layer({.rows = 128, .columns = 256, .sparsity = 0.75, .dtype = DType::f16});
  if (can_be_pruned_to(format) && sparsity_of_pattern(format))
    weights = pruned(weights, choose_weights(weights, format, {}));
  return pack(weights, format);
}

/// The recipes that take it.
std::vector<std::string_view> recipes_of(const Format& format) {
  std::vector<std::string_view> names;
  for (const Recipe& recipe : recipes()) {
    if (recipe.is_format(format)) names.push_back(recipe.name);
  }
  return names;
}

std::string prune_example(const Format& format) {
  if (!can_be_pruned_to(format)) return "no way of its own; it takes weights pruned in another way";
  return fmt::format("weft prune layer.npy --format {}{} -o pruned.npy", format.text(),
                     sparsity_of_pattern(format) ? "" : " --sparsity 0.9");
}

std::string table_of_formats() {
  Table table({"format", "what is stored"});
  for (const NamedFormat& format : named_formats())
    table.row({std::string(format.name), std::string(format.summary)});
  return table.text();
}

std::string page_of_format(std::string_view name) {
  const NamedFormat& row = row_of_format(name);
  const Format format = parse_format(name);
  std::string text = fmt::format("{}: {}\n{}\n", row.name, row.summary, row.purpose);
  if (!row.parameters.empty()) {
    Table table({"parameter", "values", "left out", "what it says"});
    for (const FormatParameter& p : row.parameters)
      table.row(
          {std::string(p.name), std::string(p.values), std::string(p.otherwise), std::string(p.meaning)});
    text += "\n" + table.text();
  }
  const SparseTensor tensor = packed_example(format);
  Table arrays({"array", "type", "elements"});
  for (const SparseTensor::NamedArray& array : tensor.arrays())
    arrays.row({array.name, std::string(name_of(array.array.dtype())), text_of_shape(array.array.shape())});
  return text +
         fmt::format("\nA weight of 128 x 256, 75 % of it zero, in f16:\n{}\nRecipes: {}\nPruning: {}\n",
                     arrays.text(), fmt::join(recipes_of(format), ", "), prune_example(format));
}

nlohmann::ordered_json json_of_format(std::string_view name) {
  const NamedFormat& row = row_of_format(name);
  const Format format = parse_format(name);
  nlohmann::ordered_json document{{"name", row.name}, {"summary", row.summary}, {"purpose", row.purpose}};
  document["parameters"] = nlohmann::ordered_json::array();
  for (const FormatParameter& p : row.parameters)
    document["parameters"].push_back(
        {{"name", p.name}, {"values", p.values}, {"left_out", p.otherwise}, {"meaning", p.meaning}});
  const SparseTensor tensor = packed_example(format);
  for (const SparseTensor::NamedArray& array : tensor.arrays())
    document["arrays"].push_back({{"name", array.name}, {"type", name_of(array.array.dtype())}});
  document["recipes"] = recipes_of(format);
  document["can_be_pruned_to"] = can_be_pruned_to(format);
  return document;
}

}  // namespace

void add_formats(CLI::App& app, Action& action) {
  add_pages(app, action,
            {.verb = "formats",
             .one = "format",
             .summary = "how weights can be stored",
             .example = "shfl_bw",
             .names = [] { return names_of(named_formats()); },
             .table = table_of_formats,
             .page = page_of_format,
             .json = json_of_format});
}

}  // namespace weft::tool
