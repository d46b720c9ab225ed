// A compiled program: call it, read its texts, ask what it costs.
#pragma once

#include <weft/backends/arguments.h>
#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/stream.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/schedule.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// Who makes the code of a GPU kernel. Both start from the same thread-level program.
enum class Emitter : std::uint8_t {
  llvm,  ///< LLVM's NVPTX back end; needs no toolkit
  cuda,  ///< CUDA C++ source, compiled by NVRTC or nvcc
};

struct ExportOptions;

struct KernelOptions {
  Emitter emitter = Emitter::llvm;
  /// CPU: "native", or an architecture level such as "x86-64-v3" for code that also runs elsewhere.
  std::string processor = "native";
  int threads = 0;       ///< CPU threads; 0 for one a core
  bool assemble = true;  ///< GPU: run ptxas where there is one, for its report and its cubin
  /// Make CPU code whatever the schedule's target is: a GPU schedule runs by its meaning, bound loops one
  /// after the other. The oracle for every schedule on a machine without a GPU.
  bool by_meaning = false;
};

/// What the assembler said of a GPU kernel.
struct Resources {
  int registers = 0;               ///< a thread
  std::int64_t spill_bytes = 0;    ///< stores and loads
  std::int64_t shared_bytes = 0;   ///< a block
  std::vector<std::string> notes;  ///< its advice about slow code (C75xx)
};

/// A kernel with its operands on a device, to be launched many times.
class BoundKernel {
 public:
  /// Starts the kernel in the stream (on the CPU: runs it). Nothing is allocated, copied or waited for.
  void launch(StreamHandle stream) const;
  /// Overwrites every element of the output with NaN, so that one which the kernel forgets shows.
  void poison_output() const;
  /// Puts new contents of the shape given at binding on the device.
  void upload(const std::string& operand, const Array& array) const;
  /// Waits for launches in the default stream and copies the operand back.
  void download(const std::string& operand, Array& array) const;
  /// The device address of an operand.
  std::uint64_t address(const std::string& operand) const;

  struct State;  ///< of the implementation

 private:
  friend class Kernel;
  std::shared_ptr<State> state_;
};

/// A value; copies share the code.
class Kernel {
 public:
  const Schedule& schedule() const;
  const Target& target() const;          ///< the schedule's, or the CPU where it runs by its meaning
  const ThreadProgram& lowered() const;  ///< what the back ends printed

  std::string program_text() const;  ///< tile level, for people
  std::string ptx() const;           ///< GPU targets: what LLVM emitted, or the compiler of the CUDA source
  /// GPU targets. UserError for programs that are too long for compilers of C++ (print_source.h).
  std::string cuda_source() const;
  std::string assembly() const;      ///< CPU target
  const std::string& cubin() const;  ///< GPU targets, where there was an assembler
  /// The same kernel with PTX that was edited by hand; without resources, and assembled where it is loaded.
  Kernel with_ptx(std::string ptx) const;
  /// GPU targets, where there was an assembler.
  const std::optional<Resources>& resources() const;
  /// Format statistics, schedule, launch shape, how evenly entries are shared out, resources, and what is
  /// proved (scheduler/proofs.h).
  std::string explain() const;

  /// Puts weights and arguments on the device. UserError when the arguments do not fit the algorithm, the
  /// device does not run this kernel's target, or an operand has 2^31 elements or more and the kernel indexes
  /// with 32 bits.
  BoundKernel bind(const Device& device, const Arguments& arguments) const;
  /// Runs once on host arrays: binds, launches, waits, copies the output back.
  void operator()(const Device& device, const Arguments& arguments) const;

  /// program.txt, schedule.cpp, schedule.json, lowered.txt, and kernel.ptx, kernel.cu (where it is not too
  /// long), kernel.cubin or kernel.s as the target has them. Returns the file names. RuntimeError when the
  /// folder cannot be written.
  std::vector<std::string> write_to(const std::string& folder) const;
  /// A folder that other projects add, with nothing of weft in it (export/export.h): this kernel for every
  /// size that it takes. Returns the files. Errors as export_package.
  std::vector<std::string> export_to(const std::string& folder, const ExportOptions& options) const;

  struct State;  ///< of the implementation

 private:
  friend Kernel compile(const Schedule& schedule, const KernelOptions& options);
  std::shared_ptr<State> state_;
};

/// Lowers the schedule's program and makes code for its target. UserError and InfeasibleError as lower();
/// RuntimeError when a compiler outside fails.
///
/// WEFT_DUMP=folder writes, numbered, the program after every step and pass and the generated texts there; a
/// kernel.ptx or kernel.cu that stands in that folder edited is what the next compile of the same program
/// uses.
Kernel compile(const Schedule& schedule, const KernelOptions& options = {});

}  // namespace weft
