// Instructions with effects, as inline PTX.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/cuda/source_statement.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/effect_text.h>
#include <weft/scheduler/hardware/instructions.h>

#include <vector>

namespace weft::cuda {
namespace {

/// The indices of the element so many places behind; places run through the last dimensions.
std::vector<ir::Expr> indices_behind(const ir::RegisterRange& range, std::int64_t distance) {
  std::vector<ir::Expr> indices = range.indices;
  for (std::size_t i = indices.size(); i-- > 0 && distance > 0;) {
    const std::int64_t extent = *ir::integer_value(range.buffer->shape[i]);
    indices[i] = indices[i] + distance % extent;
    distance /= extent;
  }
  return indices;
}

/// PTX's operands as C++ writes them: %0 for $0.
std::string as_template(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '$' ? std::string("%") : c == '%' ? "%%" : std::string(1, c);
  return result;
}

/// The text as literals that a line holds.
std::string as_literals(const std::string& text) {
  constexpr std::size_t most = 72;
  std::string result = "\"";
  std::size_t length = 0;
  for (const char c : text) {
    result += c;
    if (++length < most || c != ' ') continue;
    result += "\" \"";
    length = 0;
  }
  return result + "\"";
}

}  // namespace

std::string Statements::address(const ir::Load& place) {
  const std::string element = expressions_.element(place.buffer, place.indices);
  if (place.buffer->scope == ir::Scope::shared)
    return fmt::format("static_cast<unsigned>(__cvta_generic_to_shared(&{}))", element);
  return "&" + element;
}

void Statements::of(const ir::Execute& s) {
  const Instruction& row = instruction(s.instruction);
  std::vector<std::string> results;
  std::vector<std::string> operands;
  const auto each = [&](const std::vector<ir::RegisterRange>& ranges, std::vector<std::string>& list,
                        const std::string& how) {
    for (const ir::RegisterRange& range : ranges) {
      for (int i = 0; i < range.count; ++i)
        list.push_back(fmt::format("\"{}{}\"({})", how, register_letter(range.buffer->dtype),
                                   expressions_.element(range.buffer, indices_behind(range, i))));
    }
  };
  each(s.results, results, row.reads_results ? "+" : "=");
  each(s.inputs, operands, "");
  const std::size_t inputs = operands.size();
  for (std::size_t i = 0; i < s.arguments.size(); ++i) {
    if (is_immediate(row, i)) continue;
    const auto* place = s.arguments[i].as<ir::Load>();
    const DType dtype = row.operands.at(inputs + i);
    const std::string operand =
        place != nullptr ? address(*place)
                         : fmt::format("static_cast<{}>({})", dtype == DType::i64 ? "long long" : "int",
                                       expressions_.text(s.arguments[i]));
    operands.push_back(fmt::format("\"{}\"({})", register_letter(dtype), operand));
  }
  const std::string memory = row.only_registers ? "" : " : \"memory\"";
  // Volatile, also where nothing but registers is read: all lanes run it, and it must not move to where the
  // few that need its results go.
  line(fmt::format("asm volatile({} : {} : {}{});", as_literals(as_template(effect_text(row, s))),
                   fmt::join(results, ", "), fmt::join(operands, ", "), memory));
}

}  // namespace weft::cuda
