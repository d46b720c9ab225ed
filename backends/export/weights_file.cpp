// The packed file, byte for byte as templates/weights.c and templates/pack.c make and read it.
#include <fmt/format.h>
#include <weft/backends/export/print.h>

#include <algorithm>
#include <cctype>

void weft_sha256(const void* data, std::size_t bytes, char* hex);  // templates/sha256.c

namespace weft::exporting {
namespace {

std::string header(const Package& package, const std::string& digits) {
  std::string text = fmt::format(
      R"({{"__metadata__":{{"format":"weft package 1","name":"{}","sha256":"{}"}})", package.name, digits);
  std::size_t offset = 0;
  for (const Tensor& tensor : package.tensors) {
    const std::size_t end = offset + tensor.array->bytes();
    text +=
        fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", tensor.name,
                    type_in_file(tensor.array->dtype()), fmt::join(tensor.array->shape(), ","), offset, end);
    offset = end;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::string_view bytes_of_array(const Array& array) {
  return {reinterpret_cast<const char*>(array.data()), array.bytes()};
}

}  // namespace

std::string type_in_file(DType dtype) {
  if (is_float_of_a_byte(dtype)) return dtype == DType::e4m3 ? "F8_E4M3" : "F8_E5M2";
  std::string name(name_of(dtype));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::string sha256_of(std::string_view bytes) {
  std::string hex(65, '\0');
  weft_sha256(bytes.data(), bytes.size(), hex.data());
  hex.pop_back();
  return hex;
}

std::string packed_file(const Package& package) {
  std::string data;
  for (const Tensor& tensor : package.tensors) data += bytes_of_array(*tensor.array);
  const std::string head = header(package, sha256_of(data));
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(head.size() >> (8 * i) & 255U);
  return file + head + data;
}

std::string structure_of(const Package& package) {
  std::string digits;
  for (const Tensor& tensor : package.tensors) {
    if (!tensor.is_values) digits += sha256_of(bytes_of_array(*tensor.array));
  }
  return sha256_of(digits);
}

}  // namespace weft::exporting
