// Libraries that are used when they are there, and where NVIDIA's are to be found.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft {

class LibraryFunctions;

/// A library opened by name; a value whose copies share it. It stays loaded until the program ends: NVIDIA's
/// libraries do not survive being unloaded.
class SharedLibrary {
 public:
  /// Opens the first of `names` that loads: each on the loader's path first, then in each of `folders`.
  /// Libraries of `companions` that lie beside it are loaded before it, so that it finds them.
  static SharedLibrary open(const std::vector<std::string>& names,
                            const std::vector<std::filesystem::path>& folders,
                            const std::vector<std::string>& companions = {});

  explicit operator bool() const { return handle_ != nullptr; }
  /// Where it lies, empty when the system does not say.
  const std::filesystem::path& path() const { return path_; }
  /// Why none could be opened.
  const std::string& reason() const { return reason_; }
  /// False when the library has no such function; `target` is then null.
  template <class F>
  bool resolve(F*& target, const char* name) const {
    target = reinterpret_cast<F*>(symbol(name));
    return target != nullptr;
  }
  /// As LibraryFunctions::resolve.
  std::string resolve(LibraryFunctions& functions) const;

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::filesystem::path path_;
  std::string reason_;
};

/// The functions that weft calls of a library: each a member, an Imported, that says its name.
class LibraryFunctions {
 public:
  LibraryFunctions() = default;
  LibraryFunctions(const LibraryFunctions&) = delete;
  LibraryFunctions& operator=(const LibraryFunctions&) = delete;

  /// Looks all of them up in a library as dlopen gives it. Returns the name of the first that it does not
  /// have and that is needed; empty: it has all.
  std::string resolve(void* library);

 private:
  template <class Signature>
  friend class Imported;
  struct Entry {
    const char* name;
    bool is_needed;
    void* address = nullptr;
  };
  std::vector<Entry*> entries_;
};

/// Called as the function is, once it has been found; null before that, and where the library has none.
template <class Signature>
class Imported : LibraryFunctions::Entry {
 public:
  Imported(LibraryFunctions& all, const char* symbol, bool needed = true)
      : LibraryFunctions::Entry{symbol, needed} {
    all.entries_.push_back(this);
  }
  operator Signature*() const { return reinterpret_cast<Signature*>(address); }
};

/// Folders of a CUDA toolkit on this machine, most wanted first: CUDA_HOME, CUDA_PATH, the one whose nvcc is
/// on PATH, /usr/local/cuda.
std::vector<std::filesystem::path> toolkit_folders();

/// Folders `nvidia/<package>` of the Python installations that are on PATH, active, or the user's: NVIDIA's
/// wheels bring libraries and headers there.
std::vector<std::filesystem::path> python_package_folders();

/// The lib folders of the same Python installations: wheels of oneDNN and MKL bring their libraries there.
std::vector<std::filesystem::path> processor_library_folders();

/// Folders in which NVIDIA's libraries may lie, of both kinds.
std::vector<std::filesystem::path> library_folders();

/// The first program `name` on PATH or in the bin folder of a toolkit; empty when there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace weft
