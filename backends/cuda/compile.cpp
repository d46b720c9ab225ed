#include <weft/backends/cuda/compile.h>
#include <weft/backends/cuda/nvrtc.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/runtime/stopwatch.h>
#include <weft/dsl/errors.h>

namespace weft::cuda {
namespace {

/// What both compilers are told in the same words.
std::vector<std::string> common_words(const CompileOptions& options) {
  // Products and sums stay apart unless the source joins them: every back end gives the same bits.
  std::vector<std::string> words{"-std=c++17", "-fmad=false"};
  for (const std::string& define : options.defines) words.push_back("-D" + define);
  for (const auto& folder : options.includes) words.push_back("-I" + folder.string());
  if (options.most_registers > 0) words.push_back("-maxrregcount=" + std::to_string(options.most_registers));
  if (options.line_information) words.push_back("-lineinfo");
  return words;
}

/// The name is for messages only, but the compilers go by its ending and take a leading '-' for an option.
std::string plain_file_name(const CompileOptions& options) {
  const std::string name = std::filesystem::path(options.file_name).stem().string() + ".cu";
  return name.front() == '-' || name.front() == '.' ? "kernel.cu" : name;
}

[[noreturn]] void refuse(const std::string& compiler, const CompileOptions& options, const std::string& log) {
  throw RuntimeError(compiler + " refuses " + options.file_name + " for " + options.architecture + ":\n" +
                     log);
}

Compiled compile_by_nvrtc(const std::string& source, const CompileOptions& options) {
  std::vector<std::string> words = common_words(options);
  const bool to_ptx = options.output == Output::ptx;
  words.push_back("--gpu-architecture=" +
                  (to_ptx ? virtual_architecture(options.architecture) : options.architecture));
  words.push_back("-default-device");
  if (!to_ptx) words.push_back("--ptxas-options=-v");
  for (const auto& folder : toolkit().includes) words.push_back("-I" + folder.string());

  const Stopwatch watch;
  Nvrtc::Result result =
      Nvrtc::instance().compile(source, plain_file_name(options), words, to_ptx, options.limit_seconds);
  Compiled compiled;
  compiled.seconds = watch.seconds();
  compiled.compiler = "NVRTC " + Nvrtc::instance().version();
  if (!result.succeeded) refuse(compiled.compiler, options, result.log);
  compiled.image = std::move(result.image);
  compiled.log = std::move(result.log);
  if (!to_ptx) compiled.report = read_ptxas_report(compiled.log);
  return compiled;
}

Compiled compile_by_nvcc(const std::string& source, const CompileOptions& options) {
  const TemporaryFolder folder;
  const std::string file = plain_file_name(options);
  write_bytes(folder.path() / file, source);
  const bool to_ptx = options.output == Output::ptx;
  const std::string virtual_name = virtual_architecture(options.architecture);
  // The short form -arch=sm_90a also compiles for plain sm_90, which refuses wgmma.
  std::vector<std::string> command{
      toolkit().nvcc.path.string(), to_ptx ? "-ptx" : "-cubin",
      "-gencode=arch=" + virtual_name + ",code=" + (to_ptx ? virtual_name : options.architecture)};
  for (const std::string& word : common_words(options)) command.push_back(word);
  if (!to_ptx) command.insert(command.end(), {"-Xptxas", "-v"});
  command.insert(command.end(), {file, "-o", "image"});

  ProcessOptions process;
  process.limit_seconds = options.limit_seconds;
  process.folder = folder.path();
  const ProcessResult result = run_process(command, process);
  Compiled compiled;
  compiled.compiler = "nvcc " + toolkit().nvcc.version;
  compiled.log = result.error + result.output;
  if (!result.succeeded())
    refuse(compiled.compiler, options, text_of_end(result, process) + "\n" + compiled.log);
  compiled.image = read_bytes(folder.path() / "image");
  compiled.seconds = result.seconds;
  if (!to_ptx) compiled.report = read_ptxas_report(compiled.log);
  return compiled;
}

}  // namespace

CompilerStatus compiler_status(Compiler wanted) {
  const Toolkit& tools = toolkit();
  if (wanted != Compiler::nvcc && tools.nvrtc.found())
    return {Compiler::nvrtc, "NVRTC " + tools.nvrtc.version};
  if (wanted != Compiler::nvrtc && tools.nvcc.found()) return {Compiler::nvcc, "nvcc " + tools.nvcc.version};
  std::string sentence = "no compiler for CUDA C++:";
  if (wanted != Compiler::nvcc) sentence += " " + tools.nvrtc.reason + ";";
  if (wanted != Compiler::nvrtc) sentence += " " + tools.nvcc.reason + ";";
  sentence.back() = '.';
  return {Compiler::automatic, sentence};
}

Compiled compile(const std::string& source, const CompileOptions& options) {
  check_architecture(options.architecture);
  const CompilerStatus status = compiler_status(options.compiler);
  if (!status.found()) throw RuntimeError(status.sentence);
  return status.compiler == Compiler::nvrtc ? compile_by_nvrtc(source, options)
                                            : compile_by_nvcc(source, options);
}

}  // namespace weft::cuda
