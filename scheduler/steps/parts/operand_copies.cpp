#include <fmt/format.h>
#include <weft/scheduler/ir/operand_copy.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/other_steps.h>
#include <weft/scheduler/steps/parts/operand_copies.h>

#include <algorithm>

namespace weft::steps {
namespace {

const Operand* operand_called(const Algorithm& algorithm, const std::string& name) {
  const auto found = std::ranges::find(algorithm.operands, name, &Operand::name);
  return found == algorithm.operands.end() ? nullptr : &*found;
}

std::string operands_of(const Algorithm& algorithm, std::string_view step) {
  std::string names;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse || operand.shape.size() < 2) continue;
    names += (names.empty() ? "" : ", ") + operand.name;
  }
  return names.empty() ? fmt::format("no {}: no dense operand has two dimensions", step)
                       : "a dense operand with two dimensions or more: " + names;
}

/// Preconditions 1 and 2: what lies in memory in rows behind one another.
std::optional<Reason> require_dimensions(const Algorithm& algorithm, const std::string& tensor,
                                         std::string_view step) {
  const Operand* operand = operand_called(algorithm, tensor);
  const auto refuse = [&](std::string found) {
    return Reason{1, std::move(found), operands_of(algorithm, step), {}};
  };
  if (operand == nullptr) return refuse("no operand is called " + tensor);
  if (operand->storage == Storage::sparse)
    return refuse(tensor + " is sparse, and its format says how it lies");
  if (operand->shape.size() < 2)
    return refuse(fmt::format("{} has {} dimensions", tensor, operand->shape.size()));
  if (!operand->strides.empty())
    return Reason{2, tensor + " has strides of its own", "an operand whose rows lie behind one another", {}};
  return std::nullopt;
}

/// Precondition 4: elements are all that is read or written so far.
std::optional<Reason> require_elements(const ir::Program& program, const ir::BufferRef& buffer,
                                       const Step& step) {
  const bool copied = ir::any<ir::Copy>(program.body, [&](const ir::Copy& copy) {
    return copy.source == buffer || copy.destination == buffer;
  });
  const bool by_instructions = ir::any<ir::TensorOperation>(program.body) && ir::uses(program.body, buffer);
  if (!copied && !by_instructions) return std::nullopt;
  return Reason{4, fmt::format("{} is {} already", buffer->name, copied ? "copied" : "read by instructions"),
                fmt::format("{} in front of the steps that copy it and that tensorize", step.cpp()),
                buffer->name};
}

}  // namespace

StepResult with_operand_copied(const ir::Program& program, const StepArguments& arguments,
                               const StepContext& context, std::string_view name, ir::CopyOrder order) {
  const std::string tensor = arguments.text("tensor");
  if (auto refused = require_dimensions(context.algorithm, tensor, name)) return *refused;
  if (const ir::OperandCopy* copy = ir::copied_operand(program, tensor)) {
    return Reason{3,
                  fmt::format("{} is {} already", tensor, ir::name_of(copy->order)),
                  fmt::format("{} once", copy->order == ir::CopyOrder::none ? "align" : "transpose"),
                  {}};
  }
  const auto given = std::ranges::find(program.buffers, tensor, &ir::Buffer::name);
  if (given == program.buffers.end())
    return Reason{
        1, fmt::format("the program uses nothing of {}", tensor), fmt::format("no {} of it", name), {}};
  if (auto refused = require_elements(program, *given, arguments.step())) return *refused;
  const bool is_output = ir::stores_to(program.body, *given);
  if (is_output && ir::reads(program.body, *given))
    return Reason{5, tensor + " is read and written", "an output that the algorithm does not read", tensor};
  ir::Program result = program;
  const ir::OperandCopy made = ir::operand_copy_of(*given, is_output, order);
  result.copied.push_back(made);
  result.buffers[static_cast<std::size_t>(given - program.buffers.begin())] = made.ordered;
  result.body =
      ir::replace_buffer(program.body, made.given, made.ordered,
                         [&](const std::vector<Expr>& indices) { return ir::in_order(indices, order); });
  return result;
}

}  // namespace weft::steps
