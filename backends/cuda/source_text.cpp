#include <fmt/format.h>
#include <weft/backends/cuda/source_text.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/names.h>
#include <weft/scheduler/hardware/instructions.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace weft::cuda {
namespace {

constexpr std::size_t most_columns = 100;

/// What CUDA's headers and the printed helpers define, and what a kernel or one of its variables is likely to
/// be called.
constexpr std::string_view words =
    " Vector abs acos acosh alignas asin asinh assert atan atan2 atanh bfloat16 blockDim blockIdx cbrt ceil "
    "clock "
    "copysign cos cosh cospi dim3 double2 double4 erf erfc erfcinv erfinv exp exp10 exp2 expm1 fabs fdim "
    "float2 float3 float4 floor floor_divide floor_remainder fma fmax fmaxf fmin fminf fmod free frexp "
    "gridDim half "
    "half2 hypot ilogb int2 int3 int4 isfinite isinf isnan j0 j1 jn labs ldexp lgamma linux "
    "llabs llmax "
    "llmin "
    "load_vector log log10 log1p log2 logb long1 main malloc max maximum memcpy memset min minimum modf nan "
    "nearbyint "
    "nextafter norm normcdf nv_bfloat16 pow printf remainder remquo rhypot rint rnorm round rsqrt scalbn "
    "shared_memory signbit sin sincos sinh sinpi size_t sqrt store_vector stream_vector tan tanh tgamma "
    "threadIdx trap "
    "trunc "
    "uint uint2 uint3 uint4 umax umin unix unsigned ushort warpSize whole_within y0 y1 yn ";

std::string shortest(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string shortest(float value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

/// The f32 that rounds to every narrower type as the f64 does: the one with an odd last bit beside it, unless
/// it is an f32.
float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value) || std::isinf(nearest)) return nearest;
  if ((std::bit_cast<std::uint32_t>(nearest) & 1U) != 0) return nearest;
  const float to = static_cast<double>(nearest) < value ? INFINITY : -INFINITY;
  return std::nextafter(nearest, to);
}

/// A place where a line may be broken, between a blank and what comes after it.
struct Break {
  std::size_t at = 0;
  int cost = 0;
  std::size_t column = 0;  ///< where the next line begins
};

/// How much is torn apart by a break at the blank: 0 for the least; nothing where none is allowed.
std::optional<int> weight_of_break(std::string_view before, std::string_view after) {
  if (after.starts_with("? ") || after.starts_with(": ")) return 0;
  static constexpr std::string_view ends[] = {";", " =", "||", "&&", ",", " +"};
  for (std::size_t i = 0; i < std::size(ends); ++i) {
    if (before.ends_with(ends[i]) || (i == 1 && before.ends_with("+="))) return static_cast<int>(i);
  }
  // Products are torn apart where nothing else can be.
  constexpr int last_resort = 1 << 20;
  for (const std::string_view sign : {" *", " /", " %"})
    if (before.ends_with(sign)) return last_resort;
  return {};
}

/// Lines with the columns of the parentheses that are open.
class LineBreaker {
 public:
  LineBreaker(std::string line, std::size_t indent)
      : rest_(std::move(line)), indent_(indent), column_(indent) {}

  std::string lines() {
    std::string result;
    while (column_ + rest_.size() > most_columns) {
      const auto best = best_break();
      if (!best) break;
      result += std::string(column_, ' ') + rest_.substr(0, best->at - 1) + "\n";
      advance(best->at);
      rest_ = rest_.substr(best->at);
      column_ = best->column;
    }
    return result + std::string(column_, ' ') + rest_ + "\n";
  }

 private:
  /// `quoted`: inside of a text, which is never broken.
  void step(std::vector<std::size_t>& open, std::size_t i, bool& quoted) const {
    if (rest_[i] == '"') quoted = !quoted;
    if (quoted) return;
    if (rest_[i] == '(' || rest_[i] == '[') open.push_back(column_ + i + 1);
    if ((rest_[i] == ')' || rest_[i] == ']') && !open.empty()) open.pop_back();
  }
  void advance(std::size_t count) {
    bool quoted = false;
    for (std::size_t i = 0; i < count; ++i) step(open_, i, quoted);
  }

  std::optional<Break> best_break() const {
    std::optional<Break> best;
    std::vector<std::size_t> open = open_;
    bool quoted = false;
    for (std::size_t i = 0; i < rest_.size() && column_ + i <= most_columns; ++i) {
      step(open, i, quoted);
      if (rest_[i] != ' ' || i == 0 || quoted) continue;
      const auto weight =
          weight_of_break(std::string_view(rest_).substr(0, i), std::string_view(rest_).substr(i + 1));
      if (!weight) continue;
      const std::size_t column = open.empty() ? indent_ + 4 : open.back();
      int cost = 8 * static_cast<int>(open.size()) + *weight;
      if (*weight == 1) {
        // After an assignment sign where that is enough, and rather than inside of what is assigned to.
        if (column + rest_.size() - i - 1 > most_columns) cost += 14;
        best.reset();
      }
      if (!best || cost <= best->cost) best = Break{i + 1, cost, column};
    }
    return best;
  }

  std::string rest_;
  std::size_t indent_;
  std::size_t column_;
  std::vector<std::size_t> open_;
};

}  // namespace

std::string_view type_in_memory(DType dtype) {
  // In the order of DType.
  static constexpr std::string_view types[] = {
      "__half",      "__nv_bfloat16",      "float",        "double",         "__nv_fp8_e4m3", "__nv_fp8_e5m2",
      "signed char", "unsigned char",      "short",        "unsigned short", "int",           "unsigned int",
      "long long",   "unsigned long long", "unsigned char"};
  return types[static_cast<std::size_t>(dtype)];
}

std::string_view sign_of(ir::BinaryOperator op) {
  // In its order.
  static constexpr std::string_view signs[] = {"+", "-",  "*",  "/", "%",  "",   "",
                                               "^", "==", "!=", "<", "<=", "&&", "||"};
  const std::string_view sign = signs[static_cast<std::size_t>(op)];
  internal_check(!sign.empty(), "an operator without a sign in C++");
  return sign;
}

std::string float_literal(double value, DType dtype) {
  if (dtype == DType::f64) {
    if (std::isfinite(value)) return shortest(value);
    return fmt::format("__longlong_as_double({}LL)", std::isnan(value) ? "0x7ff8000000000000"
                                                     : value > 0       ? "0x7ff0000000000000"
                                                                       : "0xfff0000000000000");
  }
  float nearest = static_cast<float>(value);
  if (dtype == DType::f16) nearest = static_cast<float>(f16(rounded_to_odd(value)));
  if (dtype == DType::bf16) nearest = static_cast<float>(bf16(rounded_to_odd(value)));
  if (dtype == DType::e4m3) nearest = static_cast<float>(e4m3(rounded_to_odd(value)));
  if (dtype == DType::e5m2) nearest = static_cast<float>(e5m2(rounded_to_odd(value)));
  std::string text = std::isfinite(nearest) ? shortest(nearest)
                     : std::isnan(nearest)  ? "__int_as_float(0x7fc00000)"
                     : nearest > 0          ? "__int_as_float(0x7f800000)"
                                            : "-__int_as_float(0x7f800000)";
  if (dtype == DType::f16) return "__float2half_rn(" + text + ")";
  if (dtype == DType::bf16) return "__float2bfloat16_rn(" + text + ")";
  if (is_float_of_a_byte(dtype)) return fmt::format("{}({})", type_in_memory(dtype), text);
  return text;
}

std::string with_operands(std::string_view text, const std::vector<std::string>& operands) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    std::size_t number = 0;
    while (i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9')
      number = 10 * number + static_cast<std::size_t>(text[++i] - '0');
    internal_check(number >= 1 && number <= operands.size(),
                   "an operand that is not there in " + std::string(text));
    result += operands[number - 1];
  }
  return result;
}

bool is_reserved(std::string_view name) {
  const auto rows = instructions();
  return !is_identifier(name) || words.find(" " + std::string(name) + " ") != std::string_view::npos ||
         std::ranges::any_of(rows, [&](const Instruction& row) { return row.name == name; });
}

std::string wrapped(const std::string& line, std::size_t indent) {
  return LineBreaker(line, indent).lines();
}

const std::string& Names::of(Kind kind, const std::string& name) {
  const auto found = given_.find({kind, name});
  if (found != given_.end()) return found->second;
  return given_[{kind, name}] = fresh(name);
}

std::string Names::fresh(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (kept || (!plain.empty() && plain.back() != '_')) plain += kept ? c : '_';
  }
  if (!plain.empty() && plain.back() == '_') plain.pop_back();
  if (plain.empty() || (plain.front() >= '0' && plain.front() <= '9')) plain = "x" + plain;
  std::string unique = is_reserved(plain) ? plain + "_" : plain;
  for (int i = 2; !taken_.insert(unique).second; ++i) unique = plain + "_" + std::to_string(i);
  return unique;
}

}  // namespace weft::cuda
