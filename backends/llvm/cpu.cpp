#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <weft/backends/llvm/code_memory.h>
#include <weft/backends/llvm/codegen.h>
#include <weft/backends/llvm/cpu.h>
#include <weft/backends/llvm/cpu_module.h>
#include <weft/backends/llvm/launch_limits.h>
#include <weft/backends/runtime/thread_pool.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/processors.h>

#include <algorithm>
#include <new>
#include <utility>

namespace weft::llvm_backend {
namespace {

constexpr std::size_t scratch_alignment = 64;

/// What generated code hands back to weft_parallel_for.
struct Runtime {
  int threads = 1;
  std::byte* worker_scratch = nullptr;
  std::size_t worker_bytes = 0;
};

using ParallelBody = void (*)(std::int64_t begin, std::int64_t end, void* scratch, void* context);
using Entry = void (*)(void* const* buffers, const double* scalars, const std::int64_t* extents,
                       void* scratch, void* runtime);

struct ParallelCall {
  const Runtime* runtime;
  ParallelBody body;
  void* context;
};

void run_chunk(std::int64_t begin, std::int64_t end, int worker, void* context) noexcept {
  const auto& call = *static_cast<const ParallelCall*>(context);
  call.body(begin, end,
            call.runtime->worker_scratch + static_cast<std::size_t>(worker) * call.runtime->worker_bytes,
            call.context);
}

void parallel_for(void* runtime, std::int64_t begin, std::int64_t extent, ParallelBody body,
                  void* context) noexcept {
  ParallelCall call{static_cast<const Runtime*>(runtime), body, context};
  ThreadPool::shared().run(begin, extent, call.runtime->threads, ThreadPool::Sharing::on_demand, run_chunk,
                           &call);
}

struct FreeScratch {
  void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t{scratch_alignment}); }
};
using Scratch = std::unique_ptr<std::byte, FreeScratch>;

Scratch allocate_scratch(std::size_t bytes, const std::string& name) {
  if (bytes == 0) return nullptr;
  auto* memory =
      static_cast<std::byte*>(::operator new(bytes, std::align_val_t{scratch_alignment}, std::nothrow));
  if (memory == nullptr)
    throw RuntimeError("no memory for the " + std::to_string(bytes) + " bytes of local arrays of " + name);
  return Scratch(memory);
}

std::vector<std::string> runnable_processors() {
  std::vector<std::string> names{"native"};
#if defined(__x86_64__)
  __builtin_cpu_init();
  names.emplace_back("x86-64");
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) names.emplace_back("x86-64-v2");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    names.emplace_back("x86-64-v3");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512cd"))
      names.emplace_back("x86-64-v4");
  }
#endif
  return names;
}

bool is_processor(const std::string& name) {
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return false;
  const std::unique_ptr<llvm::MCSubtargetInfo> processors(target->createMCSubtargetInfo(triple, "", ""));
  return processors != nullptr && processors->isCPUStringValid(name);
}

llvm::orc::JITTargetMachineBuilder machine_builder(const CpuOptions& options) {
  initialize_native_target();
  const auto known = processors_of_this_machine();
  if (std::ranges::find(known, options.processor) == known.end())
    throw UserError(is_processor(options.processor) ? "code for that processor cannot run here"
                                                    : "there is no processor of that name",
                    options.processor,
                    fmt::format("{}: of {} the last is the newest that runs here", fmt::join(known, ", "),
                                "x86-64, x86-64-v2, x86-64-v3 (AVX2) and x86-64-v4 (AVX-512)"));
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host) throw_if(host.takeError(), "LLVM does not know this processor");
  llvm::orc::JITTargetMachineBuilder builder = std::move(*host);
  if (options.processor != "native") {
    builder = llvm::orc::JITTargetMachineBuilder(builder.getTargetTriple());
    builder.setCPU(options.processor);
  }
  builder.setCodeGenOptLevel(options.optimization <= 0   ? llvm::CodeGenOptLevel::None
                             : options.optimization == 1 ? llvm::CodeGenOptLevel::Less
                             : options.optimization == 2 ? llvm::CodeGenOptLevel::Default
                                                         : llvm::CodeGenOptLevel::Aggressive);
  return builder;
}

std::unique_ptr<llvm::TargetMachine> machine_of(llvm::orc::JITTargetMachineBuilder& builder) {
  auto machine = builder.createTargetMachine();
  if (!machine) throw_if(machine.takeError(), "LLVM has no code generator for this processor");
  return std::move(*machine);
}

/// The local arrays of the last call, kept for the next one of the thread, of whichever kernel: fresh pages
/// would cost more than many a kernel, and those of the layer before are still in the caches.
class KeptScratch {
 public:
  /// At least so many bytes, for one call; a call inside of another gets its own.
  std::pair<Scratch, std::size_t> take(std::size_t bytes, const std::string& name) {
    if (bytes == 0) return {nullptr, 0};
    if (scratch_ != nullptr && bytes_ >= bytes) return {std::move(scratch_), bytes_};
    return {allocate_scratch(bytes, name), bytes};
  }
  /// The larger one stays, up to what a thread may keep for nothing.
  void give_back(std::pair<Scratch, std::size_t> used) {
    constexpr std::size_t most_kept = std::size_t{256} << 20U;
    if (used.first == nullptr || used.second > most_kept || (scratch_ != nullptr && bytes_ >= used.second))
      return;
    scratch_ = std::move(used.first);
    bytes_ = used.second;
  }

 private:
  Scratch scratch_;
  std::size_t bytes_ = 0;
};

KeptScratch& scratch_of_thread() {
  static thread_local KeptScratch scratch;
  return scratch;
}

}  // namespace

struct CpuCode::State {
  ThreadProgram program;
  CpuOptions options;
  CodeMemory memory;  // before the engine, which uses it to its end
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Entry entry = nullptr;
  std::size_t scratch_bytes = 0;
  std::size_t worker_bytes = 0;
};

std::string_view version() {
  return LLVM_VERSION_STRING;
}

std::span<const std::string> processors_of_this_machine() {
  static const std::vector<std::string> names = runnable_processors();
  return names;
}

CpuCode compile_for_cpu(const ThreadProgram& program, const CpuOptions& options) {
  auto state = std::make_shared<CpuCode::State>();
  state->program = program;
  state->options = options;
  auto builder = machine_builder(options);
  const auto machine = machine_of(builder);

  auto context = std::make_unique<llvm::LLVMContext>();
  CpuModule compiled = cpu_module(*context, program, *machine, options.optimization);
  state->scratch_bytes = static_cast<std::size_t>(compiled.emitted.scratch_bytes);
  state->worker_bytes = static_cast<std::size_t>(compiled.emitted.worker_scratch_bytes);

  builder.setCodeGenOptLevel(machine->getOptLevel());
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  // One engine a kernel: it costs a millisecond and gives its memory back when the kernel goes.
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(builder))
                 .setObjectLinkingLayerCreator([memory = &state->memory](llvm::orc::ExecutionSession& session,
                                                                         const llvm::Triple&) {
                   return std::make_unique<llvm::orc::RTDyldObjectLinkingLayer>(
                       session, [memory] { return std::make_unique<llvm::SectionMemoryManager>(memory); });
                 })
                 .create();
  if (!jit) throw_if(jit.takeError(), "LLVM cannot compile in this process");
  state->jit = std::move(*jit);
  llvm::orc::JITDylib& library = state->jit->getMainJITDylib();
  auto symbols = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      state->jit->getDataLayout().getGlobalPrefix());
  if (!symbols) throw_if(symbols.takeError(), "the functions of this process cannot be looked up");
  library.addGenerator(std::move(*symbols));
  llvm::orc::SymbolMap callbacks;
  callbacks[state->jit->mangleAndIntern("weft_parallel_for")] = {
      llvm::orc::ExecutorAddr::fromPtr(&parallel_for), llvm::JITSymbolFlags::Exported};
  throw_if(library.define(llvm::orc::absoluteSymbols(std::move(callbacks))), "a callback cannot be defined");
  throw_if(
      state->jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(compiled.module), std::move(context))),
      "LLVM refuses a module");
  auto entry = state->jit->lookup("weft_entry");
  if (state->memory.is_refused()) {
    llvm::consumeError(entry.takeError());
    throw RuntimeError(
        "the code of " + program.program.name +
        " cannot run: this system lets no memory become executable, nor maps executable pages from a "
        "file without a name; weft export --archs x86-64-v3,x86-64-v4 writes code that cc builds");
  }
  if (!entry) throw_if(entry.takeError(), "the code of " + program.program.name + " cannot be linked");
  state->entry = entry->toPtr<Entry>();

  CpuCode code;
  code.state_ = std::move(state);
  return code;
}

void CpuCode::run(std::span<void* const> buffers, std::span<const double> scalars,
                  std::span<const std::int64_t> extents, int threads) const {
  const State& state = *state_;
  check_launch(state.program.program, buffers, scalars.size(), extents);
  if (threads <= 0) threads = static_cast<int>(processors());
  Runtime runtime;
  runtime.threads = std::min(threads, ThreadPool::most_threads);
  runtime.worker_bytes = state.worker_bytes;
  KeptScratch& kept = scratch_of_thread();
  auto scratch =
      kept.take(state.scratch_bytes + static_cast<std::size_t>(runtime.threads) * state.worker_bytes,
                state.program.program.name);
  runtime.worker_scratch = scratch.first.get() + state.scratch_bytes;
  state.entry(buffers.data(), scalars.data(), extents.data(), scratch.first.get(), &runtime);
  kept.give_back(std::move(scratch));
}

std::string CpuCode::assembly() const {
  auto builder = machine_builder(state_->options);
  const auto machine = machine_of(builder);
  llvm::LLVMContext context;
  const CpuModule compiled = cpu_module(context, state_->program, *machine, state_->options.optimization);
  return assembly_of(*compiled.module, *machine);
}

std::string CpuCode::llvm_ir() const {
  auto builder = machine_builder(state_->options);
  const auto machine = machine_of(builder);
  llvm::LLVMContext context;
  return text_of(*cpu_module(context, state_->program, *machine, state_->options.optimization).module);
}

const ThreadProgram& CpuCode::program() const {
  return state_->program;
}

}  // namespace weft::llvm_backend
