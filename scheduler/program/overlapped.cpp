#include <weft/scheduler/program/overlapped.h>

namespace weft {

Schedule overlapped(Schedule schedule) {
  const Operand* weights = schedule.algorithm().sparse_operand();
  if (weights != nullptr && schedule.target().has(Capability::dependent_launches) &&
      !schedule.program().overlap)
    schedule.overlap_launches(weights->name);
  return schedule;
}

}  // namespace weft
