// Iterations of a ring's loop that take two blocks. Blocks that keep their first slots (hardware/
// kept_blocks.h) read half as many rows of the dense operand as a stage has: two of them fill it, where the
// tile of their values has room for two.
#pragma once

#include <weft/scheduler/ir/program.h>

#include <optional>
#include <utility>

namespace weft::passes {

/// What is known of a loop over blocks of which some keep their first slots.
struct MixedBlocks {
  ir::Expr first;             ///< blocks from this one on keep two of four
  ir::BufferRef values = {};  ///< the tile with room for two, [buffer][block]… [row][place]; else null

  bool takes_two() const { return values != nullptr; }
};

/// Of a ring's loop; nothing where its blocks are of one kind.
std::optional<MixedBlocks> mixed_blocks_of(const ir::For& loop);

/// The program with room for two blocks in the tile of their values; nothing where no blocks keep their first
/// slots, or threads would copy slots of both at a time.
std::optional<ir::Program> with_room_for_two_blocks(ir::Program program);

/// Operations on a block that keeps its first slots as operations on two of them: the places of the second
/// one stand behind those of the first.
ir::Stmt of_two_blocks(const ir::Stmt& stmt, const MixedBlocks& mixed);

/// What is computed of a block of which it is known what it keeps.
ir::Stmt of_kind(const ir::Stmt& stmt, bool keeps_first);
/// The loop in two, in each of which all blocks are of one kind: no instruction that goes on by itself stands
/// behind a condition then.
std::pair<ir::For, ir::For> cut_at(const ir::For& loop, const ir::Expr& first);
/// Of the first of these, iterations that take two blocks, and one for the block that may be left.
ir::Stmt in_twos(const ir::For& loop, const ir::Stmt& of_two);

/// How a loop over blocks goes through them: one by one, or two at a time as long as there are two that keep
/// their first slots.
struct BlockList {
  ir::Expr begin, extent;  ///< what the loop goes over
  ir::Expr first = {};     ///< as in MixedBlocks; undefined where blocks are of one kind
  ir::Expr twos = {};      ///< iterations that take two; undefined where none ever does

  static BlockList of(const std::optional<MixedBlocks>& mixed, const ir::Expr& begin, const ir::Expr& extent,
                      const ir::Expr& first);

  /// The list by variables, and `body` with these.
  BlockList named() const;
  ir::Stmt with_names(ir::Stmt body) const;

  ir::Expr iterations() const { return twos.defined() ? extent - twos : extent; }
  /// The block, or the first of two, that an iteration takes, and whether it takes two: 1 or 0.
  ir::Expr block(const ir::Expr& iteration) const;
  ir::Expr takes_two(const ir::Expr& iteration) const;
};

}  // namespace weft::passes
