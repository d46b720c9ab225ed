// One CPU kernel as an object file and the header that says how it is called; it needs nothing of weft.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>

#include <string>
#include <vector>

namespace weft {

struct ObjectOptions {
  /// Of the files, and the beginning of every symbol and name: as ExportOptions::name.
  std::string name = "kernel";
};

/// Writes <name>.o and <name>.h into `folder`, which is made where it is not there, and returns their names.
/// The object is position-independent and carries the weights; it is for the kernel's target: "cpu" is the
/// processor of this machine, "x86-64-v3" any that has this level. The header (C99 and C++) declares
/// <name>_run, a call on the caller's thread, and <name>_run_in, whose parallel loops a function of the
/// caller's runs. Neither takes memory of its own.
///
/// UserError for a name that cannot be used, for a kernel that is for a GPU, whose weights a launch gives, or
/// that needs workspaces. Where a file cannot be written, errors as refuse_path().
std::vector<std::string> export_object(const Kernel& kernel, const std::string& folder,
                                       const ObjectOptions& options = {}, CallPlace place = {});

}  // namespace weft
