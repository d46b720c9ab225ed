#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetOptions.h>
#include <weft/backends/llvm/codegen.h>
#include <weft/backends/llvm/emit.h>
#include <weft/backends/llvm/nvptx.h>
#include <weft/backends/llvm/program_length.h>
#include <weft/backends/llvm/replace_all.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/passes/shared_arrays.h>

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
    found = std::ranges::any_of(load->indices, ir::reads_memory);
  });
  return found;
}

/// Elements of a vector value that LLVM 19 has instructions for. Eight singles that are read as doubles from
/// memory that nobody writes end its process.
int most_lanes_of(const ir::Stmt& body) {
  bool widens = false;
  ir::visit(body, {}, [&](const ir::Expr& e) {
    const auto* cast = e.as<ir::Cast>();
    widens = widens || (cast != nullptr && cast->dtype == DType::f64 && cast->operand.dtype() == DType::f32);
  });
  return widens ? 4 : 8;
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
    if (const auto found = options.find("nvptx-short-ptr"); found != options.end())
      found->second->addOccurrence(0, "nvptx-short-ptr", "true");
  });
}

void check_target(const std::string& name, const ir::Stmt& body, const Target& target) {
  if (!target.is_gpu()) throw UserError("PTX is for GPUs", name, target.name, "sm_75 to sm_120");
  // LLVM ends the process where an instruction does not exist, so it is asked for here.
  require_instructions(name, body, target);
}

/// The target's version of PTX, or that of what is executed: a newer one asks for a newer driver.
std::string ptx_version_for(const ir::Stmt& body, const Target& target) {
  std::string version = target.ptx_version;
  ir::visit(body, [&](const ir::Stmt& s) {
    const auto* execute = s.as<ir::Execute>();
    if (execute == nullptr) return;
    const std::string_view needed = instruction(execute->instruction).ptx_version;
    if (!needed.empty()) version = needed;
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
      triple, ptx_architecture(target), feature, llvm::TargetOptions(), std::nullopt, std::nullopt, level));
  if (machine == nullptr) throw RuntimeError("LLVM has no code generator for " + target.name);
  return machine;
}

/// LLVM 19 has no way to ask for clusters: of its annotations, one limits their size (maxclusterrank), and
/// none gives it.
std::string with_cluster(std::string ptx, const ThreadProgram& program) {
  if (!program.program.cluster) return ptx;
  const std::string_view before = ".maxntid";
  const std::size_t place = ptx.find(before);
  internal_check(place != std::string::npos, "a kernel without a number of threads");
  return ptx.insert(place, fmt::format(".reqnctapercluster {}\n", fmt::join(program.launch.cluster, ", ")));
}

/// Nor has it a store that streams: the metadata "nontemporal" is lost on NVPTX. Inline assembly would have
/// one, but takes the address in a register, while a store of LLVM's has a constant part of it in the
/// instruction. Stores of a streaming kernel that do not stream are volatile until here
/// (Emitter::is_beside_streams).
std::string with_streamed_results(std::string ptx, const ThreadProgram& program) {
  if (!ir::streams_results(program.program)) return ptx;
  replace_all(ptx, "st.global.", "st.global.cs.");
  replace_all(ptx, "st.volatile.global.", "st.global.");
  return ptx;
}

/// Statements inside loops, as far as they are not written out.
std::int64_t size_in_loops(const ir::Stmt& stmt) {
  std::int64_t size = 0;
  ir::visit(stmt, [&](const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop != nullptr && loop->kind != LoopKind::unrolled) size += emitted_size(loop->body);
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

/// How much is to be spent on a program.
struct Effort {
  bool straight_line = false;
  bool huge = false;
};

Effort effort_for(const ThreadProgram& program) {
  const std::int64_t size = emitted_size(program.program.body);
  const bool straight_line = size > long_straight_line && size_in_loops(program.program.body) * 4 <= size &&
                             !reads_addresses(program.program.body);
  return {straight_line, straight_line || size > huge_program};
}

/// One module on its way to text. `body` is what is emitted into it, of `program`.
class Generation {
 public:
  Generation(const ThreadProgram& program, const ir::Stmt& body, const Target& target, const Effort& effort)
      : effort_(effort),
        target_(target),
        most_lanes_(most_lanes_of(body)),
        module_(program.program.name, context_) {
    check_target(program.program.name, body, target);
    initialize();
    // Never None: moves would appear between instructions that ptxas wants to see side by side.
    machine_ = machine_for(target, ptx_version_for(body, target),
                           effort.huge ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default);
    module_.setTargetTriple(machine_->getTargetTriple().str());
    module_.setDataLayout(machine_->createDataLayout());
  }

  llvm::Module& module() { return module_; }

  Capabilities capabilities() const {
    Capabilities capabilities;
    capabilities.gpu = true;
    capabilities.asynchronous_copies = target_.has(Capability::asynchronous_copies);
    capabilities.bfloat_conversions = target_.has(Capability::bf16_conversions);
    // sm_89 has them from PTX 8.1 on, which is newer than what is written for it.
    capabilities.byte_conversions = target_.sm >= 90;
    capabilities.integer_packs = target_.sm >= 72;
    capabilities.most_lanes = most_lanes_;
    capabilities.constants_apart = effort_.straight_line;
    capabilities.follow_registers = effort_.straight_line;
    return capabilities;
  }

  std::string text(const StageObserver& observer = {}) {
    const auto finished = [&](std::string_view stage) {
      if (observer) observer(stage);
    };
    check_module(module_);
    finished("emit");
    if (effort_.straight_line)
      optimize_straight_line(module_, *machine_);
    else
      optimize(module_, *machine_, effort_.huge ? 1 : 2);
    finished("optimize");
    std::string ptx =
        assembly_of(module_, *machine_, effort_.straight_line ? Code::straight_line : Code::any);
    finished("generate");
    return ptx;
  }

 private:
  Effort effort_;
  const Target& target_;
  int most_lanes_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

/// Says of every conditional branch that the threads of a warp take it together. Where it does not know that,
/// the assembler keeps addresses of memory out of the registers of the warp, and brings them there anew
/// for every load. LLVM writes bra.uni where a branch has no condition, and cannot be told of others.
std::string with_branches_of_warps(const std::string& ptx) {
  constexpr std::string_view guarded = "\t@%p", branch = " bra \t";
  std::string text;
  text.reserve(ptx.size() + ptx.size() / 64);
  for (std::size_t begin = 0; begin < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', begin), ptx.size() - 1) + 1;
    const std::string_view line = std::string_view(ptx).substr(begin, end - begin);
    const std::size_t place = line.starts_with(guarded) ? line.find(branch) : std::string_view::npos;
    if (place == std::string_view::npos)
      text += line;
    else
      text += fmt::format("{} bra.uni \t{}", line.substr(0, place), line.substr(place + branch.size()));
    begin = end;
  }
  return text;
}

/// Without the comments that number calls, counted by LLVM through all that the process has emitted.
std::string without_numbers_of_calls(std::string ptx) {
  constexpr std::string_view comment = " // callseq ";
  for (std::size_t place = 0; (place = ptx.find(comment, place)) != std::string::npos;)
    ptx.erase(place, ptx.find('\n', place) - place);
  return ptx;
}

/// Behind the directives that a text has once.
std::size_t end_of_header(const std::string& ptx) {
  constexpr std::string_view last = ".address_size 64\n";
  const std::size_t place = ptx.find(last);
  internal_check(place != std::string::npos, "PTX without a header");
  return place + last.size();
}

std::string emit_one(const ThreadProgram& program, const Target& target, const StageObserver& observer) {
  const Effort effort = effort_for(program);
  if (!effort.straight_line) check_length_before(program);
  check_choices(program);
  Generation generation(program, program.program.body, target, effort);
  const Emitted emitted = Emitter(generation.module(), program, generation.capabilities()).emit();
  if (!effort.straight_line) check_length_after(program, generation.module());
  annotate(generation.module(), *emitted.entry, program, target);
  return with_streamed_results(with_cluster(generation.text(observer), program), program);
}

/// With the kernels that copy operands, in front of it.
std::string with_copying(std::string ptx, const ThreadProgram& program, const Target& target) {
  for (const auto* list : {&program.behind, &program.ahead}) {
    for (const ThreadProgram& each : *list) {
      const std::string copying = emit_one(each, target, {});
      ptx.insert(end_of_header(ptx), copying, end_of_header(copying));
    }
  }
  return ptx;
}

}  // namespace

std::string emit_ptx(const ThreadProgram& program, const Target& target, const StageObserver& observer) {
  return with_copying(emit_one(program, target, observer), program, target);
}

std::string emit_entry_ptx(const PiecedProgram& pieced, const Target& target) {
  Generation generation(pieced.whole, pieced.whole.program.body, target,
                        {.straight_line = true, .huge = true});
  Emitter emitter(generation.module(), pieced.whole, generation.capabilities());
  annotate(generation.module(), *emitter.emit_around(pieced).entry, pieced.whole, target);
  return with_copying(with_streamed_results(without_numbers_of_calls(generation.text()), pieced.whole),
                      pieced.whole, target);
}

std::string emit_pieces_ptx(const PiecedProgram& pieced, std::span<const Piece> pieces,
                            const Target& target) {
  std::vector<ir::Stmt> bodies;
  for (const Piece& piece : pieces) bodies.push_back(piece.body);
  Generation generation(pieced.whole, ir::block(std::move(bodies)), target,
                        {.straight_line = true, .huge = true});
  Emitter emitter(generation.module(), pieced.whole, generation.capabilities());
  for (const Piece& piece : pieces) emitter.emit_piece(piece);
  const std::string ptx = generation.text();
  return std::ranges::all_of(pieces, &Piece::in_step) ? with_branches_of_warps(ptx) : ptx;
}

std::string join_ptx(const std::string& entry, std::span<const std::string> pieces) {
  const std::size_t body = end_of_header(entry);
  std::string text = entry.substr(0, body);
  std::size_t bytes = entry.size();
  for (const std::string& piece : pieces) bytes += piece.size();
  text.reserve(bytes);
  for (const std::string& piece : pieces) text.append(piece, end_of_header(piece));
  // A function that is defined must not be declared as one of another module.
  constexpr std::string_view declaration = ".extern .func ", end = "\n;\n";
  std::size_t kept = body;
  for (std::size_t next; (next = entry.find(declaration, kept)) != std::string::npos;) {
    text.append(entry, kept, next - kept);
    kept = entry.find(end, next) + end.size();
  }
  return text.append(entry, kept);
}

}  // namespace weft::llvm_backend
