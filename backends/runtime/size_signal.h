// Writing past the limit on the size of files, as `ulimit -f` sets it.
#pragma once

#include <signal.h>

#include <ctime>

namespace weft {

/// While one lives, a write of this thread past the limit on the size of files fails, as on a full disk; else
/// its signal ends the process.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals_, &former_);
  }
  ~NoSizeSignal() {
    const timespec at_once{0, 0};
    if (sigismember(&former_, SIGXFSZ) == 0) sigtimedwait(&signals_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &former_, nullptr);
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  sigset_t signals_;
  sigset_t former_;
};

}  // namespace weft
