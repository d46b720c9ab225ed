// What must hold of the arguments of a call before compiled code may see them.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::llvm_backend {

/// UserError when the numbers of arguments are not the program's, an extent is below 1, a buffer is null or
/// not aligned to 16 bytes, or a size does not fit the program's indices.
void check_launch(const ir::Program& program, std::span<void* const> buffers, std::size_t scalars,
                  std::span<const std::int64_t> extents);

}  // namespace weft::llvm_backend
