// What of a CUDA toolkit this machine has. None of it is needed to run kernels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::cuda {

/// A program or library of the toolkit; an empty path means that there is none, and `reason` says why.
struct Tool {
  std::filesystem::path path;
  std::string version;  ///< "13.0.88", "13.0"; empty when it does not say
  std::string reason;

  bool found() const { return !path.empty(); }
};

struct Toolkit {
  Tool ptxas;   ///< PTX to cubin, with the registers and spills
  Tool nvlink;  ///< joins parts of a kernel that ptxas assembled apart; of ptxas' version, the one beside it
                ///< first
  Tool nvcc;
  Tool nvrtc;                                   ///< CUDA C++ to cubin or PTX, in this process
  std::vector<std::filesystem::path> includes;  ///< folders with cuda_fp16.h and its neighbours, best first
};

/// Looks once and remembers. Never throws for a machine without a toolkit.
const Toolkit& toolkit();

/// One line a tool, for `weft devices`.
std::string text_of(const Toolkit& toolkit);

/// UserError unless `architecture` reads as "sm_80" or "sm_90a"; whether a tool knows it is the tool's to
/// say.
void check_architecture(const std::string& architecture);

/// "compute_90a" for "sm_90a".
std::string virtual_architecture(const std::string& architecture);

/// Takes "release 13.0, V13.0.88" out of what `nvcc --version` and `ptxas --version` print: "13.0.88".
std::string version_in(const std::string& text);

}  // namespace weft::cuda
