#include <fmt/format.h>
#include <weft/formats/io/zip_archive.h>
#include <weft/formats/io/zip_library.h>

#include <algorithm>
#include <optional>
#include <set>

namespace weft::io {
namespace {

/// Deflate packs at most 258 bytes into two bits.
constexpr std::uint64_t most_growth = 1032;

struct CloseMember {
  void operator()(zip_file_t* file) const { zip_library().fclose(file); }
};

constexpr std::size_t end_record = 22;

/// Where the record that ends an archive begins; nothing where it is not there, or not whole.
std::optional<std::size_t> end_of(Bytes bytes) {
  const std::size_t at = text_of(bytes).rfind("PK\x05\x06");
  if (at == std::string_view::npos || bytes.size() - at < end_record) return std::nullopt;
  return at;
}

/// The record that ends an archive carries the length of the comment behind it; libzip lets more follow.
void check_end(Bytes bytes, const std::string& origin) {
  const std::optional<std::size_t> at = end_of(bytes);
  if (!at) return;  // libzip finds that out
  const std::size_t end = *at + end_record + little_endian(bytes, *at + end_record - 2, 2);
  if (end < bytes.size())
    refuse(origin, fmt::format("byte {}", end),
           fmt::format("{} bytes after the archive (padded)", bytes.size() - end), "the end of the file");
}

ZipArchive::Member describe(struct zip* archive, zip_uint64_t index, const std::string& origin) {
  zip_stat_t status;
  zip_library().stat_init(&status);
  constexpr zip_uint64_t needed =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_library().stat_index(archive, index, ZIP_FL_ENC_RAW, &status) != 0 ||
      (status.valid & needed) != needed)
    refuse(origin, fmt::format("member {}", index), "an incomplete entry in the directory",
           "a complete archive");
  const std::string where = "member " + in_quotes(status.name);
  if (status.encryption_method != ZIP_EM_NONE)
    refuse(origin, where, "an encrypted member", "one without a password");
  if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE)
    refuse(origin, where, fmt::format("compression method {}", status.comp_method),
           "0 (stored) or 8 (deflate)");
  const std::uint64_t growth = status.comp_method == ZIP_CM_STORE ? 1 : most_growth;
  if (status.size / growth > status.comp_size)
    refuse(origin, where, fmt::format("{} bytes packed into {}", status.size, status.comp_size),
           fmt::format("at most {} times as many", growth));
  return {status.name, status.size, status.comp_size};
}

}  // namespace

void ZipArchive::Close::operator()(struct zip* archive) const {
  zip_library().discard(archive);
}

ZipArchive::ZipArchive(Bytes bytes, std::string origin) : size_(bytes.size()), origin_(std::move(origin)) {
  check_end(bytes, origin_);
  zip_error_t error;
  zip_library().error_init(&error);
  zip_source_t* source = zip_library().source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source != nullptr) archive_.reset(zip_library().open_from_source(source, ZIP_RDONLY, &error));
  if (!archive_) {
    const std::string reason = zip_library().error_strerror(&error);
    zip_library().error_fini(&error);
    zip_library().source_free(source);
    if (!looks_like_zip(bytes))
      refuse(origin_, "byte 0", beginning_of(bytes),
             "a ZIP archive of .npy files, as numpy.savez writes it, which begins with \"PK\"");
    if (!end_of(bytes))
      refuse(
          origin_, fmt::format("byte {}", bytes.size()),
          fmt::format("the end of the file after {} bytes, while it begins as a ZIP archive, whose list of "
                      "members is at its end (truncated)",
                      bytes.size()),
          "all bytes of the archive: the file copied or downloaded anew");
    refuse(origin_, {}, "no readable ZIP archive (" + reason + ")", "a complete .npz");
  }
  zip_library().error_fini(&error);
  std::set<std::string> names;
  const zip_int64_t count = zip_library().get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    Member member = describe(archive_.get(), static_cast<zip_uint64_t>(i), origin_);
    if (member.size > bytes.size() * most_growth)
      refuse(origin_, "member " + in_quotes(member.name), fmt::format("{} bytes", member.size),
             "what the file can hold");
    if (!names.insert(member.name).second)
      refuse(origin_, "member " + in_quotes(member.name), "the same name twice", "every name once");
    members_.push_back(std::move(member));
  }
}

std::vector<std::byte> ZipArchive::beginning(std::size_t member, std::size_t most) const {
  const auto refuse_member = [&](std::string found, std::string accepted) {
    refuse(origin_, "member " + in_quotes(members_[member].name), std::move(found), std::move(accepted));
  };
  const std::unique_ptr<zip_file_t, CloseMember> file(zip_library().fopen_index(archive_.get(), member, 0));
  if (!file)
    refuse_member(zip_library().error_strerror(zip_library().get_error(archive_.get())), "a readable member");
  const auto read = [&](std::byte* to, std::size_t size, const char* accepted) {
    const zip_int64_t count = zip_library().fread(file.get(), to, size);
    if (count < 0)
      refuse_member(zip_library().error_strerror(zip_library().file_get_error(file.get())), accepted);
    return count;
  };
  std::vector<std::byte> content(std::min<std::uint64_t>(most, members_[member].size));
  std::size_t done = 0;
  while (done < content.size()) {
    const zip_int64_t count =
        read(content.data() + done, content.size() - done, "a member that decompresses");
    if (count == 0)
      refuse_member(fmt::format("its end after {} bytes (truncated)", done),
                    fmt::format("{} bytes", members_[member].size));
    done += static_cast<std::size_t>(count);
  }
  if (content.size() < members_[member].size) return content;
  // The checksum is compared when the end is met.
  std::byte beyond{};
  if (read(&beyond, 1, "an intact member") > 0)
    refuse_member("more than the declared bytes", fmt::format("{} bytes", content.size()));
  return content;
}

std::vector<std::byte> ZipArchive::content(std::size_t member) const {
  return beginning(member, members_[member].size);
}

bool looks_like_zip(Bytes bytes) {
  return starts_with(bytes, "PK\x03\x04") || starts_with(bytes, "PK\x05\x06");
}

}  // namespace weft::io
