// What a Kernel holds; shared by kernel.cpp and bound_kernel.cpp.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/backends/llvm/cpu.h>

#include <optional>
#include <string>

namespace weft {

struct Kernel::State {
  State(Schedule given, KernelOptions chosen)
      : schedule(std::move(given)),
        options(std::move(chosen)),
        target(options.by_meaning ? target_named("cpu") : schedule.target()) {}

  Schedule schedule;
  KernelOptions options;
  Target target;
  ThreadProgram lowered;
  std::optional<llvm_backend::CpuCode> cpu;
  std::string ptx;
  std::string cuda_source;
  std::string cubin;
  std::optional<Resources> resources;
};

}  // namespace weft
