// The members of a ZIP archive in memory.
#pragma once

#include <weft/formats/io/bytes.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct zip;

namespace weft::io {

/// An archive opened for reading. Nothing is decompressed before it is asked for, and never more than the
/// compressed bytes can warrant.
class ZipArchive {
 public:
  struct Member {
    std::string name;
    std::uint64_t size = 0;    ///< decompressed, as declared
    std::uint64_t packed = 0;  ///< bytes in the archive
  };

  /// UserError for what is no ZIP, for a name twice, and for members that are encrypted, packed by another
  /// method than "stored" and "deflate", or declared larger than deflate could have packed.
  ZipArchive(Bytes bytes, std::string origin);

  const std::vector<Member>& members() const { return members_; }
  /// Bytes of the archive itself.
  std::size_t size() const { return size_; }
  /// The first `most` bytes of a member, or all when there are fewer.
  std::vector<std::byte> beginning(std::size_t member, std::size_t most) const;
  /// The whole member. UserError when it is not as long as declared or its checksum is wrong.
  std::vector<std::byte> content(std::size_t member) const;

 private:
  struct Close {
    void operator()(struct zip* archive) const;
  };

  std::size_t size_;
  std::string origin_;
  std::unique_ptr<struct zip, Close> archive_;
  std::vector<Member> members_;
};

bool looks_like_zip(Bytes bytes);

}  // namespace weft::io
