// What a package can be made of, and how it can be called.
#pragma once

#include <weft/backends/export/export.h>

#include <string>
#include <vector>

namespace weft::exporting {

/// Whether a package takes kernels for it: a GPU that there is, or a level of processors.
bool takes(const Target& target);
/// What the kernel is exported for, null where a package does not take it: the target, or the level whose
/// instructions it was compiled with.
const Target* exported_target(const Kernel& kernel);
/// "sm_75, sm_80 or ...": those.
std::string targets_taken();

/// UserError that names the kernel: one that cannot be exported at all, or computes something else than the
/// first one does, sizes apart, or has other weights.
void check_kernels(const std::vector<PackageKernel>& kernels);

[[noreturn]] void refuse(std::string what, std::string where, std::string found, std::string accepted);

inline const Algorithm& algorithm_of(const PackageKernel& kernel) {
  return kernel.kernel.schedule().algorithm();
}

/// Where an error of this kernel is: "export, kernel 2 (spmm for sm_90)".
std::string place_of(const std::vector<PackageKernel>& kernels, const PackageKernel& kernel);

}  // namespace weft::exporting
