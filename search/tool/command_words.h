// What the library says to programs, said to whoever typed a command.
#pragma once

#include <weft/dsl/errors.h>

namespace weft::tool {

/// The report with options where it names members of C++: "--set" for "TuneOptions::limits (--set)".
UserError::Report in_words_of_command(UserError::Report report);

}  // namespace weft::tool
