// What the assembler says about the code that it made.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cuda {

/// One kernel, or one function that it calls (which has no registers of its own). Bytes a thread for stack
/// and spills, a block for shared memory.
struct FunctionResources {
  std::string function;
  int registers = 0;
  int barriers = 0;
  std::size_t stack_bytes = 0;
  std::size_t spill_store_bytes = 0;
  std::size_t spill_load_bytes = 0;
  std::size_t shared_bytes = 0;  ///< static
  std::size_t constant_bytes = 0;
};

/// A remark with a number, such as C7510 to C7519: wgmma was serialised, or given waits that were not asked
/// for. The exit code knows nothing of it.
struct Note {
  std::string code;  ///< "C7517"
  std::string text;
};

struct PtxasReport {
  std::vector<FunctionResources> functions;
  std::vector<Note> notes;
  std::vector<std::string> warnings;

  /// The largest of each number over all functions.
  FunctionResources worst() const;
  /// The resources of `function`, or nullptr.
  const FunctionResources* find(std::string_view function) const;
};

/// Reads what ptxas -v prints, as nvcc -Xptxas -v and NVRTC with --ptxas-options=-v pass it on, and what
/// nvlink -v prints of kernels. Lines that it does not know are passed over.
PtxasReport read_ptxas_report(std::string_view text);

/// The errors in what ptxas prints, each followed by the line of `ptx` that it names; the whole of `text`
/// when no error can be told from the rest.
std::string explain_ptxas_errors(std::string_view text, std::string_view ptx);

}  // namespace weft::cuda
