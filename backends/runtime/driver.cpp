#include <dlfcn.h>
#include <weft/backends/runtime/driver.h>
#include <weft/dsl/errors.h>

namespace weft::driver {
namespace {

std::string text_of_error(const EntryPoints& table, Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (table.cuGetErrorName == nullptr || table.cuGetErrorName(result, &name) != success || name == nullptr)
    return "CUDA error " + std::to_string(result);
  std::string all = name;
  if (table.cuGetErrorString(result, &text) == success && text != nullptr)
    all += " (" + std::string(text) + ")";
  return all;
}

std::string oldest_text() {
  return text_of_version(lowest_version);
}

Status too_old(int version, const std::string& reason) {
  return {Availability::driver_too_old, "no CUDA device: the NVIDIA driver is too old: " + reason, version,
          0};
}

Status initialise(const EntryPoints& table) {
  Status status;
  const auto with = [&](Availability availability, const std::string& sentence) {
    status.availability = availability;
    status.sentence = sentence;
    return status;
  };
  if (table.cuDriverGetVersion(&status.version) == success && status.version < lowest_version)
    return too_old(status.version, "it supports CUDA " + text_of_version(status.version) +
                                       ", weft needs at least " + oldest_text());
  const Result result = table.cuInit(0);
  if (result == error_no_device)
    return with(Availability::no_device, "no CUDA device: the driver finds none on this machine");
  if (result == error_stub_library)
    return with(Availability::no_driver,
                "no CUDA device: libcuda.so.1 on the loader path is the toolkit's stub, not a driver");
  if (result != success || table.cuDeviceGetCount(&status.device_count) != success)
    return with(Availability::failed,
                "no CUDA device: the driver does not start: " + text_of_error(table, result));
  if (status.device_count == 0)
    return with(Availability::no_device,
                "no CUDA device: the driver hides every device (is CUDA_VISIBLE_DEVICES set?)");
  return with(Availability::ready, std::to_string(status.device_count) + " CUDA device" +
                                       (status.device_count == 1 ? "" : "s") + ", driver for CUDA " +
                                       text_of_version(status.version));
}

struct Loaded {
  EntryPoints table;
#if WEFT_WITH_CUDA
  Status status = load("libcuda.so.1", table);
#else
  Status status{Availability::switched_off, "no CUDA device: weft was built with WEFT_CUDA=OFF", 0, 0};
#endif
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

Status load(const std::string& library, EntryPoints& table) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return {Availability::no_driver,
            "no CUDA device: the NVIDIA driver library cannot be loaded: " +
                std::string(reason != nullptr ? reason : library),
            0, 0};
  }
  const std::string missing = table.resolve(handle);
  if (!missing.empty()) {
    int version = 0;
    if (table.cuDriverGetVersion != nullptr) table.cuDriverGetVersion(&version);
    return too_old(version,
                   "it has no " + missing + "; weft needs a driver for CUDA " + oldest_text() + " or later");
  }
  return initialise(table);
}

const Status& status() {
  return loaded().status;
}

const EntryPoints& entry_points() {
  const Loaded& once = loaded();
  if (!once.status.ready()) throw RuntimeError(once.status.sentence);
  return once.table;
}

std::string text_of_error(Result result) {
  return text_of_error(loaded().table, result);
}

void check(Result result, std::string_view doing) {
  if (result != success) throw RuntimeError(std::string(doing) + ": " + text_of_error(result));
}

std::string text_of_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace weft::driver
