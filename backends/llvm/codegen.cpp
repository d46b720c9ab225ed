#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <weft/backends/llvm/codegen.h>
#include <weft/dsl/errors.h>

namespace weft::llvm_backend {

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

void check_module(const llvm::Module& module) {
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (llvm::verifyModule(module, &stream)) {
    throw InternalError("LLVM refuses what was made for it: " + complaint + "\n" + text_of(module));
  }
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = level >= 3;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  const auto name = level <= 0   ? llvm::OptimizationLevel::O0
                    : level == 1 ? llvm::OptimizationLevel::O1
                    : level == 2 ? llvm::OptimizationLevel::O2
                                 : llvm::OptimizationLevel::O3;
  llvm::ModulePassManager passes =
      level <= 0 ? builder.buildO0DefaultPipeline(name) : builder.buildPerModuleDefaultPipeline(name);
  passes.run(module, modules);
}

std::string assembly_of(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  internal_check(!machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile),
                 "LLVM has no printer of assembly for " + module.getTargetTriple());
  passes.run(module);
  return text.str().str();
}

void throw_if(llvm::Error error, const std::string& what) {
  if (error) throw RuntimeError(what + ": " + llvm::toString(std::move(error)));
}

}  // namespace weft::llvm_backend
