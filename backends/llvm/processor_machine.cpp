#include <llvm/Config/llvm-config.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>
#include <weft/backends/llvm/cpu_module.h>
#include <weft/backends/llvm/processor_machine.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/processor_level.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>

namespace weft::llvm_backend {
namespace {

/// What LLVM calls an architecture, and the processor that has its levels; empty where levels have names
/// there.
struct Architecture {
  std::string_view name;
  std::string_view triple;
  std::string_view processor;
};
constexpr std::array architectures{Architecture{"x86-64", "x86_64-unknown-linux-gnu", ""},
                                   Architecture{"aarch64", "aarch64-unknown-linux-gnu", "generic"}};

/// A processor in LLVM's words.
struct Processor {
  std::string triple;
  std::string name;
  std::string features = {};
};

Processor of_this_machine() {
  llvm::SubtargetFeatures features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  return {llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), features.getString()};
}

/// Names that are no level are LLVM's for x86-64.
Processor processor_named(const std::string& name) {
  if (name == "native") return of_this_machine();
  const ProcessorLevel* level = processor_level(name);
  if (level == nullptr) return {std::string(architectures.front().triple), name};
  const auto* const row = std::ranges::find(architectures, level->architecture, &Architecture::name);
  internal_check(row != architectures.end(), "LLVM's name is not known for " + name);
  return {std::string(row->triple), row->processor.empty() ? name : std::string(row->processor)};
}

/// Those of other machines that this LLVM has, too.
void initialize_code_generators() {
  initialize_native_target();
  static std::once_flag once;
  std::call_once(once, [] {
#if LLVM_HAS_X86_TARGET && !defined(__x86_64__)
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
#endif
#if LLVM_HAS_AARCH64_TARGET && !defined(__aarch64__)
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
#endif
  });
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> machine_for(const std::string& processor,
                                                 const llvm::TargetOptions& options) {
  initialize_code_generators();
  const Processor found = processor_named(processor);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(found.triple, error);
  if (target == nullptr)
    throw RuntimeError("code for " + processor +
                       " cannot be made here: the LLVM of this weft was built without it (" + error + ")");
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(found.triple, found.name, found.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
}

}  // namespace weft::llvm_backend
