// Messages of ONNX, as a test writes them: fields by their numbers in onnx.proto.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::test {

class OnnxMessage {
 public:
  OnnxMessage& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3U);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  OnnxMessage& text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  OnnxMessage& message(int field, const OnnxMessage& value) { return text(field, value.bytes_); }
  OnnxMessage& numbers(int field, const std::vector<std::int64_t>& values) {
    OnnxMessage packed;
    for (const std::int64_t value : values) packed.varint(static_cast<std::uint64_t>(value));
    return message(field, packed);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value > 127; value >>= 7U) bytes_ += static_cast<char>((value & 127U) | 128U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

template <class Element>
std::string raw(const std::vector<Element>& values) {
  std::string bytes(values.size() * sizeof(Element), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A tensor whose elements lie as in memory; type 1 is f32.
inline OnnxMessage onnx_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                               const std::string& elements, std::int64_t type = 1) {
  return OnnxMessage().numbers(1, shape).number(2, type).text(8, name).text(9, elements);
}

inline OnnxMessage onnx_node(
    const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& integers = {}) {
  OnnxMessage node;
  for (const std::string& input : inputs) node.text(1, input);
  node.text(2, output).text(3, "node_" + output).text(4, op);
  for (const auto& [name, values] : integers) {
    OnnxMessage attribute;
    attribute.text(1, name);
    if (values.size() == 1) attribute.number(3, values.front()).number(20, 2);
    if (values.size() != 1) attribute.numbers(8, values).number(20, 7);
    node.message(5, attribute);
  }
  return node;
}

/// An input; a size of -1 has a name in place of a number.
inline OnnxMessage onnx_value(const std::string& name, const std::vector<std::int64_t>& shape) {
  OnnxMessage sizes;
  for (const std::int64_t size : shape)
    sizes.message(1, size < 0 ? OnnxMessage().text(2, "batch") : OnnxMessage().number(1, size));
  return OnnxMessage().text(1, name).message(
      2, OnnxMessage().message(1, OnnxMessage().number(1, 1).message(2, sizes)));
}

/// A file of that graph.
inline std::string onnx_file(const OnnxMessage& graph) {
  return OnnxMessage().number(1, 8).text(2, "weft").message(7, graph).bytes();
}

}  // namespace weft::test
