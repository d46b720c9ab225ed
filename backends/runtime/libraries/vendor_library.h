// What the vendor's libraries have in common here: found when the program runs, their functions looked up by
// name, one handle on one device, and a status for every call.
#pragma once

#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/shared_library.h>
#include <weft/dsl/errors.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

struct VendorLibrary {
  std::string name;  ///< "cuBLAS", in messages
  std::vector<std::string> files;
  std::vector<std::string> companions;  ///< loaded before it
};

using VendorStatus = int;

/// A library opened on one device. `EntryPoints` are LibraryFunctions with `create`, `destroy` and
/// `status_text`, which may be missing.
template <class EntryPoints, class Handle>
struct OpenedLibrary {
  SharedLibrary library;
  EntryPoints api;
  std::shared_ptr<CudaDevice> device;
  std::optional<Device> owner;
  Handle handle{};
  std::string name;     ///< "cuBLAS"
  std::string version;  ///< "cuBLAS 13.1.0 (libcublas.so.13)"

  OpenedLibrary() = default;
  OpenedLibrary(const OpenedLibrary&) = delete;
  OpenedLibrary& operator=(const OpenedLibrary&) = delete;
  ~OpenedLibrary() {
    if (!opened_) return;
    release_in_context(*device, [this] {
      if constexpr (std::is_pointer_v<Handle>)
        api.destroy(handle);
      else
        api.destroy(&handle);
    });
  }

  /// Why it could not be opened; empty where it is. RuntimeError when it is there and fails.
  std::string open(const VendorLibrary& names, const Device& on) {
    name = names.name;
    if (!on.is_cuda()) return names.name + " needs a CUDA device, not " + on.name();
    library = SharedLibrary::open(names.files, library_folders(), names.companions);
    if (!library) return "no " + names.name + ": " + library.reason();
    if (!library.resolve(api).empty())
      return "no " + names.name + ": " + library.path().string() + " lacks a function that weft calls";
    device = cuda_device_of(on, "opening " + names.name);
    owner = on;
    const ContextScope scope(*device);
    check(api.create(&handle), "opening " + names.name + " on " + on.name());
    opened_ = true;
    return {};
  }

  /// RuntimeError "`doing`: …" with the library's own text where it has one, when `status` is not 0.
  void check(VendorStatus status, const std::string& doing) const {
    if (status == 0) return;
    const char* text = api.status_text != nullptr ? api.status_text(status) : nullptr;
    throw RuntimeError(doing + ": " + (text != nullptr ? text : name + " status " + std::to_string(status)));
  }

  void set_version(const std::string& number) {
    version = name + " " + number + " (" + library.path().filename().string() + ")";
  }

 private:
  bool opened_ = false;
};

/// A `Library` of an opened `State`, asked for its version by `version_of`, which returns why it cannot be
/// used (empty: it can); nothing where it cannot, and then `reason`, when given, says why.
template <class Library, class State, class VersionOf>
std::optional<Library> opened_library(const VendorLibrary& names, const Device& device, std::string* reason,
                                      VersionOf&& version_of) {
  auto state = std::make_shared<State>();
  std::string why = state->open(names, device);
  if (why.empty()) why = version_of(*state);
  if (why.empty()) return Library(std::move(state));
  if (reason != nullptr) *reason = why;
  return std::nullopt;
}

/// "12.6.3"
inline std::string dotted_version(std::int64_t major, std::int64_t minor, std::int64_t patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// cudaDataType_t of the elements.
inline int data_code(DenseType type) {
  switch (type) {
    case DenseType::f16: return 2;
    case DenseType::bf16: return 14;
    case DenseType::e4m3: return 28;
    default: return 0;
  }
}

/// A device address as these libraries take it.
inline void* device_pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace weft
