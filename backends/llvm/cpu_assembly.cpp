#include <weft/backends/llvm/codegen.h>
#include <weft/backends/llvm/cpu_assembly.h>
#include <weft/backends/llvm/cpu_module.h>
#include <weft/backends/llvm/processor_machine.h>
#include <weft/backends/llvm/symbols.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace weft::llvm_backend {
namespace {

/// Lines that belong to a whole file: its name, its compiler, whether its stack is code.
bool is_of_file(std::string_view line) {
  constexpr std::array<std::string_view, 3> of_file{"\t.file\t", "\t.ident\t",
                                                    "\t.section\t\".note.GNU-stack\""};
  return std::ranges::any_of(of_file, [&](std::string_view begin) { return line.starts_with(begin); });
}

/// LLVM numbers the labels of each module from 0 on. With the entry in them, those of several texts stand in
/// one file.
std::string with_own_labels(const std::string& text, const std::string& entry) {
  std::string result, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    if (is_of_file(line)) continue;
    for (std::size_t at = 0; (at = line.find(".L", at)) != std::string::npos; at += 2) {
      const bool begins =
          at == 0 || std::string_view("\t ,(-+$:").find(line[at - 1]) != std::string_view::npos;
      if (begins) line.insert(at + 2, entry + "_");
    }
    result += line + "\n";
  }
  return result;
}

}  // namespace

CpuAssembly assembly_for(const ThreadProgram& program, const std::string& processor,
                         const AssemblySymbols& symbols) {
  llvm::TargetOptions options;
  options.MCOptions.AsmVerbose = false;
  const auto machine = machine_for(processor, options);
  llvm::LLVMContext context;
  const CpuModule made = cpu_module(context, program, *machine, shipped_level);
  name_symbols(*made.module, symbols);
  return {with_own_labels(assembly_of(*made.module, *machine), symbols.entry), made.emitted.scratch_bytes,
          made.emitted.worker_scratch_bytes};
}

}  // namespace weft::llvm_backend
