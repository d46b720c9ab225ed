// The header of a .safetensors file, and the checks on what it says.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/io/json_events.h>
#include <weft/formats/io/safetensors.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

namespace weft::io {
namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000;

constexpr std::array types{StoredType{"BOOL", 8, DType::boolean},
                           StoredType{"U8", 8, DType::u8},
                           StoredType{"I8", 8, DType::i8},
                           StoredType{"F8_E5M2", 8, DType::e5m2},
                           StoredType{"F8_E4M3", 8, DType::e4m3},
                           StoredType{"F8_E8M0", 8},
                           StoredType{"I16", 16, DType::i16},
                           StoredType{"U16", 16, DType::u16},
                           StoredType{"F16", 16, DType::f16},
                           StoredType{"BF16", 16, DType::bf16},
                           StoredType{"I32", 32, DType::i32},
                           StoredType{"U32", 32, DType::u32},
                           StoredType{"F32", 32, DType::f32},
                           StoredType{"F64", 64, DType::f64},
                           StoredType{"I64", 64, DType::i64},
                           StoredType{"U64", 64, DType::u64},
                           StoredType{"C64", 64},
                           StoredType{"F6_E2M3", 6},
                           StoredType{"F6_E3M2", 6},
                           StoredType{"F4", 4}};

/// One entry of the header as it is read.
struct Entry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

class HeaderEvents : public JsonEvents {
 public:
  using JsonEvents::JsonEvents;
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

  bool start_object(std::size_t) override {
    return step("an object", {{State::beginning, State::names},
                              {State::tensor_begins, State::fields},
                              {State::metadata_begins, State::metadata}});
  }

  bool end_object() override {
    if (state_ == State::fields) {
      const Entry& entry = entries.back();
      if (!entry.dtype || !entry.shape || !entry.offsets || entry.offsets->size() != 2)
        refuse_here("an incomplete tensor " + in_quotes(entry.name),
                    "dtype, shape and data_offsets, the last with two numbers");
    }
    state_ = state_ == State::names ? State::done : State::names;
    return true;
  }

  bool key(string_t& name) override {
    if (state_ == State::names) {
      if (!names_.insert(name).second)
        refuse_here("the name " + in_quotes(name) + " twice", "every name once");
      state_ = name == "__metadata__" ? State::metadata_begins : State::tensor_begins;
      if (state_ == State::tensor_begins) entries.push_back({name, {}, {}, {}});
    } else if (state_ == State::metadata) {
      const auto [value, is_new] = metadata.try_emplace(name);
      if (!is_new) refuse_here("the key " + in_quotes(name) + " twice", "every key once");
      value_ = &value->second;
    } else {
      begin_field(name);
    }
    return true;
  }

  bool string(string_t& value) override {
    if (state_ == State::metadata) {
      *value_ = value;
      return true;
    }
    if (state_ != State::dtype) unexpected("the string " + in_quotes(value));
    entries.back().dtype = value;
    state_ = State::fields;
    return true;
  }

  bool start_array(std::size_t) override {
    return step("an array", {{State::shape_begins, State::shape}, {State::offsets_begin, State::offsets}});
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::shape && state_ != State::offsets) unexpected(std::to_string(value));
    (state_ == State::shape ? entries.back().shape : entries.back().offsets)->push_back(value);
    return true;
  }

  bool end_array() override {
    state_ = State::fields;
    return true;
  }

 private:
  enum class State {
    beginning,
    names,
    metadata_begins,
    metadata,
    tensor_begins,
    fields,
    dtype,
    shape_begins,
    shape,
    offsets_begin,
    offsets,
    done
  };

  /// Into the state that follows this one.
  bool step(const std::string& found, std::initializer_list<std::pair<State, State>> steps) {
    const auto taken = std::ranges::find(steps, state_, &std::pair<State, State>::first);
    if (taken == steps.end()) unexpected(found);
    state_ = taken->second;
    return true;
  }

  void begin_field(const std::string& name) {
    Entry& entry = entries.back();
    if (name == "dtype" && !entry.dtype) {
      state_ = State::dtype;
    } else if (name == "shape" && !entry.shape) {
      entry.shape.emplace();
      state_ = State::shape_begins;
    } else if (name == "data_offsets" && !entry.offsets) {
      entry.offsets.emplace();
      state_ = State::offsets_begin;
    } else {
      refuse_here("the key " + in_quotes(name) + " in tensor " + in_quotes(entry.name),
                  "dtype, shape and data_offsets, each once");
    }
  }

  std::string expected() const override {
    switch (state_) {
      case State::metadata:
      case State::metadata_begins: return "__metadata__ to be an object of strings";
      case State::dtype: return "dtype to be a string";
      case State::shape_begins:
      case State::shape: return "shape to be an array of integers of at least 0";
      case State::offsets_begin:
      case State::offsets: return "data_offsets to be an array of two integers of at least 0";
      default: return "an object of tensors, each with dtype, shape and data_offsets";
    }
  }

  State state_ = State::beginning;
  std::set<std::string> names_;
  std::string* value_ = nullptr;  ///< the value of the key of the metadata that was read last
};

/// Bytes that the shape and the element type ask for.
std::uint64_t size_of_entry(const Entry& entry, const std::string& origin) {
  const std::string where = "tensor " + in_quotes(entry.name);
  const auto type = std::ranges::find(types, *entry.dtype, &StoredType::name);
  if (type == types.end())
    refuse(origin, where, "the element type " + in_quotes(*entry.dtype),
           "F64, F32, F16, BF16, F8_E4M3, F8_E5M2, or an integer type");
  std::uint64_t bits = type->bits;
  for (const std::uint64_t extent : *entry.shape) {
    if (extent > INT64_MAX || __builtin_mul_overflow(bits, extent, &bits))
      refuse(origin, where, "a shape whose size has no place in 64 bits", "fewer than 2^61 bytes");
  }
  if (bits % 8 != 0) refuse(origin, where, fmt::format("{} bits", bits), "whole bytes");
  return bits / 8;
}

/// Turns the entries into tensors, in the order in which their bytes follow each other.
std::vector<StoredTensor> place_entries(const HeaderEvents& header, Bytes bytes, std::size_t data_begin,
                                        const std::string& origin) {
  const auto metadata = std::make_shared<const std::map<std::string, std::string>>(header.metadata);
  std::vector<const Entry*> in_order;
  for (const Entry& entry : header.entries) in_order.push_back(&entry);
  std::ranges::sort(in_order, [](const Entry* a, const Entry* b) { return *a->offsets < *b->offsets; });
  const std::size_t buffer = bytes.size() - data_begin;
  std::uint64_t end = 0;
  std::vector<StoredTensor> tensors;
  for (const Entry* placed : in_order) {
    const Entry& entry = *placed;
    const std::uint64_t first = entry.offsets->front();
    const std::uint64_t last = entry.offsets->back();
    const std::uint64_t size = size_of_entry(entry, origin);
    const std::string where = "tensor " + in_quotes(entry.name);
    if (first != end)
      refuse(origin, where,
             fmt::format("data_offsets [{}, {}] after a tensor that ends at {}", first, last, end),
             "tensors without gap or overlap");
    if (last < first || last - first != size)
      refuse(
          origin, where,
          fmt::format("{} bytes, data_offsets [{}, {}]", static_cast<std::int64_t>(last - first), first,
                      last),
          fmt::format("{} bytes, as its dtype and shape say, which are {} [{}]; or those of {} bytes", size,
                      *entry.dtype, fmt::join(*entry.shape, ", "), static_cast<std::int64_t>(last - first)));
    if (last > buffer)
      refuse(
          origin, fmt::format("byte {}", bytes.size()),
          fmt::format("the end of the file, while {} ends at byte {} (truncated)", where, data_begin + last),
          "all bytes of every tensor: the file copied or downloaded anew");
    std::vector<std::int64_t> shape(entry.shape->begin(), entry.shape->end());
    tensors.push_back({entry.name, *entry.dtype, std::move(shape), bytes.subspan(data_begin + first, size),
                       data_begin + first, origin, metadata});
    end = last;
  }
  if (end != buffer)
    refuse(origin, fmt::format("byte {}", data_begin + end),
           fmt::format("{} bytes after the last tensor (padded)", buffer - end), "the end of the file");
  return tensors;
}

}  // namespace

std::span<const StoredType> stored_types() {
  return types;
}

std::vector<StoredTensor> parse_safetensors_header(Bytes bytes, const std::string& origin) {
  if (bytes.size() < length_bytes)
    refuse(origin, "byte 0", fmt::format("{} bytes", bytes.size()), "the length of the header, 8 bytes");
  const std::uint64_t length = little_endian(bytes, 0, length_bytes);
  const std::uint64_t left = bytes.size() - length_bytes;
  if (length > longest_header)
    refuse(origin, "byte 0",
           fmt::format("a header of {} bytes with {} bytes left, in {}", length, left, beginning_of(bytes)),
           "a .safetensors: 8 bytes with the length of its header, and the header, which begins with {");
  if (length > left)
    refuse(origin, "byte 0", fmt::format("a header of {} bytes with {} bytes left", length, left),
           fmt::format("at most {} bytes", left));
  HeaderEvents events(bytes.subspan(length_bytes, length), length_bytes, origin);
  events.run();
  return place_entries(events, bytes, length_bytes + length, origin);
}

bool looks_like_safetensors(Bytes bytes) {
  return bytes.size() > length_bytes && bytes[length_bytes] == std::byte{'{'} &&
         little_endian(bytes, 0, length_bytes) <= std::min<std::uint64_t>(longest_header, bytes.size());
}

}  // namespace weft::io
