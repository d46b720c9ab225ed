// One illegal program a file: `WEFT_ILLEGAL_PROGRAM(name) { … }`, where the file is name.cpp.
#pragma once

#include <map>
#include <string>

namespace weft::tests {

using IllegalProgram = void (*)();

std::map<std::string, IllegalProgram>& illegal_programs();

struct Registration {
  Registration(const std::string& name, IllegalProgram program) { illegal_programs()[name] = program; }
};

}  // namespace weft::tests

#define WEFT_ILLEGAL_PROGRAM(name)                                                   \
  static void name##_program();                                                      \
  static const weft::tests::Registration name##_registration(#name, name##_program); \
  static void name##_program()
