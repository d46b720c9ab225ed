#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>
#include <weft/backends/export/package_folder.h>
#include <weft/backends/export/print.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

namespace weft::exporting {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& doing, const fs::path& path, const std::error_code& error) {
  refuse_path(doing, path.string(), error);
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::regular;
}

/// The files that an earlier export wrote into a folder and nobody has edited since, and those edited.
struct EarlierExport {
  std::set<std::string> unchanged;  ///< with the manifest
  std::set<std::string> edited;
};

EarlierExport earlier_export(const fs::path& folder) {
  EarlierExport earlier;
  const fs::path path = folder / manifest_name;
  if (!is_file(path)) return earlier;
  const auto manifest = nlohmann::json::parse(read_bytes(path), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("weft") || !manifest.contains("sha256") ||
      !manifest["sha256"].is_object())
    return earlier;
  earlier.unchanged.insert(manifest_name);
  for (const auto& [name, hash] : manifest["sha256"].items()) {
    const fs::path inside = fs::path(name).lexically_normal();
    if (inside.is_absolute() || inside.begin() == inside.end() || *inside.begin() == "..") continue;
    if (!is_file(folder / inside)) continue;
    (hash == sha256_of(read_bytes(folder / inside)) ? earlier.unchanged : earlier.edited).insert(name);
  }
  return earlier;
}

/// What stands where the file has to go: the place itself, or something that is no folder on the way there.
/// Empty where the way is free, or where the place has these very bytes.
std::string obstacle(const fs::path& folder, const PackageFile& file, const EarlierExport& earlier) {
  fs::path so_far;
  const fs::path parent = fs::path(file.name).parent_path();
  for (const fs::path& part : parent) {
    so_far /= part;
    std::error_code error;
    if (is_there(folder / so_far) && !fs::is_directory(folder / so_far, error)) return so_far.string();
  }
  if (!is_there(folder / file.name) || earlier.unchanged.count(file.name) != 0) return {};
  if (is_file(folder / file.name) && read_bytes(folder / file.name) == file.content) return {};
  return earlier.edited.count(file.name) != 0 ? file.name + " (edited since it was exported)" : file.name;
}

void refuse_obstacles(const fs::path& folder, const std::vector<PackageFile>& files,
                      const EarlierExport& earlier) {
  constexpr std::size_t most_named = 5;
  std::set<std::string> found;
  for (const PackageFile& file : files) {
    if (std::string name = obstacle(folder, file, earlier); !name.empty()) found.insert(std::move(name));
  }
  if (found.empty()) return;
  std::vector<std::string> named(found.begin(), found.end());
  const std::size_t more = named.size() > most_named ? named.size() - most_named : 0;
  named.resize(named.size() - more);
  throw UserError(
      "a package is not written over files that no export made", "export, " + folder.string(),
      fmt::format("{}{}", fmt::join(named, ", "), more > 0 ? fmt::format(" and {} more", more) : ""),
      "another folder (-o FOLDER), or these files moved elsewhere");
}

/// A new folder that is removed with the object, with all that stands in it then.
class WorkFolder {
 public:
  /// Beside `folder`, or where `inside`, in it.
  explicit WorkFolder(fs::path folder, bool inside = false) : folder_(std::move(folder)) {
    std::random_device chance;
    path_ = (inside ? folder_ : folder_.parent_path()) /
            fmt::format(".{}.weft-{:08x}", folder_.filename().string(), chance());
    std::error_code error;
    if (!fs::create_directory(path_, error)) fail("make", path_, error ? error : last_error());
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const fs::path& path() const { return path_; }
  void write(const std::vector<PackageFile>& files) const {
    for (const PackageFile& file : files) {
      const fs::path path = path_ / file.name;
      std::error_code error;
      fs::create_directories(path.parent_path(), error);
      if (!error) error = try_write_bytes(path, file.content);
      if (error) fail("write", folder_ / file.name, error);
    }
  }

 private:
  fs::path folder_;  ///< whose files these become
  fs::path path_;
};

/// The same file under another name, so that it is in both folders until one of them goes.
bool link_entry(const fs::directory_entry& entry, const fs::path& to) {
  std::error_code error;
  switch (entry.symlink_status(error).type()) {
    case fs::file_type::directory: fs::create_directories(to, error); return !error;
    case fs::file_type::symlink: fs::copy_symlink(entry.path(), to, error); return !error;
    default: return linkat(AT_FDCWD, entry.path().c_str(), AT_FDCWD, to.c_str(), 0) == 0;
  }
}

/// Gives the new folder all that stands in the old one but what the earlier export wrote.
bool keep_others(const fs::path& folder, const fs::path& fresh, const EarlierExport& earlier) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = entry->path().lexically_relative(folder);
    if (earlier.unchanged.count(name.string()) != 0) continue;
    const bool made_anew = is_there(fresh / name) && is_file(entry->path());  // a file with the same bytes
    if (!made_anew && !link_entry(*entry, fresh / name)) return false;
  }
  return !error;
}

/// Whether programs work in the folder: at least this one, as after `cd ffn`. It would keep the old one.
bool is_worked_in(const fs::path& folder) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return !error &&
         std::mismatch(folder.begin(), folder.end(), here.begin(), here.end()).first == folder.end();
}

/// One moment has the old folder, the next one the new. Only for what an earlier export made: other folders
/// lose nothing by new files, and are not this function's to put in another's place.
bool exchange(const fs::path& folder, const std::vector<PackageFile>& files, const EarlierExport& earlier) {
  if (earlier.unchanged.empty() || is_worked_in(folder) ||
      access(folder.parent_path().c_str(), W_OK | X_OK) != 0)
    return false;
  const WorkFolder fresh(folder);
  fresh.write(files);
  std::error_code ignored;
  fs::permissions(fresh.path(), fs::status(folder, ignored).permissions(), ignored);
  return keep_others(folder, fresh.path(), earlier) &&
         renameat2(AT_FDCWD, fresh.path().c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0;
}

void move_one_by_one(const fs::path& folder, const std::vector<PackageFile>& files,
                     const EarlierExport& earlier) {
  const WorkFolder fresh(folder, true);
  fresh.write(files);
  std::set<std::string> stale = earlier.unchanged;
  for (const PackageFile& file : files) {
    std::error_code error;
    fs::create_directories((folder / file.name).parent_path(), error);
    if (!error) fs::rename(fresh.path() / file.name, folder / file.name, error);
    if (error) fail("write", folder / file.name, error);
    stale.erase(file.name);
  }
  for (const std::string& name : stale) {
    std::error_code ignored;
    fs::remove(folder / name, ignored);
  }
}

void make_anew(const fs::path& folder, const std::vector<PackageFile>& files) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (error) fail("make", folder.parent_path(), error);
  const WorkFolder fresh(folder);
  fresh.write(files);
  fs::rename(fresh.path(), folder, error);
  if (error) fail("write", folder, error);
}

}  // namespace

void put_in_place(const std::vector<PackageFile>& files, const std::string& asked) {
  if (asked.empty())
    throw UserError("the package has no folder", "export", "an empty path", "-o FOLDER, such as -o ffn");
  std::error_code error;
  fs::path folder = fs::absolute(asked, error);
  if (!error) folder = fs::weakly_canonical(folder, error);
  if (error) fail("write", asked, error);
  if (!folder.has_filename()) folder = folder.parent_path();
  if (!is_there(folder)) return make_anew(folder, files);
  if (!fs::is_directory(folder, error))
    throw UserError(
        "a package is a folder", "export, " + folder.string(), "a file of that name",
        fmt::format("a folder that there is or may be made, such as {}_package", folder.string()));
  const EarlierExport earlier = earlier_export(folder);
  refuse_obstacles(folder, files, earlier);
  if (!exchange(folder, files, earlier)) move_one_by_one(folder, files, earlier);
}

}  // namespace weft::exporting
