// expect: weft: the options of measuring are given a measure
// expect: options.measure.measure = Measure::sim
// fix: options.measure.measure = Measure::sim;
#include <weft/search/trials/tune_schedule.h>

using namespace weft;

void program(TuneOptions& options) {
  options.measure = Measure::sim;  // here
}
