#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/Support/TargetSelect.h>
#include <weft/backends/llvm/codegen.h>
#include <weft/backends/llvm/cpu_module.h>
#include <weft/backends/llvm/program_length.h>

#include <algorithm>
#include <mutex>

namespace weft::llvm_backend {
namespace {

Capabilities capabilities_of(llvm::TargetMachine& machine, llvm::LLVMContext& context) {
  Capabilities capabilities;
  const bool is_elf = machine.getTargetTriple().isArch64Bit() && machine.getTargetTriple().isOSBinFormatELF();
  if (machine.getTargetTriple().isAArch64() && machine.getTargetTriple().isLittleEndian() && is_elf)
    capabilities.coded.bytes = VectorRegisters::of_neon;
  if (!machine.getTargetTriple().isX86()) return capabilities;
  // Features are those of a function; any function of the module has them.
  llvm::Module module("features", context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
                                          llvm::Function::ExternalLinkage, "f", module);
  const llvm::TargetSubtargetInfo* subtarget = machine.getSubtargetImpl(*function);
  capabilities.fused_multiply_add = subtarget->checkFeatures("+fma");
  capabilities.half_conversions = subtarget->checkFeatures("+f16c");
  capabilities.wide_vectors = subtarget->checkFeatures("+avx512f");
  // The text is for 64 bits and the linker of ELF.
  if (is_elf)
    capabilities.coded.bytes = capabilities.wide_vectors ? 64
                               : capabilities.fused_multiply_add && capabilities.half_conversions &&
                                       subtarget->checkFeatures("+avx2")
                                   ? 32
                                   : 0;
  return capabilities;
}

/// Instructions times blocks of a function. Code beyond is generated without care: moving instructions
/// between loops and giving values registers would take half a minute where this takes seconds.
constexpr std::uint64_t most_crossings = std::uint64_t{1} << 23U;

bool is_crossed_often(const llvm::Module& module) {
  return std::ranges::any_of(module, [](const llvm::Function& function) {
    return static_cast<std::uint64_t>(function.getInstructionCount()) * function.size() > most_crossings;
  });
}

}  // namespace

void initialize_native_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

CpuModule cpu_module(llvm::LLVMContext& context, const ThreadProgram& program, llvm::TargetMachine& machine,
                     int level) {
  CpuModule result;
  result.module = std::make_unique<llvm::Module>(program.program.name, context);
  result.module->setTargetTriple(machine.getTargetTriple().str());
  result.module->setDataLayout(machine.createDataLayout());
  check_choices(program);
  result.emitted = Emitter(*result.module, program, capabilities_of(machine, context)).emit();
  check_masks(program, *result.module);
  check_length_after(program, *result.module);
  check_module(*result.module);
  optimize(*result.module, machine, level);
  if (is_crossed_often(*result.module)) machine.setOptLevel(llvm::CodeGenOptLevel::None);
  return result;
}

}  // namespace weft::llvm_backend
