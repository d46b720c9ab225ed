// expect: weft: a word of a step is a text
// expect: accepted: the word itself, such as block_x
// fix: s.bind(m, block_x);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

void program(Schedule& s) {
  s.bind(m, "block_x");  // here
}
