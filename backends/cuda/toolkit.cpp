#include <weft/backends/cuda/nvrtc.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/runtime/shared_library.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cctype>

namespace weft::cuda {
namespace {

namespace fs = std::filesystem;

constexpr bool with_cuda = WEFT_WITH_CUDA != 0;

Tool find_tool(const std::string& name, const fs::path& beside = {}) {
  Tool tool;
  std::error_code missing;
  tool.path = beside.parent_path() / name;
  if (beside.empty() || !fs::exists(tool.path, missing)) tool.path = find_program(name);
  if (!tool.found()) {
    tool.reason = name + " is neither on PATH nor in a CUDA toolkit (CUDA_HOME, /usr/local/cuda)";
    return tool;
  }
  ProcessOptions options;
  options.limit_seconds = 20;
  try {
    const ProcessResult result = run_process({tool.path.string(), "--version"}, options);
    if (result.succeeded()) {
      tool.version = version_in(result.output);
      return tool;
    }
    tool.reason = tool.path.string() + " --version: " + text_of_end(result, options);
  } catch (const RuntimeError& error) {
    tool.reason = error.what();
  }
  tool.path.clear();
  return tool;
}

Tool find_nvrtc() {
  Tool tool;
  const Nvrtc& nvrtc = Nvrtc::instance();
  if (!nvrtc.found()) {
    tool.reason = nvrtc.reason();
    return tool;
  }
  tool.path = nvrtc.path().empty() ? fs::path("libnvrtc.so") : nvrtc.path();
  tool.version = nvrtc.version();
  return tool;
}

void append_include(std::vector<fs::path>& includes, const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "cuda_fp16.h", error)) return;
  fs::path plain = fs::canonical(folder, error);
  if (error) plain = folder;
  if (std::ranges::find(includes, plain) == includes.end()) includes.push_back(plain);
}

/// The headers must be of the version of the library, so those beside it come first.
std::vector<fs::path> find_includes(const fs::path& nvrtc) {
  std::vector<fs::path> includes;
  std::error_code error;
  const fs::path real = fs::canonical(nvrtc, error);
  if (!error) {
    const fs::path folder = real.parent_path().parent_path();
    append_include(includes, folder / "include");
    append_include(includes, folder.parent_path().parent_path() / "include");
    append_include(includes, folder.parent_path() / "cuda_runtime" / "include");
  }
  for (const fs::path& folder : toolkit_folders()) append_include(includes, folder / "include");
  for (const fs::path& folder : python_package_folders()) append_include(includes, folder / "include");
  append_include(includes, "/usr/include");
  return includes;
}

/// One of another toolkit may not know what ptxas writes.
Tool nvlink_for(const Tool& ptxas) {
  Tool nvlink = find_tool("nvlink", ptxas.path);
  if (nvlink.found() && ptxas.found() && nvlink.version != ptxas.version) {
    nvlink.reason = nvlink.path.string() + " has version " + nvlink.version + ", and " + ptxas.path.string() +
                    " " + ptxas.version;
    nvlink.path.clear();
  }
  return nvlink;
}

Toolkit look() {
  Toolkit found;
  if constexpr (with_cuda) {
    found.ptxas = find_tool("ptxas");
    found.nvlink = nvlink_for(found.ptxas);
    found.nvcc = find_tool("nvcc");
    found.nvrtc = find_nvrtc();
    found.includes = find_includes(found.nvrtc.path);
  } else {
    for (Tool* tool : {&found.ptxas, &found.nvlink, &found.nvcc, &found.nvrtc})
      tool->reason = "weft was built with WEFT_CUDA=OFF";
  }
  return found;
}

std::string line_of(const std::string& name, const Tool& tool) {
  if (!tool.found()) return name + ": not found: " + tool.reason + "\n";
  return name + ": " + (tool.version.empty() ? "version unknown" : tool.version) + ", " + tool.path.string() +
         "\n";
}

}  // namespace

const Toolkit& toolkit() {
  static const Toolkit once = look();
  return once;
}

std::string text_of(const Toolkit& toolkit) {
  return line_of("ptxas", toolkit.ptxas) + line_of("nvlink", toolkit.nvlink) + line_of("nvcc", toolkit.nvcc) +
         line_of("NVRTC", toolkit.nvrtc);
}

void check_architecture(const std::string& architecture) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string number = architecture.starts_with("sm_") ? architecture.substr(3) : "";
  if (!number.empty() && (number.back() == 'a' || number.back() == 'f')) number.pop_back();
  const bool usable = number.size() >= 2 && number.size() <= 3 && std::ranges::all_of(number, is_digit);
  if (!usable)
    throw UserError("choosing a GPU architecture", "'" + architecture + "'",
                    "a name such as sm_80, sm_90 or sm_90a");
}

std::string virtual_architecture(const std::string& architecture) {
  check_architecture(architecture);
  return "compute_" + architecture.substr(3);
}

std::string version_in(const std::string& text) {
  const auto release = text.find("release ");
  if (release == std::string::npos) return {};
  const auto mark = text.find(", V", release);
  const auto begin = mark == std::string::npos ? release + 8 : mark + 3;
  const auto end = text.find_first_not_of("0123456789.", begin);
  return text.substr(begin, end - begin);
}

}  // namespace weft::cuda
