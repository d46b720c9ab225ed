#include <llvm/IR/IRBuilder.h>
#include <weft/backends/llvm/codegen.h>
#include <weft/backends/llvm/cpu_module.h>
#include <weft/backends/llvm/cpu_object.h>
#include <weft/backends/llvm/processor_machine.h>
#include <weft/backends/llvm/symbols.h>

namespace weft::llvm_backend {
namespace {

/// Gives parallel loops to the function that whoever starts the kernel names in its runtime.
void define_parallel_loop(llvm::Module& module, const std::string& symbol) {
  llvm::Function* loop = module.getFunction(symbol);
  if (loop == nullptr) return;
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "entry", loop));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : loop->args()) arguments.push_back(&argument);
  llvm::Value* callers = builder.CreateLoad(builder.getPtrTy(), arguments.front());
  builder.CreateCall(loop->getFunctionType(), callers, arguments);
  builder.CreateRetVoid();
}

void add_array(llvm::Module& module, const ObjectArray& array) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  llvm::Constant* contents =
      llvm::ConstantDataArray::getRaw(bytes, bytes.size(), llvm::Type::getInt8Ty(module.getContext()));
  auto* variable = new llvm::GlobalVariable(module, contents->getType(), true,
                                            llvm::GlobalValue::ExternalLinkage, contents, array.symbol);
  variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
  variable->setAlignment(llvm::Align(64));
}

}  // namespace

CpuObject object_for(const ThreadProgram& program, const std::string& processor,
                     const AssemblySymbols& symbols, const std::vector<ObjectArray>& arrays) {
  const auto machine = machine_for(processor);
  llvm::LLVMContext context;
  const CpuModule made = cpu_module(context, program, *machine, shipped_level);
  name_symbols(*made.module, symbols);
  define_parallel_loop(*made.module, symbols.parallel_loop);
  for (const ObjectArray& array : arrays) add_array(*made.module, array);
  return {object_of(*made.module, *machine), made.emitted.scratch_bytes, made.emitted.worker_scratch_bytes};
}

}  // namespace weft::llvm_backend
