// align: an operand is read or written by rows that begin at multiples of 16 bytes.
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/operand_copies.h>

namespace weft::steps {
namespace {

StepResult apply_align(const ir::Program& program, const StepArguments& arguments,
                       const StepContext& context) {
  return with_operand_copied(program, arguments, context, "align", ir::CopyOrder::none);
}

}  // namespace

constinit const StepKind align{
    .name = "align",
    .sentence =
        "The rows of an operand, of any length, are read or written where they are filled up to 16 bytes.",
    .more =
        "A launch of its own, on a CPU loops, copies the operand, ahead of the kernel or, of an output, "
        "behind it, to or from memory that the caller lends, in which rows are filled up to multiples of 16 "
        "bytes. Vectors of any of them are aligned there, so that whole runs are copied to shared memory. "
        "Worth it where rows have an odd number of elements and are read several times.",
    .parameters = parameters_of_copies,
    .preconditions = preconditions_of_copies,
    .apply = apply_align};

}  // namespace weft::steps
