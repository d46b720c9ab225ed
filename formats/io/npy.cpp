#include <fmt/format.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/npy.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace weft::io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files are little-endian and are copied as they are");

void swap_bytes(Array& array) {
  const std::size_t width = size_of(array.dtype());
  for (std::size_t i = 0; i < array.bytes(); i += width)
    std::reverse(array.data() + i, array.data() + i + width);
}

Array read_elements(const NpyHeader& header, Bytes bytes, const std::string& origin) {
  check_npy_size(header, bytes.size(), fmt::format(" of {}", name_of(header.dtype)), origin);
  Array array(header.dtype, header.shape);
  if (header.fortran_order && header.shape.size() > 1) {
    const std::size_t width = size_of(header.dtype);
    for (std::int64_t i = 0; i < array.size(); ++i)
      std::copy_n(bytes.data() + header.byte_of(i), width,
                  array.data() + static_cast<std::size_t>(i) * width);
  } else {
    std::copy_n(bytes.data() + header.data_begin, array.bytes(), array.data());
  }
  if (header.big_endian) swap_bytes(array);
  check_booleans(array, origin, [&](std::int64_t i) { return fmt::format("byte {}", header.byte_of(i)); });
  return array;
}

}  // namespace

Array parse_npy(Bytes bytes, const std::string& origin, const ReadOptions& options) {
  return read_elements(parse_npy_header(bytes, origin, options.reinterpret_as), bytes, origin);
}

WeightMatrix parse_npy_weights(Bytes bytes, const std::string& origin, const ReadOptions& options) {
  const NpyHeader header = parse_npy_header(bytes, origin, options.reinterpret_as);
  check_weight_shape(header.shape, bytes.size(), origin, "the header");
  const Array array = read_elements(header, bytes, origin);
  check_finite(array, origin, [&](std::int64_t i) {
    return fmt::format("byte {}, element {}", header.byte_of(i), text_of_position(i, header.shape));
  });
  return from_dense(array, origin);
}

std::string fault_of_npy(Bytes beginning, std::size_t size, const std::string& origin) {
  return fault_of(origin, [&] {
    const NpyHeader header = parse_npy_header(beginning, origin, std::nullopt);
    check_npy_size(header, size, {}, origin);
    if (!header.shape.empty()) check_weight_shape(header.shape, size, origin, "the header");
  });
}

std::vector<ListedWeight> list_npy(Bytes bytes, const std::string& path) {
  auto [dtype, shape] = summarize_npy(bytes, path);
  return {{.path = path,
           .dtype = std::move(dtype),
           .shape = std::move(shape),
           .stored_as = "dense",
           .bytes = bytes.size(),
           .fault = fault_of_npy(bytes, bytes.size(), path)}};
}

}  // namespace weft::io

namespace weft {
namespace {

std::string descr_of(DType dtype) {
  if (dtype == DType::boolean) return "|b1";
  if (dtype == DType::bf16) return "|V2";
  if (is_float_of_a_byte(dtype)) return "|V1";
  const char kind = is_float(dtype) ? 'f' : (is_signed_integer(dtype) ? 'i' : 'u');
  return fmt::format("{}{}{}", size_of(dtype) == 1 ? '|' : '<', kind, size_of(dtype));
}

std::string header_of(const Array& array) {
  std::string shape;
  for (const std::int64_t extent : array.shape()) shape += fmt::format("{}, ", extent);
  if (array.shape().size() != 1 && !shape.empty()) shape.resize(shape.size() - 2);
  if (array.shape().size() == 1) shape.pop_back();  // "(3,)"
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr_of(array.dtype()), shape);
  constexpr std::size_t before = 10;  // magic, version, length
  header.append(63 - (before + header.size()) % 64, ' ');
  return header + '\n';
}

}  // namespace

void write_npy(const std::string& path, const Array& array, CallPlace place) {
  const std::string dictionary = header_of(array);
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  header += dictionary;
  const std::array pieces{io::Bytes(std::as_bytes(std::span(header))),
                          io::Bytes(array.data(), array.bytes())};
  user_call(place, [&] { io::write_file(path, pieces); });
}

}  // namespace weft
