// What steps share that let a kernel read or write the copy of an operand, which a launch of its own makes.
#pragma once

#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/program/step.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <string_view>

namespace weft::steps {

/// The program with the operand of the argument "tensor" copied in that order, by the step of that name.
/// Refuses by the preconditions below.
StepResult with_operand_copied(const ir::Program& program, const StepArguments& arguments,
                               const StepContext& context, std::string_view name, ir::CopyOrder order);

inline constexpr Parameter parameters_of_copies[]{
    tensor_parameter("\"B\"", "a dense operand or the output, of two dimensions or more")};
inline constexpr Precondition preconditions_of_copies[]{
    {1, "the tensor is a dense operand of two dimensions or more that the program uses"},
    {2, "its rows lie behind one another"},
    {3, "it is done once for a tensor"},
    {4, "no step before copies it or reads it by tensor instructions"},
    {5, "an output is not read"}};

}  // namespace weft::steps
