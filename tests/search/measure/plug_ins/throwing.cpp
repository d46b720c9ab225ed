// A contestant in C++ that throws, which it must not.
#include <weft/search/measure/contestant_interface.h>

#include <stdexcept>

const weft_contestant_description* weft_contestant_describe() {
  static const weft_contestant_description description{WEFT_CONTESTANT_INTERFACE, "throwing", nullptr,
                                                       nullptr};
  return &description;
}

int weft_contestant_takes(const weft_contestant_problem*, weft_contestant_wishes*, char*, size_t) {
  throw std::out_of_range("row 7");
}

int weft_contestant_prepare(const weft_contestant_problem*, const weft_contestant_operands*, void**, char*,
                            size_t) {
  return 0;
}

int weft_contestant_launch(void*, void*, char*, size_t) {
  return 0;
}

void weft_contestant_release(void*) {}
