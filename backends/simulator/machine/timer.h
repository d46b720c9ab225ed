// When operations would issue and finish: the machine tells it what runs, in the order of each warp.
#pragma once

#include <weft/backends/simulator/machine/operation.h>

namespace weft::simulator {

class Warp;

class Timer {
 public:
  virtual ~Timer() = default;
  /// A warp begins.
  virtual void start(Warp& warp) = 0;
  /// The warp ran this operation for warp.active().
  virtual void issue(Warp& warp, const Operation& operation) = 0;
  /// The warp passed an operation whose guard was false for every lane.
  virtual void skip(Warp& warp) = 0;
  /// The warps went on together after a barrier.
  virtual void met(std::span<Warp* const> warps) = 0;

 protected:
  Timer() = default;
  Timer(const Timer&) = default;
  Timer& operator=(const Timer&) = default;
};

}  // namespace weft::simulator
