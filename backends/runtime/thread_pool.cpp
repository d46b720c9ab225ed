#include <unistd.h>
#include <weft/backends/runtime/thread_pool.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/processors.h>

#include <algorithm>
#include <atomic>
#include <system_error>

namespace weft {
namespace {

/// Pieces a thread when they are taken on demand: enough to even out rows of different length.
constexpr std::int64_t pieces_per_thread = 8;

/// More than the processors make no loop faster, and each has a stack; a few more keep tests honest on small
/// machines.
int most_kept() {
  static const int most = std::max(64, static_cast<int>(processors()));
  return most;
}

thread_local bool inside_loop = false;

}  // namespace

struct ThreadPool::Loop {
  std::int64_t end;
  std::int64_t piece;
  int threads;
  Body body;
  void* context;
  std::atomic<std::int64_t> next;

  void take_part(int worker) {
    inside_loop = true;
    // The last pieces are counted from `end`, so that `next` cannot run over.
    for (;;) {
      std::int64_t from = next.load(std::memory_order_relaxed);
      std::int64_t to = 0;
      do {
        if (from >= end) {
          inside_loop = false;
          return;
        }
        to = end - from > piece ? from + piece : end;
      } while (!next.compare_exchange_weak(from, to, std::memory_order_relaxed));
      body(from, to, worker, context);
    }
  }
};

ThreadPool& ThreadPool::shared() {
  // Never destroyed: kernels may run while the process ends. Of a forked parent only the caller's thread is
  // left in the child, so the parent's pool is of no use there.
  static std::mutex mutex;
  static ThreadPool* pool = nullptr;
  static pid_t owner = 0;
  const std::lock_guard lock(mutex);
  if (pool == nullptr || owner != getpid()) {
    pool = new ThreadPool;
    owner = getpid();
  }
  return *pool;
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

/// Makes threads until there are `wanted`, or until the system has no more.
int ThreadPool::grow(int wanted) {
  const std::lock_guard lock(mutex_);
  try {
    while (static_cast<int>(threads_.size()) < wanted) {
      const int worker = static_cast<int>(threads_.size()) + 1;
      threads_.emplace_back([this, worker, seen = generation_] { work(worker, seen); });
    }
  } catch (const std::system_error&) {
    return static_cast<int>(threads_.size());
  } catch (const std::bad_alloc&) {
    return static_cast<int>(threads_.size());
  }
  return std::min(wanted, static_cast<int>(threads_.size()));
}

void ThreadPool::work(int worker, std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    Loop* loop = loop_;
    if (loop == nullptr || worker >= loop->threads) continue;
    ++working_;
    lock.unlock();
    loop->take_part(worker);
    lock.lock();
    if (--working_ == 0) done_.notify_all();
  }
}

void ThreadPool::run(std::int64_t begin, std::int64_t extent, int threads, Sharing sharing, Body body,
                     void* context) noexcept {
  if (extent <= 0) return;
  threads = static_cast<int>(std::min<std::int64_t>(std::clamp(threads, 1, most_kept()), extent));
  if (threads == 1 || inside_loop) {
    body(begin, begin + extent, 0, context);
    return;
  }
  const std::lock_guard caller(callers_);
  threads = 1 + grow(threads - 1);
  const std::int64_t pieces = sharing == Sharing::even ? threads : threads * pieces_per_thread;
  Loop loop{begin + extent, ceil_divide(extent, pieces), threads, body, context, {}};
  loop.next = begin;
  {
    const std::lock_guard lock(mutex_);
    loop_ = &loop;
    ++generation_;
  }
  wake_.notify_all();
  loop.take_part(0);
  // No piece is left; whoever took one still counts as working. Who wakes later finds no loop.
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return working_ == 0; });
  loop_ = nullptr;
}

}  // namespace weft
