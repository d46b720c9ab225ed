// What illegal schedules start from.
#pragma once

#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

#include "support/examples.h"

namespace weft::tests {

using test::spmm_schedule;
WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

}  // namespace weft::tests
