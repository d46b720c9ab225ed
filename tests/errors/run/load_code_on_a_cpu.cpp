// expect: loading a module
// expect: the device cpu
// fix:   Module::load(Device::simulator("sm_80"), ".version 7.0\n.target sm_80\n.address_size 64\n");
#include <weft/backends/runtime/module.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(load_code_on_a_cpu) {
  Module::load(Device::cpu(), ".version 7.0\n.target sm_80\n.address_size 64\n");  // here
}
