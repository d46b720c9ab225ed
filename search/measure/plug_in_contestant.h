// Somebody's own shared library as one more contestant.
#pragma once

#include <weft/search/measure/contestants.h>

#include <string>
#include <vector>

namespace weft {

struct PlugIn {
  Contestant contestant;  ///< "contestant NAME"
  std::string version;    ///< "contestant NAME 1.2 (libmine.so)", for records
};

/// The libraries of folders, as contestant_interface.h has them, for suites of this element type. Each takes
/// part with the weights of the case; it has operands of its own, and on a processor, as vendors' libraries
/// have, ways of one thread and of all. A problem that it does not take, and a call that fails, is a reason
/// in the table. UserError where a folder has no library that can be used, and where two have one name.
std::vector<PlugIn> plug_ins(const std::vector<std::string>& folders, const Device& device, DType dtype);

}  // namespace weft
