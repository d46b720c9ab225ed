#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/file.h>
#include <weft/formats/suggestion.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace weft::io {
namespace {

std::string without_digits(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c < '0' || c > '9') letters += c;
  }
  return letters;
}

/// "; did you mean weights.npy?", of the files beside the one that is not there.
std::string nearest_in_folder(const std::filesystem::path& path) {
  constexpr std::size_t most = 10'000;
  std::vector<std::string> names;
  std::error_code ignored;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end && names.size() < most;
       entry.increment(ignored))
    names.push_back(entry->path().filename().string());
  const std::string_view nearest =
      nearest_name(path.filename().string(), std::vector<std::string_view>(names.begin(), names.end()));
  // Names that differ in their numbers are of different shards.
  const bool is_other = without_digits(nearest) == without_digits(path.filename().string());
  return nearest.empty() || is_other ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

[[noreturn]] void fail(const std::string& doing, const std::string& path, int error) {
  refuse_path(doing, path, std::error_code(error, std::generic_category()));
}

/// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  /// Some file systems report a full disk only here.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

std::vector<std::byte> read_all(int descriptor, const std::string& path) {
  std::vector<std::byte> content;
  std::array<std::byte, 1 << 16> chunk;
  while (true) {
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path, errno);
    if (count == 0) return content;
    content.insert(content.end(), chunk.begin(), chunk.begin() + count);
  }
}

void write_all(int descriptor, Bytes bytes, const std::string& path) {
  constexpr std::size_t largest = std::size_t{1} << 30;  // one call to write takes less than 2 GiB
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), std::min(bytes.size(), largest));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", path, errno);
    bytes = bytes.subspan(count);
  }
}

/// The rights that open() would have given, where mkstemp gives none to others.
void give_usual_rights(int descriptor) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor, 0666 & ~mask);
}

void write_in_place(const std::string& path, std::span<const Bytes> pieces) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) fail("write", path, errno);
  for (const Bytes piece : pieces) write_all(file.number(), piece, path);
  if (!file.close()) fail("write", path, errno);
}

}  // namespace

File::File(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    throw UserError("cannot read " + path, is_missing ? no_such_file(path) : std::strerror(errno),
                    "the path of a file that can be read");
  }
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) fail("read", path, errno);
  if (S_ISDIR(status.st_mode)) throw UserError("cannot read " + path, "a folder", "the path of a file");
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (address != MAP_FAILED) {
      mapped_ = static_cast<const std::byte*>(address);
      mapped_size_ = size;
      return;
    }
  }
  read_ = read_all(file.number(), path);
}

File::~File() {
  if (mapped_ != nullptr) ::munmap(const_cast<std::byte*>(mapped_), mapped_size_);
}

File::File(File&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_size_(std::exchange(other.mapped_size_, 0)),
      read_(std::move(other.read_)) {}

std::string no_such_file(const std::string& path) {
  return "no such file" + nearest_in_folder(path);
}

void write_file(const std::string& path, std::span<const Bytes> pieces) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (std::filesystem::is_directory(path, ignored)) fail("write", path, EISDIR);
  if (exists && !std::filesystem::is_regular_file(path, ignored)) return write_in_place(path, pieces);
  // A link keeps pointing to the file that it names.
  const std::string target = exists ? std::filesystem::canonical(path, ignored).string() : path;
  std::string temporary = target + ".XXXXXX";
  Descriptor file(::mkstemp(temporary.data()));
  if (file.number() < 0) fail("write", path, errno);
  try {
    give_usual_rights(file.number());
    for (const Bytes piece : pieces) write_all(file.number(), piece, path);
    if (!file.close()) fail("write", path, errno);
    if (::rename(temporary.c_str(), target.c_str()) != 0) fail("write", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace weft::io
