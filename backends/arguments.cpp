#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/arguments.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/program/check_weights.h>

#include <algorithm>
#include <limits>
#include <ranges>
#include <string_view>
#include <vector>

namespace weft {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

/// Elements from the first to the last of a strided operand, or the most that there are.
std::int64_t span_of(const Operand& operand, const Sizes& sizes) {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < operand.shape.size(); ++i) {
    const Extent& extent = operand.shape[i];
    const std::int64_t size = extent.is_static() ? extent.value : sizes.at(extent.name);
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(size - 1, operand.strides[i], &reach) ||
        __builtin_add_overflow(elements, reach, &elements))
      return std::numeric_limits<std::int64_t>::max();
  }
  return elements;
}

/// What is right where the strides are bytes, as other libraries count them; empty where they are not.
std::string in_elements(Operand operand, const Sizes& sizes, std::int64_t elements) {
  const auto size = static_cast<std::int64_t>(size_of(operand.dtype));
  for (std::int64_t& stride : operand.strides) {
    if (stride % size != 0) return {};
    stride /= size;
  }
  if (span_of(operand, sizes) > elements) return {};
  return fmt::format("strides of {}, if those are bytes, since they are counted in elements; or ",
                     text_of_shape(operand.strides));
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

/// How weights are packed, with the shapes in which packings of one format differ.
std::string packing_text(const SparseTensor& weights) {
  std::string text = std::string(name_of(weights.dtype())) + " in " + weights.format().text();
  for (const SparseTensor::NamedArray& each : weights.arrays())
    text += ", " + each.name + " " + text_of_shape(each.array.shape());
  return text;
}

/// What the shapes do not say, for packings that have the same: children of each level inside the outermost.
std::string extents_text(const SparseTensor& weights) {
  std::vector<std::int64_t> extents;
  for (const Level& level : weights.levels() | std::views::drop(1)) extents.push_back(level.extent);
  return fmt::format(", levels of {}", fmt::join(extents, ", "));
}

std::string shape_text(const Operand& operand) {
  return fmt::format("[{}]", fmt::join(operand.shape | std::views::transform(&Extent::text), ", "));
}

/// Notes the size of a dimension, which others of that name have to have too.
/// `fitting` is what has the right size, for the message.
void learn(Sizes& sizes, const Extent& extent, std::int64_t size, const std::string& of,
           const std::string& fitting = {}) {
  if (size < 1) throw UserError(of + " is empty", extent.name + " = " + std::to_string(size), "at least 1");
  if (size % extent.multiple != 0)
    throw UserError(of + " does not have a size of this kernel", extent.name + " = " + std::to_string(size),
                    "a multiple of " + std::to_string(extent.multiple));
  const auto [known, is_new] = sizes.emplace(extent.name, size);
  if (is_new || known->second == size) return;
  throw UserError(of + " and the operands before it disagree about " + extent.name,
                  extent.name + " = " + std::to_string(size),
                  extent.name + " = " + std::to_string(known->second) + ", as in these" + fitting);
}

/// ": an array of [12, 100]": the array's shape with the sizes that are known.
std::string with_sizes(const Operand& operand, const Array& array, const Sizes& sizes) {
  std::vector<std::int64_t> shape = array.shape();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (const auto known = sizes.find(operand.shape[i].name); known != sizes.end()) shape[i] = known->second;
  }
  return ": an array of " + text_of_shape(shape);
}

/// Of the output of a convolution whose image has more padding in one direction: that it is so.
std::string padding_text(const Algorithm& algorithm, const Operand& operand) {
  std::vector<std::int64_t> pads;
  for (const TensorAccess& factor : algorithm.factors) {
    for (const AffineIndex& index : factor.indices)
      if (index.terms.size() > 1) pads.push_back(-index.constant);
  }
  const bool is_output = &operand == &algorithm.operands[algorithm.output.operand];
  if (algorithm.name != "conv2d" || !is_output || pads.size() != 2 || pads[0] == pads[1]) return {};
  return fmt::format(
      ", of an image with a padding of {} in height and {} in width; or one of {} in both: pad = {{{}, {}}}",
      pads[0], pads[1], pads[0], pads[0], pads[0]);
}

void check_shape(const Algorithm& algorithm, const Operand& operand, const Array& array, Sizes& sizes) {
  const UserError wrong("operand " + operand.name + " has another shape", text_of_shape(array.shape()),
                        shape_text(operand) + padding_text(algorithm, operand));
  if (array.shape().size() != operand.shape.size()) throw wrong;
  for (std::size_t i = 0; i < operand.shape.size(); ++i) {
    const Extent& extent = operand.shape[i];
    if (extent.is_static() && array.shape()[i] != extent.value) throw wrong;
    if (!extent.is_static())
      learn(sizes, extent, array.shape()[i], "operand " + operand.name, with_sizes(operand, array, sizes));
  }
}

/// Throws UserError for the first name of `given` that is none of `known`, which are called `kind`.
template <class Value>
void refuse_unknown(const std::map<std::string, Value>& given, const std::vector<std::string_view>& known,
                    const std::string& kind, const Algorithm& algorithm) {
  const auto is_scalar = [&](const std::string& name) {
    return kind != "scalar" && std::ranges::count(algorithm.scalars, name) > 0;
  };
  for (const auto& [name, value] : given) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string accepted = known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "));
    const Operand* sparse = algorithm.sparse_operand();
    const bool is_weights = sparse != nullptr && sparse->name == name;
    const std::string packed = "; the weights of " + name + " are packed into the schedule" +
                               (algorithm.takes_any_weights() ? ", or given as Arguments::weights" : "");
    if (is_scalar(name))
      throw UserError("a scalar is given as an array", algorithm.text(), name,
                      accepted + "; a number in Arguments::scalars, {{\"" + name + "\", 0.5}}");
    throw UserError(is_weights ? "the sparse operand is given as an array"
                               : "the algorithm has no " + kind + " of that name",
                    algorithm.text(), name, accepted + (is_weights ? packed : did_you_mean(name, known)));
  }
}

void refuse_unknown(const Algorithm& algorithm, const Arguments& arguments) {
  std::vector<std::string_view> operands;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::dense) operands.push_back(operand.name);
  }
  refuse_unknown(arguments.tensors, operands, "dense operand", algorithm);
  refuse_unknown(arguments.scalars, {algorithm.scalars.begin(), algorithm.scalars.end()}, "scalar",
                 algorithm);
}

/// Results are stored while others are still made: what is read has to be elsewhere. The old output, which
/// has the name of the output, is read where it is replaced.
void refuse_shared_output(const Algorithm& algorithm, const Arguments& arguments) {
  const std::string& output = algorithm.operands[algorithm.output.operand].name;
  const auto written = arguments.tensors.find(output);
  if (written == arguments.tensors.end() || written->second == nullptr) return;
  for (const auto& [name, array] : arguments.tensors) {
    if (name == output || array != written->second) continue;
    throw UserError(fmt::format("the output {} is the array of the operand {}", output, name),
                    algorithm.text(), fmt::format("one array given as {} and as {}", name, output),
                    fmt::format("an array of its own for {0}: Array of_{0}(DType::{1}, {{…}}), {{\"{0}\", "
                                "&of_{0}}}",
                                output, name_of(array->dtype())));
  }
}

/// "; or C declared as Tensor<f32, 2>", where the algorithm could have the operand in the type of the array.
std::string declared_as(const Algorithm& algorithm, const Operand& operand, DType given) {
  const auto number = static_cast<std::size_t>(&operand - algorithm.operands.data());
  if (std::ranges::find(algorithm.factors, number, &TensorAccess::operand) != algorithm.factors.end())
    return {};
  const DType factors = algorithm.operands[algorithm.factors.front().operand].dtype;
  const bool is_output = number == algorithm.output.operand;
  const bool fits = is_output ? given == factors || given == DType::f32
                              : is_float(given) && size_of(given) <= size_of(algorithm.accumulator);
  if (!fits) return {};
  return fmt::format("; or {} declared as Tensor<{}, {}>", operand.name, name_of(given),
                     operand.shape.size());
}

const Array& array_of(const Operand& operand, const Algorithm& algorithm, const Arguments& arguments) {
  const auto found = arguments.tensors.find(operand.name);
  const bool is_named = found != arguments.tensors.end();
  if (!is_named || found->second == nullptr)
    throw UserError("operand " + operand.name + " is not given", algorithm.text(),
                    is_named ? "a null pointer" : "nothing",
                    "an array of " + std::string(name_of(operand.dtype)) + " " + shape_text(operand));
  if (found->second->dtype() != operand.dtype)
    throw UserError(
        "operand " + operand.name + " has another element type", std::string(name_of(found->second->dtype())),
        std::string(name_of(operand.dtype)) + declared_as(algorithm, operand, found->second->dtype()));
  return *found->second;
}

Sizes checked(const Algorithm& algorithm, const SparseTensor* weights, const Arguments& arguments) {
  require_sizes_from_launch(algorithm);
  refuse_unknown(algorithm, arguments);
  refuse_shared_output(algorithm, arguments);
  Sizes sizes;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::dense && operand.strides.empty())
      check_shape(algorithm, operand, array_of(operand, algorithm, arguments), sizes);
  }
  if (const Operand* sparse = algorithm.sparse_operand(); sparse != nullptr && weights != nullptr) {
    const std::vector<std::int64_t> of_weights = sizes_of_operand(algorithm, *weights);
    for (std::size_t i = 0; i < of_weights.size(); ++i) {
      if (!sparse->shape[i].is_static())
        learn(sizes, sparse->shape[i], of_weights[i], "the sparse operand " + sparse->name);
    }
  }
  for (const Operand& operand : algorithm.operands) {
    if (operand.strides.empty()) continue;
    const Array& array = array_of(operand, algorithm, arguments);
    const std::int64_t span = span_of(operand, sizes);
    if (array.size() >= span) continue;
    throw UserError(
        "operand " + operand.name + " is too small for its strides",
        fmt::format("{} elements, and strides of {}", array.size(), text_of_shape(operand.strides)),
        fmt::format("{}at least {} elements", in_elements(operand, sizes, array.size()), span));
  }
  for (const std::string& scalar : algorithm.scalars) {
    if (arguments.scalars.count(scalar) != 0) continue;
    throw UserError("scalar " + scalar + " is not given", algorithm.text(), "nothing",
                    "a number: {\"" + scalar + "\", 1.0}");
  }
  return sizes;
}

const SparseTensor* chosen_weights(const Algorithm& algorithm, const SparseTensor* example,
                                   const Arguments& arguments) {
  const SparseTensor* given = arguments.weights.get();
  if (given == nullptr || given == example) return example;
  if (example == nullptr || !algorithm.takes_any_weights())
    throw UserError("the kernel was made for other weights", algorithm.text(), given->format().text(),
                    "weights of its own: no size of its sparse operand is given at launch");
  weft::check_weights(algorithm, given);
  if (!is_packed_like(*given, *example)) {
    const bool look_alike = packing_text(*given) == packing_text(*example);
    throw UserError("the weights are not packed as the kernel reads them", algorithm.text(),
                    packing_text(*given) + (look_alike ? extents_text(*given) : ""),
                    given->format().text() == example->format().text()
                        ? packing_text(*example) + (look_alike ? extents_text(*example) : "")
                        : fmt::format("{} in {}, with any number of entries", name_of(example->dtype()),
                                      example->format().text()));
  }
  return given;
}

}  // namespace

Sizes check_arguments(const Algorithm& algorithm, const SparseTensor* weights, const Arguments& arguments,
                      CallPlace place) {
  return user_call(place, [&] { return checked(algorithm, weights, arguments); });
}

void require_sizes_from_launch(const Algorithm& algorithm) {
  const auto has = [](const Operand& operand, const std::string& size) {
    return std::ranges::find(operand.shape, size, &Extent::name) != operand.shape.end();
  };
  for (const Operand& operand : algorithm.operands) {
    for (const Extent& extent : operand.shape) {
      const bool is_told =
          extent.is_static() || std::ranges::any_of(algorithm.operands, [&](const Operand& o) {
            return o.strides.empty() && has(o, extent.name);
          });
      if (is_told) continue;
      std::vector<std::string> strided;
      for (const Operand& other : algorithm.operands) {
        if (has(other, extent.name)) strided.push_back(other.name);
      }
      throw UserError(
          "no launch can tell the size " + extent.name, algorithm.text(),
          fmt::format("{} in operands with strides alone ({}), whose arrays may have any shape", extent.name,
                      fmt::join(strided, ", ")),
          "a number in place of " + extent.name + ", or " + extent.name + " in an operand without strides");
    }
  }
}

const SparseTensor* weights_of(const Algorithm& algorithm, const SparseTensor* example,
                               const Arguments& arguments, CallPlace place) {
  return user_call(place, [&] { return chosen_weights(algorithm, example, arguments); });
}

}  // namespace weft
