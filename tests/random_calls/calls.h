// Calls that may be refused but not fail: what became of each is counted, and what no call may do is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// What parent and worker share; it outlives a worker that crashes.
struct Ledger {
  static constexpr std::size_t kinds = 400;
  /// Failures with one text but for numbers and names.
  struct Kind {
    std::uint64_t hash;
    std::uint64_t count;
    std::uint64_t first_seed;
    std::uint64_t last_seed;
    bool known;
    char text[600];
  };
  std::uint64_t seed;  ///< seed of the program that runs
  std::uint64_t programs;
  std::uint64_t calls;
  std::uint64_t refused;  ///< UserError
  std::uint64_t infeasible;
  std::uint64_t failed;           ///< RuntimeError where one may be
  std::uint64_t too_long;         ///< launches that the simulator gave up
  std::uint64_t placeless;        ///< UserErrors without a place
  std::uint64_t compared;         ///< outputs with the naive evaluation
  std::uint64_t compared_on_gpu;  ///< those on the simulator or a device
  std::uint64_t kind_count;
  std::uint64_t failures;
  std::uint64_t log_size;
  Kind kind[kinds];
  char log[1U << 18U];
};

/// Memory that forked workers share.
Ledger& shared_ledger();

/// Thrown by an action whose program runs for longer than a test waits, which says nothing about it.
struct TooLong {};

/// What a RuntimeError means.
enum class Outside : std::uint8_t {
  may_fail,  ///< memory, files and tools
  is_weft,   ///< a finding of the simulator
};

class Calls {
 public:
  /// `known`: regular expressions of failures that are no news.
  Calls(Ledger& ledger, std::vector<std::string> known) : ledger_(ledger), known_(std::move(known)) {}

  void begin(std::uint64_t seed);
  void note(std::string_view line);
  /// Whether the action was accepted. What is refused has to say what, found and accepted; nothing but the
  /// three kinds of error may leave it, and no InternalError.
  bool accepted(const std::string& text, const std::function<void()>& action,
                Outside outside = Outside::may_fail);
  void compared(const std::string& disagreement, const std::string& where, bool on_gpu);
  void fail(const std::string& text);
  /// Of a call that reports how far it is: it does not hang, and may take as long again from here.
  static void progresses();
  std::string log() const { return {ledger_.log, ledger_.log_size}; }
  Ledger& ledger() { return ledger_; }

  /// Prints every call before it is made.
  bool tells_all = false;
  /// Of a program that read a schedule with changed letters: any file may be named in it.
  bool damaged_places = false;

 private:
  Ledger& ledger_;
  std::vector<std::string> known_;
};

/// Seconds of a call until it counts as one that hangs: of the processor, and three times that of the clock.
inline constexpr int hang_seconds = 30;

}  // namespace weft::test
