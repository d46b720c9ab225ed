#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetOptions.h>
#include <weft/backends/llvm/codegen.h>
#include <weft/backends/llvm/emit.h>
#include <weft/backends/llvm/nvptx.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/instructions.h>
#include <weft/scheduler/simulated_target.h>

#include <algorithm>
#include <mutex>

namespace weft::llvm_backend {
namespace {

/// Programs beyond this are compiled with less effort.
constexpr std::int64_t huge_program = 20'000;
/// So are those beyond this of which a quarter at most stands in loops, such as a copy into a tile: there is
/// nothing to find in a straight line whose addresses are a base and a constant.
constexpr std::int64_t long_straight_line = 4'000;

/// Whether places of elements are numbers that were read before, such as the columns of entries.
bool reads_addresses(const ir::Stmt& body) {
  bool found = false;
  ir::visit(body, {}, [&](const ir::Expr& e) {
    const auto* load = e.as<ir::Load>();
    if (load == nullptr || found) return;
    for (const ir::Expr& index : load->indices) {
      ir::visit(index, [&](const ir::Expr& part) { found = found || part.as<ir::Load>() != nullptr; });
    }
  });
  return found;
}

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Shared addresses have 32 bits; the programs never turn them into generic ones. The option has no other
    // way in than the command line's table.
    auto& options = llvm::cl::getRegisteredOptions();
    if (const auto found = options.find("nvptx-short-ptr"); found != options.end()) {
      found->second->addOccurrence(0, "nvptx-short-ptr", "true");
    }
  });
}

void check_target(const ThreadProgram& program, const Target& target) {
  if (!target.is_gpu())
    throw UserError({"PTX is for GPUs", program.program.name, target.name, "sm_75 to sm_90a"});
  // LLVM ends the process where an instruction does not exist, so it is asked for here.
  ir::visit(program.program.body, {}, [&](const ir::Expr& e) {
    const auto* call = e.as<ir::Call>();
    if (call == nullptr) return;
    const Instruction& row = instruction(call->instruction);
    if (row.lowest_sm >= 0 && row.lowest_sm <= target.sm) return;
    throw UserError({fmt::format("{} has no instruction {}", target.name, row.name), program.program.name,
                     target.name,
                     row.lowest_sm < 0 ? std::string("cpu") : fmt::format("sm_{} or newer", row.lowest_sm)});
  });
}

/// The target's version of PTX, or that of what the program executes: a newer one asks for a newer driver.
std::string ptx_version_for(const ThreadProgram& program, const Target& target) {
  std::string version = target.ptx_version;
  ir::visit(program.program.body, [&](const ir::Stmt& s) {
    const auto* execute = s.as<ir::Execute>();
    const bool ordered =
        execute != nullptr &&
        instruction(execute->instruction).ptx.find("::ordered_metadata") != std::string_view::npos;
    if (ordered) version = "8.5";
  });
  return version;
}

std::unique_ptr<llvm::TargetMachine> machine_for(const Target& target, const std::string& ptx_version,
                                                 llvm::CodeGenOptLevel level) {
  const std::string triple = "nvptx64-nvidia-cuda";
  std::string complaint;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(triple, complaint);
  if (backend == nullptr) throw RuntimeError("this LLVM has no NVPTX target: " + complaint);
  // The default version of PTX is too low for some instructions, and the newest too new for some drivers.
  std::string feature = "+ptx" + ptx_version;
  std::erase(feature, '.');
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      triple, base_architecture(target), feature, llvm::TargetOptions(), std::nullopt, std::nullopt, level));
  if (machine == nullptr) throw RuntimeError("LLVM has no code generator for " + target.name);
  return machine;
}

/// LLVM 19 has no way to ask for clusters.
std::string with_cluster(std::string ptx, const ThreadProgram& program) {
  if (!program.program.cluster) return ptx;
  const std::string_view before = ".maxntid";
  const std::size_t place = ptx.find(before);
  internal_check(place != std::string::npos, "a kernel without a number of threads");
  return ptx.insert(place, fmt::format(".reqnctapercluster {}\n", fmt::join(program.launch.cluster, ", ")));
}

/// What warps with roles store is their results, once: it goes to memory before what other tiles read again
/// (docs/measurements/row_groups.md). LLVM 19 has no way to say that either.
std::string with_streamed_results(std::string ptx, const ThreadProgram& program) {
  if (!program.program.roles) return ptx;
  const std::string_view stores = "st.global.v4", streams = "st.global.cs.v4";
  for (std::size_t place = 0; (place = ptx.find(stores, place)) != std::string::npos; place += streams.size())
    ptx.replace(place, stores.size(), streams);
  return ptx;
}

/// Statements inside loops, as far as they are not written out.
std::int64_t size_in_loops(const ir::Stmt& stmt) {
  std::int64_t size = 0;
  ir::visit(stmt, [&](const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop != nullptr && loop->kind != ir::LoopKind::unrolled) size += emitted_size(loop->body);
  });
  return size;
}

/// Whether a processor holds one block of the kernel at a time, or two only if the assembler is sparing with
/// registers.
bool is_alone(const Launch& launch, const Target& target) {
  constexpr std::int64_t many_threads = 512;
  return launch.threads > many_threads || 2 * launch.shared_bytes > target.shared_bytes_per_block;
}

void annotate(llvm::Module& module, llvm::Function& kernel, const ThreadProgram& program,
              const Target& target) {
  llvm::LLVMContext& context = module.getContext();
  llvm::NamedMDNode* annotations = module.getOrInsertNamedMetadata("nvvm.annotations");
  const auto add = [&](const char* name, std::int64_t number) {
    annotations->addOperand(
        llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(&kernel), llvm::MDString::get(context, name),
                                    llvm::ConstantAsMetadata::get(llvm::ConstantInt::getSigned(
                                        llvm::Type::getInt32Ty(context), number))}));
  };
  add("kernel", 1);
  add("maxntidx", program.launch.threads);
  // Else the assembler saves registers, and even spills them, for a second block.
  const std::int64_t alone = is_alone(program.launch, target) ? 1 : 0;
  const std::int64_t blocks = std::max(alone, program.program.resident_blocks);
  if (blocks > 0) add("minctasm", blocks);
}

}  // namespace

SharedMemory shared_memory_of(const ThreadProgram& program) {
  const std::int64_t bytes = program.launch.shared_bytes;
  return bytes > most_static_shared_bytes ? SharedMemory{0, bytes} : SharedMemory{bytes, 0};
}

std::string emit_ptx(const ThreadProgram& program, const Target& target, const StageObserver& observer) {
  const auto finished = [&](std::string_view stage) {
    if (observer) observer(stage);
  };
  check_target(program, target);
  initialize();
  const std::int64_t size = emitted_size(program.program.body);
  const bool straight_line = size > long_straight_line && size_in_loops(program.program.body) * 4 <= size &&
                             !reads_addresses(program.program.body);
  const bool huge = straight_line || size > huge_program;
  // Never None: moves would appear between instructions that ptxas wants to see side by side.
  const auto machine = machine_for(target, ptx_version_for(program, target),
                                   huge ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default);
  llvm::LLVMContext context;
  llvm::Module module(program.program.name, context);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  Capabilities capabilities;
  capabilities.gpu = true;
  capabilities.sm = target.sm;
  capabilities.bfloat_conversions = target.sm >= 80;
  capabilities.most_lanes = 8;
  capabilities.constants_apart = straight_line;
  capabilities.follow_registers = straight_line;
  const Emitted emitted = Emitter(module, program, capabilities).emit();
  annotate(module, *emitted.entry, program, target);
  check_module(module);
  finished("emit");
  if (straight_line) {
    optimize_straight_line(module, *machine);
  } else {
    optimize(module, *machine, huge ? 1 : 2);
  }
  finished("optimize");
  std::string ptx = assembly_of(module, *machine, straight_line ? Code::straight_line : Code::any);
  ptx = with_streamed_results(with_cluster(std::move(ptx), program), program);
  finished("generate");
  return ptx;
}

}  // namespace weft::llvm_backend
