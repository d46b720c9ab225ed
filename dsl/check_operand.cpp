#include <weft/dsl/check_parts.h>
#include <weft/dsl/errors.h>

#include <algorithm>

namespace weft {
namespace {

/// The distance between elements at the end of `operand` and its first, or the number of its elements, stays
/// below.
constexpr std::int64_t limit = std::int64_t{1} << 48;

std::string stride_trouble(const Operand& operand) {
  return "the strides of tensor " + operand.name + " do not fit its shape";
}

std::string text_of_shape(const Operand& operand) {
  std::string text;
  for (const Extent& extent : operand.shape) text += (text.empty() ? "" : ", ") + extent.text();
  return "{" + text + "}";
}

/// A symbolic extent counts as 1: what it really is, is checked at launch.
bool is_addressable(const Operand& operand) {
  std::int64_t elements = 1, last = 0;
  for (std::size_t i = 0; i < operand.shape.size(); ++i) {
    const std::int64_t extent = operand.shape[i].is_static() ? operand.shape[i].value : 1;
    if (extent > limit / elements) return false;
    elements *= extent;
    if (operand.strides.empty()) continue;
    if (operand.strides[i] > limit) return false;
    if (extent > 1 && operand.strides[i] > (limit - last) / (extent - 1)) return false;
    last += (extent - 1) * operand.strides[i];
  }
  return true;
}

void check_strides(const Operand& operand, const std::string& where) {
  if (operand.strides.empty()) return;
  if (operand.strides.size() != operand.shape.size())
    throw UserError(stride_trouble(operand), where,
                    std::to_string(operand.strides.size()) + " strides for " +
                        std::to_string(operand.shape.size()) + " dimensions",
                    "one stride a dimension, in elements");
  for (const std::int64_t stride : operand.strides) {
    if (stride >= 1) continue;
    throw UserError(stride_trouble(operand), where, "a stride of " + std::to_string(stride),
                    "strides of at least 1, in elements");
  }
}

/// Two elements at one place would be written by two threads at once. A symbolic extent counts as 2, the
/// least that can go wrong.
void check_overlap(const Operand& operand, const std::string& where) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride, extent
  for (std::size_t i = 0; i < operand.strides.size(); ++i) {
    const std::int64_t extent = operand.shape[i].is_static() ? operand.shape[i].value : 2;
    if (extent > 1) dimensions.emplace_back(operand.strides[i], extent);
  }
  std::ranges::sort(dimensions);
  std::int64_t last = 0;
  for (const auto& [stride, extent] : dimensions) {
    if (stride <= last)
      throw UserError(
          stride_trouble(operand), where,
          "elements of the output that lie at the same place (stride " + std::to_string(stride) + ")",
          "a stride of at least " + std::to_string(last + 1) + " there");
    last += stride * (extent - 1);
  }
}

}  // namespace

void check_operand(const Operand& operand, bool is_output, const std::string& where) {
  if (operand.shape.empty())
    throw UserError("tensor " + operand.name + " has no dimensions", where, "an empty shape",
                    "at least 1 dimension");
  for (const Extent& extent : operand.shape) {
    if (!extent.is_static() && extent.multiple < 1)
      throw UserError("a size of tensor " + operand.name + " is a multiple of nothing", where,
                      extent.text() + ", a multiple of " + std::to_string(extent.multiple), "at least 1");
    if (!extent.is_static() || extent.value >= 1) continue;
    throw UserError("a dimension of tensor " + operand.name + " has no elements", where,
                    extent.text() + " in sizes " + text_of_shape(operand),
                    "at least 1 in every dimension, or Extent::any(\"N\") for a size that a launch tells");
  }
  check_strides(operand, where);
  if (!is_addressable(operand))
    throw UserError("tensor " + operand.name + " is larger than any memory", where,
                    "sizes " + text_of_shape(operand) + ", more than 2^48 elements",
                    "at most 2^48, also from the first place in memory to the last");
  if (is_output) check_overlap(operand, where);
}

}  // namespace weft
