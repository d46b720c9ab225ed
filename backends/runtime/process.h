// Other programs, run without a shell and not for ever.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace weft {

struct ProcessOptions {
  double limit_seconds = 120;             ///< then the program and what it started are killed
  std::size_t output_limit = 16U << 20U;  ///< bytes kept of each output; the rest is read and dropped
  std::filesystem::path folder;           ///< to run in; empty for this program's own
};

struct ProcessResult {
  int exit_code = -1;  ///< -1 when it was ended by a signal
  int signal = 0;      ///< that signal
  bool timed_out = false;
  std::string output;  ///< standard output
  std::string error;   ///< standard error
  double seconds = 0;

  bool succeeded() const { return exit_code == 0 && !timed_out; }
};

/// Runs `command[0]` (looked up on PATH unless it has a slash) with the other words as its arguments and
/// nothing on standard input, until it ends or the limit has passed. RuntimeError when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

/// Runs `work` in a copy of this process, made by fork, and returns what it returns as `output`; of an
/// exception its text as `error` and exit code 1. For calls of other people's code that may crash or never
/// end, and need nothing of this process but memory: no device, no lock that another thread may hold.
/// RuntimeError when there can be no process.
ProcessResult run_apart(const std::function<std::string()>& work, const ProcessOptions& options = {});

/// "exit code 255", "signal 11", "no end within 2 s": for messages.
std::string text_of_end(const ProcessResult& result, const ProcessOptions& options);

/// What a program of weft's user ends with: 0, or, once it has said what went wrong, 2 for a UserError and 1
/// for every other one.
int exit_code_of(const std::function<void()>& program);

/// A folder of its own under the system's folder for temporary files, removed with the object.
class TemporaryFolder {
 public:
  /// RuntimeError when it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The bytes of a file, RuntimeError naming the path and the reason when it cannot be read; and a file of
/// these bytes, errors as refuse_path().
std::string read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, std::string_view bytes);
/// Writes all of them to an open file: the number of the error, or 0.
int write_all(int file, std::string_view bytes);
/// The same without an exception: what the system says of it, nothing where all bytes are written.
std::error_code try_write_bytes(const std::filesystem::path& path, std::string_view bytes);

}  // namespace weft
