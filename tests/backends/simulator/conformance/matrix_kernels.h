// Kernels for the conformance of matrix instructions: one instruction each, with operands, what should come
// out by a plain product, and how far a tensor core may be off.
#pragma once

#include <string>
#include <vector>

#include "matrix_numbers.h"

namespace weft::simulator::testing {

/// A kernel `kernel(in, out)` of one block; both parameters are addresses in global memory.
struct MatrixKernel {
  std::string name;  ///< "mma.m16n8k16.f32.f16.f16.f32 random"
  std::string ptx;   ///< a module
  int threads = 32;
  std::vector<std::uint32_t> input;  ///< words of `in`
  Type result = Type::f32;           ///< type of the elements of `out`
  std::vector<double> expected;      ///< the elements of `out`, one after the other
  /// How far an element may be off: 0 on operands that are small integers. On random ones (A, B and C between
  /// -1 and 1) a tensor core drops bits of products below the largest one's, and rounds toward zero; f32 sums
  /// of k products are then off by at most (k + 1) * 2^-21, f16 sums by 2^-7, sums of 8-bit floating products
  /// by (k + 1) * 2^-13.
  double tolerance = 0;
};

std::vector<MatrixKernel> matrix_move_kernels();  ///< ldmatrix, stmatrix, movmatrix
std::vector<MatrixKernel> multiply_kernels();     ///< mma, mma.sp
std::vector<MatrixKernel> warpgroup_kernels();    ///< wgmma
/// All of them.
std::vector<MatrixKernel> matrix_kernels();

// For the files that make them.

/// What a product of k elements may be off by.
double tolerance_of(Type operand, Type result, int inner, bool is_whole);
/// c + products, as the accumulator type holds it: integers wrap, or stop at the ends of their range.
double accumulated(Type result, double start, double products, bool saturates);

/// Which of k the stored elements of a sparse A are, and the metadata words of 32 lanes that say so.
struct Sparsity {
  /// Of 16 rows from `first_row` of a larger matrix on; `selector` as the instruction has it.
  Sparsity(Type type, int inner, int selector, Draw& draw);
  int position(int row, int stored) const { return positions.data()[row * inner_ / 2 + stored]; }

  std::vector<std::uint32_t> metadata;
  std::vector<int> positions;

 private:
  int inner_;
};
/// How many selectors a sparse shape has.
int selectors_of(Type type, int inner);

/// Where element `i` of a lane's A registers (B's, accumulators') stands: row, column.
struct Place {
  int row, column;
};
Place place_in_a(Type type, int rows, int lane, int i);
Place place_in_b(Type type, int lane, int i);
Place place_of_sum(int lane, int i);

/// "%r1, %r2" for a list of registers.
std::string register_list(char kind, int first, int count);

}  // namespace weft::simulator::testing
