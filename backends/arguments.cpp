#include <weft/backends/arguments.h>
#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>

#include <algorithm>
#include <ranges>

namespace weft {
namespace {

/// Elements from the first to the last of a strided operand.
std::int64_t span_of(const Operand& operand, const std::map<std::string, std::int64_t>& sizes) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < operand.shape.size(); ++i) {
    const Extent& extent = operand.shape[i];
    const std::int64_t size = extent.is_static() ? extent.value : sizes.at(extent.name);
    last += (size - 1) * operand.strides[i];
  }
  return last + 1;
}

/// Same format, and arrays and levels that differ in numbers of entries alone.
bool is_packed_like(const SparseTensor& given, const SparseTensor& example) {
  const auto same_array = [](const SparseTensor::NamedArray& a, const SparseTensor::NamedArray& b) {
    return a.name == b.name && a.array.dtype() == b.array.dtype() &&
           std::ranges::equal(a.array.shape() | std::views::drop(1), b.array.shape() | std::views::drop(1));
  };
  const auto same_level = [&](const Level& a, const Level& b) {
    const bool outermost = &a == &given.levels().front();
    return a.kind == b.kind && a.dimension == b.dimension && a.stride == b.stride && a.index == b.index &&
           a.begin == b.begin && a.parent == b.parent && a.width == b.width && a.across == b.across &&
           a.index_bits == b.index_bits && (outermost || a.extent == b.extent);
  };
  return given.format() == example.format() &&
         std::ranges::equal(given.arrays(), example.arrays(), same_array) &&
         std::ranges::equal(given.levels(), example.levels(), same_level) &&
         given.value_order().levels == example.value_order().levels &&
         given.value_order().swizzle == example.value_order().swizzle;
}

std::string shape_text(const Operand& operand) {
  std::string text;
  for (const Extent& extent : operand.shape) text += (text.empty() ? "[" : ", ") + extent.text();
  return text + "]";
}

void check_shape(const Operand& operand, const Array& array, std::map<std::string, std::int64_t>& sizes) {
  const UserError wrong({"operand " + operand.name + " has another shape",
                         {},
                         text_of_shape(array.shape()),
                         shape_text(operand)});
  if (array.shape().size() != operand.shape.size()) throw wrong;
  for (std::size_t i = 0; i < operand.shape.size(); ++i) {
    const Extent& extent = operand.shape[i];
    const std::int64_t size = array.shape()[i];
    if (extent.is_static() && size != extent.value) throw wrong;
    if (extent.is_static()) continue;
    if (size % extent.multiple != 0) {
      throw UserError({"operand " + operand.name + " does not have a size of this kernel",
                       {},
                       extent.name + " = " + std::to_string(size),
                       "a multiple of " + std::to_string(extent.multiple)});
    }
    const auto [known, is_new] = sizes.emplace(extent.name, size);
    if (!is_new && known->second != size) {
      throw UserError({"operands disagree about " + extent.name, "operand " + operand.name,
                       std::to_string(size),
                       std::to_string(known->second) + ", as in the operands before it"});
    }
    if (size < 1) {
      throw UserError({"operand " + operand.name + " is empty",
                       {},
                       text_of_shape(array.shape()),
                       extent.name + " of at least 1"});
    }
  }
}

}  // namespace

std::map<std::string, std::int64_t> check_arguments(const Algorithm& algorithm, const Arguments& arguments) {
  std::map<std::string, std::int64_t> sizes;
  for (const bool strided : {false, true}) {
    for (const Operand& operand : algorithm.operands) {
      if (operand.storage == Storage::sparse || operand.strides.empty() == strided) continue;
      const auto found = arguments.tensors.find(operand.name);
      if (found == arguments.tensors.end() || found->second == nullptr) {
        throw UserError({"operand " + operand.name + " is not given", algorithm.text(), "nothing",
                         "an array of " + std::string(name_of(operand.dtype)) + " " + shape_text(operand)});
      }
      const Array& array = *found->second;
      if (array.dtype() != operand.dtype) {
        throw UserError({"operand " + operand.name + " has another element type",
                         {},
                         std::string(name_of(array.dtype())),
                         std::string(name_of(operand.dtype))});
      }
      if (!strided) {
        check_shape(operand, array, sizes);
      } else if (const std::int64_t span = span_of(operand, sizes); array.size() < span) {
        throw UserError({"operand " + operand.name + " is too small for its strides",
                         {},
                         std::to_string(array.size()) + " elements",
                         "at least " + std::to_string(span)});
      }
    }
  }
  for (const std::string& scalar : algorithm.scalars) {
    if (arguments.scalars.count(scalar) != 0) continue;
    throw UserError({"scalar " + scalar + " is not given", algorithm.text(), "nothing", "a number"});
  }
  return sizes;
}

const SparseTensor* weights_of(const Algorithm& algorithm, const SparseTensor* example,
                               const Arguments& arguments) {
  const SparseTensor* given = arguments.weights.get();
  if (given == nullptr || given == example) return example;
  if (example == nullptr || !algorithm.takes_any_weights()) {
    throw UserError({"the kernel was made for other weights", algorithm.text(), given->format().text(),
                     "weights of its own: no size of its sparse operand is given at launch"});
  }
  if (!is_packed_like(*given, *example)) {
    throw UserError({"the weights are not packed as the kernel reads them", algorithm.text(),
                     std::string(name_of(given->dtype())) + " in " + given->format().text(),
                     std::string(name_of(example->dtype())) + " in " + example->format().text()});
  }
  return given;
}

}  // namespace weft
