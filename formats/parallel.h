// Work shared out to the cores.
#pragma once

#include <weft/dsl/processors.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
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

/// How many parts `parallel_parts` makes: one where there is nothing.
inline std::int64_t parts_for(std::int64_t threads, std::int64_t count) {
  return std::clamp<std::int64_t>(count, 1, std::max<std::int64_t>(1, threads));
}

/// Calls body(number, begin, end) for parts of 0 … count - 1 of the same size, one for each of the threads;
/// what the first of them throws is thrown once all are done.
template <class Body>
void parallel_parts(std::int64_t threads, std::int64_t count, const Body& body) {
  const std::int64_t number = parts_for(threads, count);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(number));
  parallel_for_on(number, number, [&](std::int64_t part) {
    try {
      body(part, count * part / number, count * (part + 1) / number);
    } catch (...) {
      thrown[static_cast<std::size_t>(part)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& each : thrown)
    if (each) std::rethrow_exception(each);
}

}  // namespace weft
