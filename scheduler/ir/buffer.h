// Where values live: element type, shape, strides, scope.
#pragma once

#include <weft/dsl/dtype.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::ir {

class Expr;

enum class Scope : std::uint8_t {
  global,     ///< device memory (or host memory on the CPU): arguments and workspaces
  shared,     ///< one copy a thread block
  registers,  ///< one copy a thread once threads are mapped; before that, one copy a block
};

/// How an argument is used by the kernel.
enum class Access : std::uint8_t { read, write, read_write };

/// A buffer is compared by identity (the pointer). Shapes may hold variables such as "N".
struct Buffer {
  std::string name;  ///< "C", "A.values", "accumulator"; unique in a program
  DType dtype = DType::f32;
  Scope scope = Scope::global;
  Access access = Access::read_write;
  std::vector<Expr> shape;
  std::vector<Expr> strides;  ///< in elements, one a dimension; row-major when made by make_buffer
  bool non_negative =
      false;  ///< integers: no element is below zero; else none is below -1, the mark of padding
  /// How many bits of the number of a 128-byte line are mixed into the number of a 16-byte chunk inside it, 0
  /// to 3, which is the order in which tensor cores read memory (see `swizzled`). Not for registers; the
  /// bytes are a multiple of 128 << swizzle.
  int swizzle = 0;
  /// Whether blocks of one launch hand values to one another in this workspace. What they add to it is added
  /// atomically.
  bool between_blocks = false;
  /// Whether this workspace has to be zero before a launch. It is zero again after each.
  bool begins_as_zero = false;
  /// The tensor of the algorithm that it is, or of which it is an array or a copy; empty: none.
  std::string tensor = {};
  /// Whether what is stored to this output leaves the caches first, before what is read again.
  bool streams = false;
};

using BufferRef = std::shared_ptr<const Buffer>;

/// A row-major buffer.
BufferRef make_buffer(std::string name, DType dtype, Scope scope, Access access, std::vector<Expr> shape,
                      bool non_negative = false);

/// One for elements of another buffer: of its type, and of the same tensor.
std::shared_ptr<Buffer> make_tile(std::string name, const Buffer& source, Scope scope,
                                  std::vector<Expr> shape);

std::int64_t element_bytes(const Buffer& buffer);
/// The offset of an element, in elements, that indices and strides alone give. Equal offsets are equal
/// elements, so this is what analyses compare.
Expr offset_of(const Buffer& buffer, const std::vector<Expr>& indices);
/// Where in memory, in elements, lies what has that offset: x ^ ((x >> 7 & (2^swizzle - 1)) << 4) of the
/// bytes x. Chunks of 16 bytes stay whole and stay in their line of 128 bytes. Back ends come here with every
/// offset before it becomes an address. Steps 1, 2, 3 of swizzle are the 32-, 64- and 128-byte swizzles of
/// wgmma.
Expr swizzled(const Buffer& buffer, const Expr& offset);
/// The elements that stay together under the swizzle, 16 bytes of them.
std::int64_t chunk_of(const Buffer& buffer);

}  // namespace weft::ir
