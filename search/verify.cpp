#include <fmt/format.h>
#include <weft/search/verify.h>

#include <algorithm>

namespace weft {
namespace {

/// The longest sum that the algorithm makes.
std::int64_t longest_sum(const Algorithm& algorithm, const SparseTensor* weights) {
  if (weights == nullptr) {
    std::int64_t terms = 1;
    for (const IndexVariable& index : algorithm.indices) {
      if (index.reduction && index.extent.is_static()) terms *= index.extent.value;
    }
    return terms;
  }
  std::vector<std::int64_t> length(static_cast<std::size_t>(weights->rows()), 0);
  weights->walk(
      [&](std::int64_t row, std::int64_t, std::int64_t) { ++length[static_cast<std::size_t>(row)]; });
  return length.empty() ? 0 : *std::max_element(length.begin(), length.end());
}

bool reads_output(const Term& term, std::size_t output) {
  if (term.kind == Term::Kind::access && term.access.operand == output) return true;
  return std::any_of(term.arguments.begin(), term.arguments.end(),
                     [&](const Term& argument) { return reads_output(argument, output); });
}

}  // namespace

std::string Verification::text() const {
  return fmt::format("{}: {} (allowed {:.2e})", passed ? "right" : "WRONG", difference.text(), tolerance);
}

Verification verify(const Algorithm& algorithm, const SparseTensor* weights, const Array& output,
                    const Reference& expected) {
  Verification result;
  result.difference = difference(output, expected);
  result.tolerance = tolerance(output.dtype(), algorithm.accumulator, longest_sum(algorithm, weights));
  result.passed = result.difference.wrong < 0 && result.difference.largest_scaled <= result.tolerance;
  return result;
}

Verification verify(const Kernel& kernel, const Device& device, const Arguments& arguments) {
  const Algorithm& algorithm = kernel.schedule().algorithm();
  const SparseTensor* weights = weights_of(algorithm, kernel.schedule().weights(), arguments);
  const Reference expected = reference(algorithm, weights, arguments);
  const BoundKernel bound = kernel.bind(device, arguments);
  // Where the old output is an input, poison would be read; the reference has its value then.
  if (!reads_output(algorithm.result, algorithm.output.operand)) bound.poison_output();
  const Stream stream(device);
  bound.launch(stream);
  wait_for(device, stream);
  Array& output = *arguments.tensors.at(algorithm.operands[algorithm.output.operand].name);
  bound.download(algorithm.operands[algorithm.output.operand].name, output);
  return verify(algorithm, weights, output, expected);
}

}  // namespace weft
