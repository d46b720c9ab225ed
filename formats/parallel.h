// Work shared out to the cores.
#pragma once

#include <weft/dsl/processors.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace weft {

/// Calls body(0) … body(count - 1), each once, on that many threads, or on as many as the system has left.
/// The body must not throw.
template <class Body>
void parallel_for_on(std::int64_t threads, std::int64_t count, const Body& body) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> helpers;
  try {
    for (std::int64_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // Those that there are do it.
  }
  work();
}

/// As many threads as there are processors for the process; one where the `operations` of all together are so
/// few that starting threads would take longer.
inline std::int64_t threads_for(std::int64_t operations) {
  constexpr std::int64_t few = 1 << 20;
  return operations < few ? 1 : processors();
}

/// On as many threads as threads_for says.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t operations, const Body& body) {
  parallel_for_on(threads_for(operations), count, body);
}

}  // namespace weft
