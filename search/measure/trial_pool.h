// Workers that make trials: kernels are built by several at once and timed one after the other.
#pragma once

#include <weft/search/measure/trial.h>
#include <weft/search/measure/worker.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace weft {

/// What a pool asks whoever runs it.
struct TrialHooks {
  /// The next point to try; nothing when none shall be begun now.
  std::function<std::optional<TrialPoint>()> next;
  /// How a trial ended: the measured fields of its record.
  std::function<void(const TrialPoint&, const Record&)> done;
  std::function<double()> best;  ///< microseconds of the best so far, 0 where there is none
  /// True: nothing is begun any more, the oldest trial is finished, the others are dropped.
  std::function<bool()> stop;
  std::function<void()> tick;  ///< ten times a second
};

/// A worker that crashes, hangs or has spoilt its device is replaced.
class TrialPool {
 public:
  /// Workers are made when they are first needed. On the CPU kernels are timed while none is built.
  TrialPool(Worker::Serve serve, const MeasureOptions& options, int jobs);

  /// Returns when there is nothing to begin and nothing under way.
  void run(const TrialHooks& hooks);
  /// One request, answered by a worker that is idle.
  WorkerReply ask(const std::string& request, double limit_seconds);

 private:
  enum class State : std::uint8_t { idle, building, built, measuring };
  struct Slot {
    std::unique_ptr<Worker> worker;
    State state = State::idle;
    std::uint64_t number = 0;  ///< trials are numbered as they are begun
    TrialPoint point;
    Record built;
  };

  Worker& worker_of(Slot& slot);
  void begin_builds(const TrialHooks& hooks);
  void begin_measuring(const TrialHooks& hooks);
  void drop_all_but_the_oldest();
  void wait_for_replies();
  void take_reply(Slot& slot, const TrialHooks& hooks);
  void take_built(Slot& slot, const WorkerReply& reply, const TrialHooks& hooks);
  void take_measured(Slot& slot, const WorkerReply& reply, const TrialHooks& hooks);
  bool any(State state) const;

  Worker::Serve serve_;
  MeasureOptions options_;
  std::vector<Slot> slots_;
  std::uint64_t begun_ = 0;
};

}  // namespace weft
