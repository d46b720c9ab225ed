// Thread-level programs built by hand, shared by the tests of the LLVM back end.
#pragma once

#include <weft/backends/llvm/cpu.h>
#include <weft/formats/array.h>
#include <weft/scheduler/ir/node.h>
#include <weft/scheduler/passes/lower.h>

#include <string>
#include <utility>
#include <vector>

namespace weft::testing {

inline ir::Expr v(const std::string& name) {
  return ir::variable(name);
}

ir::Stmt loop(const std::string& name, const ir::Expr& begin, const ir::Expr& extent, ir::LoopKind kind,
              const ir::Stmt& body);
ir::Stmt serial(const std::string& name, const ir::Expr& extent, const ir::Stmt& body);
ir::Stmt vectorized(const std::string& name, const ir::Expr& extent, const ir::Stmt& body);
ir::Stmt unrolled(const std::string& name, const ir::Expr& extent, const ir::Stmt& body);

ir::BufferRef input(const std::string& name, DType dtype, std::vector<ir::Expr> shape);
ir::BufferRef output(const std::string& name, DType dtype, std::vector<ir::Expr> shape);
ir::BufferRef both(const std::string& name, DType dtype, std::vector<ir::Expr> shape);
ir::BufferRef local(const std::string& name, DType dtype, std::vector<ir::Expr> shape,
                    ir::Scope scope = ir::Scope::registers);

ThreadProgram program(const std::string& name, std::vector<ir::BufferRef> buffers, ir::Stmt body,
                      std::vector<std::string> extents = {}, int index_bits = 32);

/// A program compiled for every processor level of this machine.
class CodeOfEveryProcessor {
 public:
  explicit CodeOfEveryProcessor(const ThreadProgram& program);
  /// Runs on each, on its own copy of the arrays; all must agree to the last bit unless the program fuses
  /// products and sums, which x86-64 and x86-64-v2 do not. Gives the arrays as "native" left them.
  std::vector<Array> run(const std::vector<Array>& arrays, const std::vector<std::int64_t>& extents = {},
                         const std::vector<double>& scalars = {}, bool fuses = false) const;

 private:
  std::vector<std::pair<std::string, llvm_backend::CpuCode>> codes_;
};

/// The same for a program that runs once.
std::vector<Array> run(const ThreadProgram& program, const std::vector<Array>& arrays,
                       const std::vector<std::int64_t>& extents = {}, const std::vector<double>& scalars = {},
                       bool fuses = false);

/// Small numbers without a pattern, the same every time.
Array numbers(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed = 1);
/// Whole numbers 0 .. limit - 1.
Array indices(DType dtype, std::vector<std::int64_t> shape, std::int64_t limit, std::uint64_t seed = 1);

/// C[m, n] = sum over p of values[p] * B[column[p], n] in f32, n in vectors of `width` with a masked tail,
/// loops over rows of the given kind. Buffers: begin, column, values, B, C. Extent "N".
ThreadProgram spmm(std::int64_t rows, std::int64_t inner, std::int64_t nonzeros, std::int64_t width,
                   ir::LoopKind rows_kind, int index_bits = 32, DType dtype = DType::f32);

/// The same for a GPU: a block a row, a thread a column group of `width`.
ThreadProgram spmm_for_gpu(std::int64_t rows, std::int64_t inner, std::int64_t nonzeros, std::int64_t width,
                           int index_bits = 32, DType dtype = DType::f32);

/// A matrix for spmm: begin, column, values.
struct Csr {
  Array begin;
  Array column;
  Array values;
};
Csr random_csr(std::int64_t rows, std::int64_t inner, std::int64_t per_row, DType dtype = DType::f32);

}  // namespace weft::testing
