#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/cuda/source_expression.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>

#include <algorithm>

namespace weft::cuda {
namespace {

using ir::BinaryOperator;

/// In the order of ir::BinaryOperator; those without a sign are functions.
constexpr Precedence precedences[] = {
    Precedence::sum,         Precedence::sum,       Precedence::product,    Precedence::product,
    Precedence::product,     Precedence::postfix,   Precedence::postfix,    Precedence::exclusive_or,
    Precedence::equality,    Precedence::equality,  Precedence::comparison, Precedence::comparison,
    Precedence::logical_and, Precedence::logical_or};

bool is_comparison(BinaryOperator op) {
  return op >= BinaryOperator::equal && op <= BinaryOperator::less_equal;
}

/// The next tighter level.
Precedence above(Precedence precedence) {
  return static_cast<Precedence>(static_cast<int>(precedence) + 1);
}

/// threadIdx.x and what a positive number divides it by: unsigned and small.
bool is_launch_index(const ir::Expr& expr) {
  if (const auto* call = expr.as<ir::Call>()) return call->arguments.empty() && !is_float(call->dtype);
  const auto* e = expr.as<ir::Binary>();
  return e != nullptr && (e->op == BinaryOperator::divide || e->op == BinaryOperator::remainder) &&
         ir::integer_value(e->right) != nullptr && is_launch_index(e->left);
}

}  // namespace

Expressions::Expressions(const ThreadProgram& program, Names& names, Helpers& helpers)
    : program_(program), names_(names), helpers_(helpers), wide_(program.program.index_bits == 64) {
  for (const ir::Variable& extent : program.program.extents) ranges_[extent.name] = {1, {}};
}

std::string Expressions::text(const ir::Expr& expr, Precedence around, Form form) {
  Printed printed = print(expr, form);
  return printed.precedence < around ? "(" + printed.text + ")" : std::move(printed.text);
}

Expressions::Printed Expressions::call(std::string_view function, const std::string& arguments) {
  return {fmt::format("{}({})", function, arguments), Precedence::postfix};
}

std::string Expressions::both(const ir::Binary& e, Form form) {
  const std::string left = text(e.left, Precedence::lowest, form);
  return left + ", " + text(e.right, Precedence::lowest, form);
}

Expressions::Printed Expressions::print(const ir::Expr& expr, Form form) {
  return std::visit([&](const auto& node) { return of(node, form); }, expr.node().kind());
}

Expressions::Printed Expressions::of(const ir::Constant& e, Form form) {
  std::string text;
  if (e.dtype == DType::boolean) {
    text = e.integer != 0 ? "true" : "false";
  } else if (is_float(e.dtype)) {
    helpers_.need_type(e.dtype);
    text = float_literal(e.real, e.dtype);
  } else {
    const bool fits = e.integer >= INT32_MIN && e.integer <= INT32_MAX;
    internal_check(wide_ || fits, "the constant " + std::to_string(e.integer) + " needs 64-bit indices");
    // C++ has no negative literals: of the least number the part behind the sign is of a wider type.
    if (e.integer == INT64_MIN)
      text = "(-9223372036854775807LL - 1)";
    else if (e.integer == INT32_MIN && !wide_)
      text = "(-2147483647 - 1)";
    else
      text = std::to_string(e.integer);
    if (wide_ && e.integer != INT64_MIN && (!fits || form == Form::argument)) text += "LL";
  }
  const Precedence precedence = text.front() == '-' ? Precedence::unary : Precedence::postfix;
  return {std::move(text), precedence};
}

Expressions::Printed Expressions::of(const ir::Variable& e, Form) {
  return {name_of(e), Precedence::postfix};
}

Expressions::Printed Expressions::of(const ir::Load& e, Form form) {
  const DType dtype = e.buffer->dtype;
  std::string text = element(e.buffer, e.indices);
  if (is_float(dtype)) return {std::move(text), Precedence::postfix};
  const bool is_index = dtype == (wide_ ? DType::i64 : DType::i32);
  const bool promotes = size_of(dtype) < 4 || dtype == DType::i32 || is_index;  // to the same number, signed
  if (is_index || form == Form::any || (promotes && (!wide_ || form == Form::narrow)))
    return {std::move(text), Precedence::postfix};
  if (wide_) return {"(long long)" + text, Precedence::unary};
  return {"int(" + text + ")", Precedence::postfix};
}

Expressions::Printed Expressions::of(const ir::Unary& e, Form form) {
  if (e.op == ir::UnaryOperator::logical_not)
    return {"!" + text(e.operand, Precedence::unary), Precedence::unary};
  const DType dtype = e.operand.dtype();
  if (is_narrow_float(dtype)) return {narrowed("-" + as_f32(e.operand), dtype), Precedence::postfix};
  const std::string operand = text(e.operand, above(Precedence::unary), is_float(dtype) ? form : Form::exact);
  return {"-" + operand, Precedence::unary};
}

Expressions::Printed Expressions::of(const ir::Binary& e, Form form) {
  const DType dtype = e.left.dtype();
  if (dtype == DType::boolean) return infix(e, Form::exact, Form::exact);
  return is_float(dtype) ? float_operation(e) : integer_operation(e, form);
}

Expressions::Printed Expressions::infix(const ir::Binary& e, Form left, Form right) {
  const std::string_view sign = sign_of(e.op);
  const Precedence precedence = precedences[static_cast<std::size_t>(e.op)];
  // || around && and ^ around sums read better with parentheses, and compilers ask for them.
  if (e.op == BinaryOperator::exclusive_or) {
    std::string both = text(e.left, Precedence::unary, left) + " ^ ";
    return {both + text(e.right, Precedence::unary, right), precedence};
  }
  const bool mixed = e.op == BinaryOperator::logical_or;
  std::string result = text(e.left, mixed ? Precedence::equality : precedence, left);
  if (mixed) {
    if (const auto* inner = e.left.as<ir::Binary>();
        inner != nullptr && inner->op == BinaryOperator::logical_or)
      result = text(e.left, precedence, left);
  }
  result += fmt::format(" {} ", sign);
  // Sums of integers are exact, in whatever order.
  const bool associates =
      e.op == BinaryOperator::logical_and || (e.op == BinaryOperator::add && !is_float(e.left.dtype()));
  result += text(e.right, mixed ? Precedence::equality : associates ? precedence : above(precedence), right);
  return {std::move(result), precedence};
}

Expressions::Printed Expressions::integer_operation(const ir::Binary& e, Form form) {
  switch (e.op) {
    case BinaryOperator::minimum: return call("min", both(e, Form::argument));
    case BinaryOperator::maximum: return call("max", both(e, Form::argument));
    case BinaryOperator::divide:
    case BinaryOperator::remainder: return floor_quotient(e, form);
    default: {
      const std::int64_t* constant = ir::integer_value(e.right);
      const bool comparison = is_comparison(e.op);
      // An unsigned index may be compared with a constant that is not negative.
      const bool launch_index =
          comparison && is_launch_index(e.left) && constant != nullptr && *constant >= 0;
      const bool left_wide = has_index_type(e.left);
      const bool right_wide = has_index_type(e.right);
      return infix(e,
                   launch_index               ? Form::any
                   : comparison || right_wide ? Form::narrow
                                              : Form::exact,
                   comparison || left_wide ? Form::narrow : Form::exact);
    }
  }
}

Expressions::Printed Expressions::floor_quotient(const ir::Binary& e, Form form) {
  const std::int64_t* divisor = ir::integer_value(e.right);
  internal_check(divisor == nullptr || *divisor > 0, "a division by a number that is not positive");
  const ir::Range range = range_of(e.left);
  if (range.minimum && *range.minimum >= 0) {
    const bool launch_index = form == Form::any && divisor != nullptr && is_launch_index(e.left);
    return infix(e, launch_index ? Form::any : Form::exact, Form::exact);
  }
  const bool quotient = e.op == BinaryOperator::divide;
  helpers_.need(quotient ? Helpers::Kind::floor_divide : Helpers::Kind::floor_remainder);
  return call(quotient ? "floor_divide" : "floor_remainder", both(e, Form::narrow));
}

Expressions::Printed Expressions::float_operation(const ir::Binary& e) {
  const DType dtype = e.left.dtype();
  if (is_narrow_float(dtype)) {
    // f32 has more than twice the digits, so rounding its result once more is rounding the exact one.
    const ir::Expr left = ir::cast(DType::f32, e.left);
    const ir::Expr right = ir::cast(DType::f32, e.right);
    Printed result = float_operation({e.op, left, right});
    if (is_comparison(e.op)) return result;
    return {narrowed(result.text, dtype), Precedence::postfix};
  }
  const bool single = dtype == DType::f32;
  switch (e.op) {
    case BinaryOperator::minimum:
      helpers_.need(single ? Helpers::Kind::minimum_f32 : Helpers::Kind::minimum_f64);
      return call("minimum", both(e, Form::exact));
    case BinaryOperator::maximum:
      helpers_.need(single ? Helpers::Kind::maximum_f32 : Helpers::Kind::maximum_f64);
      return call("maximum", both(e, Form::exact));
    case BinaryOperator::divide: return call(single ? "__fdiv_rn" : "__ddiv_rn", both(e, Form::exact));
    case BinaryOperator::remainder: throw InternalError("a remainder of floating-point numbers");
    default:
      float_products_ = float_products_ || e.op == BinaryOperator::multiply;
      float_sums_ = float_sums_ || e.op == BinaryOperator::add || e.op == BinaryOperator::subtract;
      return infix(e, Form::exact, Form::exact);
  }
}

Expressions::Printed Expressions::of(const ir::Select& e, Form form) {
  const std::string condition = text(e.condition, above(Precedence::conditional));
  const std::string yes = text(e.when_true, above(Precedence::conditional), form);
  const std::string no = text(e.when_false, Precedence::conditional, form);
  return {condition + " ? " + yes + " : " + no, Precedence::conditional};
}

std::string Expressions::as_f32(const ir::Expr& expr) {
  return text(ir::cast(DType::f32, expr), Precedence::postfix);
}

std::string Expressions::narrowed(const std::string& value, DType to) {
  helpers_.need_type(to);
  const std::string_view conversion = to == DType::f16    ? "__float2half_rn"
                                      : to == DType::bf16 ? "__float2bfloat16_rn"
                                                          : type_in_memory(to);
  return fmt::format("{}({})", conversion, value);
}

Expressions::Printed Expressions::of(const ir::Cast& e, Form) {
  const DType from = e.operand.dtype();
  return converted(text(e.operand, Precedence::lowest, Form::exact), from, e.dtype);
}

Expressions::Printed Expressions::converted(std::string value, DType from, DType to) {
  helpers_.need_type(from);
  helpers_.need_type(to);
  if (from == to) return {"(" + value + ")", Precedence::postfix};
  if (is_narrow_float(from)) {
    Printed single = call(from == DType::f16    ? "__half2float"
                          : from == DType::bf16 ? "__bfloat162float"
                                                : "float",
                          value);
    return to == DType::f32 ? single : converted(single.text, DType::f32, to);
  }
  if (!is_float(to)) return converted_to_integer(std::move(value), from, to);
  if (!is_narrow_float(to)) return call(to == DType::f32 ? "float" : "double", value);
  if (from == DType::f32) return {narrowed(value, to), Precedence::postfix};
  // From f64 the conversions round once; so they do from integers up to 2^53.
  if (from != DType::f64) value = "double(" + value + ")";
  return call(to == DType::f16    ? "__double2half"
              : to == DType::bf16 ? "__double2bfloat16"
                                  : std::string(type_in_memory(to)),
              value);
}

Expressions::Printed Expressions::converted_to_integer(std::string value, DType from, DType to) {
  if (to == DType::boolean) return {"(" + value + ") != 0", Precedence::equality};
  const bool keeps_all = size_of(to) >= (wide_ ? 8U : 4U);
  if (is_float(from) && size_of(to) < 4) {
    const std::int64_t all = (std::int64_t{1} << (8 * size_of(to))) - 1;
    const std::int64_t least = is_signed_integer(to) ? -(all / 2) - 1 : 0;
    helpers_.need(Helpers::Kind::whole_within);
    return call(fmt::format("whole_within<{}, {}>", least, least + all), value);
  }
  if (from == DType::f32) value = (wide_ ? "__float2ll_rn(" : "__float2int_rn(") + value + ")";
  if (from == DType::f64) value = (wide_ ? "__double2ll_rn(" : "__double2int_rn(") + value + ")";
  if (from == DType::boolean) return {(wide_ ? "(long long)(" : "int(") + value + ")", Precedence::unary};
  if (keeps_all) return {"(" + value + ")", Precedence::postfix};
  const std::string narrow = "(" + std::string(type_in_memory(to)) + ")(" + value + ")";
  return {wide_ ? "(long long)" + narrow : narrow, Precedence::unary};
}

Expressions::Printed Expressions::of(const ir::Call& e, Form form) {
  if (e.instruction == last_arrival) {
    const std::int64_t some = *ir::integer_value(e.arguments.at(2));
    helpers_.need(some == 0 ? Helpers::Kind::last_arrival : Helpers::Kind::last_arrival_of_some);
    const auto* place = e.arguments.at(0).as<ir::Load>();
    internal_check(place != nullptr, "an arrival without a place");
    const std::string counted = element(place->buffer, place->indices);
    const std::string arguments = counted + ", " + text(e.arguments.at(1), Precedence::lowest, Form::any);
    return some == 0 ? call("last_arrival", arguments)
                     : call("last_arrival_of_some", fmt::format("{}, {}", arguments, some));
  }
  const Instruction& row = instruction(e.instruction);
  internal_check(e.arguments.size() == row.operands.size(),
                 "a call of " + e.instruction + " with the wrong operands");
  std::vector<std::string> arguments;
  for (const ir::Expr& argument : e.arguments)
    arguments.push_back(text(argument, Precedence::lowest, Form::argument));
  if (!row.cuda.empty()) {
    std::string text = with_operands(row.cuda, arguments);
    if (is_float(row.result) || form == Form::any) return {std::move(text), Precedence::postfix};
    if (wide_) return {"(long long)" + text, Precedence::unary};
    return {"int(" + text + ")", Precedence::postfix};
  }
  internal_check(row.meaning != nullptr, "CUDA C++ has no form of the instruction " + e.instruction);
  define_function(e.instruction);
  return call(e.instruction, fmt::format("{}", fmt::join(arguments, ", ")));
}

/// Whether the text, in any form, is of the index type by itself.
bool Expressions::has_index_type(const ir::Expr& expr) const {
  if (!wide_) return false;
  if (expr.as<ir::Variable>() != nullptr) return true;
  if (const auto* load = expr.as<ir::Load>()) return load->buffer->dtype == DType::i64;
  if (const auto* e = expr.as<ir::Binary>())
    return !is_comparison(e->op) && (has_index_type(e->left) || has_index_type(e->right));
  if (const auto* e = expr.as<ir::Select>())
    return has_index_type(e->when_true) || has_index_type(e->when_false);
  return false;
}

ir::Range Expressions::range_of(const ir::Expr& expr) const {
  ir::Ranges ranges = ranges_;
  ir::Rewriter rewriter;
  // Calls and loads have no range of their own; a variable that no program can hold stands for each.
  rewriter.on_expr = [&](const ir::Expr& e) {
    const auto* call = e.as<ir::Call>();
    if (call == nullptr || !call->arguments.empty()) return e;
    const std::string stand_in = "#" + call->instruction;
    ranges[stand_in] = {0, {}};
    if (call->instruction == "thread") ranges[stand_in].maximum = program_.launch.threads - 1;
    return ir::variable(stand_in);
  };
  return ir::range_of(rewriter(expr), ranges);
}

}  // namespace weft::cuda
