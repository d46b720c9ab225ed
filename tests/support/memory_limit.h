// A process that finds no more memory, as a child of a test that looks at how it ends.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace weft {

/// From here on this process finds `left` bytes beyond those that it has.
inline void leave_memory(std::uint64_t left) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + left;
  const rlimit most{bytes, bytes};
  setrlimit(RLIMIT_AS, &most);
}

}  // namespace weft
