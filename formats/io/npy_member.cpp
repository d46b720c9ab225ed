#include <weft/formats/io/npy_member.h>

namespace weft::io {

std::vector<std::byte> npy_member(const ZipArchive& archive, std::size_t index, const std::string& origin,
                                  std::optional<DType> reinterpret_as) {
  const NpyHeader header =
      parse_npy_header(archive.beginning(index, npy_header_room), origin, reinterpret_as);
  check_npy_size(header, archive.members()[index].size, {}, origin);
  return archive.content(index);
}

}  // namespace weft::io
