// Groups of rows that keep the same columns on a CPU: a vector of the dense operand is read once and
// multiplied with the values of all rows of a group. A recipe: it calls steps, as a user would.
#pragma once

#include <weft/scheduler/recipes/cpu/cpu_rows.h>

#include <cstdint>
#include <memory>
#include <span>

namespace weft {

/// How the recipe cuts the output; 0 leaves a number to it.
struct CpuGroups {
  std::int64_t panel = 0;  ///< columns, or pixels of a line, that a group sums at a time
  std::int64_t lines = 0;  ///< lines of an image at a time
  CpuCopy copy = CpuCopy::chosen;
  CpuThreads threads = CpuThreads::chosen;  ///< what threads share: panels, or groups of rows
};

/// They by name.
std::span<const KnobField<CpuGroups>> cpu_groups_knobs();

/// For a CPU, weights in column_vectors, and what cpu_rows() takes but of more than one column: SpMM, linear
/// layers, convolutions in every layout. The V rows of a group times the vectors of a panel are sums in
/// registers; of each column that the group keeps, every vector of the dense operand is read once, every
/// value once. All groups go through a panel, copied where that pays as cpu_rows() has it, before the next
/// one. UserError as cpu_rows().
Schedule cpu_groups(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                    const CpuGroups& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(cpu_groups, const CpuGroups& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(cpu_groups,
                  ".panel, .lines, .copy and .threads in this order, such as {.panel = 32, .lines = 2}")

/// The knobs with those that are 0 chosen, for groups of so many rows and so many stored values.
CpuGroups chosen_for(const CpuGroups& knobs, const CpuNest& nest, const Algorithm& algorithm,
                     std::int64_t rows, double stored, const Target& target);

/// Why the recipe does not take the problem; nothing where it does.
std::string why_no_cpu_groups(const Algorithm& algorithm, const Format& format, const Target& target);

/// Sums that a group has in registers, beside the vectors that are read.
std::int64_t most_sums_of_group(const Target& target);

/// Rows of a group in a format that the recipe takes.
std::int64_t rows_of_vectors(const Format& format);

}  // namespace weft
