// Files as a whole: reading one into view, and writing one so that it is there completely or not at all.
#pragma once

#include <weft/formats/io/bytes.h>

#include <string>
#include <vector>

namespace weft::io {

/// The content of a file, mapped into memory where the file allows it and read otherwise (a pipe).
class File {
 public:
  /// UserError when it cannot be opened or is a folder; RuntimeError when the system fails to read it.
  explicit File(const std::string& path);
  ~File();
  File(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;

  Bytes bytes() const { return mapped_ != nullptr ? Bytes(mapped_, mapped_size_) : Bytes(read_); }

 private:
  const std::byte* mapped_ = nullptr;
  std::size_t mapped_size_ = 0;
  std::vector<std::byte> read_;
};

/// What is found where no file of that path is: "no such file; did you mean trials.jsonl?", where the folder
/// has one of almost that name.
std::string no_such_file(const std::string& path);

/// Writes the pieces one after the other to a new file in the same folder and then renames it to `path`, so
/// that nobody sees half a file. What is not a regular file (a pipe, a device) is written in place.
/// When the system refuses, UserError for a path where there can be no file, else RuntimeError, as of a full
/// disk.
void write_file(const std::string& path, std::span<const Bytes> pieces);

}  // namespace weft::io
