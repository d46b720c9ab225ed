#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/dsl/errors.h>
#include <weft/search/record_file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

constexpr int version = 1;

[[noreturn]] void fail(const std::string& doing, const std::string& path, int error) {
  throw RuntimeError(fmt::format("cannot {} {}: {}", doing, path, std::strerror(error)));
}

/// A lock of the file while this object lives.
class FileLock {
 public:
  FileLock(int descriptor, int kind, const std::string& path) : descriptor_(descriptor) {
    while (flock(descriptor, kind) != 0) {
      if (errno != EINTR) fail("lock", path, errno);
    }
  }
  ~FileLock() { flock(descriptor_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

/// A write past the limit on file sizes ends the process unless its signal is held back.
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

std::size_t size_of_file(int descriptor, const std::string& path) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) fail("read", path, errno);
  return static_cast<std::size_t>(status.st_size);
}

std::string header() {
  const nlohmann::ordered_json json{{"weftdb", version}, {"created", time_now()}};
  return json.dump() + "\n";
}

}  // namespace

RecordFile::RecordFile(std::string path, Mode mode) : path_(std::move(path)) {
  const int flags = mode == Mode::append ? O_RDWR | O_APPEND | O_CREAT : O_RDONLY;
  descriptor_ = open(path_.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(mode == Mode::append ? "write" : "read", path_, errno);
  try {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0) fail("read", path_, errno);
    regular_ = S_ISREG(status.st_mode);
    if (!regular_ && mode == Mode::read)
      throw UserError({"a database of trials cannot be read", path_, "no regular file", "a file"});
    refresh();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

RecordFile::~RecordFile() {
  close(descriptor_);
}

void RecordFile::refresh() {
  const FileLock lock(descriptor_, LOCK_SH, path_);
  read_new();
}

void RecordFile::read_new() {
  if (!regular_) return;  // a device, which can be written alone
  std::string rest;
  std::array<char, 65536> buffer;
  std::size_t at = consumed_;
  for (;;) {
    const ssize_t count = pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path_, errno);
    if (count == 0) break;
    at += static_cast<std::size_t>(count);
    rest.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      take_line(rest.substr(begin, end - begin));
      consumed_ += end - begin + 1;
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
  if (rest.empty() || warned_rest_ == consumed_ + 1) return;
  warned_rest_ = consumed_ + 1;
  warnings_.push_back(fmt::format("{}:{}: the last line has no end and is passed over", path_, lines_ + 1));
}

void RecordFile::check_header(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const bool known = json.is_object() && json.contains("weftdb") && json.at("weftdb").is_number_integer();
  if (!known)
    throw UserError({"a file is no database of trials", path_ + ":1", line.substr(0, 80),
                     R"(a first line as {"weftdb":1})"});
  if (json.at("weftdb").get<int>() > version)
    throw UserError({"a database of trials is of a later version", path_ + ":1",
                     std::to_string(json.at("weftdb").get<int>()), std::to_string(version)});
}

void RecordFile::take_line(const std::string& line) {
  ++lines_;
  if (lines_ == 1) return check_header(line);
  if (line.empty()) return;
  try {
    records_.push_back({record_of(line), lines_});
    keys_.insert(records_.back().record.key());
  } catch (const UserError& error) {
    if (warned_rest_ != consumed_ + 1)
      warnings_.push_back(fmt::format("{}:{}: {}", path_, lines_, error.what()));
  }
}

void RecordFile::check_architecture(const Record& record) const {
  const std::string own = architecture_of(record.target.name);
  for (const StoredRecord& other : records_) {
    const std::string found = architecture_of(other.record.target.name);
    if (found == own) continue;
    throw UserError({"a database of trials is of another architecture",
                     fmt::format("{}:{}", path_, other.line), found,
                     own + ", another file, or --allow-arch"});
  }
}

bool RecordFile::append(Record record, bool any_architecture) {
  const FileLock lock(descriptor_, LOCK_EX, path_);
  read_new();
  if (has(record.key())) return false;
  if (!any_architecture) check_architecture(record);
  if (record.id.empty()) record.id = new_record_id();
  if (record.time.empty()) record.time = time_now();
  const std::size_t size = size_of_file(descriptor_, path_);
  std::string text;
  if (size == 0) text = header();
  if (size > consumed_) text = "\n";  // after what a killed writer left
  text += json_of(record) + "\n";
  write_whole(text, size);
  read_new();
  return true;
}

void RecordFile::write_whole(const std::string& text, std::size_t size) const {
  ssize_t count = 0;
  int error = 0;
  {
    const NoSizeSignal held;
    do {
      count = write(descriptor_, text.data(), text.size());
    } while (count < 0 && errno == EINTR);
    error = count < 0 ? errno : ENOSPC;
  }
  if (count == static_cast<ssize_t>(text.size())) return;
  // A part of a line is worse than none.
  const int cut = count > 0 ? ftruncate(descriptor_, static_cast<off_t>(size)) : 0;
  fail(cut == 0 ? "write" : "write, nor take back what was written of,", path_, error);
}

}  // namespace weft
