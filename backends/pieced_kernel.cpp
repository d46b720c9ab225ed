#include <weft/backends/llvm/nvptx.h>
#include <weft/backends/pieced_kernel.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/processors.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <span>
#include <utility>
#include <vector>

namespace weft {
namespace {

using llvm_backend::Piece;
using llvm_backend::PiecedProgram;

/// Nodes of the pieces of one module. Starting an assembler for less costs more than it gains.
constexpr std::int64_t module_size = 20'000;

/// Pieces that are emitted together.
struct Share {
  std::span<const Piece> pieces;
  std::int64_t size = 0;  ///< nodes
};

/// Neighbours in the program are neighbours in a module.
std::vector<Share> shares_of(const std::vector<Piece>& pieces) {
  std::vector<Share> shares;
  std::size_t first = 0;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    size += pieces[i].size;
    if (size < module_size && i + 1 < pieces.size()) continue;
    shares.push_back({std::span(&pieces[first], i + 1 - first), size});
    first = i + 1;
    size = 0;
  }
  return shares;
}

/// Shares that the assembler gets at a time: four together take it a sixth less time than each alone. The
/// last are few, so that all processors end together. Neither the text of the whole nor the machine code
/// depends on how many processors there are.
std::vector<std::span<const Share>> runs_of(const std::vector<Share>& shares, std::int64_t processors) {
  std::vector<std::span<const Share>> runs;
  std::int64_t left = 0;
  for (const Share& share : shares) left += share.size;
  std::size_t first = 0;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    size += shares[i].size;
    const std::int64_t even = std::min(left / (2 * processors), 4 * module_size);
    if (size < even && i + 1 < shares.size()) continue;
    runs.emplace_back(&shares[first], i + 1 - first);
    first = i + 1;
    left -= size;
    size = 0;
  }
  return runs;
}

/// Registers that a thread of a piece may have, so that as many blocks are resident as the schedule says.
/// Where it says nothing, more would be gained by a second block than by what is above 128.
int most_registers(const ThreadProgram& program, const Target& target) {
  constexpr std::int64_t granularity = 8, without_schedule = 128;
  // Each of the four parts of a multiprocessor has a quarter of the registers and whole warps.
  constexpr std::int64_t four_warps = 128;
  const std::int64_t blocks = std::max<std::int64_t>(program.program.resident_blocks, 1);
  const std::int64_t threads = ceil_divide(blocks * program.launch.threads, four_warps) * four_warps;
  std::int64_t most = target.registers_per_multiprocessor / threads / granularity * granularity;
  if (program.program.resident_blocks == 0) most = std::min(most, without_schedule);
  return static_cast<int>(std::min(most, target.registers_per_thread));
}

/// Runs `work` for 0 … count - 1 on so many processors; the first error is thrown once all have ended, and
/// after one nothing more begins.
template <class Work>
void for_each_in_parallel(std::int64_t processors, std::size_t count, const Work& work) {
  std::atomic<bool> failed = false;
  std::vector<std::exception_ptr> errors(count);
  parallel_for_on(processors, static_cast<std::int64_t>(count), [&](std::int64_t number) {
    const auto i = static_cast<std::size_t>(number);
    if (failed) return;
    try {
      work(i);
    } catch (...) {
      errors[i] = std::current_exception();
      failed = true;
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

cuda::Assembled linked(std::vector<cuda::Assembled> parts, const cuda::AssembleOptions& options) {
  std::vector<std::string> objects;
  for (cuda::Assembled& part : parts) objects.push_back(std::move(part.cubin));
  cuda::Assembled whole = cuda::link(objects, options);
  for (const cuda::Assembled& part : parts) {
    whole.seconds += part.seconds;
    whole.report.functions.insert(whole.report.functions.end(), part.report.functions.begin(),
                                  part.report.functions.end());
    whole.report.notes.insert(whole.report.notes.end(), part.report.notes.begin(), part.report.notes.end());
  }
  return whole;
}

}  // namespace

std::optional<PiecedKernel> make_in_pieces(const ThreadProgram& program, const Target& target, bool assemble,
                                           const llvm_backend::PieceLimits& limits) {
  const std::optional<PiecedProgram> pieced = llvm_backend::cut_into_pieces(program, limits);
  if (!pieced) return std::nullopt;
  const std::int64_t at_once = processors();
  const std::vector<Share> shares = shares_of(pieced->pieces);
  const std::vector<std::span<const Share>> runs = runs_of(shares, at_once);
  cuda::AssembleOptions options;
  options.architecture = target.name;
  options.relocatable = true;
  options.most_registers = most_registers(program, target);
  std::vector<std::string> texts(shares.size() + 1);
  std::vector<cuda::Assembled> assembled(runs.size() + 1);
  // The entry last: its assembling takes the least.
  for_each_in_parallel(at_once, assembled.size(), [&](std::size_t i) {
    if (i == runs.size()) {
      texts.back() = llvm_backend::emit_entry_ptx(*pieced, target);
      if (assemble) assembled[i] = cuda::assemble(texts.back(), options);
      return;
    }
    // The assembler turns the order of functions round.
    std::vector<std::string> backwards;
    for (const Share& share : runs[i]) {
      std::string& text = texts[&share - shares.data()];
      text = llvm_backend::emit_pieces_ptx(*pieced, share.pieces, target);
      backwards.insert(backwards.begin(), text);
    }
    const std::string first = std::move(backwards.back());
    backwards.pop_back();
    if (assemble) assembled[i] = cuda::assemble(llvm_backend::join_ptx(first, backwards), options);
  });
  PiecedKernel made;
  made.ptx = llvm_backend::join_ptx(texts.back(), std::span(texts).first(shares.size()));
  if (assemble) made.assembled = linked(std::move(assembled), options);
  return made;
}

}  // namespace weft
