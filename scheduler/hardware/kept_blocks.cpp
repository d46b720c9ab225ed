#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/ir/query.h>

namespace weft {

const ir::Call* as_kept_slot(const ir::Expr& expr) {
  const auto* call = expr.as<ir::Call>();
  const bool is_one =
      call != nullptr && (call->instruction == kept_slot || call->instruction == kept_slot_behind);
  return is_one ? call : nullptr;
}

ir::Expr keeps_first_of(const ir::Call& kept) {
  if (kept.instruction != kept_slot_behind) return {};
  return kept.arguments[2] < kept.arguments[3];
}

const ir::Call* bound_of_slots(const ir::Expr& condition) {
  const auto* less = ir::as_binary(condition, ir::BinaryOperator::less);
  const auto* call = less == nullptr ? nullptr : less->right.as<ir::Call>();
  return call != nullptr && call->instruction == slots_of_block ? call : nullptr;
}

}  // namespace weft
