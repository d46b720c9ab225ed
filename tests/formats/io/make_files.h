// Files made by hand, byte for byte: .npy, ZIP with stored members, .safetensors.
#pragma once

#include <weft/formats/io/bytes.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::testing {

inline io::Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A number of `width` bytes, little-endian.
inline std::string number(std::uint64_t value, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    text += i < 8 ? static_cast<char>(value >> (8 * i) & 0xFFU) : '\0';
  }
  return text;
}

/// The bytes of some elements.
template <class T>
std::string elements(const std::vector<T>& values) {
  std::string text(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(text.data(), values.data(), text.size());
  return text;
}

/// A .npy file with this dictionary.
inline std::string npy_with_header(const std::string& dictionary, std::string_view data, int major = 1) {
  const std::size_t width = major == 1 ? 2 : 4;
  std::string padded = dictionary;
  padded.append(63 - (8 + width + padded.size()) % 64, ' ');
  padded += '\n';
  return "\x93NUMPY" + std::string(1, static_cast<char>(major)) + std::string(1, '\0') +
         number(padded.size(), width) + padded + std::string(data);
}

inline std::string npy(const std::string& descr, const std::string& shape, std::string_view data,
                       bool fortran_order = false, int major = 1) {
  return npy_with_header("{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                             ", 'shape': " + shape + ", }",
                         data, major);
}

struct ZipMember {
  std::string name;
  std::string content;
};

/// The checksum that ZIP uses.
inline std::uint32_t checksum(std::string_view text) {
  std::uint32_t sum = ~0U;
  for (const char c : text) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1U ? 0xEDB88320U : 0U);
  }
  return ~sum;
}

/// A ZIP archive of stored members, as numpy writes them: the local headers carry ZIP64 sizes, the directory
/// does not.
inline std::string zip(const std::vector<ZipMember>& members) {
  const auto join = [](std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
  };
  const std::string version = number(45, 2);
  const std::string flags_to_date = number(0, 8);
  std::string archive;
  std::string directory;
  for (const auto& [name, content] : members) {
    const std::string sum = number(checksum(content), 4);
    const std::string begin = number(archive.size(), 4);
    const std::string size = number(content.size(), 4);
    const std::string wide = number(content.size(), 8);
    const std::string extra = join({number(1, 2), number(16, 2), wide, wide});
    const std::string lengths = number(name.size(), 2);
    archive += join({"PK\x03\x04", version, flags_to_date, sum, number(~0U, 4), number(~0U, 4), lengths,
                     number(extra.size(), 2), name, extra, content});
    directory += join({"PK\x01\x02", version, version, flags_to_date, sum, size, size, lengths, number(0, 12),
                       begin, name});
  }
  const std::string count = number(members.size(), 2);
  return join({archive, directory, "PK\x05\x06", number(0, 4), count, count, number(directory.size(), 4),
               number(archive.size(), 4), number(0, 2)});
}

/// A .safetensors file with this header and these bytes of tensors.
inline std::string safetensors(const std::string& header, std::string_view data) {
  return number(header.size(), 8) + header + std::string(data);
}

struct FileTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string content;
};

/// A .safetensors file of these tensors, one after the other.
inline std::string safetensors(const std::vector<FileTensor>& tensors) {
  std::string header = "{";
  std::string data;
  for (const auto& [name, dtype, shape, content] : tensors) {
    std::string extents;
    for (const std::int64_t extent : shape) extents += (extents.empty() ? "" : ",") + std::to_string(extent);
    const std::size_t end = data.size() + content.size();
    header += (header.size() > 1 ? ",\"" : "\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" +
              extents + R"(],"data_offsets":[)" + std::to_string(data.size()) + "," + std::to_string(end) +
              "]}";
    data += content;
  }
  return safetensors(header + "}", data);
}

}  // namespace weft::testing
