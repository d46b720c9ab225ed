// expect: reading PTX
// expect: line 1
// fix:   Module::load(Device::simulator("sm_80"), ".version 7.0\n.target sm_80\n.address_size 64\n");
#include <weft/backends/runtime/module.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(load_no_code) {
  Module::load(Device::simulator("sm_80"), "no code");  // here
}
