// Values.
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <bit>
#include <variant>

namespace weft::llvm_backend {
namespace {

using llvm::Instruction;
using llvm::Intrinsic::ID;
using Predicate = llvm::CmpInst::Predicate;

/// What LLVM has for an operator; nothing where operands of that type have none.
using Operation = std::variant<std::monostate, Instruction::BinaryOps, Predicate, ID>;

struct Operations {
  Operation of_integers, of_floats, of_conditions;
};

constexpr Operation smin = ID{llvm::Intrinsic::smin}, smax = ID{llvm::Intrinsic::smax},
                    minimum = ID{llvm::Intrinsic::minimum}, maximum = ID{llvm::Intrinsic::maximum};

/// In the order of ir::BinaryOperator. Quotients of integers are Emitter::floor_quotient's.
constexpr Operations operations[] = {
    {Instruction::Add, Instruction::FAdd, {}},
    {Instruction::Sub, Instruction::FSub, {}},
    {Instruction::Mul, Instruction::FMul, {}},
    {{}, Instruction::FDiv, {}},
    {{}, {}, {}},
    {smin, minimum, {}},
    {smax, maximum, {}},
    {Instruction::Xor, {}, {}},
    {Predicate::ICMP_EQ, Predicate::FCMP_OEQ, Predicate::ICMP_EQ},
    {Predicate::ICMP_NE, Predicate::FCMP_UNE, Predicate::ICMP_NE},
    {Predicate::ICMP_SLT, Predicate::FCMP_OLT, {}},
    {Predicate::ICMP_SLE, Predicate::FCMP_OLE, {}},
    {{}, {}, Instruction::And},
    {{}, {}, Instruction::Or},
};

}  // namespace

llvm::Type* Emitter::storage_type(DType dtype) const {
  if (dtype == DType::f32) return llvm::Type::getFloatTy(context_);
  if (dtype == DType::f64) return llvm::Type::getDoubleTy(context_);
  return llvm::Type::getIntNTy(context_, static_cast<unsigned>(8 * size_of(dtype)));
}

llvm::Type* Emitter::value_type(DType dtype) const {
  if (dtype == DType::boolean) return llvm::Type::getInt1Ty(context_);
  return is_float(dtype) ? storage_type(dtype) : index_type_;
}

llvm::Type* Emitter::like(llvm::Type* scalar, llvm::Value* shape) const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType());
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}

llvm::Value* Emitter::spread(llvm::Value* scalar) {
  return is_vector(scalar) || !lanes_ ? scalar : builder_.CreateVectorSplat(lanes_->count, scalar);
}

void Emitter::match(llvm::Value*& a, llvm::Value*& b) {
  if (is_vector(a) == is_vector(b)) return;
  a = spread(a);
  b = spread(b);
}

llvm::Constant* Emitter::same_integer(llvm::Value* shape, std::uint64_t number) const {
  return llvm::ConstantInt::get(shape->getType(), number);
}

llvm::Value* Emitter::value(const ir::Expr& expr) {
  if (expansion_ == nullptr)
    return std::visit([this](const auto& node) { return of(node); }, expr.node().kind());
  if (const auto found = expansion_->find(expr.identity()); found != expansion_->end()) return found->second;
  llvm::Value* result = std::visit([this](const auto& node) { return of(node); }, expr.node().kind());
  // Reread: an expansion inside this one has its own map.
  (*expansion_)[expr.identity()] = result;
  return result;
}

llvm::Value* Emitter::of(const ir::Constant& e) {
  switch (e.dtype) {
    case DType::f32: {
      llvm::APFloat number(e.real);
      bool inexact = false;
      number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      return llvm::ConstantFP::get(context_, number);
    }
    case DType::f64: return llvm::ConstantFP::get(context_, llvm::APFloat(e.real));
    case DType::f16:
    case DType::bf16: {
      llvm::APFloat number(e.real);
      bool inexact = false;
      number.convert(e.dtype == DType::f16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                     llvm::APFloat::rmNearestTiesToEven, &inexact);
      return llvm::ConstantInt::get(context_, number.bitcastToAPInt());
    }
    case DType::e4m3: return builder_.getInt8(weft::e4m3(static_cast<float>(e.real)).bits);
    case DType::e5m2: return builder_.getInt8(weft::e5m2(static_cast<float>(e.real)).bits);
    case DType::boolean: return builder_.getInt1(e.integer != 0);
    default:
      if (program_.index_bits == 32 && (e.integer < INT32_MIN || e.integer > INT32_MAX))
        internal_check(false, "the constant " + std::to_string(e.integer) + " needs 64-bit indices");
      return llvm::ConstantInt::getSigned(index_type_, e.integer);
  }
}

llvm::Value* Emitter::of(const ir::Variable& e) {
  const auto found = frame_.variables.find(e.name);
  if (found == frame_.variables.end())
    internal_check(false, "variable " + e.name + " is used outside its scope");
  return found->second;
}

llvm::Value* Emitter::of(const ir::Load& e) {
  if (is_float(e.buffer->dtype)) return raw_load(e);
  return from_storage(raw_load(e), e.buffer->dtype);
}

llvm::Value* Emitter::of(const ir::Unary& e) {
  llvm::Value* operand = value(e.operand);
  if (e.op == ir::UnaryOperator::logical_not) {
    internal_check(operand->getType()->isIntOrIntVectorTy(1), "the negation of what is no condition");
    return builder_.CreateNot(operand);
  }
  const DType dtype = e.operand.dtype();
  if (is_narrow(dtype))
    return builder_.CreateXor(operand, same_integer(operand, size_of(dtype) == 1 ? 0x80 : 0x8000));
  return is_float(dtype) ? builder_.CreateFNeg(operand) : builder_.CreateNSWNeg(operand);
}

llvm::Value* Emitter::of(const ir::Binary& e) {
  llvm::Value* a = value(e.left);
  llvm::Value* b = value(e.right);
  match(a, b);
  const DType dtype = e.left.dtype();
  const bool is_quotient = e.op == ir::BinaryOperator::divide || e.op == ir::BinaryOperator::remainder;
  if (is_quotient && !is_float(dtype)) return floor_quotient(e, a, b);
  if (!is_narrow(dtype)) return binary(e.op, a, b);
  // f32 has more than twice the digits, so rounding its result once more is rounding the exact one.
  llvm::Value* result = binary(e.op, to_f32(a, dtype), to_f32(b, dtype));
  return result->getType()->isIntOrIntVectorTy() ? result : narrow(result, dtype);
}

llvm::Value* Emitter::binary(ir::BinaryOperator op, llvm::Value* a, llvm::Value* b) {
  const Operations& row = operations[static_cast<std::size_t>(op)];
  const bool is_condition = a->getType()->isIntOrIntVectorTy(1);
  const bool is_real = a->getType()->isFPOrFPVectorTy();
  const Operation& operation = is_condition ? row.of_conditions : is_real ? row.of_floats : row.of_integers;
  const auto none = [&](std::monostate) -> llvm::Value* {
    throw InternalError("an operator that its operands do not have in " + program_.name);
  };
  const auto computed = [&](Instruction::BinaryOps instruction) {
    llvm::Value* result = builder_.CreateBinOp(instruction, a, b);
    const bool wraps = is_real || is_condition || instruction == Instruction::Xor;
    if (auto* made = llvm::dyn_cast<Instruction>(result); made != nullptr && !wraps)
      made->setHasNoSignedWrap();
    return result;
  };
  return std::visit(
      ir::overloaded{
          none, computed, [&](Predicate predicate) { return builder_.CreateCmp(predicate, a, b); },
          [&](ID function) -> llvm::Value* { return builder_.CreateBinaryIntrinsic(function, a, b); }},
      operation);
}

/// Quotient or remainder rounded towards minus infinity; the divisor is positive.
llvm::Value* Emitter::floor_quotient(const ir::Binary& e, llvm::Value* a, llvm::Value* b) {
  const bool quotient = e.op == ir::BinaryOperator::divide;
  const std::int64_t* divisor = ir::integer_value(e.right);
  internal_check(divisor == nullptr || *divisor > 0, "a division by a number that is not positive");
  if (divisor != nullptr && std::has_single_bit(static_cast<std::uint64_t>(*divisor))) {
    const auto shift = static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(*divisor)));
    return quotient ? builder_.CreateAShr(a, shift)
                    : builder_.CreateAnd(a, same_integer(a, static_cast<std::uint64_t>(*divisor - 1)));
  }
  if (is_non_negative(e.left)) return quotient ? builder_.CreateUDiv(a, b) : builder_.CreateURem(a, b);
  llvm::Value* rest = builder_.CreateSRem(a, b);
  llvm::Value* below = builder_.CreateICmpSLT(rest, same_integer(rest, 0));
  if (!quotient) return builder_.CreateSelect(below, builder_.CreateNSWAdd(rest, b), rest);
  return builder_.CreateNSWAdd(builder_.CreateSDiv(a, b), builder_.CreateSExt(below, a->getType()));
}

llvm::Value* Emitter::of(const ir::Select& e) {
  llvm::Value* condition = value(e.condition);
  const bool lazy = is_lazy(e.when_true) || is_lazy(e.when_false);
  if (!lazy) {
    llvm::Value* a = value(e.when_true);
    llvm::Value* b = value(e.when_false);
    if (is_vector(condition)) {
      a = spread(a);
      b = spread(b);
    } else {
      match(a, b);
    }
    return builder_.CreateSelect(condition, a, b);
  }
  if (is_vector(condition)) {
    if (is_lazy(e.when_true) && !is_lazy(e.when_false) && is_read_by_lanes(e.when_true)) {
      llvm::Value* outer = lanes_->mask;
      lanes_->mask = outer != nullptr ? builder_.CreateAnd(outer, condition) : condition;
      llvm::Value* read = value(e.when_true);
      lanes_->mask = outer;
      return builder_.CreateSelect(condition, read, spread(value(e.when_false)));
    }
    llvm::Value* a = lazy_branch(condition, e.when_true);
    llvm::Value* b = lazy_branch(builder_.CreateNot(condition), e.when_false);
    return builder_.CreateSelect(condition, a, b);
  }
  llvm::Value* a = nullptr;
  llvm::Value* b = nullptr;
  llvm::BasicBlock* a_end = nullptr;
  llvm::BasicBlock* b_end = nullptr;
  // A choice that is the same in all lanes stays one value: it may be part of an address.
  const bool several = differs_between_lanes(e.when_true) || differs_between_lanes(e.when_false);
  const auto chosen = [&](const ir::Expr& branch) { return several ? spread(value(branch)) : value(branch); };
  branch(
      condition, [&] { a = chosen(e.when_true), a_end = builder_.GetInsertBlock(); },
      [&] { b = chosen(e.when_false), b_end = builder_.GetInsertBlock(); });
  llvm::PHINode* result = builder_.CreatePHI(a->getType(), 2);
  result->addIncoming(a, a_end);
  result->addIncoming(b, b_end);
  return result;
}

/// Whether it is read under a mask, which needs no branch around it. Where its place is read as well, that
/// may be there only where some lane is.
bool Emitter::is_read_by_lanes(const ir::Expr& expr) const {
  const auto* load = expr.as<ir::Load>();
  return load != nullptr && !capabilities_.gpu && load->buffer->swizzle == 0 &&
         std::ranges::none_of(load->indices, [](const ir::Expr& e) { return ir::reads_memory(e); }) &&
         access_of(*load->buffer, ir::offset_of(*load->buffer, load->indices)).pattern == Pattern::contiguous;
}

bool Emitter::differs_between_lanes(const ir::Expr& expr) const {
  return lanes_ && (ir::uses(expr, lanes_->variable) || differs(expr, lanes_->varying));
}

/// The value in the lanes where `taken` holds, zero in a branch that no lane takes.
llvm::Value* Emitter::lazy_branch(llvm::Value* taken, const ir::Expr& expr) {
  llvm::Value* outer = lanes_->mask;
  llvm::Value* mask = outer != nullptr ? builder_.CreateAnd(outer, taken) : taken;
  llvm::Value* any = builder_.CreateOrReduce(mask);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::Value* computed = nullptr;
  llvm::BasicBlock* end = nullptr;
  branch(any,
         [&] {
           lanes_->mask = mask;
           computed = spread(value(expr));
           lanes_->mask = outer;
           end = builder_.GetInsertBlock();
         },
         {});
  llvm::PHINode* result = builder_.CreatePHI(computed->getType(), 2);
  result->addIncoming(computed, end);
  result->addIncoming(llvm::Constant::getNullValue(computed->getType()), before);
  return result;
}

llvm::Value* Emitter::of(const ir::Cast& e) {
  return convert(value(e.operand), e.operand.dtype(), e.dtype);
}

/// With what is_non_negative knows beyond ir::range_of.
ir::Range Emitter::range_of(const ir::Expr& expr) const {
  ir::Range range = ir::range_of(expr, ranges_);
  if (!range.minimum && is_non_negative(expr)) range.minimum = 0;
  return range;
}

bool Emitter::is_non_negative(const ir::Expr& expr) const {
  if (const auto range = ir::range_of(expr, ranges_); range.minimum) return *range.minimum >= 0;
  if (const auto* load = expr.as<ir::Load>())
    return !is_signed_integer(load->buffer->dtype) && !is_float(load->buffer->dtype) &&
           size_of(load->buffer->dtype) * 8 < static_cast<std::size_t>(program_.index_bits);
  if (const auto* call = expr.as<ir::Call>())
    return call->arguments.empty() &&
           instruction(call->instruction).llvm.starts_with("llvm.nvvm.read.ptx.sreg");
  const auto* e = expr.as<ir::Binary>();
  if (e == nullptr) return false;
  switch (e->op) {
    case ir::BinaryOperator::add:
    case ir::BinaryOperator::multiply:
    case ir::BinaryOperator::minimum:
    case ir::BinaryOperator::exclusive_or: return is_non_negative(e->left) && is_non_negative(e->right);
    case ir::BinaryOperator::maximum: return is_non_negative(e->left) || is_non_negative(e->right);
    case ir::BinaryOperator::divide: return is_non_negative(e->left);
    case ir::BinaryOperator::remainder: return true;
    default: return false;
  }
}

}  // namespace weft::llvm_backend
