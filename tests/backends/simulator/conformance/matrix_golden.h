// What a GPU made of the matrix kernels, as tests/golden/simulator/matrix_sm90.txt keeps it: a line a kernel
// with a signature of its text and operands, a hash of its output, and how far it is from a plain product.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run_matrix_kernel.h"

namespace weft::simulator::testing {

struct MatrixGolden {
  std::uint64_t signature = 0;
  std::uint64_t hash = 0;
  double error = 0;  ///< the largest of an element
};

std::uint64_t signature_of(const MatrixKernel& kernel);
MatrixGolden golden_of(const MatrixKernel& kernel, const std::vector<std::uint32_t>& out);
std::string golden_line(const MatrixKernel& kernel, const MatrixGolden& golden);
/// By name. Throws UserError for a line that is none.
std::map<std::string, MatrixGolden> read_matrix_golden(const std::string& path);

/// What is wrong, in one line; empty when nothing is. Operands that are whole: the outputs are equal bit by
/// bit. Others: both are so near to a plain product that they differ by no more than the kernel's tolerance.
std::string difference(const MatrixKernel& kernel, const MatrixGolden& gpu, const MatrixGolden& simulated);

}  // namespace weft::simulator::testing
