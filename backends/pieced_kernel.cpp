#include <weft/backends/llvm/nvptx.h>
#include <weft/backends/pieced_kernel.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using llvm_backend::Piece;
using llvm_backend::PiecedProgram;

/// Nodes of the pieces of one module. Starting an assembler for less costs more than it gains.
constexpr std::int64_t module_size = 20'000;

/// Neighbours in the program are neighbours in a module.
std::vector<std::span<const Piece>> shares_of(const std::vector<Piece>& pieces) {
  std::vector<std::span<const Piece>> shares;
  std::size_t first = 0;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    size += pieces[i].size;
    if (size < module_size && i + 1 < pieces.size()) continue;
    shares.emplace_back(&pieces[first], i + 1 - first);
    first = i + 1;
    size = 0;
  }
  return shares;
}

/// Registers that a thread of a piece may have, so that as many blocks are resident as the schedule says.
/// Where it says nothing, more would be gained by a second block than by what is above 128.
int most_registers(const ThreadProgram& program, const Target& target) {
  constexpr std::int64_t granularity = 8, without_schedule = 128;
  // Each of the four parts of a multiprocessor has a quarter of the registers and whole warps.
  constexpr std::int64_t four_warps = 128;
  const std::int64_t threads = (program.launch.threads + four_warps - 1) / four_warps * four_warps;
  const std::int64_t blocks = std::max<std::int64_t>(program.program.resident_blocks, 1);
  std::int64_t most = target.registers_per_multiprocessor / (threads * blocks) / granularity * granularity;
  if (program.program.resident_blocks == 0) most = std::min(most, without_schedule);
  return static_cast<int>(std::min(most, target.registers_per_thread));
}

/// Runs `work` for 0 … count - 1 on all processors; the first error is thrown once all have ended, and after
/// one nothing more begins.
template <class Work>
void for_each_in_parallel(std::size_t count, const Work& work) {
  std::atomic<bool> failed = false;
  std::vector<std::exception_ptr> errors(count);
  const std::int64_t processors = std::max(1U, std::thread::hardware_concurrency());
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
  const std::vector<std::span<const Piece>> shares = shares_of(pieced->pieces);
  cuda::AssembleOptions options;
  options.architecture = target.name;
  options.relocatable = true;
  options.most_registers = most_registers(program, target);
  std::vector<std::string> texts(shares.size() + 1);
  std::vector<cuda::Assembled> parts(texts.size());
  // The entry last: its assembling takes the least.
  for_each_in_parallel(texts.size(), [&](std::size_t i) {
    const bool entry = i == shares.size();
    texts[i] = entry ? llvm_backend::emit_entry_ptx(*pieced, target)
                     : llvm_backend::emit_pieces_ptx(*pieced, shares[i], target);
    if (assemble) parts[i] = cuda::assemble(texts[i], options);
  });
  PiecedKernel made;
  made.ptx = llvm_backend::join_ptx(texts.back(), std::span(texts).first(shares.size()));
  if (assemble) made.assembled = linked(std::move(parts), options);
  return made;
}

}  // namespace weft
