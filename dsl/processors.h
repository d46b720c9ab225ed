// How many processors there are for this process.
#pragma once

namespace weft {

/// Those that the process may run on, as taskset, containers and batch systems say it; at least 1. Asked anew
/// by each call: the mask may change.
unsigned processors();

}  // namespace weft
