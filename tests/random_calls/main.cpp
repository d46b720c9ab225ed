// Random legal and illegal calls of the public API, by seed, in workers that may crash. No call may end in a
// signal, an exception of another kind, an internal error, or take longer than half a minute, and every
// kernel that is accepted computes what the naive evaluation says.
//
//   random_calls [--seed 1] [--seconds 20] [--programs N] [--known FILE] [--cuda]
//   random_calls --only SEED     that program alone, in this process, every call printed before it is made
//   random_calls --here …        without workers, for tools that look at one process
//
// Ends with 1 where there was a failure that no line of FILE, each a regular expression, knows.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#include "random_calls/random_program.h"
#include "support/sanitizers.h"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::uint64_t seed = 1;
  std::uint64_t programs = std::numeric_limits<std::uint64_t>::max();
  double seconds = 20;
  bool only = false;
  bool here = false;  ///< without workers
  std::vector<std::string> known;
  ProgramOptions program;
};

/// Memory of a worker, so that numbers beyond all sense do not take the machine along, nor half a minute to
/// fill.
constexpr rlim_t worker_bytes = rlim_t{3} << 30U;

/// Programs of a worker: what they leak stays small.
constexpr std::uint64_t batch = 100;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void work(const Settings& settings, std::uint64_t first, std::uint64_t count,
                       Clock::time_point begin, Calls& calls) {
  const rlimit memory{worker_bytes, worker_bytes}, no_core{0, 0};
  // A sanitizer's own memory is beyond every limit, and CUDA's addresses, too.
  if (!under_sanitizer && !settings.program.on_cuda) setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &no_core);
  for (std::uint64_t i = 0; i < count && seconds_since(begin) < settings.seconds; ++i)
    run_random_program(first + i, settings.program, calls);
  std::cout.flush();
  _exit(0);
}

std::string text_of_end(int status) {
  if (!WIFSIGNALED(status)) return "a program ended its process with " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGPROF || signal == SIGALRM) return "a call takes longer than half a minute";
  return "signal " + std::string(strsignal(signal));
}

std::string last_call(const std::string& log) {
  const std::size_t end = log.find_last_not_of('\n');
  const std::size_t begin = log.rfind('\n', end);
  return log.substr(begin == std::string::npos ? 0 : begin + 1).substr(0, 150);
}

void print_summary(const Ledger& ledger, double seconds) {
  std::cout << "\n"
            << ledger.programs << " programs, " << ledger.calls << " calls in " << static_cast<int>(seconds)
            << " s: "
            << ledger.calls - ledger.refused - ledger.infeasible - ledger.failed - ledger.too_long -
                   ledger.failures
            << " accepted, " << ledger.refused << " refused (" << ledger.placeless << " without a place), "
            << ledger.infeasible << " infeasible, " << ledger.failed << " failed outside of weft, "
            << ledger.too_long << " too long to simulate; " << ledger.compared
            << " outputs compared with the naive evaluation, " << ledger.compared_on_gpu
            << " of them of GPU kernels; " << ledger.failures << " failures of " << ledger.kind_count
            << " kinds\n";
  for (std::size_t i = 0; i < ledger.kind_count; ++i) {
    const Ledger::Kind& kind = ledger.kind[i];
    std::string text = kind.text;
    for (char& c : text) c = c == '\n' ? ' ' : c;
    std::cout << "  " << kind.count << (kind.known ? " known" : "") << ", seeds " << kind.first_seed << " to "
              << kind.last_seed << ": " << text.substr(0, 300) << "\n";
  }
  std::cout << std::flush;
}

bool has_news(const Ledger& ledger) {
  for (std::size_t i = 0; i < ledger.kind_count; ++i)
    if (!ledger.kind[i].known) return true;
  return false;
}

int search(const Settings& settings) {
  Ledger& ledger = shared_ledger();
  Calls calls(ledger, settings.known);
  const auto begin = Clock::now();
  double told = 0;
  std::uint64_t next = settings.seed;
  const std::uint64_t end = settings.programs > std::numeric_limits<std::uint64_t>::max() - next
                                ? std::numeric_limits<std::uint64_t>::max()
                                : next + settings.programs;
  while (next < end && seconds_since(begin) < settings.seconds) {
    std::cout.flush();
    const std::uint64_t count = std::min(batch, end - next);
    const pid_t worker = fork();
    if (worker == 0) work(settings, next, count, begin, calls);
    int status = 0;
    if (worker < 0 || waitpid(worker, &status, 0) != worker) return 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      next += count;
    } else {
      calls.fail(text_of_end(status) + " in " + last_call(calls.log()));
      next = ledger.seed + 1;
    }
    if (seconds_since(begin) - told < 60) continue;
    told = seconds_since(begin);
    std::cout << "seed " << next << ": " << ledger.programs << " programs, " << ledger.calls << " calls, "
              << ledger.compared << " compared, " << ledger.failures << " failures of " << ledger.kind_count
              << " kinds, " << static_cast<int>(told) << " s" << std::endl;
    if (static_cast<int>(told) / 60 % 10 == 0) print_summary(ledger, told);
  }
  print_summary(ledger, seconds_since(begin));
  return has_news(ledger) ? 1 : 0;
}

/// Without workers: one program with all that it does, or many.
int search_here(const Settings& settings) {
  Ledger& ledger = shared_ledger();
  Calls calls(ledger, settings.known);
  calls.tells_all = settings.only;
  const auto begin = Clock::now();
  const std::uint64_t count = settings.only ? 1 : settings.programs;
  for (std::uint64_t i = 0; i < count && (i == 0 || seconds_since(begin) < settings.seconds); ++i)
    run_random_program(settings.seed + i, settings.program, calls);
  if (!settings.only) print_summary(ledger, seconds_since(begin));
  std::cout.flush();
  return has_news(ledger) ? 1 : 0;
}

Settings settings_of(int count, char** words) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return std::string(i + 1 < count ? words[++i] : ""); };
    if (word == "--seed")
      settings.seed = std::stoull(value());
    else if (word == "--only")
      settings.only = true, settings.seed = std::stoull(value());
    else if (word == "--seconds")
      settings.seconds = std::stod(value());
    else if (word == "--programs")
      settings.programs = std::stoull(value());
    else if (word == "--cuda")
      settings.program.on_cuda = true;
    else if (word == "--here")
      settings.here = true;
    else if (word == "--known") {
      std::ifstream file(value());
      for (std::string line; std::getline(file, line);)
        if (!line.empty() && line.front() != '#') settings.known.push_back(line);
    } else {
      throw std::invalid_argument("random_calls: what is " + word + "?");
    }
  }
  return settings;
}

}  // namespace
}  // namespace weft::test

/// Memory that there is not ends a call, under a sanitizer too, and not the process.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "allocator_may_return_null=1";
}

int main(int count, char** words) {
  namespace fs = std::filesystem;
  try {
    weft::test::Settings settings = weft::test::settings_of(count, words);
    const fs::path folder = fs::temp_directory_path() / ("weft_random_calls_" + std::to_string(getpid()));
    fs::create_directories(folder);
    settings.program.folder = folder.string();
    fs::current_path(folder);
    const int end = settings.only || settings.here ? search_here(settings) : search(settings);
    fs::remove_all(folder);
    return end;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
