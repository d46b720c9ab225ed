// How large local arrays are, and where those in shared memory lie.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <cstdint>
#include <vector>

namespace weft {

/// Programs of more shared memory than this are given all of it at launch.
constexpr std::int64_t most_static_shared_bytes = 48 * 1024;

/// Elements of an array in registers or shared memory; at least one, because one that nothing reads or writes
/// is declared too. InternalError where its shape is not constant.
std::int64_t elements_of_local(const ir::Buffer& buffer);

/// One array of a program whose shared arrays have constant shapes.
struct SharedArray {
  const ir::Buffer* buffer = nullptr;
  std::int64_t offset = 0;  ///< bytes from the begin of the block's shared memory
  std::int64_t bytes = 0;
};

/// What its address is a multiple of, in bytes: lines that are swizzled repeat after eight of them.
std::int64_t shared_alignment_of(const ir::Buffer& buffer);
/// Every shared array has a place of its own for the whole kernel, in the order of the program.
std::vector<SharedArray> shared_arrays(const ir::Program& program);
/// The end of the last one.
std::int64_t shared_bytes_of(const ir::Program& program);

}  // namespace weft
