#include <fmt/format.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/cuda/print_source.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/dump.h>
#include <weft/backends/kernel.h>
#include <weft/backends/kernel_state.h>
#include <weft/backends/llvm/cpu_assembly.h>
#include <weft/backends/llvm/nvptx.h>
#include <weft/backends/pieced_kernel.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/runtime/thread_pool.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/limits/advice.h>
#include <weft/scheduler/limits/balance.h>
#include <weft/scheduler/limits/compilable.h>
#include <weft/scheduler/limits/proofs.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

namespace weft {
namespace {

Resources resources_of(const cuda::PtxasReport& report) {
  const cuda::FunctionResources worst = report.worst();
  Resources resources;
  resources.registers = worst.registers;
  resources.spill_bytes = static_cast<std::int64_t>(worst.spill_store_bytes + worst.spill_load_bytes);
  resources.shared_bytes = static_cast<std::int64_t>(worst.shared_bytes);
  for (const cuda::Note& note : report.notes) resources.notes.push_back(note.code + ": " + note.text);
  return resources;
}

std::string source_of(const Kernel::State& state) {
  return print_cuda_source(state.lowered, state.target, state.schedule.algorithm().text());
}

/// The report is of the kernel and the functions that it calls, not of those that copy operands for it.
void take(Kernel::State& state, const cuda::Assembled& assembled) {
  cuda::PtxasReport report = assembled.report;
  for (const auto* list : {&state.lowered.ahead, &state.lowered.behind}) {
    for (const ThreadProgram& copying : *list)
      std::erase_if(report.functions,
                    [&](const auto& each) { return each.function == copying.program.name; });
  }
  state.cubin = assembled.cubin;
  state.resources = resources_of(report);
}

/// The PTX and, where the parts of a long kernel can be linked, its machine code; not while programs are
/// dumped, because an edited text is assembled as it stands. Gives whether the kernel was cut into pieces.
bool emit_by_llvm(Kernel::State& state, const Dump& dump) {
  const bool assembles = state.options.assemble && !dump.is_on() && !is_simulated_only(state.target);
  auto pieced = make_in_pieces(state.lowered, state.target, assembles && cuda::can_link());
  state.ptx = dump.edited(
      "kernel.ptx", pieced ? std::move(pieced->ptx) : llvm_backend::emit_ptx(state.lowered, state.target));
  if (pieced && pieced->assembled) take(state, *pieced->assembled);
  return pieced.has_value();
}

void make_gpu_code(Kernel::State& state, const Dump& dump) {
  const Target& target = state.target;
  if (is_simulated_only(target) && state.options.emitter == Emitter::cuda)
    throw UserError("CUDA's compilers do not know a target that no hardware has", state.lowered.program.name,
                    target.name, "Emitter::llvm, and the simulator");
  bool in_pieces = false;
  if (state.options.emitter == Emitter::cuda) {
    state.cuda_source = dump.edited("kernel.cu", source_of(state));
    cuda::CompileOptions options;
    options.architecture = target.name;
    options.output = cuda::Output::ptx;
    state.ptx = cuda::compile(state.cuda_source, options).image;
  } else {
    in_pieces = emit_by_llvm(state, dump);
  }
  const bool assembles = state.options.assemble && !is_simulated_only(target) && cuda::can_assemble();
  if (!assembles || !state.cubin.empty()) return;
  cuda::AssembleOptions options;
  options.architecture = target.name;
  take(state, cuda::assemble(state.ptx, options));
  if (in_pieces && !cuda::can_link())
    state.resources->notes.push_back("assembled as one text, which takes long: " +
                                     cuda::toolkit().nvlink.reason);
}

/// Nothing for a target that is another processor: its kernels are made when they are exported.
void make_cpu_code(Kernel::State& state) {
  const bool is_named = state.options.processor != "native";
  if (!is_named) state.options.processor = state.target.processor;
  const auto here = llvm_backend::processors_of_this_machine();
  if (!is_named && std::ranges::find(here, state.target.processor) == here.end()) return;
  llvm_backend::CpuOptions options;
  options.processor = state.options.processor;
  // Whoever asks for an oracle runs it a few times, beside a reference that is slower than any code.
  if (state.options.by_meaning && state.schedule.target().is_gpu()) options.optimization = 0;
  state.cpu = llvm_backend::compile_for_cpu(state.lowered, options);
}

void check_options(const KernelOptions& options, const Target& target) {
  if (options.threads < 0 || options.threads > ThreadPool::most_threads)
    throw UserError("a kernel cannot have that number of threads", fmt::format("{} threads", options.threads),
                    fmt::format("1 to {} threads, or 0 for one a core", ThreadPool::most_threads));
  if (!target.is_gpu() || options.by_meaning) return;
  const auto refuse = [&](std::string option) {
    throw UserError("an option is of kernels for CPUs", option,
                    fmt::format("the schedule's target {}, a GPU", target.name),
                    "no such option; a schedule for target_named(\"cpu\"); or .by_meaning = true beside it");
  };
  if (options.processor != "native") refuse(fmt::format(".processor = \"{}\"", options.processor));
  if (options.threads != 0) refuse(fmt::format(".threads = {}", options.threads));
}

std::shared_ptr<Kernel::State> compiled(const Schedule& schedule, const KernelOptions& options) {
  check_options(options, schedule.target());
  require_sizes_from_launch(schedule.algorithm());
  const Dump dump(schedule.program().name);
  auto state = std::make_shared<Kernel::State>(schedule, options);
  for (std::size_t i = 0; i < schedule.history().size(); ++i)
    dump.program(i == 0 ? "algorithm" : schedule.steps()[i - 1].name, schedule.history()[i]);
  require_compilable(schedule, state->target);
  state->lowered = lower(
      schedule.program(), state->target,
      [&](std::string_view pass, const ir::Program& program) { dump.program(pass, program); },
      options.arrivals);
  if (state->target.is_gpu())
    make_gpu_code(*state, dump);
  else
    make_cpu_code(*state);
  return state;
}

/// The kernel that is asked for a text which kernels of GPUs have, or those of CPUs alone.
const Kernel::State& state_with(const Kernel::State& state, const char* text, bool of_gpus) {
  if (state.target.is_gpu() == of_gpus) return state;
  throw UserError(fmt::format("the kernel has no {}", text), "the target " + state.target.name,
                  of_gpus ? "a kernel for a GPU; of this one assembly()"
                          : "a kernel for a CPU; of this one ptx() or cuda_source()");
}

}  // namespace

Kernel compile(const Schedule& schedule, const KernelOptions& options, CallPlace place) {
  Kernel kernel;
  kernel.state_ = user_call(place, [&] { return compiled(schedule, options); });
  return kernel;
}

Kernel::State& Kernel::state(CallPlace place) const {
  return held(state_, "Kernel", "compile()", place);
}

Kernel Kernel::with_ptx(std::string ptx, CallPlace place) const {
  return user_call(place, [&] {
    if (!target(place).is_gpu())
      throw UserError("replacing a kernel's PTX", "the target " + target().name, "a GPU target");
    Kernel edited;
    edited.state_ = std::make_shared<State>(*state_);
    edited.state_->ptx = std::move(ptx);
    edited.state_->cubin.clear();
    edited.state_->resources.reset();
    return edited;
  });
}

const Schedule& Kernel::schedule(CallPlace place) const {
  return state(place).schedule;
}
const Target& Kernel::target(CallPlace place) const {
  return state(place).target;
}
const ThreadProgram& Kernel::lowered(CallPlace place) const {
  return state(place).lowered;
}
std::ostream& operator<<(std::ostream& stream, const Kernel& kernel) {
  return stream << kernel.program_text();
}

std::string Kernel::program_text(CallPlace place) const {
  return ir::print(state(place).schedule.program());
}
std::string Kernel::ptx(CallPlace place) const {
  return user_call(place, [&] { return state_with(state(place), "PTX", true).ptx; });
}
std::string Kernel::assembly(CallPlace place) const {
  return user_call(place, [&] {
    const State& made = state_with(state(place), "assembly", false);
    if (made.cpu) return made.cpu->assembly();
    return llvm_backend::assembly_for(made.lowered, made.options.processor,
                                      {"weft_entry", "weft_parallel_for"})
        .text;
  });
}
const std::string& Kernel::processor(CallPlace place) const {
  return user_call(place, [&]() -> const std::string& {
    return state_with(state(place), "processor", false).options.processor;
  });
}
const std::string& Kernel::cubin(CallPlace place) const {
  return user_call(place,
                   [&]() -> const std::string& { return state_with(state(place), "cubin", true).cubin; });
}
const std::optional<Resources>& Kernel::resources(CallPlace place) const {
  return state(place).resources;
}

std::string Kernel::cuda_source(CallPlace place) const {
  return user_call(place, [&] {
    const State& made = state_with(state(place), "CUDA source", true);
    return made.cuda_source.empty() ? source_of(made) : made.cuda_source;
  });
}

namespace {

/// What is proved of the program, for every shape where sizes are given at launch, and what is not.
std::string proved_of(const Schedule& schedule) {
  const std::vector<Proof> proofs = prove(schedule);
  std::string text = summary_of(proofs);
  for (const Proof& proof : proofs) {
    if (proof.outcome != ProofOutcome::proved) text += "\n            " + text_of(proof);
  }
  return text;
}

std::string explained(const Kernel::State& state) {
  const Schedule& schedule = state.schedule;
  std::string text = fmt::format("{}\n  target    {}\n", schedule.algorithm().text(), state.target.name);
  if (const SparseTensor* weights = schedule.weights()) {
    const auto stored = weights->array("values").size();
    text += fmt::format("  weights   {} x {} in {}, {} values stored, {} bytes\n", weights->rows(),
                        weights->columns(), weights->format().text(), stored, weights->bytes());
  }
  const Launch& launch = state.lowered.launch;
  if (state.target.is_gpu()) {
    const auto& cluster = state.lowered.program.cluster;
    text += fmt::format("  launch    grid ({}, {}, {}), {} threads, {} bytes of shared memory{}\n",
                        ir::print(launch.grid[0]), ir::print(launch.grid[1]), ir::print(launch.grid[2]),
                        launch.threads, launch.shared_bytes,
                        cluster ? fmt::format(", clusters of {} blocks", cluster->blocks) : "");
    for (const auto* list : {&state.lowered.ahead, &state.lowered.behind}) {
      for (const ThreadProgram& copying : *list)
        text += fmt::format("            {} it, {} becomes {}: {} blocks of {} threads\n",
                            list == &state.lowered.ahead ? "ahead of" : "behind",
                            copying.program.buffers[0]->name, copying.program.buffers[1]->name,
                            ir::print(copying.launch.grid[0]), copying.launch.threads);
    }
    for (const std::string& advice : advice_on(schedule)) text += "            " + advice + "\n";
  }
  if (const auto balance = balance_of(schedule))
    text += fmt::format(
        "  balance   {} blocks of rows, the fullest {:.2f} times the mean entries; {} groups of threads in "
        "each, "
        "{:.2f} times\n",
        balance->blocks, balance->of_blocks, balance->groups, balance->of_groups);
  if (const auto& resources = state.resources) {
    text += fmt::format("  ptxas     {} registers, {} bytes spilled\n", resources->registers,
                        resources->spill_bytes);
    for (const std::string& note : resources->notes) text += "            " + note + "\n";
  }
  text += fmt::format("  proofs    {}\n", proved_of(schedule));
  text += "  schedule\n";
  for (const Step& step : schedule.steps()) text += "    " + step.cpp() + "\n";
  return text;
}

std::vector<std::string> files_written(const Kernel& kernel, const Kernel::State& state,
                                       const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) refuse_path("make the folder", folder, error);
  std::vector<std::string> names;
  const auto write = [&](const std::string& name, const std::string& content) {
    if (content.empty()) return;
    write_bytes(std::filesystem::path(folder) / name, content);
    names.push_back(name);
  };
  write("program.txt", kernel.program_text());
  write("lowered.txt", ir::print(state.lowered.program));
  write("schedule.cpp", state.schedule.cpp_file());
  write("schedule.json", state.schedule.json() + "\n");
  write("explain.txt", explained(state));
  write("kernel.ptx", state.ptx);
  const bool is_gpu = state.target.is_gpu();
  if (is_gpu && source_length(state.lowered).is_printable()) write("kernel.cu", kernel.cuda_source());
  write("kernel.cubin", state.cubin);
  if (!is_gpu) write("kernel.s", kernel.assembly());
  return names;
}

}  // namespace

std::string Kernel::explain(CallPlace place) const {
  return user_call(place, [&] { return explained(state(place)); });
}

std::vector<std::string> Kernel::write_to(const std::string& folder, CallPlace place) const {
  return user_call(place, [&] { return files_written(*this, state(place), folder); });
}

}  // namespace weft
