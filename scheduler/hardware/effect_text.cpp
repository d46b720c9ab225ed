#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/effect_text.h>

namespace weft {

bool is_immediate(const Instruction& row, std::size_t argument) {
  return row.ptx.find(fmt::format("#{}", argument)) != std::string_view::npos;
}

const char* register_letter(DType dtype) {
  if (dtype == DType::f32) return "f";
  return dtype == DType::i64 ? "l" : "r";
}

std::string effect_text(const Instruction& row, const ir::Execute& use) {
  std::string text(row.ptx);
  for (std::size_t i = 0; i < use.arguments.size(); ++i) {
    if (!is_immediate(row, i)) continue;
    const std::int64_t* number = ir::integer_value(use.arguments[i]);
    internal_check(number != nullptr, "an operand of " + use.instruction + " has to be a constant");
    const std::string mark = fmt::format("#{}", i);
    text.replace(text.find(mark), mark.size(), std::to_string(*number));
  }
  return text;
}

}  // namespace weft
