// src/<name>_tables.c: what the package's general code works through.
#include <fmt/format.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/print.h>
#include <weft/dsl/errors.h>
#include <weft/formats/level_kind.h>

#include <algorithm>

namespace weft::exporting {
namespace {

std::string type_of(DType dtype) {
  std::string name(name_of(dtype));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

/// Prints the tables of one package.
class Tables {
 public:
  explicit Tables(const Package& package) : package_(package), name_(package.name), upper_(package.upper) {}

  std::string print() {
    text_ += fmt::format(
        "/* What @NAME@'s other files work through. SPDX-License-Identifier: {} */\n"
        "#include \"@NAME@_internal.h\"\n\n#include <stdio.h>\n\n",
        package_.options.spdx);
    operands();
    sizes();
    weights();
    for (const TargetGroup& group : package_.targets) {
      for (std::size_t i = 0; i < group.variants.size(); ++i) kernel(group.variants[i]);
    }
    targets();
    return replaced();
  }

 private:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    text_ += fmt::format(format, std::forward<Values>(values)...) + "\n";
  }

  std::string replaced() const {
    std::string result;
    std::string_view rest = text_;
    for (std::size_t at = rest.find("@NAME@"); at != std::string_view::npos; at = rest.find("@NAME@")) {
      result.append(rest.substr(0, at)).append(name_);
      rest.remove_prefix(at + 6);
    }
    return result.append(rest);
  }

  void operands() {
    line("const @NAME@_operand @NAME@_operands[@NAME@_operand_count] = {{");
    for (const OperandField& field : package_.operands) {
      line("    {{\"{0}\", offsetof(@NAME@_args, {0}), {1}, {2}}},", field.field,
           size_of(package_.operand(field).dtype), field.is_output ? 1 : 0);
    }
    line("}};\n\nvoid @NAME@_operand_bytes(int64_t n, int64_t *bytes) {{\n  (void)n;");
    for (std::size_t i = 0; i < package_.operands.size(); ++i) {
      const Operand& operand = package_.operand(package_.operands[i]);
      line("  bytes[{}] = {} * {};", i, span_of(operand), size_of(operand.dtype));
    }
    line("}}\n\nint64_t @NAME@_size_of(const @NAME@_args *args) {{");
    line("{}  return {};\n}}\n", package_.size.empty() ? "  (void)args;\n" : "",
         package_.size.empty() ? "1" : "args->" + package_.size);
  }

  /// Elements from the first to the last.
  static std::string span_of(const Operand& operand) {
    if (operand.strides.empty()) return c_product(operand.shape);
    std::string text = "(1";
    for (std::size_t i = 0; i < operand.shape.size(); ++i)
      text += fmt::format(" + ({} - 1) * (int64_t){}", c_extent(operand.shape[i]), operand.strides[i]);
    return text + ")";
  }

  void sizes() {
    line("/* Which kernel takes a size, -1 for none. */\nstatic int choose(int64_t n) {{");
    if (package_.size.empty()) line("  (void)n;\n  return 0;\n}}\n");
    for (std::size_t i = 0; i < package_.ranges.size() && !package_.size.empty(); ++i) {
      const Range& range = package_.ranges[i];
      const std::string multiple = range.multiple > 1 ? fmt::format(" && n % {} == 0", range.multiple) : "";
      line("  if ({}{}) return {};",
           range.least == range.most ? fmt::format("n == {}", range.least)
                                     : fmt::format("n >= {} && n <= {}", range.least, range.most),
           multiple, i);
    }
    if (!package_.size.empty()) line("  return -1;\n}}\n");
    std::vector<std::string> claims;
    for (const Range& range : package_.ranges) claims.push_back(range.text());
    line("int32_t @NAME@_check_size(int64_t n, char *why, size_t why_bytes) {{");
    line("  if (n == 0 || choose(n) >= 0) return {}_OK;", upper_);
    line(
        "  return @NAME@_say({}_BAD_SHAPE, why, why_bytes, \"{} is %lld, and the package is for {}\", (long "
        "long)n);\n}}\n",
        upper_, package_.size.empty() ? "the size" : package_.size, fmt::join(claims, ", and "));
  }

  void weights() {
    const Package& p = package_;
    line("const int64_t @NAME@_rows = {}, @NAME@_columns = {};", p.weights().rows(), p.weights().columns());
    line("const char *const @NAME@_structure = {};\n",
         p.any_pattern ? "NULL" : "\"" + structure_of(p) + "\"");
    line("const @NAME@_tensor @NAME@_tensors[@NAME@_tensor_count] = {{");
    for (const Tensor& tensor : p.tensors) {
      std::vector<std::int64_t> shape = tensor.array->shape();
      const bool open = p.any_pattern && !tensor.name.ends_with(".begin");
      if (open) shape.front() = -1;
      line("    {{\"{}\", \"{}\", {}, {}, {{{}}}, {}}},", tensor.name, type_of(tensor.array->dtype()),
           size_of(tensor.array->dtype()), shape.size(), fmt::join(shape, ", "), tensor.is_values ? 1 : 0);
    }
    line("}};\n");
    for (std::size_t i = 0; i < p.packings.size(); ++i) levels(p.packings[i], i);
    line("const @NAME@_set @NAME@_sets[@NAME@_set_count] = {{");
    for (std::size_t i = 0; i < p.packings.size(); ++i) {
      const SparseTensor& weights = *p.packings[i].weights;
      const ValueOrder& order = weights.value_order();
      line("    {{{}, levels_{}, {}, {}, {{{}}}, {}}},", weights.levels().size(), i,
           p.packings[i].tensor_of("values"), order.levels.size(),
           order.levels.empty() ? "0" : fmt::format("{}", fmt::join(order.levels, ", ")), order.swizzle);
    }
    line("}};\n");
  }

  void levels(const Packing& packing, std::size_t number) {
    line("static const @NAME@_level levels_{}[] = {{", number);
    for (const Level& level : packing.weights->levels()) {
      const auto* dimension = level.dimension == Dimension::row      ? "row"
                              : level.dimension == Dimension::column ? "column"
                                                                     : "none";
      const auto tensor = [&](const std::string& array) {
        return array.empty() ? -1 : packing.tensor_of(array);
      };
      line("    {{@NAME@_level_{}, @NAME@_of_{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},",
           level_kind(level.kind).name, dimension, level.extent, level.stride, tensor(level.begin),
           tensor(level.index), level.padded ? 1 : 0, level.parent, tensor(level.width), level.across,
           level.index_bits);
    }
    line("}};\n");
  }

  void kernel(const Variant& variant) {
    const ThreadProgram& program = variant.kernel->lowered();
    line("extern {}_HIDDEN const unsigned char @NAME@_cubin_{}[], @NAME@_ptx_{}[];", upper_, variant.symbol,
         variant.symbol);
    line("static const @NAME@_argument arguments_{}[] = {{", variant.symbol);
    for (const Parameter& parameter : variant.parameters) line("    {},", argument(parameter));
    line("}};");
    std::string cleared;
    for (const ir::BufferRef& buffer : program.program.workspaces)
      cleared += buffer->between_blocks ? "1, " : "0, ";
    line("static const unsigned char cleared_{}[] = {{{}}};", variant.symbol,
         cleared.empty() ? "0" : cleared);
    line("static void shape_{}(int64_t n, @NAME@_shape *shape) {{\n  (void)n;", variant.symbol);
    const std::map<std::string, std::string> names = size_names(*variant.kernel);
    for (std::size_t i = 0; i < 3; ++i)
      line("  shape->grid[{}] = {};", i, c_expression(program.launch.grid[i], names));
    for (std::size_t i = 0; i < program.program.workspaces.size(); ++i) {
      const ir::Buffer& buffer = *program.program.workspaces[i];
      std::string last = "1";
      for (std::size_t d = 0; d < buffer.shape.size(); ++d)
        last += fmt::format(" + ({} - 1) * {}", c_expression(buffer.shape[d], names),
                            c_expression(buffer.strides[d], names));
      line("  shape->workspace[{}] = ({}) * {};", i, last, size_of(buffer.dtype));
    }
    line("}}\n");
  }

  std::string argument(const Parameter& parameter) const {
    switch (parameter.from) {
      case Parameter::From::operand:
        return fmt::format("{{@NAME@_from_operand, 8, {}}}", parameter.index);
      case Parameter::From::tensor:
        return fmt::format("{{@NAME@_from_tensor, 8, {}}}", parameter.index);
      case Parameter::From::workspace:
        return fmt::format("{{@NAME@_from_workspace, 8, {}}}", parameter.index);
      case Parameter::From::scalar:
        return fmt::format("{{@NAME@_from_scalar, {}, offsetof(@NAME@_args, {})}}", parameter.bytes,
                           package_.scalars[static_cast<std::size_t>(parameter.index)].field);
      case Parameter::From::size:
        break;
    }
    return fmt::format("{{@NAME@_from_size, 8, {}}}", parameter.divisor);
  }

  /// What the launch sizes of the kernel's program are in C.
  static std::map<std::string, std::string> size_names(const Kernel& kernel) {
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

  void targets() {
    for (const TargetGroup& group : package_.targets) {
      line("static const @NAME@_kernel kernels_{}[] = {{", group.target->name);
      for (const Variant& v : group.variants) {
        const ThreadProgram& program = v.kernel->lowered();
        line("    {{\"{}, size {}\", \"{}\", {}, {}, {}, {},", group.target->name, v.range.text(),
             program.program.name, v.has_cubin ? "@NAME@_cubin_" + v.symbol : "NULL",
             v.has_ptx ? "@NAME@_ptx_" + v.symbol : "NULL", program.launch.threads,
             program.launch.shared_bytes);
        line("     {}, arguments_{}, {}, cleared_{}, shape_{}}},", v.parameters.size(), v.symbol,
             program.program.workspaces.size(), v.symbol, v.symbol);
      }
      line("}};\n");
    }
    line("const @NAME@_target @NAME@_targets[@NAME@_target_count] = {{");
    for (const TargetGroup& group : package_.targets) {
      line("    {{\"{0}\", {1}, {2}, {3}, kernels_{0}, choose}},", group.target->name, group.target->sm,
           group.target->architecture_specific ? 1 : 0, group.variants.size());
    }
    line("}};");
  }

  const Package& package_;
  std::string name_;
  std::string upper_;
  std::string text_;
};

}  // namespace

std::string print_tables(const Package& package) {
  return Tables(package).print();
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
