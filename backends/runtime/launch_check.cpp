#include <weft/backends/runtime/module.h>
#include <weft/dsl/errors.h>

#include <cstdint>

namespace weft {
namespace {

template <class Number>
std::string text_of(const std::array<Number, 3>& extents) {
  return std::to_string(extents[0]) + " x " + std::to_string(extents[1]) + " x " + std::to_string(extents[2]);
}

void check_extents(const std::string& what, const std::string& noun, const std::array<unsigned, 3>& extents,
                   const std::array<int, 3>& limits) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (extents[axis] >= 1 && extents[axis] <= static_cast<unsigned>(limits[axis])) continue;
    throw UserError(what, "a " + noun + " of " + text_of(extents),
                    "each extent at least 1 and at most " + text_of(limits));
  }
}

}  // namespace

void check_launch(const DeviceDescription& device, const std::string& kernel,
                  const FunctionAttributes& attributes, const LaunchShape& shape) {
  const std::string what = "launching '" + kernel + "' on " + device.name;
  check_extents(what, "grid", shape.grid, device.grid_limit);
  check_extents(what, "block", shape.block, device.block_limit);

  const std::uint64_t threads = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (threads > static_cast<std::uint64_t>(attributes.max_threads))
    throw UserError(what, "a block of " + text_of(shape.block) + " = " + std::to_string(threads) + " threads",
                    "at most " + std::to_string(attributes.max_threads) +
                        " threads for this kernel, which uses " + std::to_string(attributes.registers) +
                        " registers a thread");
  const bool fits = attributes.static_shared_bytes <= device.shared_bytes_opt_in &&
                    shape.shared_bytes <= device.shared_bytes_opt_in - attributes.static_shared_bytes;
  if (!fits)
    throw UserError(what,
                    std::to_string(shape.shared_bytes) + " bytes of dynamic and " +
                        std::to_string(attributes.static_shared_bytes) + " bytes of static shared memory",
                    "at most " + std::to_string(device.shared_bytes_opt_in) + " bytes a block in all");
}

}  // namespace weft
