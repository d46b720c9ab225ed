#include <unistd.h>
#include <weft/search/measure/running_call.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <mutex>

namespace weft {
namespace {

constexpr std::array<int, 5> fatal_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Of the program and not of a thread: what crashes may be a thread of the library's.
std::atomic<const char*> running_library{nullptr}, running_function{nullptr};
std::array<struct sigaction, fatal_signals.size()> actions_before;

void write_text(const char* text) {
  // Nobody is left to tell that it cannot be written.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

/// Calls only what may be called from a signal.
void tell_who_crashed(int signal) {
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) {
    if (fatal_signals[i] == signal) sigaction(signal, &actions_before[i], nullptr);
  }
  if (const char* who = running_library.exchange(nullptr)) {
    for (const char* text : {"\ncontestant ", who, " crashed in ", running_function.load(),
                             ": the run ends with it, and lines that --json wrote stay\n"})
      write_text(text);
  }
  raise(signal);  // as it is handled now, once this function has returned
}

}  // namespace

RunningCall::RunningCall(const char* who, const char* function) noexcept {
  running_function = function;
  running_library = who;
}

RunningCall::~RunningCall() {
  running_library = nullptr;
}

void RunningCall::listen() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (std::size_t i = 0; i < fatal_signals.size(); ++i) {
      struct sigaction action{};
      action.sa_handler = tell_who_crashed;
      sigemptyset(&action.sa_mask);
      sigaction(fatal_signals[i], &action, &actions_before[i]);
    }
  });
}

}  // namespace weft
