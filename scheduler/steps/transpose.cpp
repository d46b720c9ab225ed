// transpose: an operand is read or written with its first dimension innermost.
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/operand_copies.h>

#include <algorithm>

namespace weft::steps {
namespace {

/// Whether the last of three dimensions or more is counted by an index of the weights, as channels that lie
/// beside one another are: then pixels shall lie beside one another.
bool ends_with_weights(const Algorithm& algorithm, const std::string& tensor) {
  std::vector<const TensorAccess*> accesses{&algorithm.output};
  for (const TensorAccess& factor : algorithm.factors) accesses.push_back(&factor);
  const auto counts = [&](const TensorAccess& access, const std::string& index) {
    return std::ranges::any_of(access.indices, [&](const AffineIndex& each) {
      return each.plain() != nullptr && *each.plain() == index;
    });
  };
  for (const TensorAccess* access : accesses) {
    if (algorithm.operands[access->operand].name != tensor || access->indices.size() < 3) continue;
    const std::string* last = access->indices.back().plain();
    return last != nullptr && std::ranges::any_of(algorithm.factors, [&](const TensorAccess& factor) {
             return algorithm.operands[factor.operand].storage == Storage::sparse && counts(factor, *last);
           });
  }
  return false;
}

StepResult apply_transpose(const ir::Program& program, const StepArguments& arguments,
                           const StepContext& context) {
  const bool last_outermost = ends_with_weights(context.algorithm, arguments.text("tensor"));
  return with_operand_copied(
      program, arguments, context, "transpose",
      last_outermost ? ir::CopyOrder::first_innermost_last_outermost : ir::CopyOrder::first_innermost);
}

}  // namespace

constinit const StepKind transpose{
    .name = "transpose",
    .sentence = "An operand that the caller has as [n, k] is read as [k, n], or an output written so.",
    .more =
        "Its first dimension becomes the innermost one, and channels the outermost: [b, c, h, w] and "
        "[b, h, w, c] are read as [c, h, w, b]. A launch of its own copies it, ahead of the kernel or, of an "
        "output, behind it, by tiles in shared memory, to or from memory that the caller lends; on a CPU "
        "loops do, by squares of 16 elements. There rows are filled up to multiples of 16 bytes, so that "
        "vectors of any of them are aligned. Worth it where neighbouring threads, or elements of a vector, "
        "would be read from places that lie apart: what is read so is read once for every 32 bytes of memory "
        "around it.",
    .parameters = parameters_of_copies,
    .preconditions = preconditions_of_copies,
    .apply = apply_transpose};

}  // namespace weft::steps
