// One illegal schedule a file. The line that must be refused ends in "// refused here"; the message must name
// that line, the step, what was found and what would be accepted, and contain the phrase.
#pragma once

#include <weft/dsl/index.h>
#include <weft/scheduler/schedule.h>

#include "support/examples.h"

#include <string>

namespace weft::test {

/// Fails the running test unless `body` throws such a UserError.
void expect_refused(void (*body)(), const std::string& file, const std::string& phrase);

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

}  // namespace weft::test

#define ILLEGAL_SCHEDULE(name, phrase)                                                          \
  namespace weft::test {                                                                        \
  static void name();                                                                           \
  TEST(IllegalSchedules, name) { expect_refused(name, __FILE__, phrase); }                      \
  }                                                                                             \
  static void weft::test::name()
