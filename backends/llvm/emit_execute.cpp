// Instructions with effects, as text: LLVM has intrinsics for few of them.
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/effect_text.h>
#include <weft/scheduler/hardware/instructions.h>

namespace weft::llvm_backend {

llvm::Value* Emitter::operand_of(const ir::Expr& argument, DType dtype) {
  if (const auto* place = argument.as<ir::Load>())
    return pointer_to(*place->buffer, offset_of(*place->buffer, place->indices));
  return builder_.CreateSExtOrTrunc(value(argument),
                                    dtype == DType::i64 ? builder_.getInt64Ty() : builder_.getInt32Ty());
}

void Emitter::of(const ir::Execute& s) {
  internal_check(capabilities_.gpu && !lanes_, s.instruction + " in a program for the CPU, or in a vector");
  const Instruction& row = instruction(s.instruction);
  std::vector<std::pair<const ir::Buffer*, ir::Expr>> results;
  std::vector<llvm::Value*> operands;
  std::string constraints;
  const auto add = [&](const std::string& constraint) {
    constraints += (constraints.empty() ? "" : ",") + constraint;
  };
  for (const ir::RegisterRange& range : s.results) {
    for (int i = 0; i < range.count; ++i)
      results.emplace_back(range.buffer.get(), offset_of(*range.buffer, range.indices) + i);
  }
  for (std::size_t i = 0; i < results.size(); ++i) add(std::string("=") + register_letter(row.result));
  for (const ir::RegisterRange& range : s.inputs) {
    for (int i = 0; i < range.count; ++i) {
      operands.push_back(read(*range.buffer, offset_of(*range.buffer, range.indices) + i));
      add(register_letter(range.buffer->dtype));
    }
  }
  const std::size_t inputs = operands.size();
  for (std::size_t i = 0; i < s.arguments.size(); ++i) {
    if (is_immediate(row, i)) continue;
    const DType dtype = row.operands.at(inputs + i);
    operands.push_back(operand_of(s.arguments[i], dtype));
    add(register_letter(dtype));
  }
  if (row.reads_results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      operands.push_back(read(*results[i].first, results[i].second));
      add(std::to_string(i));
    }
  }
  if (!row.only_registers) add("~{memory}");
  llvm::Type* element =
      row.result == DType::f32 ? builder_.getFloatTy() : static_cast<llvm::Type*>(builder_.getInt32Ty());
  llvm::Type* result = results.empty() ? builder_.getVoidTy()
                       : results.size() == 1
                           ? element
                           : static_cast<llvm::Type*>(llvm::StructType::get(
                                 context_, std::vector<llvm::Type*>(results.size(), element)));
  llvm::CallInst* computed =
      inline_assembly(effect_text(row, s), constraints, result, operands, !row.only_registers);
  // Threads execute it together: a copy of it in each branch of a condition would wait for the other, and it
  // must not move to where the few go that need its results.
  computed->setConvergent();
  for (std::size_t i = 0; i < results.size(); ++i) {
    llvm::Value* of_result = results.size() == 1
                                 ? static_cast<llvm::Value*>(computed)
                                 : builder_.CreateExtractValue(computed, static_cast<unsigned>(i));
    write(*results[i].first, results[i].second, of_result);
  }
}

}  // namespace weft::llvm_backend
