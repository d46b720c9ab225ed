// expect: producers that keep 240 registers of 168
// expect: producer_registers = 168
// fix: tensor_product(128, 64).specialize_warps(producer_registers = 168);
#include "illegal_program.h"
#include "illegal_tensor_product.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(producers_that_keep_too_much) {
  tensor_product(128, 64).specialize_warps(producer_registers = 240, consumer_registers = 168);  // here
}
