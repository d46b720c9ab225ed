// torch/: the words of the templates of the PyTorch operator.
#include <fmt/format.h>
#include <weft/backends/export/print.h>

#include <algorithm>
#include <functional>

namespace weft::exporting {
namespace {

std::string_view scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "Half";
    case DType::bf16:
      return "BFloat16";
    case DType::f64:
      return "Double";
    default:
      return "Float";
  }
}

bool reads_output(const Algorithm& algorithm) {
  const std::function<bool(const Term&)> reads = [&](const Term& term) {
    return (term.kind == Term::Kind::access && term.access.operand == algorithm.output.operand) ||
           std::ranges::any_of(term.arguments, reads);
  };
  return reads(algorithm.result);
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

std::map<std::string, std::string> torch_words(const Package& package) {
  std::map<std::string, std::string> words = words_of(package);
  const bool reads = reads_output(package.algorithm);
  std::vector<std::string> schema, parameters, arguments, names, contiguous;
  std::string prepare;
  std::string like;
  for (const OperandField& field : package.operands) {
    const Operand& operand = package.operand(field);
    const std::string shape = fmt::format("{{{}}}", fmt::join(shape_of(operand, "n"), ", "));
    if (field.is_output) {
      words["TORCH_FAKE_SHAPE"] =
          fmt::format("[{}]", fmt::join(shape_of(operand, size_source(package, "{}.shape[{}]")), ", "));
      prepare +=
          reads ? fmt::format(
                      "  call.output = torch::stable::clone(checked({3}, \"{0}\", ScalarType::{1}, {2}));\n",
                      field.field, scalar_type(operand.dtype), shape, given(field.field))
                : fmt::format(
                      "  call.output = torch::stable::new_empty(@LIKE@, std::vector<std::int64_t>{}, "
                      "ScalarType::{});\n",
                      shape, scalar_type(operand.dtype));
      prepare += fmt::format("  call.args.{} = call.output.mutable_data_ptr();\n", field.field);
      if (!reads) continue;
    } else {
      if (like.empty()) like = field.field;
      prepare += fmt::format(
          "  call.inputs.push_back(checked({3}, \"{0}\", ScalarType::{1}, {2}));\n"
          "  call.args.{0} = call.inputs.back().const_data_ptr();\n",
          field.field, scalar_type(operand.dtype), shape, given(field.field));
    }
    schema.push_back("Tensor " + field.field);
    parameters.push_back("const Tensor &" + given(field.field));
    arguments.push_back(given(field.field));
    names.push_back(field.field);
    contiguous.push_back(field.field + ".contiguous()");
  }
  for (const ScalarField& scalar : package.scalars) {
    schema.push_back("float " + scalar.field);
    parameters.push_back("double " + given(scalar.field));
    arguments.push_back(given(scalar.field));
    names.push_back(scalar.field);
    contiguous.push_back(scalar.field);
    prepare += fmt::format("  call.args.{} = static_cast<{}>({});\n", scalar.field,
                           scalar.dtype == DType::f64 ? "double" : "float", given(scalar.field));
  }
  if (const std::size_t at = prepare.find("@LIKE@"); at != std::string::npos)
    prepare.replace(at, 6, given(like));
  words["TORCH_PARAMETERS"] = fmt::format("{}", fmt::join(parameters, ", "));
  words["TORCH_ARGUMENTS"] = fmt::format("{}", fmt::join(arguments, ", "));
  words["TORCH_NAMES"] = fmt::format("{}", fmt::join(names, ", "));
  words["TORCH_SCHEMA"] = fmt::format("{}", fmt::join(schema, ", "));
  words["TORCH_CONTIGUOUS"] = fmt::format("{}", fmt::join(contiguous, ", "));
  words["TORCH_LIKE"] = like;
  words["TORCH_CALL"] = fmt::format(
      "// One call, with what its arguments point to.\nstruct Call {{\n  {0}_args args{{}};\n  "
      "std::vector<Tensor> inputs;\n"
      "  Tensor output;\n}};\n\nCall prepare({1}) {{\n  Call call;\n  call.args.struct_size = sizeof "
      "call.args;\n"
      "{2}{3}  return call;\n}}\n",
      package.name, words["TORCH_PARAMETERS"],
      package.size.empty() ? ""
                           : fmt::format("  require({0}.dim() > {1}, \"{4}: {5} has too few dimensions\");\n"
                                         "  const std::int64_t n = {2};\n  call.args.{3} = n;\n",
                                         given(size_source(package, "{}")), size_source(package, "{1}"),
                                         given(size_source(package, "{}.size({})")), package.size,
                                         package.name, size_source(package, "{}")),
      prepare);
  return words;
}

}  // namespace weft::exporting
