#include <weft/scheduler/program/overlapped.h>

namespace weft {

bool can_overlap(const Target& target) {
  return target.is_gpu() && target.sm >= 90;
}

Schedule overlapped(Schedule schedule) {
  const Operand* weights = schedule.algorithm().sparse_operand();
  if (weights != nullptr && can_overlap(schedule.target()) && !schedule.program().overlap)
    schedule.overlap_launches(weights->name);
  return schedule;
}

}  // namespace weft
