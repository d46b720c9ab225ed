// transpose: an operand is read or written with its first dimension innermost.
#include <weft/scheduler/program/channels.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/operand_copies.h>

#include <algorithm>

namespace weft::steps {
namespace {

bool has_channels_innermost(const Algorithm& algorithm, const std::string& tensor) {
  std::vector<TensorAccess> accesses{algorithm.output};
  accesses.insert(accesses.end(), algorithm.factors.begin(), algorithm.factors.end());
  return std::ranges::any_of(accesses, [&](const TensorAccess& access) {
    return algorithm.operands[access.operand].name == tensor && ends_with_channels(algorithm, access);
  });
}

StepResult apply_transpose(const ir::Program& program, const StepArguments& arguments,
                           const StepContext& context) {
  using enum ir::CopyOrder;
  const bool of_channels = has_channels_innermost(context.algorithm, arguments.text("tensor"));
  // Of a GPU pixels of all images shall lie beside one another, of a CPU those of a line.
  return with_operand_copied(program, arguments, context, "transpose",
                             !of_channels              ? first_innermost
                             : context.target.is_gpu() ? first_innermost_last_outermost
                                                       : last_outermost);
}

}  // namespace

constinit const StepKind transpose{
    .name = "transpose",
    .sentence = "An operand that the caller has as [n, k] is read as [k, n], or an output written so.",
    .more =
        "Its first dimension becomes the innermost one, and channels the outermost: [b, c, h, w] and [b, h, "
        "w, c] are read as [c, h, w, b], on a CPU [b, h, w, c] as [c, b, h, w]. A launch of its own copies "
        "it, ahead of the kernel or, of an output, behind it, by tiles in shared memory, to or from memory "
        "that the caller lends; on a CPU loops do, by squares of 16 elements. There rows of matrices are "
        "filled up to multiples of 16 bytes, so that vectors of any of them are aligned. Worth it where "
        "neighbouring threads, or elements of a vector, would be read from places that lie apart: what is "
        "read so is read once for every 32 bytes of memory around it.",
    .parameters = parameters_of_copies,
    .preconditions = preconditions_of_copies,
    .apply = apply_transpose};

}  // namespace weft::steps
