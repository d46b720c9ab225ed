#include <fmt/format.h>
#include <weft/backends/cuda/source_text.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/taken_names.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace weft::exporting {
namespace {

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Fields that every call has, and what the headers of C and POSIX define as macros of small letters: those
/// would be replaced even in a field's place.
constexpr std::array<std::string_view, 17> other_fields{
    "args",     "struct_size", "flags",     "errno",          "h_errno", "h_addr",     "math_errhandling",
    "noreturn", "s6_addr",     "imaginary", "sched_priority", "si_pid",  "sa_handler", "sa_sigaction",
    "st_atime", "st_ctime",    "st_mtime"};

}  // namespace

std::string field_name(const std::string& name) {
  std::string field;
  for (const char c : name)
    field += is_letter_or_digit(c) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  if (field.empty() || !is_letter(field.front())) field = "x_" + field;
  const bool is_taken = !meaning_as_word(field).empty() || cuda::is_reserved(field) ||
                        std::ranges::find(other_fields, field) != other_fields.end();
  return is_taken ? field + "_" : field;
}

std::string c_bytes(std::span<const unsigned char> bytes) {
  constexpr std::size_t columns = 116;
  std::string result;
  std::string line;
  for (const unsigned char byte : bytes) {
    line += std::to_string(byte) + ",";
    if (line.size() < columns) continue;
    result += line + "\n";
    line.clear();
  }
  return line.empty() ? result : result + line + "\n";
}

std::string c_string(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // A question mark could begin a trigraph.
    if (byte < ' ' || byte > '~' || c == '"' || c == '\\' || c == '?')
      literal += fmt::format("\\{:03o}", byte);
    else
      literal += c;
  }
  return literal + "\"";
}

std::string c_expression(const ir::Expr& expr, const std::map<std::string, std::string>& names) {
  if (const std::int64_t* number = ir::integer_value(expr)) return std::to_string(*number);
  if (const auto* variable = expr.as<ir::Variable>()) {
    const auto found = names.find(variable->name);
    if (found != names.end()) return found->second;
  }
  if (const auto* binary = expr.as<ir::Binary>()) {
    const std::string left = c_expression(binary->left, names);
    const std::string right = c_expression(binary->right, names);
    if (binary->op == ir::BinaryOperator::minimum) return fmt::format("({0} < {1} ? {0} : {1})", left, right);
    if (binary->op == ir::BinaryOperator::maximum) return fmt::format("({0} > {1} ? {0} : {1})", left, right);
    if (binary->op <= ir::BinaryOperator::remainder)
      return fmt::format("({} {} {})", left, cuda::sign_of(binary->op), right);
  }
  throw InternalError("a launch size that C cannot compute: " + ir::print(expr));
}

std::string c_product(const std::vector<Extent>& extents) {
  std::int64_t known = 1;
  std::string open;
  for (const Extent& extent : extents) {
    if (extent.is_static())
      known *= extent.value;
    else
      open += " * n";
  }
  return std::to_string(known) + open;
}

std::string_view c_type(DType dtype) {
  return dtype == DType::f32   ? "float"
         : dtype == DType::f64 ? "double"
         : dtype == DType::i8  ? "int8_t"
         : size_of(dtype) == 1 ? "uint8_t"
                               : "uint16_t";
}

}  // namespace weft::exporting
