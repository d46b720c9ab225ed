// Who is named when code that is not weft's ends the program.
#pragma once

namespace weft {

/// While one lives, a signal that ends the program (a wild address, a division by zero, abort()) writes to
/// stderr first whose function was running. What the program had done with such signals before is done then.
/// Both texts have to stay; one lives at a time.
class RunningCall {
 public:
  RunningCall(const char* who, const char* function) noexcept;
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  /// From here on the signals are listened to; the second time nothing.
  static void listen();
};

}  // namespace weft
