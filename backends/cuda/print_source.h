// Thread-level programs as CUDA C++ that a person can read, edit and compile without weft.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/passes/lower.h>

#include <cstdint>
#include <string>

namespace weft {

/// CUDA C++ is printed of programs up to this many statements that store, add or copy. Front ends of C++ take
/// time that grows with the square of a straight line: a baked kernel of 1,638 entries takes nvcc 1.1 s and
/// one of 6,554 entries 16 s, where LLVM's PTX of the same takes ptxas 0.5 s.
constexpr std::int64_t most_source_statements = 4'000;
/// Statements times branches: what is kept in registers across each of them is looked at again. 3,364 of
/// them, with 67 branches, took NVRTC half a minute.
constexpr std::int64_t most_source_crossings = 1 << 17;

/// What a program would be as CUDA C++: what stands in an unrolled loop counts in every iteration, what
/// stands in any other once.
struct SourceLength {
  std::int64_t statements = 0;  ///< that store, add or copy
  std::int64_t branches = 0;    ///< loops and conditions
  bool is_printable() const {
    return statements <= most_source_statements && branches <= most_source_crossings &&
           statements * branches <= most_source_crossings;
  }
};
SourceLength source_length(const ThreadProgram& program);

/// One kernel, called as the program, whose parameters are the buffers, workspaces, scalars and extents in
/// the program's order; dots in names become underscores, extents and integers are index_bits wide. Addresses
/// of buffers must be multiples of 16. Programs of more than 48 KB of shared memory take all of it
/// dynamically. `computes` is a line for the comment at the top, such as Algorithm::text(). The text depends
/// on nothing but the arguments.
///
/// The arithmetic is that of the program where products and sums are not contracted (-fmad=false), as
/// cuda::compile asks for. UserError when the target is no GPU or lacks an instruction that the program
/// calls, when CUDA C++ has a function of the program's name, or when the program is longer
/// than is_printable() allows.
std::string print_cuda_source(const ThreadProgram& program, const Target& target,
                              const std::string& computes = {});

}  // namespace weft
