#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>
#include <weft/backends/runtime/shared_library.h>

#include <algorithm>
#include <cstdlib>

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<fs::path> path_folders() {
  std::vector<fs::path> folders;
  const std::string all = environment("PATH");
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find(':', begin), all.size());
    if (end > begin) folders.emplace_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

void append_matches(std::vector<fs::path>& folders, const std::string& pattern) {
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) folders.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
}

void append_new(std::vector<fs::path>& all, const fs::path& folder) {
  if (is_folder(folder) && std::ranges::find(all, folder) == all.end()) all.push_back(folder);
}

void open_companions(const fs::path& folder, const std::vector<std::string>& companions) {
  for (const std::string& companion : companions) {
    const fs::path path = folder / companion;
    std::error_code error;
    if (fs::exists(path, error)) dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

fs::path path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr ||
      map->l_name == nullptr)
    return {};
  return map->l_name;
}

}  // namespace

SharedLibrary SharedLibrary::open(const std::vector<std::string>& names, const std::vector<fs::path>& folders,
                                  const std::vector<std::string>& companions) {
  SharedLibrary library;
  const auto try_open = [&](const std::string& file) {
    library.handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) {
      library.path_ = path_of(library.handle_);
      library.reason_.clear();
      return true;
    }
    const char* reason = dlerror();
    library.reason_ = reason != nullptr ? reason : file + " cannot be loaded";
    return false;
  };
  std::string found_but_broken;
  for (const std::string& name : names) {
    if (try_open(name)) return library;
    for (const fs::path& folder : folders) {
      const fs::path file = folder / name;
      std::error_code error;
      if (!fs::exists(file, error)) continue;
      open_companions(folder, companions);
      if (try_open(file.string())) return library;
      found_but_broken = library.reason_;
    }
  }
  if (!found_but_broken.empty()) {
    library.reason_ = found_but_broken;
  } else if (!names.empty()) {
    library.reason_ = names.front() +
                      " is neither on the loader's path, nor in a CUDA toolkit, nor in a Python "
                      "package";
  }
  return library;
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ != nullptr ? dlsym(handle_, name) : nullptr;
}

std::string SharedLibrary::resolve(LibraryFunctions& functions) const {
  return functions.resolve(handle_);
}

std::string LibraryFunctions::resolve(void* library) {
  std::string missing;
  for (Entry* entry : entries_) {
    entry->address = dlsym(library, entry->name);
    if (entry->address == nullptr && entry->is_needed && missing.empty()) missing = entry->name;
  }
  return missing;
}

std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> all;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string folder = environment(variable);
    if (!folder.empty()) append_new(all, folder);
  }
  for (const fs::path& folder : path_folders()) {
    if (!is_program(folder / "nvcc")) continue;
    std::error_code error;
    const fs::path program = fs::canonical(folder / "nvcc", error);
    if (!error) append_new(all, program.parent_path().parent_path());
  }
  append_new(all, "/usr/local/cuda");
  return all;
}

namespace {

/// Where the Python installations that are on PATH, active, or the user's have their lib folders.
std::vector<std::string> python_roots() {
  std::vector<std::string> roots;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string root = environment(variable);
    if (!root.empty()) roots.push_back(root);
  }
  for (const fs::path& folder : path_folders()) {
    if (is_program(folder / "python3")) roots.push_back(folder.parent_path().string());
  }
  if (const std::string home = environment("HOME"); !home.empty()) roots.push_back(home + "/.local");
  roots.insert(roots.end(), {"/usr/local", "/usr"});
  return roots;
}

}  // namespace

std::vector<fs::path> python_package_folders() {
  std::vector<fs::path> found;
  for (const std::string& root : python_roots()) {
    for (const char* packages : {"site-packages", "dist-packages"})
      append_matches(found, root + "/lib/python3*/" + packages + "/nvidia/*");
  }
  std::vector<fs::path> all;
  for (const fs::path& folder : found) append_new(all, folder);
  return all;
}

std::vector<fs::path> processor_library_folders() {
  std::vector<fs::path> all;
  for (const std::string& root : python_roots()) append_new(all, fs::path(root) / "lib");
  return all;
}

std::vector<fs::path> library_folders() {
  std::vector<fs::path> all;
  for (const fs::path& folder : toolkit_folders()) {
    for (const char* part : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
      append_new(all, folder / part);
  }
  for (const fs::path& folder : python_package_folders()) append_new(all, folder / "lib");
  return all;
}

fs::path find_program(const std::string& name) {
  for (const fs::path& folder : path_folders()) {
    if (is_program(folder / name)) return folder / name;
  }
  for (const fs::path& folder : toolkit_folders()) {
    if (is_program(folder / "bin" / name)) return folder / "bin" / name;
  }
  return {};
}

}  // namespace weft
