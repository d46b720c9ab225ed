// Runs the program that is named: exit 1 with the message of its UserError, 0 where nothing was refused, 2
// for everything else.
#include <weft/dsl/errors.h>

#include <cstdio>
#include <exception>

#include "illegal_program.h"

namespace weft::tests {

std::map<std::string, IllegalProgram>& illegal_programs() {
  static std::map<std::string, IllegalProgram> programs;
  return programs;
}

}  // namespace weft::tests

int main(int count, char** words) {
  const auto& programs = weft::tests::illegal_programs();
  const auto program = programs.find(count == 2 ? words[1] : "");
  if (program == programs.end()) {
    std::fputs("usage: illegal_programs NAME, with one of\n", stderr);
    for (const auto& [name, function] : programs) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  try {
    program->second();
  } catch (const weft::UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "not a UserError: %s\n", error.what());
    return 2;
  }
  std::fputs("nothing was refused\n", stderr);
  return 0;
}
