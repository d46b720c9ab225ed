// Where values live: element type, shape, strides, scope.
#pragma once

#include <weft/dsl/dtype.h>

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
  /// Of a workspace: blocks of one launch hand values to one another in it. What they add to it is added
  /// atomically. It is zero before the first launch, and what has to be zero is zero again after each.
  bool between_blocks = false;
};

using BufferRef = std::shared_ptr<const Buffer>;

/// A row-major buffer.
BufferRef make_buffer(std::string name, DType dtype, Scope scope, Access access, std::vector<Expr> shape,
                      bool non_negative = false);

}  // namespace weft::ir
