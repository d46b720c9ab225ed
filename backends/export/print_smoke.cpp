// The words of templates/smoke.c: how a test of one package makes its calls.
#include <fmt/format.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/print.h>

namespace weft::exporting {
namespace {

/// How far apart two results may be in C: types of a byte have so few numbers that neighbours are far apart.
std::string_view rough_difference(DType type) {
  if (type == DType::e4m3) return "0.15 * largest";
  if (type == DType::e5m2) return "0.27 * largest";
  return is_float(type) ? "0.02 * largest" : "1.0 + 0.02 * largest";
}

}  // namespace

std::string print_smoke_cpu(const Package& package) {
  Words words = words_of(package);
  for (std::size_t i = 0; i < package.operands.size(); ++i) {
    if (!package.operands[i].is_output) continue;
    words["OUTPUT"] = std::to_string(i);
    words["OUTPUT_FIELD"] = package.operands[i].field;
    words["OUTPUT_TYPE"] = name_of(package.operand(package.operands[i]).dtype);
    words["ROUGHLY"] = rough_difference(package.operand(package.operands[i]).dtype);
  }
  return filled("smoke_cpu.h", words);
}

std::string print_smoke(const Package& package) {
  Words words = words_of(package);
  std::string fields;
  std::string inputs;
  for (std::size_t i = 0; i < package.operands.size(); ++i) {
    const OperandField& field = package.operands[i];
    const Operand& operand = package.operand(field);
    fields += fmt::format("  args.{} = arrays[{}];\n", field.field, i);
    inputs += fmt::format(
        "    for (i = 0; i < bytes[{0}] / {1}; ++i) {2}_store_{3}(arrays[{0}], i, input(i, {0}));\n", i,
        size_of(operand.dtype), package.name, name_of(operand.dtype));
    if (field.is_output) {
      words["OUTPUT"] = std::to_string(i);
      words["OUTPUT_FIELD"] = field.field;
      words["OUTPUT_TYPE"] = name_of(operand.dtype);
    } else {
      words["INPUT_FIELD"] = field.field;
    }
  }
  for (std::size_t k = 0; k < package.scalars.size(); ++k)
    fields += fmt::format("  args.{} = ({}){};\n", package.scalars[k].field, c_type(package.scalars[k].dtype),
                          1.25 - 0.5 * static_cast<double>(k));
  if (!package.size.empty()) fields += fmt::format("  args.{} = n;\n", package.size);
  words["SIZE"] = package.size;
  words["SET_FIELDS"] = fields;
  words["DRAW_INPUTS"] = inputs;
  words["SIZE_CHECKS"] = package.size.empty() ? "" : filled("smoke_sizes.c", words);
  return filled("smoke.c", words);
}

}  // namespace weft::exporting
