#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <weft/formats/io/choose.h>
#include <weft/formats/io/onnx.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

namespace weft::io {
namespace {

namespace fs = std::filesystem;
using google::protobuf::io::CodedInputStream;

/// One field of a message.
struct MessageField {
  int number = 0;
  std::uint64_t value = 0;  ///< a number
  Bytes bytes;              ///< a text, a message, packed numbers
  bool has_bytes = false;

  std::string text() const { return std::string(text_of(bytes)); }
  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

/// data_type of a tensor.
struct OnnxElement {
  std::uint64_t number;
  std::string_view name;  ///< as StoredType has it
  std::size_t bytes;
};
constexpr std::array onnx_elements{
    OnnxElement{1, "F32", 4},   OnnxElement{2, "U8", 1},       OnnxElement{3, "I8", 1},
    OnnxElement{4, "U16", 2},   OnnxElement{5, "I16", 2},      OnnxElement{6, "I32", 4},
    OnnxElement{7, "I64", 8},   OnnxElement{9, "BOOL", 1},     OnnxElement{10, "F16", 2},
    OnnxElement{11, "F64", 8},  OnnxElement{12, "U32", 4},     OnnxElement{13, "U64", 8},
    OnnxElement{16, "BF16", 2}, OnnxElement{17, "F8_E4M3", 1}, OnnxElement{19, "F8_E5M2", 1}};

class OnnxParser {
 public:
  OnnxParser(Bytes file, std::string origin) : file_(file), origin_(std::move(origin)) {}

  OnnxModel run() {
    if (file_.size() > INT_MAX)
      refuse(origin_, {}, fmt::format("{} bytes", file_.size()),
             "less than 2 GB, the most that a file of this kind can have; larger weights lie in files beside "
             "it");
    bool has_graph = false;
    each(file_, [&](const MessageField& field) {
      if (field.number != 7) return;
      has_graph = true;
      read_graph(field);
    });
    if (!has_graph) refuse(origin_, "byte 0", "no graph", "a model of ONNX");
    return std::move(model_);
  }

 private:
  std::size_t place(Bytes part) const { return static_cast<std::size_t>(part.data() - file_.data()); }

  [[noreturn]] void refuse_at(Bytes part, std::string found, std::string accepted) const {
    refuse(origin_, fmt::format("byte {}", place(part)), std::move(found), std::move(accepted));
  }

  /// The fields of a message, in their order.
  void each(Bytes message, const std::function<void(const MessageField&)>& use) const {
    CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(message.data()),
                            static_cast<int>(message.size()));
    const auto end = static_cast<int>(message.size());
    while (stream.CurrentPosition() < end) {
      const auto begin = static_cast<std::size_t>(stream.CurrentPosition());
      const std::uint32_t tag = stream.ReadTag();
      MessageField field{.number = static_cast<int>(tag >> 3U), .value = 0, .bytes = {}};
      if (tag == 0 || !read_value(stream, tag & 7U, message, field))
        refuse_at(message.subspan(begin),
                  fmt::format("no field of a message that ends {} bytes later", message.size() - begin),
                  "a model of ONNX, whole");
      use(field);
    }
  }

  static bool read_value(CodedInputStream& stream, std::uint32_t kind, Bytes message, MessageField& field) {
    if (kind == 0) return stream.ReadVarint64(&field.value);
    if (kind == 1) return stream.ReadLittleEndian64(&field.value);
    if (kind == 5) {
      std::uint32_t value = 0;
      if (!stream.ReadLittleEndian32(&value)) return false;
      field.value = value;
      return true;
    }
    int length = 0;
    if (kind != 2 || !stream.ReadVarintSizeAsInt(&length)) return false;
    const auto begin = static_cast<std::size_t>(stream.CurrentPosition());
    if (static_cast<std::size_t>(length) > message.size() - begin) return false;
    field.bytes = message.subspan(begin, static_cast<std::size_t>(length));
    field.has_bytes = true;
    return stream.Skip(length);
  }

  /// The numbers of a repeated field, of which one alone stands as it is and many stand packed.
  void add_integers(const MessageField& field, std::vector<std::int64_t>& numbers) const {
    if (!field.has_bytes) return numbers.push_back(field.integer());
    CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(field.bytes.data()),
                            static_cast<int>(field.bytes.size()));
    while (stream.CurrentPosition() < static_cast<int>(field.bytes.size())) {
      std::uint64_t value = 0;
      if (!stream.ReadVarint64(&value)) refuse_at(field.bytes, "packed numbers that are cut off", "numbers");
      numbers.push_back(static_cast<std::int64_t>(value));
    }
  }

  void read_graph(const MessageField& graph) {
    each(graph.bytes, [&](const MessageField& field) {
      if (field.number == 1) read_node(field);
      if (field.number == 5) add_tensor(field);
      if (field.number == 15) read_sparse(field);
      if (field.number == 11 || field.number == 12 || field.number == 13)
        read_shape(field, field.number == 12);
    });
  }

  void read_node(const MessageField& message) {
    OnnxNode node;
    std::string domain;
    std::vector<MessageField> constants;
    each(message.bytes, [&](const MessageField& field) {
      if (field.number == 1) node.inputs.push_back(field.text());
      if (field.number == 2) node.outputs.push_back(field.text());
      if (field.number == 3) node.name = field.text();
      if (field.number == 4) node.op = field.text();
      if (field.number == 5) read_attribute(field, node, constants);
      if (field.number == 7) domain = field.text();
    });
    if (!domain.empty() && domain != "ai.onnx") node.op = domain + "." + node.op;
    if (node.op == "Constant" && node.outputs.size() == 1 && constants.size() == 1) {
      add_tensor(constants.front());
      model_.tensors.back().name = node.outputs.front();
      return;
    }
    model_.nodes.push_back(std::move(node));
  }

  void read_attribute(const MessageField& message, OnnxNode& node,
                      std::vector<MessageField>& constants) const {
    std::string name;
    std::vector<std::int64_t> integers;
    std::optional<double> factor;
    std::optional<std::string> word;
    each(message.bytes, [&](const MessageField& field) {
      if (field.number == 1) name = field.text();
      if (field.number == 2) factor = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
      if (field.number == 3 || field.number == 8) add_integers(field, integers);
      if (field.number == 4) word = field.text();
      if (field.number == 5) constants.push_back(field);
    });
    if (!integers.empty()) node.integers[name] = integers;
    if (factor) node.factors[name] = *factor;
    if (word) node.words[name] = *word;
  }

  void read_shape(const MessageField& message, bool is_output) {
    std::string name;
    std::vector<std::int64_t> shape;
    bool is_known = false;
    const auto read_dimension = [&](const MessageField& dimension) {
      std::int64_t extent = unknown_extent;
      each(dimension.bytes, [&](const MessageField& field) {
        if (field.number == 1) extent = field.integer();
      });
      shape.push_back(extent);
    };
    each(message.bytes, [&](const MessageField& value) {
      if (value.number == 1) name = value.text();
      if (value.number != 2) return;
      each(value.bytes, [&](const MessageField& type) {
        if (type.number != 1) return;
        each(type.bytes, [&](const MessageField& tensor) {
          if (tensor.number != 2) return;
          is_known = true;
          each(tensor.bytes, [&](const MessageField& field) {
            if (field.number == 1) read_dimension(field);
          });
        });
      });
    });
    if (is_known) model_.shapes[name] = shape;
    if (is_output) model_.outputs.insert(name);
  }

  void read_sparse(const MessageField& message) {
    OnnxSparseTensor tensor;
    each(message.bytes, [&](const MessageField& field) {
      if (field.number == 1) tensor.values = tensor_of(field);
      if (field.number == 2) tensor.indices = tensor_of(field);
      if (field.number == 3) add_integers(field, tensor.shape);
    });
    model_.sparse.push_back(std::move(tensor));
  }

  void add_tensor(const MessageField& message) { model_.tensors.push_back(tensor_of(message)); }

  /// What a message says of a tensor before its bytes are looked for.
  struct Parts {
    std::uint64_t type = 0;
    std::vector<Bytes> raw;                   ///< as they lie in memory
    std::vector<std::int64_t> integers;       ///< elements of up to 32 bits, or of 64
    std::map<std::string, std::string> file;  ///< the file beside this one, and the place in it
    bool is_external = false;
  };

  StoredTensor tensor_of(const MessageField& message) {
    StoredTensor tensor{.name = {}, .dtype = {}, .shape = {}, .bytes = {}, .offset = 0, .origin = origin_};
    Parts parts;
    each(message.bytes, [&](const MessageField& field) {
      if (field.number == 1) add_integers(field, tensor.shape);
      if (field.number == 2) parts.type = field.value;
      if (field.number == 8) tensor.name = field.text();
      if (field.number == 13) read_entry(field, parts.file);
      if (field.number == 14) parts.is_external = field.value == 1;
      // float_data and double_data are packed as they lie in memory.
      const bool is_raw = field.number == 4 || field.number == 9 || field.number == 10;
      if (is_raw && field.has_bytes) parts.raw.push_back(field.bytes);
      if (field.number == 5 || field.number == 7 || field.number == 11) add_integers(field, parts.integers);
    });
    const auto type = std::ranges::find(onnx_elements, parts.type, &OnnxElement::number);
    tensor.dtype =
        type == onnx_elements.end() ? fmt::format("type {} of ONNX", parts.type) : std::string(type->name);
    if (type == onnx_elements.end()) return tensor;
    const std::uint64_t expected = bytes_of(tensor, type->bytes, message.bytes);
    tensor.bytes = found_bytes(tensor, parts, type->bytes, expected, message.bytes);
    if (tensor.bytes.size() != expected)
      refuse(
          origin_, fmt::format("tensor {}", in_quotes(tensor.name)),
          fmt::format("{} bytes for {} {}", tensor.bytes.size(), tensor.dtype, text_of_shape(tensor.shape)),
          fmt::format("{} bytes", expected));
    if (tensor.origin == origin_ && parts.integers.empty()) tensor.offset = place(tensor.bytes);
    return tensor;
  }

  void read_entry(const MessageField& message, std::map<std::string, std::string>& entries) const {
    std::string key, value;
    each(message.bytes, [&](const MessageField& field) {
      if (field.number == 1) key = field.text();
      if (field.number == 2) value = field.text();
    });
    entries[key] = value;
  }

  std::uint64_t bytes_of(const StoredTensor& tensor, std::size_t element, Bytes message) const {
    std::uint64_t bytes = element;
    for (const std::int64_t extent : tensor.shape) {
      if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
        refuse_at(message, fmt::format("a tensor of shape {}", text_of_shape(tensor.shape)),
                  "extents of at least 0 whose product is below 2^64");
    }
    return bytes;
  }

  Bytes found_bytes(StoredTensor& tensor, const Parts& parts, std::size_t element, std::uint64_t expected,
                    Bytes message) {
    if (parts.is_external) return external_bytes(tensor, parts, expected);
    if (parts.raw.size() > 1)
      refuse_at(message, "the elements of a tensor in several pieces", "one piece, as onnx.save writes it");
    if (!parts.raw.empty()) return parts.raw.front();
    std::vector<std::byte>& bytes = model_.unpacked.emplace_back(parts.integers.size() * element);
    for (std::size_t i = 0; i < parts.integers.size(); ++i)
      std::memcpy(bytes.data() + i * element, &parts.integers[i], element);
    return bytes;
  }

  Bytes external_bytes(StoredTensor& tensor, const Parts& parts, std::uint64_t expected) {
    const auto word = [&](const char* key) {
      const auto found = parts.file.find(key);
      return found == parts.file.end() ? std::string() : found->second;
    };
    const fs::path location = fs::path(word("location")).lexically_normal();
    const std::string where = "tensor " + in_quotes(tensor.name);
    if (location.empty() || location.is_absolute() || *location.begin() == "..")
      refuse(origin_, where, "the file " + in_quotes(word("location")), "a file in the folder of this one");
    const auto offset = word("offset").empty() ? 0 : number_of(word("offset"), where);
    const auto length = word("length").empty() ? expected : number_of(word("length"), where);
    tensor.origin = (fs::path(origin_).parent_path() / location).string();
    const Bytes bytes = file_at(tensor.origin);
    if (offset > bytes.size() || length > bytes.size() - offset)
      refuse(tensor.origin, where,
             fmt::format("{} bytes from byte {} in a file of {}", length, offset, bytes.size()),
             "a file that has them, whole");
    tensor.offset = offset;
    return bytes.subspan(offset, length);
  }

  std::uint64_t number_of(const std::string& text, const std::string& where) const {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
      refuse(origin_, where, in_quotes(text) + " as a place in a file", "a number of bytes");
    return number;
  }

  Bytes file_at(const std::string& path) {
    const auto [known, is_new] = opened_.try_emplace(path, nullptr);
    if (is_new) {
      if (!fs::exists(path))
        refuse(origin_, "external data", path + ", which is not there",
               "the file that the model names, beside it");
      known->second = std::make_shared<const File>(path);
      model_.files.push_back(known->second);
    }
    return known->second->bytes();
  }

  Bytes file_;
  std::string origin_;
  OnnxModel model_;
  std::map<std::string, std::shared_ptr<const File>> opened_;
};

/// Rows are the first dimension, as everywhere.
WeightMatrix matrix_of_sparse(const OnnxSparseTensor& tensor) {
  const std::string origin = tensor.values.origin + ":" + tensor.values.name;
  const std::string where = "tensor " + in_quotes(tensor.values.name);
  check_weight_shape(tensor.shape, tensor.values.bytes.size(), tensor.values.origin, where);
  const Array values = array_of(tensor.values), indices = array_of(tensor.indices);
  const std::int64_t rows = tensor.shape.front(), columns = element_count(tensor.shape, where) / rows;
  const bool is_linear = indices.shape().size() == 1;
  const auto dimensions = static_cast<std::int64_t>(tensor.shape.size());
  if (values.shape().size() != 1 || indices.size() != values.size() * (is_linear ? 1 : dimensions))
    refuse(tensor.values.origin, where,
           fmt::format("{} values and indices of {}", values.size(), text_of_shape(indices.shape())),
           "one index a value, or one a dimension of each");
  check_finite(values, tensor.values.origin,
               [&](std::int64_t i) { return fmt::format("{}, value {}", where, i); });
  std::vector<std::int64_t> row, column;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    std::int64_t place = 0;
    for (std::int64_t d = 0; d < (is_linear ? 1 : dimensions); ++d) {
      const std::int64_t extent = is_linear ? rows * columns : tensor.shape[static_cast<std::size_t>(d)];
      const std::int64_t at = indices.get_integer(is_linear ? i : i * dimensions + d);
      if (at < 0 || at >= extent)
        refuse(tensor.values.origin, where, fmt::format("index {} of value {}", at, i),
               fmt::format("indices from 0 to {}", extent - 1));
      place = place * extent + at;
    }
    row.push_back(place / columns);
    column.push_back(place % columns);
  }
  WeightMatrix matrix = from_coordinates(rows, columns, row, column, values, origin);
  matrix.shape = tensor.shape;
  return matrix;
}

const OnnxSparseTensor* sparse_named(const OnnxModel& model, const std::string& name) {
  const auto named = [&](const OnnxSparseTensor& tensor) { return tensor.values.name == name; };
  const auto found = std::ranges::find_if(model.sparse, named);
  if (found != model.sparse.end()) return &*found;
  const bool has_others =
      std::ranges::any_of(model.tensors, [](const StoredTensor& tensor) { return tensor.shape.size() > 1; });
  return name.empty() && !has_others && model.sparse.size() == 1 ? &model.sparse.front() : nullptr;
}

}  // namespace

std::int64_t OnnxNode::integer(const std::string& attribute, std::int64_t usual) const {
  const auto found = integers.find(attribute);
  return found == integers.end() ? usual : found->second.front();
}

double OnnxNode::factor(const std::string& attribute, double usual) const {
  const auto found = factors.find(attribute);
  return found == factors.end() ? usual : found->second;
}

OnnxModel parse_onnx(Bytes bytes, const std::string& origin) {
  return OnnxParser(bytes, origin).run();
}

WeightMatrix parse_onnx_weights(Bytes bytes, const std::string& path, const ReadOptions& options) {
  const OnnxModel model = parse_onnx(bytes, path);
  const OnnxSparseTensor* sparse = sparse_named(model, options.tensor);
  return sparse != nullptr ? matrix_of_sparse(*sparse) : weights_among(model.tensors, path, options);
}

Array parse_onnx_array(Bytes bytes, const std::string& path, const ReadOptions& options) {
  const OnnxModel model = parse_onnx(bytes, path);
  return array_among(model.tensors, path, options);
}

std::vector<ListedWeight> list_onnx(Bytes bytes, const std::string& path) {
  const OnnxModel model = parse_onnx(bytes, path);
  std::vector<ListedWeight> weights = list_among(model.tensors, path);
  for (const OnnxSparseTensor& tensor : model.sparse)
    weights.push_back({.path = path,
                       .tensor = tensor.values.name,
                       .dtype = tensor.values.dtype,
                       .shape = tensor.shape,
                       .stored_as = "coordinate",
                       .bytes = tensor.values.bytes.size() + tensor.indices.bytes.size(),
                       .fault = fault_of(path, [&] { element_type_of(tensor.values); })});
  return weights;
}

/// The version comes first, and then who made it, or the graph.
bool looks_like_onnx(Bytes bytes) {
  constexpr std::array<int, 6> next{0x12, 0x1A, 0x22, 0x28, 0x3A, 0x42};
  if (bytes.size() < 3 || bytes[0] != std::byte{8} || std::to_integer<int>(bytes[1]) > 31) return false;
  return std::ranges::find(next, std::to_integer<int>(bytes[2])) != next.end();
}

}  // namespace weft::io
