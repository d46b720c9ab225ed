#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/runtime/size_signal.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>
#include <weft/formats/io/file.h>
#include <weft/search/records/record_file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft {
namespace {

constexpr int version = 1;
/// Behind the name of a file: what was cut off from it.
constexpr const char* cut_off = ".cut-off";

[[noreturn]] void fail(const std::string& doing, const std::string& path, int error) {
  refuse_path(doing, path, std::error_code(error, std::generic_category()));
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

std::size_t size_of_file(int descriptor, const std::string& path) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) fail("read", path, errno);
  return static_cast<std::size_t>(status.st_size);
}

/// "t.jsonl:17, us.median"
std::string place_of_line(const std::string& path, std::size_t line, std::string field) {
  constexpr std::string_view in_the_line = "line 1, ";  // the place in a text of one line
  if (field.starts_with(in_the_line)) field.erase(0, in_the_line.size());
  return fmt::format("{}:{}{}{}", path, line, field.empty() ? "" : ", ", field);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// The record of a line that may be none.
std::optional<Record> possible_record(const std::string& line) {
  try {
    return record_of(line);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Whether a killed writer of a new file could have left this.
bool begins_as_header(const std::string& text) {
  const std::string beginning = fmt::format("{{\"weftdb\":{}", version);
  return text.starts_with(beginning) || beginning.starts_with(text);
}

std::string header() {
  const nlohmann::ordered_json json{{"weftdb", version}, {"created", time_now()}};
  return json.dump() + "\n";
}

}  // namespace

bool is_database(std::string_view text) {
  return text.starts_with("{\"weftdb\":");
}

RecordFile::RecordFile(std::string path, Mode mode, CallPlace place) : path_(std::move(path)) {
  user_call(place, [&] { open_file(mode); });
}

void RecordFile::open_file(Mode mode) {
  const int flags = mode == Mode::append ? O_RDWR | O_APPEND | O_CREAT : O_RDONLY;
  descriptor_ = open(path_.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor_ < 0 && mode == Mode::read)
    throw UserError("cannot read " + path_, errno == ENOENT ? io::no_such_file(path_) : std::strerror(errno),
                    "a database that weft tune --db wrote");
  if (descriptor_ < 0) fail(mode == Mode::append ? "write" : "read", path_, errno);
  try {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0) fail("read", path_, errno);
    regular_ = S_ISREG(status.st_mode);
    if (!regular_ && mode == Mode::read)
      throw UserError("a database of trials cannot be read", path_,
                      S_ISDIR(status.st_mode) ? "a folder" : "no regular file",
                      "a file that weft tune --db wrote");
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
  rest_ = std::move(rest);
  if (rest_.empty() || warned_rest_ == consumed_ + 1) return;
  if (lines_ == 0 && !begins_as_header(rest_)) check_header(rest_);
  warned_rest_ = consumed_ + 1;
  warnings_.push_back(fmt::format("{}:{}: the last line has no end and is passed over; {}", path_, lines_ + 1,
                                  possible_record(rest_) ? "the next write gives it one"
                                                         : "the next write moves it to " + path_ + cut_off));
}

void RecordFile::check_header(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto number = json.is_object() ? json.find("weftdb") : json.end();
  if (number == json.end())
    throw UserError("a file is no database of trials", path_ + ":1",
                    line == "{" ? "a JSON document, such as a schedule file or a tree"
                                : io::in_quotes(line.substr(0, 80)),
                    R"(a file that weft tune --db wrote, whose first line is as {"weftdb":1})");
  if (*number == version) return;
  const bool later = number->is_number() && number->get<double>() >= version + 1;
  throw UserError(
      later ? "a database of trials is of a later version" : "a database of trials has no such version",
      path_ + ":1, weftdb", number->dump(), std::to_string(version));
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
      warnings_.push_back(UserError(error.report().what, place_of_line(path_, lines_, error.report().where),
                                    error.report().found, error.report().accepted)
                              .what());
  }
}

void RecordFile::check_architecture(const Record& record, const Record& first) const {
  const std::string own = architecture_of(record.target.name);
  const std::string of_first = architecture_of(first.target.name);
  if (own != of_first)
    throw UserError("records of two architectures go into one database", path_, of_first + " and " + own,
                    "those of one, or TuneOptions::any_architecture (--allow-arch) to have both in one");
  for (const StoredRecord& other : records_) {
    const std::string found = architecture_of(other.record.target.name);
    if (found == own) continue;
    throw UserError(
        "a database of trials is of another architecture", place_of_line(path_, other.line, {}),
        found + ", and the new record is of " + own,
        "records of " + found +
            ", another file, or TuneOptions::any_architecture (--allow-arch) to have both in one");
  }
}

bool RecordFile::append(Record record, bool any_architecture) {
  return append_all({std::move(record)}, any_architecture) == 1;
}

std::size_t RecordFile::append_all(std::vector<Record> records, bool any_architecture) {
  const FileLock lock(descriptor_, LOCK_EX, path_);
  read_new();
  const std::size_t size = size_of_file(descriptor_, path_);
  std::string text;
  std::size_t count = 0;
  std::set<std::string> keys;
  if (const auto last = possible_record(rest_)) keys.insert(last->key());
  for (Record& record : records) {
    if (const std::string key = record.key(); has(key) || !keys.insert(key).second) continue;
    if (!any_architecture) check_architecture(record, records.front());
    if (record.id.empty()) record.id = new_record_id();
    if (record.time.empty()) record.time = time_now();
    text += json_of(record) + "\n";
    ++count;
  }
  if (count == 0) return 0;
  const std::string before = mend_end(size);
  write_whole(before + text, size_of_file(descriptor_, path_));
  read_new();
  return count;
}

/// Puts away what a killed writer left. Returns what is to be written before the next record.
std::string RecordFile::mend_end(std::size_t size) {
  if (!regular_) return size == 0 ? header() : "";
  if (size > consumed_) {
    if (possible_record(rest_)) return "\n";
    const std::string aside = path_ + cut_off;
    const std::string kept = is_file(aside) ? read_bytes(aside) : "";
    write_bytes(aside, kept + rest_ + "\n");
    if (ftruncate(descriptor_, static_cast<off_t>(consumed_)) != 0) fail("write", path_, errno);
  }
  return consumed_ == 0 ? header() : "";
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
