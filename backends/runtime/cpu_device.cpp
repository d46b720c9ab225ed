// This machine's processor and memory as a device.
#include <unistd.h>
#include <weft/backends/runtime/device.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/processors.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>

namespace weft {
namespace {

constexpr std::align_val_t alignment{64};

std::string processor_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> found;
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  // The builtin takes a literal only.
#define WEFT_ASK(name) \
  if (__builtin_cpu_supports(name)) found.push_back(name)
  WEFT_ASK("sse4.2");
  WEFT_ASK("avx");
  WEFT_ASK("avx2");
  WEFT_ASK("fma");
  WEFT_ASK("avx512f");
  WEFT_ASK("avx512bw");
  WEFT_ASK("avx512dq");
  WEFT_ASK("avx512vl");
  WEFT_ASK("avx512vnni");
  WEFT_ASK("avx512bf16");
#undef WEFT_ASK
#elif defined(__aarch64__)
  found.push_back("neon");
#endif
  return found;
}

std::size_t largest_cache() {
  long bytes = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  bytes = std::max({bytes, sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE)});
#endif
  return static_cast<std::size_t>(bytes);
}

DeviceDescription describe() {
  DeviceDescription description;
  description.kind = DeviceKind::cpu;
  description.name = "cpu";
  description.model = processor_model();
  description.logical_cores = static_cast<int>(processors());
  description.instruction_sets = instruction_sets();
  description.l2_bytes = largest_cache();
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0)
    description.memory_bytes = static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
  return description;
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

class CpuDevice final : public DeviceInterface {
 public:
  const DeviceDescription& description() const override { return description_; }

  std::uint64_t allocate(std::size_t bytes) override {
    void* memory = nullptr;
    // The system promises memory that it does not have and ends the process on first use.
    if (description_.memory_bytes == 0 || bytes <= description_.memory_bytes)
      memory = ::operator new(bytes, alignment, std::nothrow);
    if (memory == nullptr)
      throw RuntimeError("cannot allocate " + std::to_string(bytes) + " bytes on cpu, which has " +
                         std::to_string(description_.memory_bytes) + " bytes of memory in all");
    return reinterpret_cast<std::uint64_t>(memory);
  }
  void release(std::uint64_t address) noexcept override { ::operator delete(pointer(address), alignment); }
  void upload(std::uint64_t target, const void* source, std::size_t bytes) override {
    std::memcpy(pointer(target), source, bytes);
  }
  void download(void* target, std::uint64_t source, std::size_t bytes) override {
    std::memcpy(target, pointer(source), bytes);
  }
  void fill(std::uint64_t target, std::uint8_t pattern, std::size_t bytes) override {
    std::memset(pointer(target), pattern, bytes);
  }

 private:
  DeviceDescription description_ = describe();
};

}  // namespace

std::shared_ptr<DeviceInterface> open_cpu_device() {
  static const std::shared_ptr<DeviceInterface> only = std::make_shared<CpuDevice>();
  return only;
}

}  // namespace weft
