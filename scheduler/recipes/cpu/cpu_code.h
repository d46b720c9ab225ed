// Weights in the code of a CPU: blocks of rows whose sums all stay in registers, each of whose entries is one
// multiplication with a constant. A recipe: it calls steps, as a user would.
#pragma once

#include <weft/scheduler/hardware/vector_registers.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>

#include <cstdint>
#include <memory>
#include <span>

namespace weft {

/// What an image's vectors are of.
enum class CpuVectors : std::uint8_t { chosen, pixels, images };

/// How the recipe cuts the output; 0 leaves a number to it.
struct CpuCode {
  std::int64_t rows = 0;           ///< rows of a block: a register of sums each
  std::int64_t columns = 0;        ///< columns that are copied at a time, whole vectors of them
  std::int64_t lines = 0;          ///< lines of an image that are copied at a time, in place of columns
  CpuCopy copy = CpuCopy::chosen;  ///< panel, or none: a product's columns stay where they lie
  CpuThreads threads = CpuThreads::chosen;
  std::int64_t lanes = 0;  ///< elements of a vector: all of a register's, or half of an AVX-512 register's
  CpuVectors vectors =
      CpuVectors::chosen;  ///< what a vector is of an image: pixels of a line, or one pixel of so many images
};

/// They by name.
std::span<const KnobField<CpuCode>> cpu_code_knobs();

/// For a CPU with AVX2 and FMA, AVX-512 or NEON, and weights of f32, f16 or bf16 in csr of at most 4,000,000
/// entries: SpMM, linear layers, convolutions in every layout. A vector of a row of the dense operand is read
/// once and multiplied with the constants of all rows of a block that keep its column; the code of a block
/// goes through all vectors of the columns, or of the lines of an image, that were copied before the next
/// block's does. Of an image there is a copy for each column of the filter, so that vectors of pixels are
/// aligned whatever column and stride there is. Vectors of one pixel of several images, of [n, c, h, w], have
/// one copy of all their lines, in which images lie innermost, and results that are transposed behind the
/// kernel: where lines leave lanes idle. Columns of a product that few blocks of rows read stay where they
/// lie; of an operand of more than 2.25 MiB the code fetches the next ones meanwhile (AVX-512). Threads have
/// other columns or lines, each with copies of its own, where all code is less to read than what is copied,
/// else other rows. New weights are new code. UserError as cpu_rows(), and for more entries.
Schedule cpu_code(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const CpuCode& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(cpu_code, const CpuCode& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(cpu_code,
                  ".rows, .columns, .lines, .copy, .threads, .lanes and .vectors in this order, such as "
                  "{.rows = 8, .columns = 64}")

/// Whether vectors may be of images: whole ones of [n, c, h, w], whose sizes are known.
bool may_be_of_images(const Algorithm& algorithm, const Target& target);
/// The algorithm as the loops of the recipe see it: with images innermost where vectors are of these.
Algorithm seen_by_code(Algorithm algorithm, CpuVectors vectors);
/// Cycles that results take which are transposed behind the kernel.
double cycles_of_turned_results(const Algorithm& algorithm, const Target& target);
CpuVectors chosen_vectors(const CpuCode& knobs, const Algorithm& algorithm, std::int64_t entries,
                          const Target& target);
/// The knobs with those that are 0 chosen, for so many stored entries.
CpuCode chosen_for(const CpuCode& knobs, const CpuNest& nest, const Algorithm& algorithm,
                   std::int64_t entries, const Target& target);

/// What the code goes through.
struct CodeWork {
  double vectors = 0;            ///< vectors of results, for each row of the weights
  double groups = 0;             ///< columns or lines that are copied at a time, so often
  double copied = 0;             ///< bytes of one group
  double copies = 0;             ///< that size has so many; 0: one for each group
  double cycles_of_turning = 0;  ///< where results are transposed behind the kernel
  bool of_lines = false;         ///< groups are lines of an image
  bool apart = false;            ///< results that are one vector lie apart
  bool halves = false;           ///< vectors are of half a register
};
/// Of a convolution whose sizes are known, with no knob left out.
CodeWork work_of(const Algorithm& images, const CpuCode& code, const Target& target);

inline VectorRegisters registers_of(const Target& target) {
  return {target.vector_bytes};
}
/// Why the recipe does not take the problem; nothing where it does. `entries`: stored ones.
std::string why_no_cpu_code(const Algorithm& algorithm, const Format& format, std::int64_t entries,
                            const Target& target);

}  // namespace weft
