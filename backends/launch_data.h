// What a launch of a kernel needs, for whoever does the launching.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/backends/runtime/module.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct LaunchData {
  struct Memory {
    std::string name;
    std::size_t bytes = 0;
    const Array* source = nullptr;  ///< what it holds at first; null: a workspace
    bool begins_as_zero = false;    ///< a workspace that blocks meet in
    bool is_coordinates = false;    ///< it says where entries of the weights stand
  };
  std::string function;                ///< the kernel's name in its code
  std::array<std::int64_t, 3> grid{};  ///< blocks on a GPU, by dimension
  std::int64_t threads = 0;            ///< threads of a block
  std::int64_t shared_bytes = 0;       ///< shared memory of a block, what the image takes included
  std::vector<Memory> memory;          ///< the first arguments, by address
  std::size_t output = 0;              ///< place of the output in `memory`
  std::vector<double> scalars;         ///< the next arguments
  std::vector<std::int64_t> extents;   ///< the last ones
  /// Scalars and extents as a GPU takes them, one an argument, its value in the low bytes.
  std::vector<std::uint64_t> words;
};

/// Borrows the arrays of the arguments and of the weights. UserError when the arguments do not fit the
/// algorithm, or an operand has 2^31 elements or more and the kernel indexes with 32 bits.
LaunchData launch_data(const Kernel& kernel, const Arguments& arguments);

/// The machine code of a GPU kernel where the device runs it, else its PTX, loaded. Errors as Module::load.
Module loaded_code(const Kernel& kernel, const Device& device);

/// A kernel that is loaded, with operands that lie on its device: what a launch takes beside a stream.
class PreparedLaunch {
 public:
  /// `addresses`: of `data.memory`, in its order.
  PreparedLaunch(Function function, const LaunchData& data, std::span<const std::uint64_t> addresses);
  PreparedLaunch(const PreparedLaunch&) = delete;
  PreparedLaunch& operator=(const PreparedLaunch&) = delete;
  PreparedLaunch(PreparedLaunch&&) = default;
  PreparedLaunch& operator=(PreparedLaunch&&) = default;
  ~PreparedLaunch() = default;

  /// Puts another address in the place of one of those that it was made with.
  void replace_address(std::size_t number, std::uint64_t address) { words_[number] = address; }
  /// As Function::launch.
  void launch(StreamHandle stream) const { function_.launch(shape_, arguments_, stream); }

 private:
  Function function_;
  LaunchShape shape_;
  std::vector<std::uint64_t> words_;  ///< one an argument, its value in the low bytes
  std::vector<void*> arguments_;      ///< into `words_`
};

}  // namespace weft
