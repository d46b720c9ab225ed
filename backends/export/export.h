// Kernels as a folder that any C, C++, CUDA or PyTorch project can add; it needs nothing of weft.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ExportOptions {
  /// Of the folder's library, header, type and Python module, and the beginning of every symbol: letters,
  /// digits and single underscores, beginning with a letter, and no name that C, C++, CUDA, Python or CMake
  /// have already.
  std::string name = "kernel";
  std::string spdx = "0BSD";  ///< the licence of what is written is the user's to choose; an SPDX expression
  std::string license_text;   ///< LICENSE of the package; empty: that of 0BSD, or the name alone
  bool with_weights = true;   ///< write weights/<name>.safetensors
  /// Make the packed weights part of the code. Left out: where no kernel reads any, because all of them have
  /// the weights in their instructions, and the file has at most a megabyte.
  std::optional<bool> embed_weights;
  std::string measured;  ///< JSON about times and the device they were taken on, for the manifest
};

/// UserError when the name or the licence cannot be used, as export_package throws it: to be asked before
/// kernels are compiled for nothing.
void check_export_options(const ExportOptions& options, CallPlace place = {});

/// A kernel and the sizes that it is for. Those of a kernel without a size that is given at launch are its
/// own, and these numbers mean nothing.
struct PackageKernel {
  Kernel kernel;
  std::int64_t least = 1;
  std::int64_t most =
      std::numeric_limits<std::int64_t>::max();  ///< left alone: as many as the kernel can index, and those
                                                 ///< for other targets in its place
  /// How long a call of a size takes, measured or modelled; empty where nothing is known.
  std::function<double(std::int64_t size)> microseconds = {};
};

/// Writes a package of kernels of one algorithm and one matrix of weights, which may differ in their targets,
/// schedules, formats, and one size. Every target has to have a kernel for the same sizes. Where several
/// kernels take a size, the fastest one runs, by the times that all kernels of the target say; where they do
/// not, the first one. Returns the files, relative to `folder`, that it wrote.
///
/// The files are written beside the folder and moved into place when all of them are there, so that an export
/// that fails or is interrupted leaves the folder as it was. Files that an earlier export wrote, as its
/// manifest.json says, are replaced, or removed where the package has them no longer; those edited since and
/// all others are kept, and where one of them stands in the way, nothing is written.
///
/// Kernels for levels of processors (target_named("x86-64-v3"), or KernelOptions::processor) go in as
/// assembly, beside those for GPUs or alone.
///
/// UserError when the name or the licence cannot be used, when a kernel is for this machine's own processor,
/// for a GPU that is simulated alone, or has no pruned operand, when the algorithms differ in more than one
/// size or leave a size of the weights to the launch, when the weights differ, when targets have kernels for
/// different sizes, when a kernel cannot index the sizes that it is given, or when a file of the user's
/// stands in the way. Where the folder cannot be written, errors as refuse_path().
std::vector<std::string> export_package(const std::string& folder, const std::vector<PackageKernel>& kernels,
                                        const ExportOptions& options = {}, CallPlace place = {});
WEFT_CALL_REFUSED(
    std::vector<std::string>, export_package,
    "export_package(\"folder\", {{kernel}, {other}}, {.name = \"layer\"}): a folder, kernels in "
    "braces of their own, options")

}  // namespace weft
