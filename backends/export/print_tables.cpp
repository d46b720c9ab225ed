// src/<name>_tables.c: what the package's general code works through.
#include <fmt/format.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/kernel_order.h>
#include <weft/backends/export/print.h>
#include <weft/formats/level_kind.h>

namespace weft::exporting {
namespace {

/// Elements from the first to the last.
std::string span_of(const Operand& operand) {
  if (operand.strides.empty()) return c_product(operand.shape);
  std::string text = "(1";
  for (std::size_t i = 0; i < operand.shape.size(); ++i)
    text += fmt::format(" + ({} - 1) * (int64_t){}", c_extent(operand.shape[i]), operand.strides[i]);
  return text + ")";
}

void add_operands(const Package& package, Words& words) {
  for (std::size_t i = 0; i < package.operands.size(); ++i) {
    const OperandField& field = package.operands[i];
    const Operand& operand = package.operand(field);
    words["OPERANDS"] += fmt::format("    {{\"{0}\", offsetof({1}_args, {0}), {2}, {3}}},\n", field.field,
                                     package.name, size_of(operand.dtype), field.is_output ? 1 : 0);
    words["OPERAND_BYTES"] +=
        fmt::format("  bytes[{}] = {} * {};\n", i, span_of(operand), size_of(operand.dtype));
  }
}

void add_sizes(const Package& package, Words& words) {
  words["SIZE"] = package.size.empty() ? "the size" : package.size;
  words["RANGES"] = text_of(package.ranges);
  words["SIZE_OF"] = package.size.empty() ? std::string("  (void)args;\n  return 1;\n")
                                          : fmt::format("  return args->{};\n", package.size);
}

/// A function a target, since their kernels take other times.
void add_choices(const Package& package, Words& words) {
  words["FIRST"] = package.targets.front().symbol();
  for (const TargetGroup& group : package.targets)
    words["CHOICES"] += fmt::format("static int choose_{}(int64_t n) {{\n{}}}\n\n", group.symbol(),
                                    package.size.empty() ? "  (void)n;\n  return 0;\n" : print_choice(group));
}

std::string levels_of(const Package& package, const Packing& packing) {
  std::string text;
  for (const Level& level : packing.weights->levels()) {
    const auto* dimension = level.dimension == Dimension::row      ? "row"
                            : level.dimension == Dimension::column ? "column"
                                                                   : "none";
    const auto tensor = [&](const std::string& array) {
      return array.empty() ? -1 : packing.tensor_of(array);
    };
    text += fmt::format("    {{{0}_level_{1}, {0}_of_{2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}}},\n",
                        package.name, level_kind(level.kind).name, dimension, level.extent, level.stride,
                        tensor(level.begin), tensor(level.index), level.padded ? 1 : 0, level.parent,
                        tensor(level.width), level.across, level.index_bits);
  }
  return text;
}

void add_weights(const Package& package, Words& words) {
  words["STRUCTURE"] = package.any_pattern ? "NULL" : "\"" + structure_of(package) + "\"";
  for (const Tensor& tensor : package.tensors) {
    std::vector<std::int64_t> shape = tensor.array->shape();
    if (package.any_pattern && !tensor.name.ends_with(".begin")) shape.front() = -1;
    const DType dtype = tensor.array->dtype();
    words["TENSORS"] +=
        fmt::format("    {{\"{}\", \"{}\", {}, {}, {{{}}}, {}}},\n", tensor.name, type_in_file(dtype),
                    size_of(dtype), shape.size(), fmt::join(shape, ", "), tensor.is_values ? 1 : 0);
  }
  for (std::size_t i = 0; i < package.packings.size(); ++i) {
    const Packing& packing = package.packings[i];
    words["LEVELS"] += fmt::format("static const {}_level levels_{}[] = {{\n{}}};\n\n", package.name, i,
                                   levels_of(package, packing));
    const ValueOrder& order = packing.weights->value_order();
    words["SETS"] += fmt::format(
        "    {{{}, levels_{}, {}, {}, {{{}}}, {}}},\n", packing.weights->levels().size(), i,
        packing.tensor_of("values"), order.levels.size(),
        order.levels.empty() ? "0" : fmt::format("{}", fmt::join(order.levels, ", ")), order.swizzle);
  }
}

std::string argument(const Package& package, const Parameter& parameter) {
  // In the order of Parameter::From.
  static constexpr std::string_view sources[] = {"operand", "tensor", "workspace", "scalar", "size"};
  std::string value =
      std::to_string(parameter.from == Parameter::From::size ? parameter.divisor : parameter.index);
  if (parameter.from == Parameter::From::scalar)
    value = fmt::format("offsetof({}_args, {})", package.name, package.scalars[parameter.index].field);
  return fmt::format("    {{{}_from_{}, {}, {}}},\n", package.name,
                     sources[static_cast<std::size_t>(parameter.from)], parameter.bytes, value);
}

/// What the launch sizes of the kernel's program are in C.
std::map<std::string, std::string> size_names(const Kernel& kernel) {
  std::map<std::string, std::string> names;
  for (const Operand& operand : kernel.schedule().algorithm().operands) {
    for (const Extent& extent : operand.shape) {
      if (extent.is_static()) continue;
      names[extent.name] = "n";
      names[extent.name + ".parts"] = fmt::format("(n / {})", extent.multiple);
    }
  }
  return names;
}

/// The launches that copy operands for the kernel.
std::string copying_of(const Package& package, const Variant& variant,
                       const std::map<std::string, std::string>& names) {
  std::string functions, rows;
  for (std::size_t i = 0; i < variant.copying.size(); ++i) {
    const Copying& copying = variant.copying[i];
    const std::string symbol = fmt::format("{}_{}", variant.symbol, i);
    functions += fmt::format("static const {}_argument copied_{}[] = {{\n", package.name, symbol);
    for (const Parameter& parameter : copying.parameters) functions += argument(package, parameter);
    functions += fmt::format("}};\nstatic int64_t tiles_{}(int64_t n) {{\n  (void)n;\n  return {};\n}}\n",
                             symbol, c_expression(copying.program->launch.grid[0], names));
    rows += fmt::format("    {{\"{}\", {}, {}, copied_{}, tiles_{}, {}}},\n", copying.program->program.name,
                        copying.program->launch.threads, copying.parameters.size(), symbol, symbol,
                        copying.is_behind ? 1 : 0);
  }
  if (rows.empty()) return {};
  return fmt::format("{}static const {}_copying copying_{}[] = {{\n{}}};\n", functions, package.name,
                     variant.symbol, rows);
}

/// What a launch of the kernel is given.
std::string kernel_of(const Package& package, const Variant& variant, Words words) {
  const ThreadProgram& program = variant.kernel->lowered();
  words["SYMBOL"] = variant.symbol;
  words["CODE"] =
      fmt::format(fmt::runtime(variant.assembly
                                   ? "extern {0}_HIDDEN {1}_code {1}_{2};"
                                   : "extern {0}_HIDDEN const unsigned char {1}_cubin_{2}[], {1}_ptx_{2}[];"),
                  package.upper, package.name, variant.symbol);
  for (const Parameter& parameter : variant.parameters) words["ARGUMENTS"] += argument(package, parameter);
  const std::map<std::string, std::string> names = size_names(*variant.kernel);
  for (std::size_t i = 0; i < 3; ++i)
    words["SHAPE"] +=
        fmt::format("  shape->grid[{}] = {};\n", i, c_expression(program.launch.grid[i], names));
  const auto& workspaces = variant.workspaces;
  words["CLEARED"] = workspaces.empty() ? "0" : "";
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    const ir::Buffer& buffer = *workspaces[i];
    words["CLEARED"] += buffer.begins_as_zero ? "1, " : "0, ";
    std::string last = "1";
    for (std::size_t d = 0; d < buffer.shape.size(); ++d)
      last += fmt::format(" + ({} - 1) * {}", c_expression(buffer.shape[d], names),
                          c_expression(buffer.strides[d], names));
    words["SHAPE"] += fmt::format("  shape->workspace[{}] = ({}) * {};\n", i, last, size_of(buffer.dtype));
  }
  return copying_of(package, variant, names) + filled("tables_kernel.c", words) + "\n";
}

void add_kernels(const Package& package, Words& words) {
  const Words shared = words;
  std::string lists;
  for (const TargetGroup& group : package.targets) {
    const std::string& target = group.target->name;
    lists += fmt::format("static const {}_kernel kernels_{}[] = {{\n", package.name, group.symbol());
    for (const Variant& v : group.variants) {
      words["KERNELS"] += kernel_of(package, v, shared);
      const ThreadProgram& program = v.kernel->lowered();
      const auto image = [&](bool has, std::string_view kind) {
        return has ? fmt::format("{}_{}_{}", package.name, kind, v.symbol) : std::string("NULL");
      };
      lists += fmt::format("    {{\"{}, size {}\", \"{}\", {}, {}, {}, {},\n", target, v.range.text(),
                           program.program.name, image(v.has_cubin, "cubin"), image(v.has_ptx, "ptx"),
                           program.launch.threads, program.launch.shared_bytes);
      lists += fmt::format("     {0}, arguments_{1}, {2}, cleared_{1}, shape_{1}, {3}, {4}, {5}{6}}},\n",
                           v.parameters.size(), v.symbol, v.workspaces.size(), v.copying.size(),
                           v.copying.empty() ? "NULL" : "copying_" + v.symbol,
                           program.program.overlap ? 1 : 0, print_cpu_code(package, group, v));
    }
    lists += "};\n\n";
    words["TARGET_ROWS"] +=
        fmt::format("    {{\"{0}\", {1}, {2}, {3}, kernels_{4}, choose_{4}{5}}},\n", target, group.target->sm,
                    group.target->architecture_specific ? 1 : 0, group.variants.size(), group.symbol(),
                    print_cpu_level(package, group));
  }
  words["KERNELS"] += lists;
  if (package.has_cpu()) add_reference_target(package, words);
}

}  // namespace

std::string print_tables(const Package& package) {
  Words words = words_of(package);
  add_operands(package, words);
  add_sizes(package, words);
  add_choices(package, words);
  add_weights(package, words);
  add_kernels(package, words);
  return filled("tables.c", words);
}

std::string print_image(const Package& package) {
  std::string text = fmt::format(
      "/* Machine code and PTX of the kernels in {0}_<target>_<number>.cu. SPDX-License-Identifier: {1} */\n"
      "#include \"{0}_internal.h\"\n\n#if defined(__GNUC__)\n#define ALIGNED __attribute__((aligned(64)))\n"
      "#else\n#define ALIGNED\n#endif\n",
      package.name, package.options.spdx);
  const auto add = [&](const std::string& kind, const Variant& variant, const std::string& bytes) {
    text += fmt::format(
        "\nextern {0}_HIDDEN const unsigned char {1}_{2}_{3}[];\nALIGNED const unsigned char {1}_{2}_{3}[] = "
        "{{\n"
        "{4}}};\n",
        package.upper, package.name, kind, variant.symbol, c_bytes(bytes_of(bytes)));
  };
  for (const TargetGroup& group : package.targets) {
    for (const Variant& variant : group.variants) {
      if (variant.has_cubin) add("cubin", variant, variant.kernel->cubin());
      if (variant.has_ptx) add("ptx", variant, variant.kernel->ptx() + '\0');
    }
  }
  return text;
}

}  // namespace weft::exporting
