// Threads that wait between kernels, so that a parallel loop costs a wake-up and not their creation.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {

/// Runs one parallel loop at a time; loops of several callers follow one another. A loop that is started from
/// inside a loop is run by its caller alone.
class ThreadPool {
 public:
  static constexpr int most_threads = 1024;  ///< that may be asked for

  /// Iterations begin .. end, by thread `worker` of 0 .. threads - 1. Cannot throw.
  using Body = void (*)(std::int64_t begin, std::int64_t end, int worker, void* context) noexcept;

  enum class Sharing : std::uint8_t {
    even,       ///< one piece a thread, alike in size
    on_demand,  ///< small pieces, taken when a thread has nothing to do
  };

  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  /// The pool of this process. A child made by fork gets one of its own.
  static ThreadPool& shared();

  /// Runs iterations begin .. begin + extent by at most `threads` threads, this one included, and returns
  /// when all are done. Threads that cannot be had are done without, and those beyond 64 and beyond the
  /// processors.
  void run(std::int64_t begin, std::int64_t extent, int threads, Sharing sharing, Body body,
           void* context) noexcept;

 private:
  struct Loop;
  void work(int worker, std::uint64_t seen);
  int grow(int wanted);

  std::mutex callers_;  ///< held while a loop runs
  std::mutex mutex_;    ///< guards everything below
  std::condition_variable wake_;
  std::condition_variable done_;
  std::vector<std::thread> threads_;
  Loop* loop_ = nullptr;
  std::uint64_t generation_ = 0;
  int working_ = 0;
  bool stopping_ = false;
};

}  // namespace weft
