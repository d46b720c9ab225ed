// expect: 16 bytes at byte 8
// expect: a range inside the 16 bytes
// fix:   memory.upload(values, 8, 8);
#include <weft/backends/runtime/memory.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(copy_beyond_memory) {
  DeviceMemory memory(Device::cpu(), 16);
  const float values[4] = {};
  memory.upload(values, 16, 8);  // here
}
