// manifest.json: what the package is and was made from.
#include <fmt/format.h>
#include <weft/backends/export/print.h>
#include <weft/backends/version.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/limits/proofs.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::exporting {
namespace {

using Json = nlohmann::ordered_json;

Json operands_of(const Package& package) {
  auto list = Json::array();
  for (const OperandField& field : package.operands) {
    const Operand& operand = package.operand(field);
    auto shape = Json::array();
    for (const Extent& extent : operand.shape) {
      if (extent.is_static())
        shape.push_back(extent.value);
      else
        shape.push_back(package.size);
    }
    Json entry{{"field", field.field}, {"dtype", name_of(operand.dtype)}, {"shape", shape}};
    if (!operand.strides.empty()) entry["strides"] = operand.strides;
    if (field.is_output) entry["output"] = true;
    list.push_back(entry);
  }
  return list;
}

Json weights_of(const Package& package) {
  const SparseTensor& weights = package.weights();
  return {{"rows", weights.rows()},
          {"columns", weights.columns()},
          {"dtype", name_of(weights.dtype())},
          {"format", weights.format().text()},
          {"stored", weights.array("values").size()},
          {"read_by_kernels", package.needs_weights},
          {"in_the_code", package.embeds_weights},
          {"pack", !package.takes_values ? "none"
                   : package.any_pattern ? "any entries"
                                         : "new values"}};
}

/// What only one of the kinds of code has.
void add_code(Json& entry, const Package& package, const TargetGroup& group, const Variant& variant) {
  const ThreadProgram& program = variant.kernel->lowered();
  entry["source"] = fmt::format("{}_{}", package.name, group.is_cpu() ? group.symbol() : variant.symbol);
  if (!variant.assembly) {
    entry["threads"] = program.launch.threads;
    entry["shared_bytes"] = program.launch.shared_bytes;
    if (program.program.overlap) entry["overlaps_launches"] = true;
  }
  entry["workspaces"] = variant.workspaces.size();
  if (!variant.copying.empty()) entry["launches"] = 1 + variant.copying.size();
  entry["index_bits"] = program.program.index_bits;
  if (variant.assembly) {
    entry["function"] = fmt::format("{}_{}", package.name, variant.symbol);
    entry["scratch_bytes"] = variant.assembly->scratch_bytes;
    entry["scratch_bytes_a_thread"] = variant.assembly->worker_scratch_bytes;
    return;
  }
  entry["machine_code"] = variant.has_cubin;
  entry["ptx"] = variant.has_ptx;
}

Json kernels_of(const Package& package) {
  auto list = Json::array();
  for (const TargetGroup& group : package.targets) {
    for (const Variant& variant : group.variants) {
      Json entry{{"target", group.target->name}, {"sizes", variant.range.text()}};
      add_code(entry, package, group, variant);
      if (const auto& resources = variant.kernel->resources()) {
        entry["registers"] = resources->registers;
        entry["spill_bytes"] = resources->spill_bytes;
      }
      auto steps = Json::array();
      for (const Step& step : variant.kernel->schedule().steps()) steps.push_back(step.cpp());
      entry["schedule"] = steps;
      entry["proofs"] = summary_of(prove(variant.kernel->schedule()));
      list.push_back(entry);
    }
  }
  return list;
}

Json measured_of(const Package& package) {
  if (package.options.measured.empty()) return nullptr;
  const char* accepted = "one JSON document of numbers that a double holds, as in {\"us\": {\"256\": 1.5}}";
  const std::string& text = package.options.measured;
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(text.size(), error.byte == 0 ? 0 : error.byte - 1);
    throw UserError(
        "what was measured is no JSON", fmt::format("export (--measured), measured, byte {}", at),
        at == text.size() ? "the end of the text" : "\"" + text.substr(at < 20 ? 0 : at - 20, 40) + "\"",
        accepted);
  } catch (const Json::exception&) {
    throw UserError("what was measured is no JSON", "export (--measured), measured",
                    "\"" + text.substr(0, 40) + "\"", accepted);
  }
}

}  // namespace

std::string print_manifest(const Package& package) {
  Json sizes;
  if (!package.size.empty()) {
    sizes["field"] = package.size;
    auto ranges = Json::array();
    for (const Range& range : package.ranges)
      ranges.push_back({{"least", range.least}, {"most", range.most}, {"multiple_of", range.multiple}});
    sizes["ranges"] = ranges;
  }
  Json document{{"name", package.name},
                {"abi", 1},
                {"weft", weft_version()},
                {"license", package.options.spdx},
                {"computes", package.algorithm.text()},
                {"operands", operands_of(package)}};
  auto scalars = Json::array();
  for (const ScalarField& scalar : package.scalars) scalars.push_back(scalar.field);
  document["scalars"] = scalars;
  if (!sizes.is_null()) document["sizes"] = sizes;
  document["weights"] = weights_of(package);
  document["alignment"] = {{"arrays", 16}, {"workspace", 256}};
  auto levels = Json::array();
  for (const TargetGroup& group : package.targets)
    if (group.is_cpu()) levels.push_back(group.target->name);
  if (!levels.empty()) document["processors"] = levels;
  document["kernels"] = kernels_of(package);
  const Json measured = measured_of(package);
  if (!measured.is_null()) document["measured"] = measured;
  return document.dump(2) + "\n";
}

}  // namespace weft::exporting
