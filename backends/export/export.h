// Kernels as a folder that any C, C++, CUDA or PyTorch project can add; it needs nothing of weft.
#pragma once

#include <weft/backends/kernel.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ExportOptions {
  std::string name = "kernel";  ///< of the folder's library and of every symbol; a C identifier
  std::string spdx = "0BSD";    ///< the licence of what is written is the user's to choose
  std::string license_text;     ///< LICENSE of the package; empty: that of 0BSD, or the name alone
  bool with_weights = true;     ///< write weights/<name>.safetensors
  /// Make the packed weights part of the code. Left out: where no kernel reads any, because all of them have
  /// the weights in their instructions, and the file has at most a megabyte.
  std::optional<bool> embed_weights;
  std::string measured;  ///< JSON about times and the device they were taken on, for the manifest
};

/// A kernel and the sizes that it is for. Those of a kernel without a size that is given at launch are its
/// own, and these numbers mean nothing.
struct PackageKernel {
  Kernel kernel;
  std::int64_t least = 1;
  std::int64_t most =
      std::numeric_limits<std::int64_t>::max();  ///< left alone: as many as the kernel can index
};

/// Writes a package of kernels of one algorithm, which may differ in their targets, schedules, and one size.
/// Every target has to have a kernel for the same sizes. Where several kernels take a size, the first one
/// runs. Returns the files, relative to `folder`, that it wrote; files that stand there are overwritten.
///
/// UserError when the name is no identifier, when a kernel is not for GPUs or has no pruned operand, when the
/// algorithms differ in more than one size or leave a size of the weights to the launch, when targets have
/// kernels for different sizes, or when a kernel cannot index the sizes that it is given. RuntimeError when
/// the folder cannot be written.
std::vector<std::string> export_package(const std::string& folder, const std::vector<PackageKernel>& kernels,
                                        const ExportOptions& options = {});

}  // namespace weft
