#include <fmt/format.h>
#include <weft/search/measure/verify.h>

#include <algorithm>
#include <ostream>

namespace weft {
namespace {

/// The elements of an output in row-major order, taken from between what its strides leave out.
Array without_strides(const Operand& operand, const Array& output, const std::vector<std::int64_t>& shape) {
  Array elements(output.dtype(), shape);
  for (std::int64_t i = 0; i < elements.size(); ++i) {
    std::int64_t place = 0;
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      place += rest % shape[d] * operand.strides[d];
      rest /= shape[d];
    }
    elements.copy_element(i, output, place);
  }
  return elements;
}

Verification compared(const Algorithm& algorithm, const Array& output, const Reference& expected) {
  Verification result;
  const Operand& operand = algorithm.operands[algorithm.output.operand];
  result.difference = operand.strides.empty()
                          ? difference(output, expected)
                          : difference(without_strides(operand, output, expected.value.shape()), expected);
  result.tolerance = tolerance(algorithm, expected.terms);
  result.passed = result.difference.wrong < 0 && result.difference.largest_scaled <= result.tolerance;
  return result;
}

Reference reference_of(const Kernel& kernel, const Arguments& arguments) {
  const Algorithm& algorithm = kernel.schedule().algorithm();
  return reference(algorithm, weights_of(algorithm, kernel.schedule().weights(), arguments), arguments);
}

Verification verified(const Kernel& kernel, const Device& device, const Arguments& arguments,
                      const Reference& expected) {
  const Algorithm& algorithm = kernel.schedule().algorithm();
  const BoundKernel bound = kernel.bind(device, arguments);
  // Where the old output is an input, poison would be read; the reference has its value then.
  if (!algorithm.reads_output()) bound.poison_output();
  const Stream stream(device);
  bound.launch(stream);
  wait_for(device, stream);
  Array& output = *arguments.tensors.at(algorithm.operands[algorithm.output.operand].name);
  bound.download(algorithm.operands[algorithm.output.operand].name, output);
  return compared(algorithm, output, expected);
}

}  // namespace

std::string Verification::text() const {
  return fmt::format("{}: {} (allowed {:.2e})", passed ? "right" : "WRONG", difference.text(), tolerance);
}

Verification verify(const Algorithm& algorithm, const Array& output, const Reference& expected,
                    CallPlace place) {
  return user_call(place, [&] { return compared(algorithm, output, expected); });
}

Verification verify(const Kernel& kernel, const Device& device, const Arguments& arguments, CallPlace place) {
  return user_call(place,
                   [&] { return verified(kernel, device, arguments, reference_of(kernel, arguments)); });
}

Verification verify(const Kernel& kernel, const Device& device, const Arguments& arguments,
                    const Reference& expected, CallPlace place) {
  return user_call(place, [&] { return verified(kernel, device, arguments, expected); });
}

std::ostream& operator<<(std::ostream& stream, const Verification& verification) {
  return stream << verification.text();
}

}  // namespace weft
