// A program: the arguments of a kernel and the statement that it runs.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <optional>
#include <string>
#include <vector>

namespace weft::ir {

/// A knob: a number that the schedule left open, and the values it may take.
struct Knob {
  std::string name;
  std::vector<std::int64_t> values;
};

/// Numbers that are part of the program: an i32 buffer in global memory that is only read.
struct ConstantBuffer {
  BufferRef buffer;  ///< has one dimension
  std::vector<std::int32_t> numbers;
};

/// The roles that the warps of a kernel take: some start the copies, the others compute.
struct WarpRoles {
  int producers = 0;           ///< warps, beside those that loops are bound to
  int producer_registers = 0;  ///< each thread has so many; 0: as they come
  int consumer_registers = 0;
};

/// The clusters in which the thread blocks of a kernel work, and copy to one another.
struct Cluster {
  std::string loop;                 ///< bound to an axis of blocks: those of its iterations are a cluster
  std::int64_t blocks = 1;          ///< its iterations
  std::vector<std::string> arrays;  ///< whose tiles are copied once for all blocks of a cluster
};

/// A launch that may begin before the one in front of it in its stream has ended.
struct LaunchOverlap {
  std::string tensor;  ///< no launch writes it: until the one in front has ended, nothing else is touched
};

/// Which dimensions have moved in the copy of an operand.
enum class CopyOrder : std::uint8_t {
  none,                            ///< none: its rows alone begin elsewhere
  first_innermost,                 ///< [n, k] is [k, n], and [n, c, h, w] is [c, h, w, n]
  first_innermost_last_outermost,  ///< [n, h, w, c] is [c, h, w, n]
  last_outermost,                  ///< [n, h, w, c] is [c, n, h, w]
};

/// An operand that the kernel does not read or write as the caller has it: it is copied by a launch of its
/// own, into or out of memory that the caller lends.
struct OperandCopy {
  BufferRef given;    ///< as the caller has it
  BufferRef ordered;  ///< as the kernel has it: one of the program's buffers, called the same
  CopyOrder order = CopyOrder::none;
  bool is_output = false;
};

/// With 32-bit indices, buffers and extents stay below this: the room above it is for tiles that reach past
/// the end of a dimension.
constexpr std::int64_t largest_32_bit_extent = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);

/// The only IR, one kernel. Back ends pass arguments in this order: buffers, scalars, extents.
struct Program {
  std::string name;  ///< an identifier
  std::vector<BufferRef>
      buffers;  ///< global memory, the dense operands, the arrays of the sparse one, outputs
  std::vector<BufferRef> workspaces;  ///< global memory that the caller lends, contents undefined before and
                                      ///< after (see Buffer::begins_as_zero for those that are not)
  std::vector<ConstantBuffer> constants;  ///< no arguments: code carries them
  std::vector<Variable> scalars;          ///< alpha, beta, …
  std::vector<Variable> extents;          ///< i64 sizes known only at launch; each is at least 1
  std::vector<Knob> knobs;                ///< open knobs; none may be left when the program is compiled
  std::optional<WarpRoles> roles;         ///< a promise of specialize_warps, kept by the pass of that name
  std::optional<Cluster> cluster;         ///< a promise of multicast, kept by the pass specialize_warps
  std::vector<OperandCopy> copied;        ///< in the order of the steps; the copies of inputs run ahead
  std::optional<LaunchOverlap> overlap;   ///< a promise of overlap_launches, kept by wait_for_launch
  /// Blocks that a multiprocessor is to hold at a time, among which its registers are shared out; 0: the
  /// assembler chooses.
  std::int64_t resident_blocks = 0;
  /// Width of index arithmetic in generated code. With 32, a launch whose buffers hold 2^31 elements or more,
  /// or one of whose extents is above `largest_extent`, is refused.
  int index_bits = 32;
  /// Up to here 32 bits hold what is computed with an extent; less where it is multiplied, as in B(3 * p +
  /// r).
  std::int64_t largest_extent = largest_32_bit_extent;
  Stmt body;
};

/// Whether stores to one of the program's arguments stream (Buffer::streams).
bool streams_results(const Program& program);

/// Whether an argument or a workspace may be another after the wait for the launch in front than before it.
bool is_awaited(const Program& program, const Buffer& buffer);

/// Whether others than the thread write, while the kernel runs, what it reads there.
bool changes_meanwhile(const Program& program, const Buffer& buffer);

}  // namespace weft::ir
