// Iterations of a ring's loop that take two blocks. Blocks that keep their first slots (hardware/
// kept_blocks.h) read half as many rows of the dense operand as a stage has: two of them fill it, where the
// tile of their values has room for two.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <optional>

namespace weft::passes {

/// What is known of a loop whose iterations may take two blocks.
struct TwoBlocks {
  ir::BufferRef values;  ///< the tile with room for two: [buffer][block]… [row][place]
  ir::Expr first;        ///< blocks from this one on keep two of four, and are taken one by one
};

/// Of a ring's loop; nothing where its blocks are of one kind, or their tile has no such room.
std::optional<TwoBlocks> two_blocks_of(const ir::For& loop);

/// The program with room for two blocks in the tile of their values, where some keep their first slots.
ir::Program with_room_for_two_blocks(ir::Program program);

/// Operations on a block that keeps its first slots as operations on two of them: the places of the second
/// one stand behind those of the first.
ir::Stmt of_two_blocks(const ir::Stmt& stmt, const TwoBlocks& two);

/// How a loop over blocks goes through them: two at a time as long as there are two before `first`, and then
/// one by one.
struct BlockList {
  ir::Expr begin, extent;  ///< what the loop goes over
  ir::Expr first = {};     ///< undefined where no iteration ever takes two
  ir::Expr twos = {};      ///< iterations that take two; likewise

  /// What `first` is called where a list is gone through.
  static constexpr const char* first_name = "list.first_of_pairs";

  /// The list whose blocks from `first` on are taken one by one.
  static BlockList until(const ir::Expr& first, const ir::Expr& begin, const ir::Expr& extent);

  ir::Expr iterations() const { return twos.defined() ? extent - twos : extent; }
  /// The block, or the first of two, that an iteration takes, and whether it takes two: 1 or 0.
  ir::Expr block(const ir::Expr& iteration) const;
  ir::Expr takes_two(const ir::Expr& iteration) const;
};

}  // namespace weft::passes
