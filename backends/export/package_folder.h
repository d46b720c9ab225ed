// Where the files of a package go, and what must not be lost there. For files of this folder.
#pragma once

#include <string>
#include <vector>

namespace weft::exporting {

/// A file of the package that is about to be written.
struct PackageFile {
  std::string name;  ///< relative to the folder
  std::string content;
};

/// The last of a package's files: what it is, and the hashes of all the others.
inline constexpr const char* manifest_name = "manifest.json";

/// Writes the files beside the folder and moves them into place when all of them are there: a folder that is
/// new appears at once, that of an earlier export is exchanged for the new one, which has all files that no
/// export made. Where that cannot be, because it is a mount point or this program works in it, and in folders
/// that no export made, the files are moved one by one, the manifest last.
///
/// UserError, with nothing written, when a file of the user's stands in the way: one that no earlier export
/// wrote, as its manifest says, or that was edited since. Where something cannot be written,
/// errors as refuse_path(); the folder is as it was then.
void put_in_place(const std::vector<PackageFile>& files, const std::string& folder);

}  // namespace weft::exporting
