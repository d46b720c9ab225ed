// legal
// What has a text goes to a stream, and a schedule is printed as its program.
#include <weft/scheduler/program/schedule.h>
#include <weft/search/measure/verify.h>

#include <iostream>

using namespace weft;

void program(const Schedule& schedule, const Kernel& kernel, const Array& array,
             const Verification& verification) {
  std::cout << print(schedule) << schedule << schedule.algorithm() << kernel << array << verification;
  if (!verification) std::cout << "wrong";
}
