// The `weft` command as a function, so that a program of the user's can offer the same verbs.
#pragma once

namespace weft {

/// Runs the command; returns its exit code: 0 ok, 1 failed, 2 usage, 3 infeasible schedule, 4 mismatch, 5 no
/// suitable device. Results go to stdout, messages to stderr. Never throws.
int command_line(int argc, char** argv);

}  // namespace weft
