// Compiled GPU code on a CUDA device, and launching it.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/stream.h>
#include <weft/dsl/errors.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

/// What the driver knows of a loaded kernel. Bytes per thread for local memory, per block for shared memory.
struct FunctionAttributes {
  int registers = 0;
  std::size_t local_bytes = 0;  ///< stack and spills
  std::size_t static_shared_bytes = 0;
  std::size_t constant_bytes = 0;
  int max_threads = 0;     ///< a block of more does not launch, for its registers
  int cluster_blocks = 0;  ///< blocks of the cluster that the kernel was compiled for, 0 for none
};

/// How often a kernel runs: blocks, threads of a block, and dynamic shared memory of a block; and when.
struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  std::size_t shared_bytes = 0;
  /// Whether it may begin before the launch in front of it has ended, for which the kernel waits itself.
  /// Where the driver or the device cannot do that it begins behind that one.
  bool overlaps = false;
};

/// Throws UserError, with the numbers, when the device cannot launch a kernel in this shape: empty or too
/// large grids and blocks, too many threads for the kernel's registers, more shared memory than a block can
/// have.
void check_launch(const DeviceDescription& device, const std::string& kernel,
                  const FunctionAttributes& attributes, const LaunchShape& shape);

/// What a device must do to stand behind Module and Function.
class FunctionInterface {
 public:
  virtual ~FunctionInterface() = default;
  virtual const std::string& name() const = 0;
  virtual const FunctionAttributes& attributes() const = 0;
  virtual int blocks_per_multiprocessor(const LaunchShape& shape) const = 0;
  virtual void launch(const LaunchShape& shape, std::span<void* const> arguments,
                      StreamHandle stream) const = 0;

 protected:
  FunctionInterface() = default;
  FunctionInterface(const FunctionInterface&) = default;
  FunctionInterface& operator=(const FunctionInterface&) = default;
};

class ModuleInterface {
 public:
  virtual ~ModuleInterface() = default;
  virtual std::shared_ptr<FunctionInterface> function(const std::string& name) const = 0;
  virtual std::pair<std::uint64_t, std::size_t> variable(const std::string& name) const = 0;
  virtual const std::string& log() const = 0;

 protected:
  ModuleInterface() = default;
  ModuleInterface(const ModuleInterface&) = default;
  ModuleInterface& operator=(const ModuleInterface&) = default;
};

/// One kernel of a module; a value that keeps its module loaded.
class Function {
 public:
  const std::string& name(CallPlace place = {}) const { return implementation(place).name(); }
  const FunctionAttributes& attributes(CallPlace place = {}) const {
    return implementation(place).attributes();
  }
  /// How many blocks of this shape fit on a multiprocessor at once. UserError as check_launch.
  int blocks_per_multiprocessor(const LaunchShape& shape, CallPlace place = {}) const {
    return user_call(place, [&] { return implementation(place).blocks_per_multiprocessor(shape); });
  }
  /// Starts the kernel in `stream` and returns at once. `arguments` points at each argument's value, in
  /// order. The first error of a kernel shows in the next wait. UserError as check_launch, RuntimeError from
  /// the driver.
  void launch(const LaunchShape& shape, std::span<void* const> arguments, StreamHandle stream,
              CallPlace place = {}) const {
    user_call(place, [&] { implementation(place).launch(shape, arguments, stream); });
  }
  /// UserError, as from every other call, for a function that was moved from.
  FunctionInterface& implementation(CallPlace place = {}) const {
    return held(implementation_, "Function", "Module::function()", place);
  }

 private:
  friend class Module;
  explicit Function(std::shared_ptr<FunctionInterface> implementation)
      : implementation_(std::move(implementation)) {}
  std::shared_ptr<FunctionInterface> implementation_;
};

/// A loaded image. A value; copies share it, and it is unloaded with the last copy and the last Function of
/// it.
class Module {
 public:
  /// Loads a cubin, a fat binary or PTX text (a simulated device: PTX text). UserError when `image` is none
  /// of these, or `device` runs no such images; RuntimeError with the driver's log when it refuses the image.
  static Module load(const Device& device, std::string_view image, CallPlace place = {});

  /// The kernel of this name; UserError when the module has none.
  Function function(const std::string& name, CallPlace place = {}) const {
    return user_call(place, [&] { return Function(implementation(place).function(name)); });
  }

  /// Address and bytes of a variable in global or constant memory; UserError when the module has none.
  struct Variable {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
  };
  Variable variable(const std::string& name, CallPlace place = {}) const {
    return user_call(place, [&] {
      const auto [address, bytes] = implementation(place).variable(name);
      return Variable{address, bytes};
    });
  }

  /// What the driver said while it compiled PTX; empty for a cubin.
  const std::string& log(CallPlace place = {}) const { return implementation(place).log(); }

 private:
  ModuleInterface& implementation(CallPlace place) const {
    return held(implementation_, "Module", "Module::load()", place);
  }
  explicit Module(std::shared_ptr<ModuleInterface> implementation)
      : implementation_(std::move(implementation)) {}
  std::shared_ptr<ModuleInterface> implementation_;
};

}  // namespace weft
