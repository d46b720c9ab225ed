// Programs that make a package: what weft_add_kernel of CMake compiles and runs.
//
//   int main(int count, char** arguments) {
//     return weft::export_program(count, arguments, [](const weft::ExportRequest& request) {
//       std::vector<weft::PackageKernel> kernels;
//       for (const weft::Target& target : request.targets)
//         kernels.push_back({compile(sparsert(layer(), weights(), target))});
//       return kernels;
//     });
//   }
#pragma once

#include <weft/backends/export/export.h>
#include <weft/dsl/errors.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weft {

/// What the program was asked for.
struct ExportRequest {
  std::vector<Target> targets;
  std::map<std::string, std::string> parameters;  ///< PARAMS of weft_add_kernel

  /// A parameter; UserError that names it when it is not given.
  const std::string& parameter(const std::string& name) const;
  /// A parameter, or what it is where it is not given.
  std::string parameter(const std::string& name, const std::string& otherwise) const;
};

/// Reads `--out FOLDER --name NAME --targets sm_80,sm_90a --param k=v ... --spdx ID`, asks `make` for the
/// kernels and writes the package. Errors go to stderr. Returns what main() returns: 0, 2 for what the user
/// gave, 1 for the rest.
int export_program(int count, char** arguments,
                   const std::function<std::vector<PackageKernel>(const ExportRequest&)>& make,
                   CallPlace place = {});

}  // namespace weft
