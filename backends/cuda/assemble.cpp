#include <weft/backends/cuda/assemble.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>

namespace weft::cuda {
namespace {

std::filesystem::path program_for(const AssembleOptions& options) {
  check_architecture(options.architecture);
  if (!options.ptxas.empty()) return options.ptxas;
  const Tool& found = toolkit().ptxas;
  if (!found.found()) throw RuntimeError("PTX cannot be assembled: " + found.reason);
  return found.path;
}

/// Runs a tool that writes kernel.cubin into the folder. RuntimeError that begins with `refuses` and ends
/// with what `explained` makes of the tool's words.
template <class Explained>
Assembled cubin_by(const std::vector<std::string>& command, const TemporaryFolder& folder,
                   const AssembleOptions& options, const std::string& refuses, const Explained& explained) {
  ProcessOptions process;
  process.limit_seconds = options.limit_seconds;
  process.folder = folder.path();
  const ProcessResult result = run_process(command, process);
  const std::string said = result.error + result.output;
  if (!result.succeeded())
    throw RuntimeError(refuses + " for " + options.architecture + " (" + text_of_end(result, process) +
                       "):\n" + explained(said));
  return {read_bytes(folder.path() / "kernel.cubin"), read_ptxas_report(said), result.seconds};
}

}  // namespace

bool can_assemble() {
  return toolkit().ptxas.found();
}

bool can_link() {
  return can_assemble() && toolkit().nvlink.found();
}

Assembled link(std::span<const std::string> parts, const AssembleOptions& options) {
  check_architecture(options.architecture);
  const Tool& nvlink = toolkit().nvlink;
  if (!nvlink.found()) throw RuntimeError("parts of a kernel cannot be linked: " + nvlink.reason);
  const TemporaryFolder folder;
  std::vector<std::string> command{nvlink.path.string(), "-v", "-arch=" + options.architecture, "-o",
                                   "kernel.cubin"};
  for (const std::string& part : parts) {
    command.push_back("part" + std::to_string(command.size()) + ".o");
    write_bytes(folder.path() / command.back(), part);
  }
  return cubin_by(command, folder, options, "nvlink refuses the parts of a kernel",
                  [](const std::string& said) { return said; });
}

Assembled assemble(const std::string& ptx, const AssembleOptions& options) {
  const std::filesystem::path ptxas = program_for(options);
  const TemporaryFolder folder;
  write_bytes(folder.path() / "kernel.ptx", ptx);
  std::vector<std::string> command{ptxas.string(), "-v", "-arch=" + options.architecture,
                                   "-O" + std::to_string(options.optimization)};
  if (options.most_registers > 0)
    command.push_back("-maxrregcount=" + std::to_string(options.most_registers));
  if (options.line_information) command.push_back("-lineinfo");
  if (options.relocatable) command.push_back("-c");
  command.insert(command.end(), {"kernel.ptx", "-o", "kernel.cubin"});
  return cubin_by(command, folder, options, "ptxas refuses the PTX",
                  [&](const std::string& said) { return explain_ptxas_errors(said, ptx); });
}

}  // namespace weft::cuda
