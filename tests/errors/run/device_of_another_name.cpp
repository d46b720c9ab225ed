// expect: reading the name of a device
// expect: 'gpu'
// expect: sim:sm_90a
// fix:   parse_device("sim:sm_90a");
#include <weft/backends/parse_device.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(device_of_another_name) {
  parse_device("gpu");  // here
}
