// expect: weft: knob is not given what it takes
// expect: found: the types beside Rest
// fix: s.split(n, knob("width", std::vector<std::int64_t>{2, 3}));
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.split(n, knob("width", std::vector<int>{2, 3}));  // here
}
