#include <fmt/format.h>
#include <weft/formats/io/compressed_tensors.h>

#include <bit>
#include <map>
#include <string_view>

namespace weft::io {
namespace {

[[noreturn]] void refuse_tensor(const StoredTensor& tensor, std::string found, std::string accepted) {
  refuse(tensor.origin, "tensor " + in_quotes(tensor.name), std::move(found), std::move(accepted));
}

std::int64_t integer_at(const StoredTensor& tensor, std::int64_t index) {
  return static_cast<std::int64_t>(little_endian(tensor.bytes, static_cast<std::size_t>(index) * 8, 8));
}

void expect(const StoredTensor& tensor, std::string_view dtype, const std::vector<std::int64_t>& shape) {
  if (tensor.dtype == dtype && tensor.shape == shape) return;
  refuse_tensor(tensor, tensor.dtype + " " + text_of_shape(tensor.shape),
                fmt::format("{} {}", dtype, text_of_shape(shape)));
}

void read_shape(CompressedTensor& weight) {
  const StoredTensor& shape = *weight.shape;
  if (shape.dtype != "I64" || shape.bytes.size() != 16) {
    refuse_tensor(shape, shape.dtype + " " + text_of_shape(shape.shape), "I64 [2]");
  }
  weight.rows = integer_at(shape, 0);
  weight.columns = integer_at(shape, 1);
}

std::uint8_t mask_byte(const CompressedTensor& weight, std::int64_t row, std::int64_t byte,
                       std::int64_t width) {
  return std::to_integer<std::uint8_t>(weight.bitmask->bytes[static_cast<std::size_t>(row * width + byte)]);
}

/// Every group of four columns of a 2:4 weight has two entries; a byte of the mask is two groups.
void check_groups(const CompressedTensor& weight, std::uint8_t bits, std::int64_t row, std::int64_t byte) {
  for (int half = 0; half < 2; ++half) {
    const std::int64_t column = 8 * byte + 4 * half;
    const int count = std::popcount(static_cast<unsigned>(bits >> (4 * half)) & 0xFU);
    if (column < weight.columns && count != 2) {
      refuse_tensor(*weight.bitmask,
                    fmt::format("{} entries in row {}, columns {} to {}", count, row, column, column + 3),
                    "two, as 2:4 asks for");
    }
  }
}

void read_mask(const CompressedTensor& weight, WeightMatrix& matrix) {
  const std::int64_t width = (weight.columns + 7) / 8;
  matrix.row_begin.reserve(static_cast<std::size_t>(weight.rows) + 1);
  matrix.row_begin.push_back(0);
  for (std::int64_t row = 0; row < weight.rows; ++row) {
    for (std::int64_t byte = 0; byte < width; ++byte) {
      unsigned bits = mask_byte(weight, row, byte, width);
      if (weight.row_offsets == nullptr) check_groups(weight, static_cast<std::uint8_t>(bits), row, byte);
      for (; bits != 0; bits &= bits - 1) {
        const std::int64_t column = 8 * byte + std::countr_zero(bits);
        if (column >= weight.columns) {
          refuse_tensor(*weight.bitmask, fmt::format("a bit for column {} in row {}", column, row),
                        fmt::format("columns 0 to {}", weight.columns - 1));
        }
        matrix.column.push_back(static_cast<std::int32_t>(column));
      }
    }
    if (weight.row_offsets != nullptr && integer_at(*weight.row_offsets, row) != matrix.row_begin.back()) {
      refuse_tensor(*weight.row_offsets,
                    fmt::format("offset {} of row {}", integer_at(*weight.row_offsets, row), row),
                    fmt::format("{}, as the bitmask says", matrix.row_begin.back()));
    }
    matrix.row_begin.push_back(matrix.stored());
  }
}

void check_parts(const CompressedTensor& weight) {
  const std::vector<std::int64_t> shape{weight.rows, weight.columns};
  check_weight_shape(shape, weight.bitmask->bytes.size(), weight.shape->origin,
                     "tensor " + weight.shape->name);
  expect(*weight.bitmask, "U8", {weight.rows, (weight.columns + 7) / 8});
  if (weight.row_offsets != nullptr) {
    expect(*weight.row_offsets, "I64", {weight.rows});
    return;
  }
  if (weight.columns % 4 != 0) {
    refuse_tensor(*weight.shape, fmt::format("{} columns in 2:4", weight.columns), "a multiple of 4");
  }
  expect(*weight.values, weight.values->dtype, {weight.rows, weight.columns / 2});
}

}  // namespace

std::vector<CompressedTensor> compressed_tensors_among(std::span<const StoredTensor> tensors) {
  std::map<std::string_view, const StoredTensor*> by_name;
  for (const StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  const auto find = [&](const std::string& name) {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  };
  constexpr std::string_view suffix = ".compressed";
  std::vector<CompressedTensor> result;
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.name.ends_with(suffix)) continue;
    const std::string prefix = tensor.name.substr(0, tensor.name.size() - suffix.size());
    CompressedTensor weight{
        prefix + ".weight",           0, 0, &tensor, find(prefix + ".bitmask"), find(prefix + ".shape"),
        find(prefix + ".row_offsets")};
    if (weight.bitmask == nullptr || weight.shape == nullptr) continue;
    read_shape(weight);
    result.push_back(weight);
  }
  return result;
}

WeightMatrix decompress(const CompressedTensor& weight, std::optional<DType> reinterpret_as) {
  check_parts(weight);
  const StoredTensor& stored = *weight.values;
  WeightMatrix matrix;
  matrix.shape = {weight.rows, weight.columns};
  matrix.rows = weight.rows;
  matrix.columns = weight.columns;
  matrix.origin = stored.origin + ":" + weight.name;
  read_mask(weight, matrix);
  Array values = array_of(stored, reinterpret_as);
  if (values.size() != matrix.stored()) {
    refuse_tensor(stored, fmt::format("{} values", values.size()),
                  fmt::format("{}, as the bitmask has bits", matrix.stored()));
  }
  matrix.values = std::move(values).reshaped({matrix.stored()});
  check_finite(matrix.values, stored.origin, [&](std::int64_t i) {
    return fmt::format("tensor {}, value {}, byte {}", in_quotes(stored.name), i,
                       stored.offset + static_cast<std::size_t>(i) * size_of(matrix.values.dtype()));
  });
  return matrix;
}

}  // namespace weft::io
