// Instructions that no hardware has: rows of the instruction table that name a `weft.` opcode run by their
// meaning. Those that work on a warp's fragments are in sparse_blocks.cpp.
#include <weft/backends/simulator/execute/extension.h>
#include <weft/backends/simulator/machine/warp.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cmath>

namespace weft::simulator {
namespace {

/// A value of a meaning while it is evaluated: reals in their own precision, integers exact.
struct Value {
  double real = 0;
  std::int64_t integer = 0;
};

double rounded(DType dtype, double value) {
  if (dtype == DType::f32) return static_cast<float>(value);
  if (dtype == DType::f16) return static_cast<float>(f16(static_cast<float>(value)));
  return dtype == DType::bf16 ? static_cast<float>(bf16(static_cast<float>(value))) : value;
}

/// The meaning of a row in terms of its operands "$1", "$2", ...
ir::Expr meaning_in_operands(const weft::Instruction& row) {
  internal_check(row.meaning != nullptr, "an instruction of the simulator without a meaning");
  std::vector<ir::Expr> operands;
  for (std::size_t i = 0; i < row.operands.size(); ++i)
    operands.push_back(ir::variable("$" + std::to_string(i + 1), row.operands[i]));
  return row.meaning(operands);
}

class Evaluator {
 public:
  explicit Evaluator(std::span<const Value> operands) : operands_(operands) {}

  Value of(const ir::Expr& e) const {
    return std::visit([&](const auto& node) { return evaluate(node, e.dtype()); }, e.node().kind());
  }

 private:
  Value evaluate(const ir::Constant& node, DType) const { return {node.real, node.integer}; }
  /// The operands of a meaning are variables named by their number.
  Value evaluate(const ir::Variable& node, DType) const { return operands_[node.name[1] - '1']; }
  Value evaluate(const ir::Load&, DType) const {
    throw InternalError("the meaning of an instruction reads memory");
  }
  Value evaluate(const ir::Unary& node, DType dtype) const {
    const Value x = of(node.operand);
    if (node.op == ir::UnaryOperator::logical_not) return {0, x.integer == 0 ? 1 : 0};
    return is_float(dtype) ? Value{-x.real, 0} : Value{0, -x.integer};
  }
  Value evaluate(const ir::Binary& node, DType dtype) const {
    // An operation of a type takes and gives values of it; a product that is added to may be fused by its
    // row.
    const Value a = of(node.left), b = of(node.right);
    return is_float(node.left.dtype()) ? of_reals(node.op, a.real, b.real, dtype)
                                       : of_integers(node.op, a.integer, b.integer);
  }
  Value evaluate(const ir::Select& node, DType) const {
    return of(node.condition).integer != 0 ? of(node.when_true) : of(node.when_false);
  }
  Value evaluate(const ir::Cast& node, DType dtype) const {
    const Value x = of(node.operand);
    const bool from_real = is_float(node.operand.dtype());
    if (is_float(dtype)) return {rounded(dtype, from_real ? x.real : static_cast<double>(x.integer)), 0};
    return {0, from_real ? static_cast<std::int64_t>(std::nearbyint(x.real)) : x.integer};
  }
  Value evaluate(const ir::Call& node, DType) const {
    std::vector<Value> arguments;
    for (const ir::Expr& argument : node.arguments) arguments.push_back(of(argument));
    if (node.instruction == "fma_f32")
      return {std::fmaf(static_cast<float>(arguments[0].real), static_cast<float>(arguments[1].real),
                        static_cast<float>(arguments[2].real)),
              0};
    if (node.instruction == "fma_f64")
      return {std::fma(arguments[0].real, arguments[1].real, arguments[2].real), 0};
    return Evaluator(arguments).of(meaning_in_operands(instruction(node.instruction)));
  }

  static Value of_reals(ir::BinaryOperator op, double a, double b, DType dtype) {
    using enum ir::BinaryOperator;
    switch (op) {
      case add: return {rounded(dtype, a + b), 0};
      case subtract: return {rounded(dtype, a - b), 0};
      case multiply: return {rounded(dtype, a * b), 0};
      case divide: return {rounded(dtype, a / b), 0};
      case minimum: return {std::fmin(a, b), 0};
      case maximum: return {std::fmax(a, b), 0};
      case equal: return {0, a == b};
      case not_equal: return {0, a != b};
      case less: return {0, a < b};
      case less_equal: return {0, a <= b};
      default: throw InternalError("the meaning of an instruction has an operator that reals lack");
    }
  }

  static Value of_integers(ir::BinaryOperator op, std::int64_t a, std::int64_t b) {
    const ir::Expr folded = ir::binary(op, ir::Expr(a), ir::Expr(b));
    const auto* number = folded.as<ir::Constant>();
    internal_check(number != nullptr, "the meaning of an instruction divides by nothing");
    return {0, number->integer};
  }

  std::span<const Value> operands_;
};

/// Rows that only the simulator has.
struct Extension {
  const weft::Instruction* row;
  std::string opcode;  ///< as PTX writes it: "weft.fma.relu.f32"
  ir::Expr meaning;    ///< what it computes, where it gives a value
};

const std::vector<Extension>& extensions() {
  static const auto made = [] {
    std::vector<Extension> all;
    for (const weft::Instruction& row : weft::instructions()) {
      if (row.lowest_sm != simulated_only) continue;
      all.push_back({&row, std::string(row.ptx.substr(0, row.ptx.find(' '))),
                     row.effect ? ir::Expr() : meaning_in_operands(row)});
    }
    return all;
  }();
  return made;
}

Value read_lane(const Warp& warp, const Operation& operation, std::size_t which, DType dtype,
                std::size_t lane) {
  const auto raw = [&]<class T>(T) { return warp.source<T>(operation, which)[lane]; };
  const auto half = [&]<class T>(T value) {
    value.bits = static_cast<std::uint16_t>(raw(std::uint32_t{}));
    return Value{static_cast<float>(value), 0};
  };
  switch (dtype) {
    case DType::f32: return {raw(float{}), 0};
    case DType::f64: return {raw(double{}), 0};
    case DType::f16: return half(f16{});
    case DType::bf16: return half(bf16{});
    case DType::i64:
    case DType::u64: return {0, raw(std::int64_t{})};
    case DType::u32: return {0, raw(std::uint32_t{})};
    default: return {0, raw(std::int32_t{})};
  }
}

void write_lane(Warp& warp, const Operation& operation, DType dtype, std::size_t lane, Value value) {
  const auto write = [&]<class T>(T result) { warp.result<T>(operation, 0)[lane] = result; };
  switch (dtype) {
    case DType::f64: return write(value.real);
    case DType::f32: return write(static_cast<float>(value.real));
    case DType::f16: return write(std::uint32_t{f16(static_cast<float>(value.real)).bits});
    case DType::bf16: return write(std::uint32_t{bf16(static_cast<float>(value.real)).bits});
    case DType::i64:
    case DType::u64: return write(value.integer);
    default: return write(static_cast<std::uint32_t>(value.integer));
  }
}

void run_extension(Warp& warp, const Operation& operation) {
  const Extension& extension = extensions()[operation.variant];
  const std::vector<DType>& types = extension.row->operands;
  std::vector<Value> operands(types.size());
  for (const std::size_t lane : lanes_of(warp.active())) {
    for (std::size_t i = 0; i < types.size(); ++i)
      operands[i] = read_lane(warp, operation, i + 1, types[i], lane);
    write_lane(warp, operation, extension.row->result, lane, Evaluator(operands).of(extension.meaning));
  }
}

Handler choose_extension(const Instruction& instruction, Operation& operation) {
  const auto number = extension_number(instruction.text());
  if (!number || operation.count != extensions()[*number].row->operands.size() + 1) return nullptr;
  operation.variant = *number;
  operation.pipe = Pipe::extension;
  return run_extension;
}

constexpr Opcode table[] = {{"weft", choose_extension}, {"swmma", choose_sparse_block}};

}  // namespace

std::span<const Opcode> extension_opcodes() {
  return table;
}

std::optional<std::uint16_t> extension_number(std::string_view opcode) {
  const auto& all = extensions();
  const auto found = std::ranges::find(all, opcode, &Extension::opcode);
  if (found == all.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - all.begin());
}

const weft::Instruction& extension_row(const Operation& operation) {
  return *extensions()[operation.variant].row;
}

}  // namespace weft::simulator
