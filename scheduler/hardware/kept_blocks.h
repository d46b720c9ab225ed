// Which slots of a block the rows of two-of-four weights keep, where some blocks keep each of their first
// ones (formats/kept_slots.h).
#pragma once

#include <weft/scheduler/ir/node.h>

#include <string_view>

namespace weft {

/// The row `kept_slot_behind(word, row, block, first, place)`: as kept_slot(word, row, place) says it of
/// blocks from `first` on; `place` itself of those before.
inline constexpr std::string_view kept_slot_behind = "kept_slot_behind";
/// The row `slots_of_block(block, first, slots)`: how many slots such a block has, of which the others are
/// never read: half of them before `first`, all from there on.
inline constexpr std::string_view slots_of_block = "slots_of_block";

/// The call of either row that says which slot is kept, or null.
const ir::Call* as_kept_slot(const ir::Expr& expr);
/// Whether a call of kept_slot_behind is about a block that keeps its first slots; undefined for kept_slot,
/// whose blocks never do.
ir::Expr keeps_first_of(const ir::Call& kept);
/// The call of slots_of_block on the right of `slot < slots_of_block(…)`, or null.
const ir::Call* bound_of_slots(const ir::Expr& condition);

}  // namespace weft
