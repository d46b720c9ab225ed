// transpose: an operand is read or written with its first dimension innermost.
#include <fmt/format.h>
#include <weft/scheduler/ir/transposition.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/other_steps.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>

namespace weft::steps {
namespace {

const Operand* operand_called(const Algorithm& algorithm, const std::string& name) {
  const auto found = std::ranges::find(algorithm.operands, name, &Operand::name);
  return found == algorithm.operands.end() ? nullptr : &*found;
}

std::string operands_of(const Algorithm& algorithm) {
  std::string names;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse || operand.shape.size() < 2) continue;
    names += (names.empty() ? "" : ", ") + operand.name;
  }
  return names.empty() ? "no transpose: no dense operand has two dimensions"
                       : "a dense operand with two dimensions or more: " + names;
}

/// Preconditions 2 and 3: what lies in memory so that its first dimension can become the last.
std::optional<Reason> require_dimensions(const Algorithm& algorithm, const std::string& tensor) {
  const Operand* operand = operand_called(algorithm, tensor);
  if (operand == nullptr) return Reason{2, "no operand is called " + tensor, operands_of(algorithm), {}};
  if (operand->storage == Storage::sparse)
    return Reason{2, tensor + " is sparse, and its format says how it lies", operands_of(algorithm), {}};
  if (operand->shape.size() < 2)
    return Reason{
        2, fmt::format("{} has {} dimensions", tensor, operand->shape.size()), operands_of(algorithm), {}};
  if (!operand->strides.empty())
    return Reason{3, tensor + " has strides of its own", "an operand whose rows lie behind one another", {}};
  return std::nullopt;
}

/// Precondition 5: elements are all that is read or written so far.
std::optional<Reason> require_elements(const ir::Program& program, const ir::BufferRef& buffer,
                                       const Step& step) {
  const bool copied = ir::any<ir::Copy>(program.body, [&](const ir::Copy& copy) {
    return copy.source == buffer || copy.destination == buffer;
  });
  const bool by_instructions = ir::any<ir::TensorOperation>(program.body) && ir::uses(program.body, buffer);
  if (!copied && !by_instructions) return std::nullopt;
  return Reason{5, fmt::format("{} is {} already", buffer->name, copied ? "copied" : "read by instructions"),
                fmt::format("{} in front of the steps that copy it and that tensorize", step.cpp()),
                buffer->name};
}

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
  const std::string tensor = arguments.text("tensor");
  if (!context.target.is_gpu())
    return Reason{1,
                  "the target " + context.target.name,
                  "a GPU; on a CPU .stage(…) has an order of its own for what vectors read",
                  {}};
  if (auto refused = require_dimensions(context.algorithm, tensor)) return *refused;
  if (ir::transposed_operand(program, tensor) != nullptr)
    return Reason{4, tensor + " is transposed already", "transpose once", {}};
  const auto given = std::ranges::find(program.buffers, tensor, &ir::Buffer::name);
  if (given == program.buffers.end())
    return Reason{2, fmt::format("the program uses nothing of {}", tensor), "no transpose of it", {}};
  if (auto refused = require_elements(program, *given, arguments.step())) return *refused;
  const bool is_output = ir::stores_to(program.body, *given);
  if (is_output && ir::reads(program.body, *given))
    return Reason{6, tensor + " is read and written", "an output that the algorithm does not read", tensor};
  ir::Program result = program;
  const bool last_outermost = ends_with_weights(context.algorithm, tensor);
  const ir::Transposition made = ir::transposition_of(*given, is_output, last_outermost);
  result.transposed.push_back(made);
  result.buffers[static_cast<std::size_t>(given - program.buffers.begin())] = made.ordered;
  result.body = ir::replace_buffer(
      program.body, made.given, made.ordered,
      [&](const std::vector<Expr>& indices) { return ir::in_order(indices, last_outermost); });
  return result;
}

constexpr Parameter parameters[]{
    tensor_parameter("\"B\"", "a dense operand or the output, of two dimensions or more")};
constexpr Precondition preconditions[]{
    {1, "the target is a GPU"},
    {2, "the tensor is a dense operand of two dimensions or more that the program uses"},
    {3, "its rows lie behind one another"},
    {4, "it is done once for a tensor"},
    {5, "no step before copies it or reads it by tensor instructions"},
    {6, "an output is not read"}};

}  // namespace

constinit const StepKind transpose{
    .name = "transpose",
    .sentence = "An operand that the caller has as [n, k] is read as [k, n], or an output written so.",
    .more =
        "Its first dimension becomes the innermost one, and channels the outermost: [b, c, h, w] and "
        "[b, h, w, c] are read as [c, h, w, b]. A launch of its own copies it, ahead of the kernel or, of an "
        "output, behind it, by tiles in shared memory, to or from memory that the caller lends. There rows "
        "are filled up to multiples of 16 bytes, so that vectors of any of them are aligned. Worth it where "
        "neighbouring threads would read elements that lie apart: what they read is read once for every 32 "
        "bytes of memory around it.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_transpose};

}  // namespace weft::steps
