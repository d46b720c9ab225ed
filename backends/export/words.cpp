// What templates say of a package.
#include <fmt/format.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/print.h>
#include <weft/backends/version.h>
#include <weft/formats/level_kind.h>

#include <algorithm>

namespace weft::exporting {
namespace {

std::string shape_text(const Package& package, const Operand& operand) {
  std::vector<std::string> extents;
  for (const Extent& extent : operand.shape)
    extents.push_back(extent.is_static() ? extent.text() : package.size);
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

/// Sizes as macros: FFN_ROWS and FFN_COLUMNS of the weights, and the sizes that are claimed.
std::string constants(const Package& package) {
  std::string text = fmt::format("#define {0}_ROWS {1}\n#define {0}_COLUMNS {2}\n", package.upper,
                                 package.weights().rows(), package.weights().columns());
  if (package.size.empty()) return text;
  return text + fmt::format("#define {0}_LEAST {1}\n#define {0}_MOST {2}\n", package.upper, package.least(),
                            package.most());
}

std::string target_names(const Package& package, std::string_view separator) {
  std::vector<std::string> names;
  for (const TargetGroup& group : package.targets) names.push_back(group.target->name);
  return fmt::format("{}", fmt::join(names, separator));
}

/// "cubin_sm_80_0 ptx_sm_80_0"
std::string image_names(const Package& package) {
  std::vector<std::string> names;
  for (const TargetGroup& group : package.targets) {
    for (const Variant& variant : group.variants) {
      if (variant.has_cubin) names.push_back("cubin_" + variant.symbol);
      if (variant.has_ptx) names.push_back("ptx_" + variant.symbol);
    }
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string readme_args(const Package& package) {
  std::string text = package.size.empty() ? "" : fmt::format("args.{0} = {0}; ", package.size);
  for (const OperandField& field : package.operands) text += fmt::format("args.{0} = {0}; ", field.field);
  for (const ScalarField& field : package.scalars) text += fmt::format("args.{0} = {0}; ", field.field);
  text.pop_back();
  return text;
}

/// "c = ffn.ffn(b, bias)"
std::string readme_python(const Package& package) {
  std::vector<std::string> inputs;
  std::string output;
  for (const OperandField& field : package.operands)
    (field.is_output ? output : inputs.emplace_back()) = field.field;
  for (const ScalarField& field : package.scalars) inputs.push_back(field.field);
  return fmt::format("{0} = {1}.{1}({2})", output, package.name, fmt::join(inputs, ", "));
}

std::size_t most_of(const Package& package, std::size_t (*count)(const Variant&)) {
  std::size_t most = 1;
  for (const TargetGroup& group : package.targets) {
    for (const Variant& variant : group.variants) most = std::max(most, count(variant));
  }
  return most;
}

}  // namespace

std::string print_args_fields(const Package& package) {
  std::string text;
  const auto add = [&](const std::string& declaration, const std::string& comment) {
    text += fmt::format("  {:<20} {}\n", declaration + ";", "/* " + comment + " */");
  };
  if (!package.size.empty()) add("int64_t " + package.size, text_of(package.ranges) + "; 0 is done at once");
  for (const OperandField& field : package.operands) {
    const Operand& operand = package.operand(field);
    const std::string type(name_of(operand.dtype));
    std::string strides;
    if (!operand.strides.empty()) strides = fmt::format(", strides {}", fmt::join(operand.strides, ", "));
    add(fmt::format("{}void *{}", field.is_output ? "" : "const ", field.field),
        fmt::format("{} {}{}{}", type, shape_text(package, operand), strides,
                    field.is_output ? ", written" : ""));
  }
  for (const ScalarField& scalar : package.scalars)
    add(fmt::format("{} {}", c_type(scalar.dtype), scalar.field), "a factor of the epilogue");
  return text;
}

Words words_of(const Package& package) {
  Words words;
  words["NAME"] = package.name;
  words["UPPER"] = package.upper;
  words["VERSION"] = weft_version();
  words["SPDX"] = package.options.spdx;
  words["COMPUTES"] = package.algorithm.text();
  words["CONSTANTS"] = constants(package);
  words["ARGS_FIELDS"] = print_args_fields(package);
  words["CLAIM"] = package.size.empty() ? "the sizes above" : package.size + ": " + text_of(package.ranges);
  words["ROWS"] = std::to_string(package.weights().rows());
  words["COLUMNS"] = std::to_string(package.weights().columns());
  words["TARGETS"] = target_names(package, ", ");
  words["TARGET_LIST"] = target_names(package, " ");
  words["NULL_WEIGHTS"] =
      package.embeds_weights
          ? "NULL: the weights in the code"
          : (package.needs_weights ? "must be given" : "NULL will do: kernels have them in their code");
  words["NEEDS_WEIGHTS"] = package.needs_weights ? "1" : "0";
  words["OPERAND_COUNT"] = std::to_string(package.operands.size());
  words["TENSOR_COUNT"] = std::to_string(package.tensors.size());
  words["SET_COUNT"] = std::to_string(package.packings.size());
  words["TARGET_COUNT"] = std::to_string(package.targets.size() + (package.has_cpu() ? 1 : 0));
  words["MOST_VARIANTS"] = std::to_string(package.ranges.size());
  words["MOST_WORKSPACES"] =
      std::to_string(most_of(package, [](const Variant& v) { return v.workspaces.size(); }));
  words["MOST_COPYING"] = std::to_string(most_of(package, [](const Variant& v) { return v.copying.size(); }));
  words["MOST_ARGUMENTS"] = std::to_string(most_of(package, [](const Variant& v) {
    std::size_t most = v.parameters.size();
    for (const Copying& copying : v.copying) most = std::max(most, copying.parameters.size());
    return most;
  }));
  std::size_t levels = 1;
  for (const Packing& packing : package.packings) levels = std::max(levels, packing.weights->levels().size());
  words["MOST_LEVELS"] = std::to_string(levels);
  for (const LevelKindRow& kind : level_kinds()) {
    const bool is_first = words["LEVEL_KINDS"].empty();
    words["LEVEL_KIND_NAMES"] += fmt::format("{}{}_level_{}", is_first ? "" : ", ", package.name, kind.name);
    words["LEVEL_KIND_ROWS"] +=
        fmt::format("{0}{{children_of_{1}, child_of_{1}}}", is_first ? "" : ", ", kind.name);
    words["LEVEL_KINDS"] += filled(fmt::format("level_{}.c", kind.name), words) + "\n";
  }
  words["WEIGHTS_FILE"] = package.options.with_weights ? "weights/" + package.name + ".safetensors" : "";
  words["PACK_STRUCTURE"] =
      package.any_pattern
          ? "Any entries will do: `packed` is not read and may be NULL."
          : "The kernels were made for entries in certain places: `packed` is a packed file of this\n"
            " * package, whose places are kept and get new values; those without one become zero.";
  words["PACK_DECLARATIONS"] = package.takes_values ? filled("pack_declarations.h", words) : "";
  words["IMAGE_NAMES"] = image_names(package);
  add_cpu_words(package, words);
  words["README_ARGS"] = readme_args(package);
  words["README_PYTHON"] = readme_python(package);
  for (const char* of_cmake :
       {"PACKAGE_INIT", "CMAKE_INSTALL_PREFIX", "CMAKE_INSTALL_LIBDIR", "CMAKE_INSTALL_INCLUDEDIR"})
    words[of_cmake] = fmt::format("@{}@", of_cmake);
  return words;
}

}  // namespace weft::exporting
