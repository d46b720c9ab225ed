// torch/: the words of the templates of the PyTorch operator.
#include <fmt/format.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/print.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace weft::exporting {
namespace {

std::string_view scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return "Half";
    case DType::bf16: return "BFloat16";
    case DType::e4m3: return "Float8_e4m3fn";
    case DType::e5m2: return "Float8_e5m2";
    case DType::i8: return "Char";
    case DType::f64: return "Double";
    default: return "Float";
  }
}

/// The type in Python.
std::string_view python_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::e4m3: return "float8_e4m3fn";
    case DType::e5m2: return "float8_e5m2";
    case DType::i8: return "int8";
    case DType::f64: return "float64";
    default: return "float32";
  }
}

/// Elements of memory where an operand has strides of its own: then the tensor is one-dimensional.
std::vector<std::string> shape_of(const Operand& operand, const std::string& size) {
  std::vector<std::string> shape;
  if (operand.strides.empty()) {
    for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.text() : size);
    return shape;
  }
  std::string elements = "1";
  for (std::size_t d = 0; d < operand.shape.size(); ++d)
    elements += fmt::format(" + ({} - 1) * {}", operand.shape[d].is_static() ? operand.shape[d].text() : size,
                            operand.strides[d]);
  return {elements};
}

/// What a field is called as a parameter of the operator's C++, where no other name begins so.
std::string given(const std::string& field) {
  return "given_" + field;
}

/// "b.size(1)": where the open size is found.
std::string size_source(const Package& package, std::string_view format) {
  for (const OperandField& field : package.operands) {
    const Operand& operand = package.operand(field);
    if (field.is_output || !operand.strides.empty()) continue;
    for (std::size_t d = 0; d < operand.shape.size(); ++d) {
      if (!operand.shape[d].is_static()) return fmt::format(fmt::runtime(format), field.field, d);
    }
  }
  return "1";
}

}  // namespace

Words torch_words(const Package& package) {
  Words words = words_of(package);
  const bool reads = package.algorithm.reads_output();
  const std::string like = std::ranges::find(package.operands, false, &OperandField::is_output)->field;
  std::vector<std::pair<std::string, bool>> fields;  ///< that are given, and whether each is a tensor
  std::string prepare;
  for (const OperandField& field : package.operands) {
    const Operand& operand = package.operand(field);
    const std::string shape = fmt::format("{{{}}}", fmt::join(shape_of(operand, "n"), ", "));
    const std::string checked = fmt::format("checked({3}, \"{0}\", ScalarType::{1}, {2})", field.field,
                                            scalar_type(operand.dtype), shape, given(field.field));
    if (!field.is_output || reads) fields.emplace_back(field.field, true);
    if (!field.is_output) {
      prepare +=
          fmt::format("  call.inputs.push_back({});\n  call.args.{} = call.inputs.back().const_data_ptr();\n",
                      checked, field.field);
      continue;
    }
    words["TORCH_FAKE_TYPE"] = python_type(operand.dtype);
    words["TORCH_FAKE_SHAPE"] =
        fmt::format("[{}]", fmt::join(shape_of(operand, size_source(package, "{}.shape[{}]")), ", "));
    const std::string made = reads ? fmt::format("clone({})", checked)
                                   : fmt::format("new_empty({}, std::vector<std::int64_t>{}, ScalarType::{})",
                                                 given(like), shape, scalar_type(operand.dtype));
    prepare +=
        fmt::format("  call.output = torch::stable::{};\n  call.args.{} = call.output.mutable_data_ptr();\n",
                    made, field.field);
  }
  for (const ScalarField& scalar : package.scalars) {
    fields.emplace_back(scalar.field, false);
    prepare += fmt::format("  call.args.{} = static_cast<{}>({});\n", scalar.field, c_type(scalar.dtype),
                           given(scalar.field));
  }
  const auto list = [&](std::string_view of_tensor, std::string_view of_scalar) {
    std::vector<std::string> texts;
    for (const auto& [field, is_tensor] : fields)
      texts.push_back(fmt::format(fmt::runtime(is_tensor ? of_tensor : of_scalar), field));
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  words["TORCH_PARAMETERS"] = list("const Tensor &given_{}", "double given_{}");
  words["TORCH_ARGUMENTS"] = list("given_{}", "given_{}");
  words["TORCH_NAMES"] = list("{}", "{}");
  words["TORCH_SCHEMA"] = list("Tensor {}", "float {}");
  words["TORCH_CONTIGUOUS"] = list("{}.contiguous()", "{}");
  words["TORCH_LIKE"] = like;
  words["TORCH_SIZE"] = package.size.empty()
                            ? ""
                            : fmt::format(
                                  "  require({0}.dim() > {1}, \"{4}: {5} has too few dimensions\");\n"
                                  "  const std::int64_t n = {2};\n  call.args.{3} = n;\n",
                                  given(size_source(package, "{}")), size_source(package, "{1}"),
                                  given(size_source(package, "{}.size({})")), package.size, package.name,
                                  size_source(package, "{}"));
  words["TORCH_PREPARE"] = prepare;
  words["TORCH_CPU"] = package.has_cpu() ? filled("torch_cpu.cpp", words) : "";
  words["TORCH_ON_CPU"] =
      package.has_cpu()
          ? "launch_on_cpu(call.output, call.args);"
          : fmt::format("check({}_reference(weights(), packed_bytes, &call.args), nullptr, call.args);",
                        package.name);
  words["TORCH_CPU_RUNS"] = package.has_cpu() ? "those of the processor" : "the reference";
  return words;
}

}  // namespace weft::exporting
