// expect: weft: a word of a step is a text
// fix: return s.split_k(k, 8, second_pass);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

LoopName program(Schedule& s, const LoopName& k) {
  return s.split_k(k, 8, "second_pass");  // here
}
