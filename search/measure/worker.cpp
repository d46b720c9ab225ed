#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/backends/runtime/stream.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/worker.h>
#include <weft/search/records/words.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace weft {
namespace {

[[noreturn]] void fail(const std::string& doing) {
  throw RuntimeError(doing + ": " + std::strerror(errno));
}

/// read() or write() of all bytes, or false: the other end is gone.
template <class Move, class Byte>
bool move_all(const Move& move, int descriptor, Byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = move(descriptor, data, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

/// A message is its length and its bytes.
bool write_message(int descriptor, const std::string& text) {
  const std::uint64_t length = text.size();
  std::string message(reinterpret_cast<const char*>(&length), sizeof length);
  message += text;
  return move_all(::write, descriptor, message.data(), message.size());
}

std::optional<std::string> read_message(int descriptor) {
  std::uint64_t length = 0;
  if (!move_all(::read, descriptor, reinterpret_cast<char*>(&length), sizeof length)) return std::nullopt;
  std::string text(length, '\0');
  if (!move_all(::read, descriptor, text.data(), text.size())) return std::nullopt;
  return text;
}

/// Processes of a session: field 6 of /proc/PID/stat. Compilers have process groups of their own.
std::vector<pid_t> processes_of_session(pid_t session) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    const auto process = read_number<pid_t>(name);
    if (!process) continue;
    std::ifstream file(entry.path() / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t after_name = line.rfind(')');  // a program's name may hold anything
    if (after_name == std::string::npos) continue;
    int parent = 0;
    int group = 0;
    int its_session = 0;
    char state = 0;
    if (std::sscanf(line.c_str() + after_name + 1, " %c %d %d %d", &state, &parent, &group, &its_session) ==
            4 &&
        its_session == session)
      found.push_back(*process);
  }
  return found;
}

/// Whether a sanitizer is compiled in whose own memory is beyond any limit.
constexpr bool has_shadow_memory() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

void limit_memory(std::uint64_t bytes) {
  if (bytes == 0 || has_shadow_memory()) return;
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace

Worker::Worker(const Serve& serve, std::uint64_t memory_bytes) {
  std::array<int, 2> requests{-1, -1};
  std::array<int, 2> answers{-1, -1};
  said_ = memfd_create("weft-worker", MFD_CLOEXEC);
  if (said_ < 0 || pipe2(requests.data(), O_CLOEXEC) != 0 || pipe2(answers.data(), O_CLOEXEC) != 0)
    fail("making a worker");
  // Or the child would write what stands in the parent's buffers once more.
  std::fflush(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) fail("making a worker");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    close(requests[1]);
    close(answers[0]);
    work(serve, requests[0], answers[1], memory_bytes);
  }
  close(requests[0]);
  close(answers[1]);
  requests_ = requests[1];
  answers_ = answers[0];
  fcntl(answers_, F_SETFL, O_NONBLOCK);
}

void Worker::work(const Serve& serve, int requests, int answers, std::uint64_t memory_bytes) const {
  setsid();  // what it starts is found by its session; the terminal's Ctrl-C is not for it
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  // A core file of a candidate that crashes is of no use, and large.
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  limit_memory(memory_bytes);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, 0);
  fcntl(said_, F_SETFL, O_APPEND);
  dup2(said_, 1);
  dup2(said_, 2);
  for (;;) {
    const auto request = read_message(requests);
    if (!request) _exit(0);
    if (ftruncate(said_, 0) != 0) _exit(1);
    std::string answer;
    try {
      answer = serve(*request);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::fflush(nullptr);
      _exit(1);
    }
    if (!write_message(answers, answer)) _exit(0);
  }
}

Worker::~Worker() {
  if (alive()) ended(WorkerReply::End::died);
  close_all();
}

void Worker::close_all() {
  for (int* descriptor : {&requests_, &answers_, &said_}) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
  }
}

void Worker::send(const std::string& request, double limit_seconds) {
  internal_check(alive() && !deadline_, "a worker that is busy or gone is asked");
  received_.clear();
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(std::min(limit_seconds, 1e8)));
  // Where it died between two requests, take() finds out.
  sigset_t pipe_signal;
  sigset_t former;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &former);
  write_message(requests_, request);
  const timespec at_once{0, 0};
  if (sigismember(&former, SIGPIPE) == 0) sigtimedwait(&pipe_signal, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

double Worker::seconds_left() const {
  if (!deadline_) return 0;
  return std::max(0.0, std::chrono::duration<double>(*deadline_ - Clock::now()).count());
}

std::optional<WorkerReply> Worker::take() {
  if (!alive() || !deadline_) return std::nullopt;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(answers_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return ended(WorkerReply::End::died);
    if (count < 0) break;
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  std::uint64_t length = 0;
  if (received_.size() >= sizeof length) {
    std::memcpy(&length, received_.data(), sizeof length);
    if (received_.size() - sizeof length >= length) {
      deadline_.reset();
      return WorkerReply{WorkerReply::End::answered, received_.substr(sizeof length, length), {}};
    }
  }
  if (seconds_left() <= 0) return ended(WorkerReply::End::timed_out);
  return std::nullopt;
}

WorkerReply Worker::wait() {
  internal_check(alive() && deadline_, "a worker that was not asked is waited for");
  for (;;) {
    if (auto reply = take()) return *std::move(reply);
    pollfd end{answers_, POLLIN, 0};
    poll(&end, 1, static_cast<int>(std::min(seconds_left() * 1000 + 1, 1000.0)));
  }
}

WorkerReply Worker::ask(const std::string& request, double limit_seconds) {
  send(request, limit_seconds);
  return wait();
}

/// Compilers that the process started are in its session, and would go on without it.
void Worker::end_all() const {
  kill(process_, SIGSTOP);  // so that it starts no more
  for (const pid_t one : processes_of_session(process_)) kill(one, SIGKILL);
  kill(process_, SIGKILL);
}

WorkerReply Worker::ended(WorkerReply::End end) {
  WorkerReply reply{end, {}, {}};
  int status = 0;
  pid_t gone = end == WorkerReply::End::died ? waitpid(process_, &status, WNOHANG) : 0;
  if (gone != process_) {
    // Its end of the pipe closes just before it can be waited for; one that hangs or is not needed is ended.
    if (end == WorkerReply::End::died && deadline_) {
      for (int i = 0; i < 200 && gone != process_; ++i) {
        usleep(1000);
        gone = waitpid(process_, &status, WNOHANG);
      }
    }
    if (gone != process_) {
      end_all();
      while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    }
  }
  for (const pid_t one : processes_of_session(process_)) kill(one, SIGKILL);
  if (end == WorkerReply::End::timed_out) {
    reply.text = "no end within its limit";
  } else if (WIFSIGNALED(status)) {
    reply.text = fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else {
    reply.text = fmt::format("exit code {}", WEXITSTATUS(status));
  }
  reply.said = last_words();
  process_ = -1;
  deadline_.reset();
  return reply;
}

std::string Worker::last_words() const {
  constexpr off_t most = 2000;
  const off_t size = lseek(said_, 0, SEEK_END);
  if (size <= 0) return {};
  std::string text(std::min(size, most), '\0');
  const ssize_t count = pread(said_, text.data(), text.size(), std::max<off_t>(0, size - most));
  text.resize(std::max<ssize_t>(0, count));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace weft
