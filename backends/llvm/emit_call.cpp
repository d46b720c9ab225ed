// Rows of the instruction table: LLVM's intrinsic, PTX, a C function, or what the row means.
#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Support/Error.h>
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>

namespace weft::llvm_backend {

llvm::Value* Emitter::of(const ir::Call& e) {
  if (e.instruction == last_arrival) return arrival(e);
  const Instruction& row = instruction(e.instruction);
  if (e.arguments.size() != row.operands.size())
    internal_check(false, "a call of " + e.instruction + " with the wrong operands");
  std::vector<llvm::Value*> arguments;
  bool vector = false;
  for (const ir::Expr& argument : e.arguments) {
    arguments.push_back(value(argument));
    vector = vector || is_vector(arguments.back());
  }
  if (vector) {
    for (llvm::Value*& argument : arguments) argument = spread(argument);
  }
  // Without the instruction fma is a slow function; what it means then is a product and a sum.
  const bool expands = row.llvm == "llvm.fma" && !capabilities_.fused_multiply_add;
  const bool foreign = row.llvm.starts_with("llvm.nvvm.") && !capabilities_.gpu;
  if (!row.llvm.empty() && !expands && !foreign) return intrinsic_call(row.llvm, arguments, row.result);
  if (capabilities_.gpu && !row.ptx.empty())
    return assembly_call(row.ptx, arguments, row.operands, row.result);
  if (!capabilities_.gpu && !row.library.empty() && !expands)
    return library_call(row.library, arguments, row.result);
  internal_check(row.meaning != nullptr, "the target has no form of the instruction " + e.instruction);
  return expanded_call(e, arguments);
}

/// The first thread counts its block, once all threads that arrive have written. Fences on both sides make
/// what any block wrote before it came visible to the last one.
llvm::Value* Emitter::arrival(const ir::Call& e) {
  internal_check(!lanes_, "an arrival inside a vectorized loop");
  const auto* place = e.arguments.at(0).as<ir::Load>();
  internal_check(place != nullptr, "an arrival without a place");
  llvm::Type* type = builder_.getInt32Ty();
  llvm::Value* count = builder_.CreateSExtOrTrunc(value(e.arguments.at(1)), type);
  llvm::Value* last = builder_.CreateSub(count, llvm::ConstantInt::get(type, 1));
  const auto pointer = [&] {
    return pointer_to(*place->buffer, ir::offset_of(*place->buffer, place->indices));
  };
  if (!capabilities_.gpu) {
    llvm::Value* address = pointer();
    llvm::Value* before = builder_.CreateAlignedLoad(type, address, llvm::Align(4));
    llvm::Value* is_last = builder_.CreateICmpEQ(before, last);
    llvm::Value* next = builder_.CreateAdd(before, llvm::ConstantInt::get(type, 1));
    builder_.CreateAlignedStore(builder_.CreateSelect(is_last, llvm::ConstantInt::get(type, 0), next),
                                address, llvm::Align(4));
    return is_last;
  }
  const std::int64_t some = *ir::integer_value(e.arguments.at(2));
  if (some == 0)
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  else
    of(*ir::execute("barrier_of_some", {1, some}).as<ir::Execute>());
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* first = new_block("arrive");
  llvm::BasicBlock* join = new_block("arrived");
  llvm::Value* thread = builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
  builder_.CreateCondBr(builder_.CreateICmpEQ(thread, llvm::ConstantInt::get(type, 0)), first, join);
  builder_.SetInsertPoint(first);
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_gl, {}, {});
  llvm::Value* address = pointer();
  llvm::Value* number =
      builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, address, llvm::ConstantInt::get(type, 1),
                               llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_gl, {}, {});
  llvm::Value* is_last = builder_.CreateICmpEQ(number, last);
  // Nobody comes any more before the next launch.
  branch(is_last,
         [&] { builder_.CreateAlignedStore(llvm::ConstantInt::get(type, 0), address, llvm::Align(4)); }, {});
  llvm::Value* found = builder_.CreateZExt(is_last, type);
  llvm::BasicBlock* counted = builder_.GetInsertBlock();
  builder_.CreateBr(join);
  builder_.SetInsertPoint(join);
  llvm::PHINode* answer = builder_.CreatePHI(type, 2);
  answer->addIncoming(llvm::ConstantInt::get(type, 0), before);
  answer->addIncoming(found, counted);
  llvm::Value* all = some == 0 ? builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0_or, {}, {answer})
                               : any_of_some(answer, some);
  return builder_.CreateICmpNE(all, llvm::ConstantInt::get(type, 0));
}

/// Whether the number is beside 0 in one of so many threads, which meet.
llvm::Value* Emitter::any_of_some(llvm::Value* number, std::int64_t threads) {
  const std::string text = fmt::format(
      "{{ .reg .pred any; setp.ne.s32 any, $1, 0; bar.red.or.pred any, 1, {}, any; selp.b32 $0, 1, 0, any; "
      "}}",
      threads);
  llvm::CallInst* answer = inline_assembly(text, "=r,r,~{memory}", builder_.getInt32Ty(), {number}, true);
  answer->setConvergent();
  return answer;
}

llvm::Value* Emitter::intrinsic_call(std::string_view name, const std::vector<llvm::Value*>& arguments,
                                     DType result) {
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(llvm::StringRef(name.data(), name.size()));
  if (id == llvm::Intrinsic::not_intrinsic)
    internal_check(false, "LLVM has no intrinsic " + std::string(name));
  std::vector<llvm::Type*> overload;
  if (llvm::Intrinsic::isOverloaded(id)) overload.push_back(arguments.at(0)->getType());
  llvm::Value* computed = builder_.CreateIntrinsic(id, overload, arguments);
  if (is_float(result)) return computed;
  return builder_.CreateZExtOrTrunc(computed, like(index_type_, computed));
}

/// Integers travel in 32-bit registers, as the texts of the table are written for.
llvm::Value* Emitter::assembly_call(std::string_view text, const std::vector<llvm::Value*>& arguments,
                                    const std::vector<DType>& operands, DType result) {
  for (const llvm::Value* argument : arguments)
    internal_check(!is_vector(argument), "an instruction of PTX inside a vectorized loop");
  const auto letter = [](DType dtype) {
    if (dtype == DType::f32) return "f";
    if (dtype == DType::f64) return "d";
    return is_float(dtype) ? "h" : "r";
  };
  const auto register_type = [&](DType dtype) -> llvm::Type* {
    return is_float(dtype) ? storage_type(dtype) : builder_.getInt32Ty();
  };
  std::string constraints = std::string("=") + letter(result);
  std::vector<llvm::Value*> passed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    constraints += std::string(",") + letter(operands[i]);
    passed.push_back(is_float(operands[i])
                         ? arguments[i]
                         : builder_.CreateSExtOrTrunc(arguments[i], register_type(operands[i])));
  }
  llvm::Value* computed =
      inline_assembly({text.data(), text.size()}, constraints, register_type(result), passed, false);
  return is_float(result) ? computed : builder_.CreateSExtOrTrunc(computed, index_type_);
}

llvm::CallInst* Emitter::inline_assembly(llvm::StringRef text, const std::string& constraints,
                                         llvm::Type* result, const std::vector<llvm::Value*>& operands,
                                         bool has_effects) {
  std::vector<llvm::Type*> types;
  for (const llvm::Value* operand : operands) types.push_back(operand->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  // A wrong string would end the process inside LLVM.
  if (llvm::Error error = llvm::InlineAsm::verify(type, constraints))
    throw InternalError("PTX with wrong operands: " + llvm::toString(std::move(error)) + ": " + text.str());
  return builder_.CreateCall(llvm::InlineAsm::get(type, text, constraints, has_effects), operands);
}

llvm::Value* Emitter::library_call(std::string_view name, const std::vector<llvm::Value*>& arguments,
                                   DType result) {
  internal_check(is_float(result) && !arguments.empty(), "a C function of integers: " + std::string(name));
  llvm::Type* scalar = value_type(result);
  std::vector<llvm::Type*> types;
  for (const llvm::Value* argument : arguments) types.push_back(argument->getType()->getScalarType());
  auto callee = module_.getOrInsertFunction(llvm::StringRef(name.data(), name.size()),
                                            llvm::FunctionType::get(scalar, types, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();
    function->setWillReturn();
  }
  if (!is_vector(arguments[0])) return builder_.CreateCall(callee, arguments);
  llvm::Value* result_vector = llvm::PoisonValue::get(like(scalar, arguments[0]));
  for (unsigned lane = 0; lane < lanes_->count; ++lane) {
    std::vector<llvm::Value*> of_lane;
    for (llvm::Value* argument : arguments) of_lane.push_back(builder_.CreateExtractElement(argument, lane));
    result_vector = builder_.CreateInsertElement(result_vector, builder_.CreateCall(callee, of_lane), lane);
  }
  return result_vector;
}

/// The meaning, its operands computed once.
llvm::Value* Emitter::expanded_call(const ir::Call& e, const std::vector<llvm::Value*>& arguments) {
  std::vector<ir::Expr> operands;
  const std::string prefix = "call#" + std::to_string(names_++) + ".";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    operands.push_back(ir::variable(prefix + std::to_string(i), e.arguments[i].dtype()));
    frame_.variables[prefix + std::to_string(i)] = arguments[i];
  }
  const ir::Expr meaning = instruction(e.instruction).meaning(operands);
  std::map<const ir::ExprNode*, llvm::Value*> values;
  auto* outer = std::exchange(expansion_, &values);
  llvm::Value* result = value(meaning);
  expansion_ = outer;
  for (std::size_t i = 0; i < arguments.size(); ++i) frame_.variables.erase(prefix + std::to_string(i));
  return result;
}

}  // namespace weft::llvm_backend
