// Blocks of columns on a CPU: what a block multiplies of a panel of the dense operand is copied into the
// first cache, and all rows go through it before the next block. A recipe: it calls steps, as a user would.
#pragma once

#include <weft/scheduler/recipes/cpu/cpu_rows.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft {

/// What of the dense operand is copied before a block of columns reads it.
enum class CpuBlockCopy : std::uint8_t {
  chosen,  ///< the recipe chooses
  none,    ///< nothing
  block,   ///< the rows of the block, as wide as the panel
};

/// How the recipe cuts the output; 0 leaves a number to it.
struct CpuBlocks {
  std::int64_t panel = 0;  ///< columns that a row sums at a time
  CpuBlockCopy copy = CpuBlockCopy::chosen;
  CpuThreads threads = CpuThreads::chosen;  ///< what threads share: panels, or the rows of a block
};

/// They by name.
std::span<const KnobField<CpuBlocks>> cpu_blocks_knobs();

/// For a CPU, weights in column_blocks, and products of more than one column: SpMM, linear layers. All rows
/// add to the sums of a panel what one block of columns gives, then what the next one gives; the sums of a
/// row and a panel are in vector registers meanwhile, between blocks in memory. For weights that are
/// too many to be code, and whose dense operand is larger than the first cache. UserError as cpu_rows().
Schedule cpu_blocks(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                    const CpuBlocks& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(cpu_blocks, const CpuBlocks& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(cpu_blocks, ".panel, .copy and .threads in this order, such as {.panel = 64}")

/// The knobs with those that are 0 chosen.
CpuBlocks chosen_for(const CpuBlocks& knobs, const CpuNest& nest, const Algorithm& algorithm,
                     const Target& target);

/// Why the recipe does not take the problem; nothing where it does.
std::string why_no_cpu_blocks(const Algorithm& algorithm, const Format& format, const Target& target);

}  // namespace weft
