#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <weft/backends/llvm/codegen.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <array>
#include <string_view>

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
  if (llvm::verifyModule(module, &stream))
    throw InternalError("LLVM refuses what was made for it: " + complaint + "\n" + text_of(module));
}

namespace {

/// The analyses that passes ask for, known to one another.
struct Analyses {
  explicit Analyses(llvm::PassBuilder& builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
};

/// Leaves out what the code generator looks for in vain where addresses are already a base and a constant:
/// together these passes take longer than choosing the instructions.
class StraightLineGate : public llvm::OptPassGate {
 public:
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override {
    static constexpr std::array<std::string_view, 8> without{"GPU Load and Store Vectorizer",
                                                             "Nary reassociation",
                                                             "Straight line strength reduction",
                                                             "Early CSE",
                                                             "Constant Hoisting",
                                                             "Speculatively execute instructions",
                                                             "Partially inline calls to library functions",
                                                             "Machine Common Subexpression Elimination"};
    return std::ranges::find(without, std::string_view(pass)) == without.end();
  }
  bool isEnabled() const override { return true; }
};

/// The vectorizer of loads and stores asks of each of a block whether it meets the others.
constexpr std::int64_t most_accesses_of_block = 8192;

bool has_long_block(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      const auto accesses = std::ranges::count_if(block, [](const llvm::Instruction& instruction) {
        return llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction);
      });
      if (accesses > most_accesses_of_block) return true;
    }
  }
  return false;
}

/// Stores of one loop times its loads and stores: passes that ask which of them meet ask that often.
constexpr std::uint64_t most_meetings = std::uint64_t{1} << 24U;

bool has_many_meetings(const llvm::Loop& loop) {
  std::uint64_t loads = 0, stores = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      loads += llvm::isa<llvm::LoadInst>(instruction) ? 1 : 0;
      stores += llvm::isa<llvm::StoreInst>(instruction) ? 1 : 0;
    }
  }
  return stores * (loads + stores) > most_meetings;
}

bool has_many_meetings(const llvm::Function& function) {
  if (function.getInstructionCount() * function.getInstructionCount() <= most_meetings) return false;
  // Both are made of the function as it is, which they do not change.
  const llvm::DominatorTree tree(const_cast<llvm::Function&>(function));  // NOLINT(*-const-cast)
  const llvm::LoopInfo loops(tree);
  return std::ranges::any_of(loops.getLoopsInPreorder(),
                             [](const llvm::Loop* loop) { return has_many_meetings(*loop); });
}

/// Beyond, putting scalars together to vectors takes longer than all else, and loops that are vectorized
/// have left it little.
constexpr std::ptrdiff_t most_scalar_stores = std::ptrdiff_t{1} << 12U;

bool has_many_stores(const llvm::Function& function) {
  if (function.getInstructionCount() <= most_scalar_stores) return false;
  return std::ranges::count_if(llvm::instructions(function), [](const llvm::Instruction& instruction) {
           return llvm::isa<llvm::StoreInst>(instruction);
         }) > most_scalar_stores;
}

/// Reads by calls, masked ones above all, times blocks: GVN walks all blocks in front of each such read.
/// Loops that are written out in full have many that never run, which nobody has taken out by then.
constexpr std::uint64_t most_walks = std::uint64_t{1} << 20U;

bool has_many_walks(const llvm::Function& function) {
  const auto reads = std::ranges::count_if(llvm::instructions(function), [](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    return call != nullptr && call->onlyReadsMemory() && !call->doesNotAccessMemory();
  });
  return static_cast<std::uint64_t>(reads) * function.size() > most_walks;
}

/// Leaves out the passes that compare accesses with each other where these are too many.
void leave_out_comparisons(llvm::PassInstrumentationCallbacks& callbacks) {
  callbacks.registerShouldRunOptionalPassCallback([](llvm::StringRef pass, llvm::Any what) {
    const auto* const* function = llvm::any_cast<const llvm::Function*>(&what);
    if (function == nullptr) return true;
    if (pass == "LoopLoadEliminationPass" || pass == "LoopVectorizePass")
      return !has_many_meetings(**function);
    if (pass == "SLPVectorizerPass") return !has_many_stores(**function);
    return pass != "GVNPass" || !has_many_walks(**function);
  });
}

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = level >= 3;
  llvm::PassInstrumentationCallbacks callbacks;
  leave_out_comparisons(callbacks);
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  Analyses analyses(builder);
  const auto name = level <= 0   ? llvm::OptimizationLevel::O0
                    : level == 1 ? llvm::OptimizationLevel::O1
                    : level == 2 ? llvm::OptimizationLevel::O2
                                 : llvm::OptimizationLevel::O3;
  llvm::ModulePassManager passes =
      level <= 0 ? builder.buildO0DefaultPipeline(name) : builder.buildPerModuleDefaultPipeline(name);
  passes.run(module, analyses.modules);
}

void optimize_straight_line(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PassBuilder builder(&machine);
  Analyses analyses(builder);
  llvm::FunctionPassManager line;
  line.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  line.addPass(llvm::EarlyCSEPass());
  line.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(line)));
  passes.run(module, analyses.modules);
}

namespace {

std::string emitted(llvm::Module& module, llvm::TargetMachine& machine, Code code,
                    llvm::CodeGenFileType type) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  internal_check(!machine.addPassesToEmitFile(passes, stream, nullptr, type),
                 "LLVM writes no such file for " + module.getTargetTriple());
  StraightLineGate gate;
  llvm::LLVMContext& context = module.getContext();
  llvm::OptPassGate& before = context.getOptPassGate();
  if (code == Code::straight_line || has_long_block(module)) context.setOptPassGate(gate);
  passes.run(module);
  context.setOptPassGate(before);
  return text.str().str();
}

}  // namespace

std::string assembly_of(llvm::Module& module, llvm::TargetMachine& machine, Code code) {
  return emitted(module, machine, code, llvm::CodeGenFileType::AssemblyFile);
}

std::string object_of(llvm::Module& module, llvm::TargetMachine& machine) {
  return emitted(module, machine, Code::any, llvm::CodeGenFileType::ObjectFile);
}

void throw_if(llvm::Error error, const std::string& what) {
  if (error) throw RuntimeError(what + ": " + llvm::toString(std::move(error)));
}

}  // namespace weft::llvm_backend
