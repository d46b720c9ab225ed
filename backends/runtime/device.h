// Where kernels run: this machine's processor, a CUDA device, and whatever else implements DeviceInterface.
#pragma once

#include <weft/backends/runtime/handle.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

enum class DeviceKind : std::uint8_t { cpu, cuda, simulator };

/// What a device is and what it has. Bytes are bytes; a count that the kind of device does not have is 0.
struct DeviceDescription {
  DeviceKind kind = DeviceKind::cpu;
  int ordinal = 0;
  std::string name;   ///< what parse_device reads: "cpu", "cuda:0"
  std::string model;  ///< "NVIDIA H200", or the processor's model name
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;  ///< the last cache before memory; for a processor, its largest cache

  int sm = 0;  ///< compute capability, 90 for 9.0
  int multiprocessors = 0;
  int threads_per_block = 0;
  int threads_per_multiprocessor = 0;
  int blocks_per_multiprocessor = 0;
  int registers_per_block = 0;
  int registers_per_multiprocessor = 0;
  std::size_t shared_bytes_per_block = 0;  ///< without asking for more
  std::size_t shared_bytes_opt_in = 0;     ///< the most that one block can have
  std::size_t shared_bytes_per_multiprocessor = 0;
  std::array<int, 3> block_limit{};
  std::array<int, 3> grid_limit{};
  int clock_kilohertz = 0;
  int memory_clock_kilohertz = 0;
  int memory_bus_bits = 0;
  bool cluster_launch = false;
  int driver_version = 0;  ///< 13000 for 13.0

  int logical_cores = 0;
  std::vector<std::string> instruction_sets;  ///< "avx2", "avx512f", ...
};

class ModuleInterface;

/// What a device must do to stand behind Device. Addresses are the device's own; calls end in RuntimeError
/// where the device fails, and callers have checked their ranges.
class DeviceInterface {
 public:
  virtual ~DeviceInterface() = default;
  virtual const DeviceDescription& description() const = 0;
  /// At least one byte is asked for; aligned to 64 bytes or more.
  virtual std::uint64_t allocate(std::size_t bytes) = 0;
  virtual void release(std::uint64_t address) noexcept = 0;
  /// Each of these has happened, and is visible to every later launch, when it returns.
  virtual void upload(std::uint64_t target, const void* source, std::size_t bytes) = 0;
  virtual void download(void* target, std::uint64_t source, std::size_t bytes) = 0;
  virtual void fill(std::uint64_t target, std::uint8_t pattern, std::size_t bytes) = 0;
  /// Fills with 0xFF, as contents that no kernel may rely on.
  virtual void poison(std::uint64_t target, std::size_t bytes) { fill(target, 0xFF, bytes); }
  /// Loads GPU code. UserError on a device that runs none.
  virtual std::shared_ptr<ModuleInterface> load(std::string_view image);
  /// A device with a clock of its own: the microseconds that its launches took so far. nullopt: time by the
  /// world's clock.
  virtual std::optional<double> own_microseconds() const { return std::nullopt; }

 protected:
  DeviceInterface() = default;
  DeviceInterface(const DeviceInterface&) = default;
  DeviceInterface& operator=(const DeviceInterface&) = default;
};

namespace detail {

/// A text; a null pointer, which could become one, is an implementation that is not there.
template <class Text>
concept NameOfDevice =
    std::convertible_to<const Text&, std::string_view> && !std::same_as<Text, std::nullptr_t>;

template <class Text>
constexpr void refuse_text_of_device() {
  static_assert(never<Text>,
                "weft: a device is a text; accepted: Device::cpu(), Device::cuda(), Device::cuda(1) or "
                "Device::simulator(\"sm_90a\"), or of a text parse_device(\"cuda:1\")");
}

}  // namespace detail

/// A device, by value; copies mean the same device. A CUDA device is held through its primary context, which
/// is the one that the CUDA runtime and PyTorch use, so memory and streams of theirs can be used with it.
class Device {
 public:
  static Device cpu();
  /// RuntimeError, with the reason, on a machine without a CUDA device; UserError when there is none of this
  /// number. driver::status() asks the same without an error.
  static Device cuda(int ordinal = 0, CallPlace place = {});
  /// The simulator as a device of architecture sm_75, sm_80, sm_90 or sm_90a (backends/simulator/device.h has
  /// its options and its report; link weft::simulator). UserError for another name.
  static Device simulator(std::string_view architecture, CallPlace place = {});
  /// Every device of this machine: the processor, then the CUDA devices if any. Makes no contexts.
  static std::vector<DeviceDescription> devices();

  /// A device of one's own. UserError when there is no implementation.
  explicit Device(std::shared_ptr<DeviceInterface> implementation, CallPlace place = {});
  /// Always refused: a device is more than its name.
  template <detail::NameOfDevice Text>
  Device(const Text&) {
    detail::refuse_text_of_device<Text>();
  }
  template <detail::NameOfDevice Text>
  static Device cuda(const Text& text) {
    return Device(text);
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  static Device simulator(Number) {
    static_assert(detail::never<Number>,
                  "weft: a simulated device is named by a number; accepted: Device::simulator(\"sm_80\")");
    return cpu();
  }
  WEFT_NO_FUNCTION(Device, gpu, "Device::cuda()")
  WEFT_NO_FUNCTION(Device, host, "Device::cpu()")

  // UserError from each of these for a device that was moved from.
  DeviceKind kind(CallPlace place = {}) const { return description(place).kind; }
  bool is_cuda(CallPlace place = {}) const { return kind(place) == DeviceKind::cuda; }
  const std::string& name(CallPlace place = {}) const { return description(place).name; }
  const DeviceDescription& description(CallPlace place = {}) const {
    return implementation(place).description();
  }
  DeviceInterface& implementation(CallPlace place = {}) const {
    return held(implementation_, "Device", "Device::cpu(), cuda() or simulator()", place);
  }
  const std::shared_ptr<DeviceInterface>& shared() const { return implementation_; }

  friend bool operator==(const Device& a, const Device& b) { return a.name() == b.name(); }

 private:
  std::shared_ptr<DeviceInterface> implementation_;
};

}  // namespace weft
