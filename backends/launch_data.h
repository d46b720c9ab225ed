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
    bool begins_as_zero = false;    ///< a workspace that has to
    bool is_coordinates = false;    ///< it says where entries of the weights stand
  };
  /// A kernel that is started.
  struct Call {
    std::string function;                ///< its name in the code
    std::array<std::int64_t, 3> grid{};  ///< blocks, by dimension
    std::int64_t threads = 0;            ///< threads of a block
    std::int64_t shared_bytes = 0;       ///< shared memory of a block, what the image takes included
    bool overlaps = false;               ///< as LaunchShape has it
    std::vector<std::size_t> memory;     ///< the first arguments: places in `memory` below
    /// The next ones, scalars and extents, as a GPU takes them: the value in the low bytes.
    std::vector<std::uint64_t> words;
  };
  std::vector<Call> calls;            ///< on a GPU, one behind the other: copies of operands, and the kernel
  std::vector<Memory> memory;         ///< on a CPU the first arguments, by address
  std::size_t output = 0;             ///< place of the output in `memory`
  std::vector<double> scalars;        ///< on a CPU the next arguments
  std::vector<std::int64_t> extents;  ///< on a CPU the last ones
};

/// Borrows the arrays of the arguments and of the weights. UserError when the arguments do not fit the
/// algorithm, or an operand has 2^31 elements or more and the kernel indexes with 32 bits.
LaunchData launch_data(const Kernel& kernel, const Arguments& arguments);

/// The machine code of a GPU kernel where the device runs it, else its PTX, loaded. Errors as Module::load.
Module loaded_code(const Kernel& kernel, const Device& device);

/// A kernel that is loaded, with operands that lie on its device: what a launch takes beside a stream.
class PreparedLaunch {
 public:
  /// `addresses`: of `data.memory`, in its order. `code` has the functions of all calls.
  PreparedLaunch(const Module& code, const LaunchData& data, std::span<const std::uint64_t> addresses);
  PreparedLaunch(const PreparedLaunch&) = delete;
  PreparedLaunch& operator=(const PreparedLaunch&) = delete;
  PreparedLaunch(PreparedLaunch&&) = default;
  PreparedLaunch& operator=(PreparedLaunch&&) = default;
  ~PreparedLaunch() = default;

  /// Puts another address in the place of one of those that it was made with.
  void replace_address(std::size_t number, std::uint64_t address);
  /// As Function::launch, of each call.
  void launch(StreamHandle stream) const;

 private:
  struct Call {
    Function function;
    LaunchShape shape;
    std::vector<std::size_t> memory;
    std::vector<std::uint64_t> words;  ///< one an argument, its value in the low bytes
    std::vector<void*> arguments;      ///< into `words`
  };
  std::vector<Call> calls_;
};

}  // namespace weft
