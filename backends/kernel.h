// A compiled program: call it, read its texts, ask what it costs.
#pragma once

#include <weft/backends/arguments.h>
#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/stream.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/program/schedule.h>

#include <concepts>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Who makes the code of a GPU kernel. Both start from the same thread-level program.
enum class Emitter : std::uint8_t {
  llvm,  ///< LLVM's NVPTX back end; needs no toolkit
  cuda,  ///< CUDA C++ source, compiled by NVRTC or nvcc
#if defined(WEFT_NO_NAME)
  ptx WEFT_NO_NAME("there is no Emitter::ptx; accepted: Emitter::llvm, which makes PTX") = llvm,
  nvcc WEFT_NO_NAME(
      "there is no Emitter::nvcc; accepted: Emitter::cuda, whose source NVRTC or nvcc compiles") = cuda,
  nvrtc WEFT_NO_NAME(
      "there is no Emitter::nvrtc; accepted: Emitter::cuda, whose source NVRTC or nvcc compiles") = cuda,
#endif
};

struct ExportOptions;

struct KernelOptions {
  Emitter emitter = Emitter::llvm;
  /// CPU: "native" for the target's, or an architecture level such as "x86-64-v3" for code that also runs
  /// elsewhere.
  std::string processor = "native";
  int threads = 0;       ///< CPU threads; 0 for one a core
  bool assemble = true;  ///< GPU: run ptxas where there is one, for its report and its cubin
  /// Make CPU code whatever the schedule's target is: a GPU schedule runs by its meaning, bound loops one
  /// after the other. The oracle for every schedule on a machine without a GPU.
  bool by_meaning = false;
  Arrivals arrivals = Arrivals::of_warps;  ///< GPU: of_lanes for compute-sanitizer's racecheck
};

/// What the assembler said of a GPU kernel.
struct Resources {
  int registers = 0;               ///< a thread
  std::int64_t spill_bytes = 0;    ///< stores and loads
  std::int64_t shared_bytes = 0;   ///< a block
  std::vector<std::string> notes;  ///< its advice about slow code (C75xx)
};

/// A kernel with its operands on a device, to be launched many times. Operands go by the names of the
/// algorithm; the arrays of packed weights by those of the program, as "A.values". UserError from every call
/// of one that Kernel::bind did not give.
class BoundKernel {
 public:
  /// Starts the kernel in the stream (on the CPU: runs it). Nothing is allocated, copied or waited for.
  void launch(StreamHandle stream, CallPlace place = {}) const;
  /// Always refused.
  template <class Never = void>
  void launch() const {
    static_assert(
        detail::never<Never>,
        "weft: a kernel is launched without a stream; accepted: bound.launch(nullptr), in the default "
        "stream");
  }
  template <class Given>
    requires(!std::convertible_to<const Given&, StreamHandle> && !std::integral<Given>)
  void launch(const Given&) const {
    static_assert(detail::never<Given>,
                  "weft: a kernel is launched in what is no stream; found: the type beside Given; accepted: "
                  "bound.launch(nullptr), in the default stream of the device that it was bound for");
  }
  WEFT_NO_MEMBER(detail::AnyResult, run, "bound.launch(nullptr)")
  WEFT_NO_MEMBER(detail::AnyResult, operator(), "bound.launch(nullptr)")
  WEFT_NO_MEMBER(void, synchronize, "wait_for(device, nullptr), of the device and the stream")
  /// Overwrites every element of the output with NaN, so that one which the kernel forgets shows.
  void poison_output(CallPlace place = {}) const;
  /// Puts new contents on the device. UserError when there is no such operand, when the array has another
  /// element type or shape than the one that was bound, and for where the entries of weights stand.
  void upload(const std::string& operand, const Array& array, CallPlace place = {}) const;
  /// Waits for launches in the default stream and copies the operand back. UserError when there is no such
  /// operand, or the array has another element type or shape.
  void download(const std::string& operand, Array& array, CallPlace place = {}) const;
  /// Always refused: the array stands by itself, without & and behind the name of its operand.
  template <class Given>
  void upload(const std::string&, const Given*) const {
    detail::refuse_copied<Given*>();
  }
  template <class Given>
  void download(const std::string&, const Given*) const {
    detail::refuse_copied<Given*>();
  }
  template <class Never = void>
  Array download(const std::string&) const {
    detail::refuse_copied<Never>();
    return Array();
  }
  /// Has launches find an operand at an address of the caller's in place of the memory that bind() made, so
  /// that the output of one kernel is the operand of the next without a copy. It lies on the device that was
  /// bound, is as large as the operand, begins at a multiple of 16 bytes, and stays as long as launches use
  /// it. UserError when there is no such operand, for where the entries of weights stand, and for other
  /// addresses.
  void use_memory(const std::string& operand, std::uint64_t address, CallPlace place = {}) const;
  /// The device address of an operand. UserError when there is none of that name.
  std::uint64_t address(const std::string& operand, CallPlace place = {}) const;

  struct State;  ///< what the implementation keeps

 private:
  friend class Kernel;
  State& state(CallPlace place) const;
  std::shared_ptr<State> state_;
};

/// A value; copies share the code. UserError from every call of one that compile() did not give.
class Kernel {
 public:
  Kernel() = default;
  WEFT_NOT_MADE_OF(Kernel, "Kernel kernel = compile(schedule);")

  const Schedule& schedule(CallPlace place = {}) const;
  /// The schedule's, or the CPU where it runs by its meaning.
  const Target& target(CallPlace place = {}) const;
  /// What the back ends printed.
  const ThreadProgram& lowered(CallPlace place = {}) const;

  /// Tile level, for people.
  std::string program_text(CallPlace place = {}) const;
  /// Of kernels for GPUs, UserError of others: what LLVM emitted, or the compiler of the CUDA source.
  std::string ptx(CallPlace place = {}) const;
  /// The same; UserError for programs that are too long for compilers of C++ (print_source.h), too.
  std::string cuda_source(CallPlace place = {}) const;
  /// Of kernels for CPUs, UserError of others.
  std::string assembly(CallPlace place = {}) const;
  /// Whose instructions a CPU kernel's code has: "native", "x86-64-v3". UserError of others.
  const std::string& processor(CallPlace place = {}) const;
  /// Of kernels for GPUs, UserError of others; empty where there was no assembler.
  const std::string& cubin(CallPlace place = {}) const;
  /// The same kernel with PTX that was edited by hand; without resources, and assembled where it is loaded.
  Kernel with_ptx(std::string ptx, CallPlace place = {}) const;
  /// GPU targets, where there was an assembler.
  const std::optional<Resources>& resources(CallPlace place = {}) const;
  /// Format statistics, schedule, launch shape, how evenly entries are shared out, resources, and what is
  /// proved (scheduler/limits/proofs.h).
  std::string explain(CallPlace place = {}) const;

  /// Puts weights and arguments on the device. UserError when the arguments do not fit the algorithm, the
  /// device does not run this kernel's target, or an operand has 2^31 elements or more and the kernel indexes
  /// with 32 bits.
  BoundKernel bind(const Device& device, const Arguments& arguments, CallPlace place = {}) const;
  WEFT_NO_MEMBER(detail::AnyResult, launch,
                 "kernel(Device::cpu(), {{{\"B\", &b}, {\"C\", &c}}, {}}), or BoundKernel bound = "
                 "kernel.bind(device, arguments), which has launch(stream)")
  WEFT_NO_MEMBER(detail::AnyResult, run, "kernel(Device::cpu(), {{{\"B\", &b}, {\"C\", &c}}, {}})")
  template <class Never = void>
  std::string source() const {
    static_assert(
        detail::never<Never>,
        "weft: there is no source; accepted: kernel.cuda_source(), kernel.ptx() or kernel.assembly()");
    return {};
  }
  /// Runs once on host arrays: binds, launches, waits, copies the output back into its array. What it gives
  /// back is nothing, and refused where it is used.
  detail::NoResult operator()(const Device& device, const Arguments& arguments, CallPlace place = {}) const;

  /// Always refused: where it runs stands first.
  template <class Never = void>
  detail::AnyResult operator()(const Arguments&) const {
    static_assert(detail::never<Never>,
                  "weft: a kernel is called without a device; accepted: kernel(Device::cpu(), {{{\"B\", &b}, "
                  "{\"C\", &c}}, {}}), or Device::cuda() in its place");
    return {};
  }
  /// Always refused: what fits none of the others, with types or, of braces, without.
  template <class... Given>
    requires(!std::is_function_v<Given> && ...)
  detail::AnyResult operator()(const Given&...) const {
    detail::refuse_launch_with<Given...>();
    return {};
  }
  template <class... Given>
    requires(!std::is_function_v<Given> && ...)
  BoundKernel bind(const Given&...) const {
    detail::refuse_launch_with<Given...>();
    return {};
  }
  template <class Never = void>
  detail::AnyResult operator()(detail::Anything, detail::Anything, detail::Anything = {},
                               detail::Anything = {}) const {
    detail::refuse_launch<Never>();
    return {};
  }
  template <class Never = void>
  BoundKernel bind(detail::Anything, detail::Anything = {}, detail::Anything = {}) const {
    detail::refuse_launch<Never>();
    return {};
  }
  /// Always refused: a package has a name.
  template <class Never = void>
  std::vector<std::string> export_to(detail::Anything, detail::Anything = {}, detail::Anything = {}) const {
    static_assert(
        detail::never<Never>,
        "weft: export_to is not given what it takes; accepted: kernel.export_to(\"folder\", {.name = "
        "\"layer\"})");
    return {};
  }
  template <class Folder, class Name>
    requires std::convertible_to<const Name&, std::string_view>
  std::vector<std::string> export_to(const Folder&, const Name&) const {
    static_assert(detail::never<Folder, Name>,
                  "weft: the options of a package are a text; found: a name alone; accepted: "
                  "kernel.export_to(\"folder\", {.name = \"layer\"})");
    return {};
  }
  /// Always refused: a device that is not called, and addresses of others than arrays.
  template <class Given>
    requires std::is_function_v<Given>
  detail::AnyResult operator()(Given&, detail::Anything = {}) const {
    detail::refuse_device_function<Given>();
    return {};
  }
  template <class Given>
    requires std::is_function_v<Given>
  BoundKernel bind(Given&, detail::Anything = {}) const {
    detail::refuse_device_function<Given>();
    return {};
  }
  template <class Never = void>
  detail::AnyResult operator()(const Device&, const ArgumentsOfAddresses&) const {
    return {};
  }
  template <class Never = void>
  BoundKernel bind(const Device&, const ArgumentsOfAddresses&) const {
    return {};
  }
  /// Always refused: a kernel writes into the arrays that it is given.
  template <class Never = void>
  detail::AnyResult operator()(const Device&, const ArgumentsByValue&) const {
    detail::refuse_arrays_by_value<Never>();
    return {};
  }
  template <class Never = void>
  BoundKernel bind(const Device&, const ArgumentsByValue&) const {
    detail::refuse_arrays_by_value<Never>();
    return {};
  }
  /// Always refused: arrays and scalars stand in braces of their own.
  template <class Never = void>
  detail::AnyResult operator()(const Device&, const detail::LooseArrays&) const {
    detail::refuse_loose_arrays<Never>();
    return {};
  }
  template <class Never = void>
  detail::AnyResult operator()(const Device&, const detail::LooseArraysByValue&) const {
    detail::refuse_loose_arrays_by_value<Never>();
    return {};
  }
  template <class Never = void>
  BoundKernel bind(const Device&, const detail::LooseArrays&) const {
    detail::refuse_loose_arrays<Never>();
    return {};
  }
  template <class Never = void>
  BoundKernel bind(const Device&, const detail::LooseArraysByValue&) const {
    detail::refuse_loose_arrays_by_value<Never>();
    return {};
  }

  /// program.txt, schedule.cpp, schedule.json, lowered.txt, and kernel.ptx, kernel.cu (where it is not too
  /// long), kernel.cubin or kernel.s as the target has them. Returns the file names. Where the folder
  /// cannot be written, errors as refuse_path().
  std::vector<std::string> write_to(const std::string& folder, CallPlace place = {}) const;
  /// A folder that other projects add, with nothing of weft in it (export/export.h): this kernel for every
  /// size that it takes. Returns the files. Errors as export_package.
  std::vector<std::string> export_to(const std::string& folder, const ExportOptions& options,
                                     CallPlace place = {}) const;

  struct State;  ///< what the implementation keeps

 private:
  friend Kernel compile(const Schedule& schedule, const KernelOptions& options, CallPlace place);
  State& state(CallPlace place) const;
  std::shared_ptr<State> state_;
};

/// Its program, for people.
std::ostream& operator<<(std::ostream& stream, const Kernel& kernel);

/// Lowers the schedule's program and makes code for its target. UserError and InfeasibleError as lower(), for
/// an algorithm whose sizes no launch could tell, and for a number of threads or a processor that there is
/// not; RuntimeError when a compiler outside fails. A kernel for a target whose processor this machine has
/// not can be exported, not bound.
///
/// WEFT_DUMP=folder writes, numbered, the program after every step and pass and the generated texts there; a
/// kernel.ptx or kernel.cu that stands in that folder edited is what the next compile of the same program
/// uses.
Kernel compile(const Schedule& schedule, const KernelOptions& options = {}, CallPlace place = {});

WEFT_CALL_REFUSED(
    Kernel, compile,
    "compile(schedule), or compile(schedule, {.threads = 4}) with options; the schedule says for "
    "which target, and a device is said where the kernel is called")
/// An algorithm has no program yet.
template <class... Given>
Kernel compile(const Algorithm&, const Given&...) {
  static_assert(detail::never<Given...>,
                "weft: an algorithm is compiled without a schedule; accepted: "
                "compile(default_schedule(algorithm, weights, target)), or auto_kernel(algorithm, matrix, "
                "target).kernel");
  return {};
}
/// Options have names.
template <class Option>
  requires std::same_as<Option, Emitter> || std::same_as<Option, bool> || std::same_as<Option, int>
Kernel compile(const Schedule&, Option, CallPlace = {}) {
  static_assert(!std::same_as<Option, Emitter>,
                "weft: compile() is given an option without its name; found: an Emitter; accepted: "
                "compile(schedule, {.emitter = Emitter::cuda})");
  static_assert(std::same_as<Option, Emitter>,
                "weft: compile() is given an option without its name; found: a number; accepted: "
                "compile(schedule, {.threads = 4})");
  return {};
}
namespace detail {

/// What options may be called by mistake, in the order in which they are usually given.
struct NamesOfKernelOptions {
  Anything name = {}, target = {}, device = {}, emitter = {}, backend = {}, processor = {}, cpu = {},
           march = {}, arch = {}, threads = {}, num_threads = {}, thread_count = {}, assemble = {},
           by_meaning = {}, arrivals = {}, optimize = {}, verbose = {}, debug = {};
};

}  // namespace detail
WEFT_OPTION_REFUSED(Kernel, compile, detail::NamesOfKernelOptions,
                    ".emitter, .processor, .threads, .assemble, .by_meaning and .arrivals in this order, "
                    "such as compile(schedule, {.threads = 4})",
                    const Schedule&)
/// A target is no option: the schedule has one.
template <std::same_as<Target> Machine>
Kernel compile(const Schedule&, const Machine&, CallPlace = {}) {
  static_assert(!std::same_as<Machine, Target>,
                "weft: compile() takes no target, its schedule was made for one; accepted: "
                "compile(schedule), or compile(schedule, KernelOptions{}) with other options");
  return {};
}

}  // namespace weft
