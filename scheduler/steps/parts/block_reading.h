// Which block of weights in blocks of their own width (LevelKind::bucketed) an iteration of a loop reads.
#pragma once

#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weft::steps {

/// The arrays that describe a block, and the level that says how.
struct BlockArrays {
  const Level* level = nullptr;
  ir::BufferRef values, begin, width, offset;
};
/// Nothing where the weights of that name have no such blocks.
std::optional<BlockArrays> block_arrays_of(const ir::Program& program, const StepContext& context,
                                           const std::string& tensor);

/// The expression as a load from the buffer, or null.
const ir::Load* load_of(const ir::Expr& expr, const ir::BufferRef& buffer);

/// What an iteration reads: the loop over the places of a row, the number of the block, and the row in it.
struct BlockReading {
  std::string places;
  ir::Expr block;
  ir::Expr row;
  /// Loops inside that choose the block: it lies below those before it, or beside them.
  std::vector<ir::For> below, beside;

  /// Those below, then those beside.
  std::vector<ir::For> block_loops() const;
};
/// Preconditions 3 and 4 of decode.
std::variant<BlockReading, Reason> block_reading_of(const ir::For& loop, const BlockArrays& arrays);

/// Iterations of the loops together, which have constant extents; and the number of one of them.
std::int64_t count_of(const std::vector<ir::For>& loops);
ir::Expr number_of(const std::vector<ir::For>& loops);

}  // namespace weft::steps
