// Work shared out to the cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace weft::pruning {

/// Calls body(0) … body(count - 1), each once, on as many threads as the machine has cores; on this one alone
/// where the `operations` of all together are so few that starting threads would take longer. The body must
/// not throw.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t operations, const Body& body) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) body(i);
  };
  constexpr std::int64_t few = 1 << 20;
  const std::int64_t cores = operations < few ? 1 : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  for (std::int64_t i = 1; i < std::min(cores, count); ++i) helpers.emplace_back(work);
  work();
}

}  // namespace weft::pruning
