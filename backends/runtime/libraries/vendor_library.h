// What the vendor's libraries have in common here: found when the program runs, their functions looked up by
// name, one handle on one device, and a status for every call.
#pragma once

#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/shared_library.h>
#include <weft/dsl/errors.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct VendorLibrary {
  std::string name;  ///< "cuBLAS", in messages
  std::vector<std::string> files;
  std::vector<std::string> companions;  ///< loaded before it
};

using VendorStatus = int;

/// RuntimeError "`doing`: …" with the library's own text where `text_of` is there, when `status` is not 0.
inline void check_status(VendorStatus status, const char* (*text_of)(VendorStatus),
                         const std::string& library, const std::string& doing) {
  if (status == 0) return;
  const char* text = text_of != nullptr ? text_of(status) : nullptr;
  throw RuntimeError(doing + ": " + (text != nullptr ? text : library + " status " + std::to_string(status)));
}

/// A library opened on one device. `EntryPoints` has `resolve(library)`, `open(handle)`, `close(handle)` and
/// `check(status, doing)`.
template <class EntryPoints, class Handle>
struct OpenedLibrary {
  SharedLibrary library;
  EntryPoints api{};
  std::shared_ptr<CudaDevice> device;
  std::optional<Device> owner;
  Handle handle{};
  std::string version;  ///< "cuBLAS 13.1.0 (libcublas.so.13)"

  OpenedLibrary() = default;
  OpenedLibrary(const OpenedLibrary&) = delete;
  OpenedLibrary& operator=(const OpenedLibrary&) = delete;
  ~OpenedLibrary() {
    if (opened_) release_in_context(*device, [this] { api.close(handle); });
  }

  /// Why it could not be opened; empty where it is. RuntimeError when it is there and fails.
  std::string open(const VendorLibrary& names, const Device& on) {
    if (!on.is_cuda()) return names.name + " needs a CUDA device, not " + on.name();
    library = SharedLibrary::open(names.files, library_folders(), names.companions);
    if (!library) return "no " + names.name + ": " + library.reason();
    if (!api.resolve(library))
      return "no " + names.name + ": " + library.path().string() + " lacks a function that weft calls";
    device = cuda_device_of(on, "opening " + names.name);
    owner = on;
    const ContextScope scope(*device);
    api.check(api.open(handle), "opening " + names.name + " on " + on.name());
    opened_ = true;
    return {};
  }

  void set_version(const std::string& name, const std::string& number) {
    version = name + " " + number + " (" + library.path().filename().string() + ")";
  }

 private:
  bool opened_ = false;
};

/// Opens it and asks `version_of`, which returns why the library cannot be used (empty: it can); nothing
/// where it cannot, and then `reason`, when given, says why.
template <class State, class VersionOf>
std::shared_ptr<State> opened_library(const VendorLibrary& names, const Device& device, std::string* reason,
                                      VersionOf&& version_of) {
  auto state = std::make_shared<State>();
  std::string why = state->open(names, device);
  if (why.empty()) why = version_of(*state);
  if (why.empty()) return state;
  if (reason != nullptr) *reason = why;
  return nullptr;
}

/// "12.6.3"
inline std::string dotted_version(std::int64_t major, std::int64_t minor, std::int64_t patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// A device address as these libraries take it.
inline void* device_pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace weft
