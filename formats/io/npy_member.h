// A .npy file as a member of a ZIP archive.
#pragma once

#include <weft/formats/io/npy.h>
#include <weft/formats/io/zip_archive.h>

#include <optional>
#include <string>
#include <vector>

namespace weft::io {

/// Room for the longest header that numpy itself reads.
constexpr std::size_t npy_header_room = 16384;

/// The bytes of the member, decompressed only after its declared size has been found to be what its header
/// asks for: what is set aside never exceeds what the shape warrants.
std::vector<std::byte> npy_member(const ZipArchive& archive, std::size_t index, const std::string& origin,
                                  std::optional<DType> reinterpret_as);

}  // namespace weft::io
