#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/runtime/size_signal.h>
#include <weft/backends/runtime/stopwatch.h>
#include <weft/backends/runtime/stream.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace weft {
namespace {

[[noreturn]] void fail(const std::string& doing, int error) {
  throw RuntimeError(doing + ": " + std::strerror(error));
}

/// Two ends, closed in every child but where they are duplicated on purpose: a pipe that leaks into another
/// child would stay open as long as that one lives.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) fail("making a pipe", errno);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_read() { close_end(0); }
  void close_write() { close_end(1); }

  /// Takes what is there, or as much as keeps the caller's clock running when a program writes without end;
  /// closes at the end of the stream.
  void drain(std::string& text, std::size_t limit) {
    std::array<char, 65536> buffer;
    for (int reads = 0; reads < 64 && ends_[0] >= 0; ++reads) {
      const ssize_t count = read(ends_[0], buffer.data(), buffer.size());
      if (count > 0) {
        const std::size_t room = limit - std::min(limit, text.size());
        text.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
      } else if (count < 0 && errno == EINTR) {
        continue;
      } else {
        if (count == 0) close_read();
        return;
      }
    }
  }

 private:
  void close_end(std::size_t which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

/// What posix_spawn is told, freed with the object.
class SpawnPlan {
 public:
  SpawnPlan(const Pipe& output, const Pipe& error, const std::filesystem::path& folder) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output.write_end(), 1);
    posix_spawn_file_actions_adddup2(&actions_, error.write_end(), 2);
    if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    posix_spawnattr_init(&attributes_);
    // A group of its own, so that what the program starts can be ended with it.
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  pid_t start(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawnp(&child, words[0], &actions_, &attributes_, words.data(), environ);
    if (error != 0) fail("starting " + command[0], error);
    return child;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// True when the child has ended; `status` is then as of waitpid.
bool has_ended(pid_t child, int& status) {
  pid_t ended = 0;
  do {
    ended = waitpid(child, &status, WNOHANG);
  } while (ended < 0 && errno == EINTR);
  if (ended < 0) fail("waiting for a program", errno);
  return ended == child;
}

void wait_for_output(const Pipe& output, const Pipe& error) {
  std::array<pollfd, 2> ends{pollfd{output.read_end(), POLLIN, 0}, pollfd{error.read_end(), POLLIN, 0}};
  // Negative descriptors are passed over; with both closed this is a short sleep.
  const bool closed = output.read_end() < 0 && error.read_end() < 0;
  poll(ends.data(), ends.size(), closed ? 1 : 10);
}

ProcessResult result_of(pid_t child, Pipe& output, Pipe& error, const ProcessOptions& options,
                        const Stopwatch& watch) {
  output.close_write();
  error.close_write();
  ProcessResult result;
  int status = 0;
  bool killed = false;
  for (;;) {
    const bool ended = has_ended(child, status);
    output.drain(result.output, options.output_limit);
    error.drain(result.error, options.output_limit);
    if (ended) break;
    if (!killed && watch.seconds() > options.limit_seconds) {
      killed = true;
      kill(-child, SIGKILL);
    }
    wait_for_output(output, error);
  }
  // What the program left behind would go on without anybody to stop it.
  if (output.read_end() >= 0 || error.read_end() >= 0) kill(-child, SIGKILL);
  result.timed_out = killed;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.seconds = watch.seconds();
  return result;
}

/// What the copy does. It leaves by _exit: what the parent registered for its own end is not the copy's to
/// do.
[[noreturn]] void answer(const std::function<std::string()>& work, pid_t parent, int output, int error) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (const int crash : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) signal(crash, SIG_DFL);
  const rlimit no_dump{0, 0};
  setrlimit(RLIMIT_CORE, &no_dump);
  try {
    _exit(write_all(output, work()) == 0 ? 0 : 1);
  } catch (const std::exception& failure) {
    write_all(error, failure.what());
  } catch (...) {
    write_all(error, "an exception of an unknown kind");
  }
  _exit(1);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  internal_check(!command.empty(), "an empty command");
  Pipe output;
  Pipe error;
  const Stopwatch watch;
  const pid_t child = SpawnPlan(output, error, options.folder).start(command);
  return result_of(child, output, error, options, watch);
}

ProcessResult run_apart(const std::function<std::string()>& work, const ProcessOptions& options) {
  Pipe output;
  Pipe error;
  const Stopwatch watch;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("making a process", errno);
  if (child == 0) answer(work, parent, output.write_end(), error.write_end());
  // Both set it: whoever comes first, the group is there before it is killed.
  setpgid(child, child);
  return result_of(child, output, error, options, watch);
}

std::string text_of_end(const ProcessResult& result, const ProcessOptions& options) {
  if (result.timed_out) return "no end within " + text_of_seconds(options.limit_seconds);
  if (result.signal != 0) return "signal " + std::to_string(result.signal);
  return "exit code " + std::to_string(result.exit_code);
}

TemporaryFolder::TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::path base = std::filesystem::temp_directory_path(ignored);
  if (ignored) base = "/tmp";
  std::string pattern = (base / "weft-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) fail("making a temporary folder " + pattern, errno);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

int exit_code_of(const std::function<void()>& program) {
  try {
    program();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return dynamic_cast<const UserError*>(&error) != nullptr ? 2 : 1;
  }
}

std::string read_bytes(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (file.peek() != std::ifstream::traits_type::eof()) bytes << file.rdbuf();
  if (!file.is_open() || file.bad())
    throw RuntimeError("cannot read " + path.string() +
                       (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
  return std::move(bytes).str();
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  if (const std::error_code error = try_write_bytes(path, bytes)) refuse_path("write", path.string(), error);
}

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count > 0) bytes.remove_prefix(count);
    if (count == 0) return ENOSPC;
    if (count < 0 && errno != EINTR) return errno;
  }
  return 0;
}

std::error_code try_write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  const NoSizeSignal held;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  int error = file < 0 ? errno : write_all(file, bytes);
  // Some file systems say only now that the disk is full.
  if (file >= 0 && close(file) != 0 && error == 0) error = errno;
  return {error, std::generic_category()};
}

}  // namespace weft
