// A child process that answers requests one after the other, so that what crashes or hangs there costs one
// answer.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weft {

/// What became of a request.
struct WorkerReply {
  enum class End : std::uint8_t { answered, died, timed_out };
  End end = End::answered;
  std::string text;  ///< the answer; else how the process ended: "signal 11 (Segmentation fault)"
  std::string said;  ///< the last of what it wrote to stdout and stderr, where it did not answer
};

/// The process is a copy of this one, made by fork: what `serve` captures it has as it was then. It must be
/// made before this process opens a CUDA device, which a copy could not use, and while no other thread of it
/// is in the middle of something. It ends when this object does, or when this process dies. Ctrl-C does not
/// reach it.
class Worker {
 public:
  using Serve = std::function<std::string(const std::string& request)>;

  /// `memory_bytes`: of data, that the process and the compilers it starts may have each; 0: no limit.
  /// RuntimeError when there can be no process.
  explicit Worker(const Serve& serve, std::uint64_t memory_bytes = 0);
  /// Ends it, and what it has started.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Asks. One request at a time. It is ended when there is no answer within `limit_seconds`.
  void send(const std::string& request, double limit_seconds);
  /// Readable when take() has something new, for poll().
  int descriptor() const { return answers_; }
  double seconds_left() const;
  /// The reply, once there is one. After one that is not an answer the worker is gone.
  std::optional<WorkerReply> take();
  /// The reply, once there is one, which it waits for.
  WorkerReply wait();
  /// Asks and waits.
  WorkerReply ask(const std::string& request, double limit_seconds);

  bool alive() const { return process_ > 0; }

 private:
  using Clock = std::chrono::steady_clock;

  [[noreturn]] void work(const Serve& serve, int requests, int answers, std::uint64_t memory_bytes) const;
  WorkerReply ended(WorkerReply::End end);
  void end_all() const;
  std::string last_words() const;
  void close_all();

  pid_t process_ = -1;
  int requests_ = -1;
  int answers_ = -1;
  int said_ = -1;  ///< a file in memory, the child's stdout and stderr
  std::string received_;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace weft
