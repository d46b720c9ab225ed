#include <weft/backends/arguments.h>
#include <weft/dsl/errors.h>

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

}  // namespace weft
