#include <weft/backends/cuda/nvrtc.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>

namespace weft::cuda {
namespace {

constexpr int compilation_error = 6;

/// A result as bytes between two processes: whether it succeeded, then the log, ended by a zero, then the
/// image.
std::string to_bytes(const Nvrtc::Result& result) {
  std::string log = result.log;
  std::erase(log, '\0');
  return (result.succeeded ? "1" : "0") + log + '\0' + result.image;
}

Nvrtc::Result from_bytes(const std::string& bytes) {
  const std::size_t end = bytes.find('\0');
  internal_check(end != std::string::npos && end > 0,
                 "a compilation apart answers without an end of its log");
  return {bytes.front() == '1', bytes.substr(end + 1), bytes.substr(1, end - 1)};
}

}  // namespace

const Nvrtc& Nvrtc::instance() {
  static const Nvrtc once;
  return once;
}

Nvrtc::Nvrtc()
    : library_(SharedLibrary::open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"},
                                   library_folders(),
                                   {"libnvrtc-builtins.so.13.0", "libnvrtc-builtins.so"})) {
  if (!library_) {
    reason_ = library_.reason();
    return;
  }
  found_ = library_.resolve(api_).empty();
  if (!found_) {
    reason_ = library_.path().string() + " lacks a function that weft calls";
    return;
  }
  int major = 0;
  int minor = 0;
  if (api_.get_version(&major, &minor) == 0) version_ = std::to_string(major) + "." + std::to_string(minor);
}

void Nvrtc::check(Status status, const std::string& doing) const {
  if (status != 0) throw RuntimeError(doing + ": " + api_.error_text(status));
}

std::string Nvrtc::text_of(Program program, SizeOf* size_of, Copy* copy, const std::string& what) const {
  std::size_t bytes = 0;
  check(size_of(program, &bytes), "asking NVRTC for the size of " + what);
  std::string text(bytes, '\0');
  if (bytes > 0) check(copy(program, text.data()), "asking NVRTC for " + what);
  return text;
}

Nvrtc::Result Nvrtc::compile(const std::string& source, const std::string& file_name,
                             const std::vector<std::string>& options, bool to_ptx,
                             double limit_seconds) const {
  internal_check(found_, "NVRTC is called and was not found");
  ProcessOptions process;
  process.limit_seconds = limit_seconds;
  process.output_limit = std::size_t{1} << 32U;
  const ProcessResult result =
      run_apart([&] { return to_bytes(compile_here(source, file_name, options, to_ptx)); }, process);
  if (result.succeeded()) return from_bytes(result.output);
  if (!result.timed_out && result.exit_code == 1 && !result.error.empty()) throw RuntimeError(result.error);
  throw RuntimeError("NVRTC " + version_ + " itself fails on " + file_name + ": " +
                     text_of_end(result, process) +
                     ". Accepted: the LLVM back end, nvcc, or another schedule.");
}

Nvrtc::Result Nvrtc::compile_here(const std::string& source, const std::string& file_name,
                                  const std::vector<std::string>& options, bool to_ptx) const {
  Program program = nullptr;
  check(api_.create(&program, source.c_str(), file_name.c_str(), 0, nullptr, nullptr),
        "giving NVRTC a source");
  struct Guard {
    const Nvrtc& nvrtc;
    Program& program;
    ~Guard() { nvrtc.api_.destroy(&program); }
  } const guard{*this, program};

  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const Status status = api_.compile(program, static_cast<int>(words.size()), words.data());
  Result result;
  result.log = text_of(program, api_.log_size, api_.log, "its log");
  while (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  if (status == compilation_error) return result;
  if (status != 0) check(status, "compiling with NVRTC\n" + result.log);
  result.succeeded = true;
  result.image = to_ptx ? text_of(program, api_.ptx_size, api_.ptx, "the PTX")
                        : text_of(program, api_.cubin_size, api_.cubin, "the code");
  if (to_ptx && !result.image.empty() && result.image.back() == '\0') result.image.pop_back();
  return result;
}

}  // namespace weft::cuda
