#include <fmt/format.h>
#include <weft/formats/io/npy_member.h>

namespace weft::io {

std::vector<std::byte> npy_member(const ZipArchive& archive, std::size_t index, const std::string& origin,
                                  std::optional<DType> reinterpret_as) {
  const std::size_t size = archive.members()[index].size;
  const NpyHeader header =
      parse_npy_header(archive.beginning(index, npy_header_room), origin, reinterpret_as);
  const std::size_t elements = size - header.data_begin;
  if (elements != header.data_bytes) {
    refuse(origin, fmt::format("byte {}", header.data_begin),
           fmt::format("{} bytes of elements ({})", elements,
                       elements < header.data_bytes ? "truncated" : "padded"),
           fmt::format("{} bytes for the shape {}", header.data_bytes, text_of_shape(header.shape)));
  }
  return archive.content(index);
}

}  // namespace weft::io
