#include <fmt/format.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/staging_request.h>

#include <algorithm>

namespace weft::steps {

StagingRequest staging_request_of(const StepArguments& arguments) {
  return {arguments.text("tensor"), arguments.text("scope"),
          arguments.has("at") ? arguments.text("at") : std::string(), arguments.number("depth")};
}

std::optional<Reason> require_place(const ir::Program& program, const StagingRequest& request) {
  if (!request.at.empty()) return require_loop(program, request.at);
  return Reason{1,
                "no loop at which the copy is made",
                fmt::format("at = one of the loops {}", fmt::join(loop_names(program.body), ", ")),
                {}};
}

namespace {

std::vector<std::string> arrays_of_weights(const ir::Program& program) {
  std::vector<std::string> arrays;
  for (const ir::BufferRef& buffer : program.buffers) {
    if (buffer->name != buffer->tensor) arrays.push_back(buffer->name);
  }
  return arrays;
}

bool is_of(const ir::BufferRef& buffer, const std::string& tensor) {
  return buffer->name == tensor || buffer->tensor == tensor;
}

/// From where the program is given it, or from a copy.
bool is_read(const ir::Program& program, const std::string& tensor) {
  return ir::any<ir::Load>(program.body, [&](const ir::Load& load) { return is_of(load.buffer, tensor); });
}

/// Whether it is the sparse operand, or an array of its weights, of which the program reads none.
bool is_of_baked_weights(const ir::Program& program, const std::string& tensor, const StepContext& context) {
  const Operand* sparse = context.algorithm.sparse_operand();
  if (sparse == nullptr || is_read(program, sparse->name)) return false;
  const std::string prefix = sparse->name + ".";
  return tensor == sparse->name ||
         (tensor.starts_with(prefix) && context.weights->has_array(tensor.substr(prefix.size())));
}

/// The inputs that the program reads, and the arrays of its weights.
std::vector<std::string> names_of_inputs(const ir::Program& program, const StepContext& context) {
  std::vector<std::string> names;
  const Operand& output = context.algorithm.operands[context.algorithm.output.operand];
  for (const Operand& operand : context.algorithm.operands) {
    if (&operand != &output && !is_of_baked_weights(program, operand.name, context))
      names.push_back(operand.name);
  }
  std::ranges::move(arrays_of_weights(program), std::back_inserter(names));
  return names;
}

std::string nearest(const std::string& tensor, const std::vector<std::string>& names) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return did_you_mean(tensor, candidates);
}

}  // namespace

Reason reads_no_such_input(const ir::Program& program, const StagingRequest& request,
                           const StepContext& context) {
  const Operand& output = context.algorithm.operands[context.algorithm.output.operand];
  const std::vector<std::string> inputs = names_of_inputs(program, context);
  if (is_of_baked_weights(program, request.tensor, context))
    return {
        3,
        fmt::format("nothing of {} is read any more, since its numbers stand in the code", request.tensor),
        "leave this step out",
        {}};
  if (std::ranges::find(inputs, request.tensor) == inputs.end()) {
    const bool is_output = request.tensor == output.name;
    return {3,
            fmt::format("no input is called {}{}", request.tensor,
                        is_output ? ", the output, whose sums are kept in registers" : ""),
            fmt::format("one of the inputs and arrays of weights {}{}", fmt::join(inputs, ", "),
                        nearest(request.tensor, inputs)),
            request.at};
  }
  std::string copy;
  for (const ir::For* loop : find_loops(program.body, request.at)) {
    ir::each<ir::Load>(loop->body, [&](const ir::Load& load) {
      const bool is_copy = load.buffer->scope != ir::Scope::global && load.buffer->tensor == request.tensor;
      if (is_copy) copy = load.buffer->name;
    });
  }
  if (!copy.empty())
    return {3, fmt::format("{} reads {}, which is a copy of {} already", request.at, copy, request.tensor),
            fmt::format("one step that copies {}: leave this one out", request.tensor), copy};
  return {3, fmt::format("the body of {} reads no input called {}", request.at, request.tensor),
          fmt::format("a loop whose body reads {}", request.tensor), request.at};
}

namespace {

/// A step of stage, stitch or decode that was refused, with what would be applied in its place.
class OtherPlaces {
 public:
  using Apply = StepResult (*)(const ir::Program&, const StepArguments&, const StepContext&);

  OtherPlaces(const ir::Program& program, const StepArguments& arguments, const StepContext& context,
              Apply apply)
      : program_(program), arguments_(arguments), context_(context), apply_(apply) {}

  bool applies(const Step& step) const {
    return std::holds_alternative<ir::Program>(
        apply_(program_, StepArguments(arguments_.kind(), step), context_));
  }

  Step with_tensor(const std::string& name) const {
    Step step = arguments_.step();
    step.arguments.front().value = name;
    return step;
  }

  /// The loops at which it would be, and the step at the innermost one: "; it works at m, k: stage(…)".
  std::string proposal(Step step) const {
    std::vector<std::string> places;
    std::string innermost;
    std::erase_if(step.arguments, [](const Argument& argument) { return argument.name == "at"; });
    step.arguments.insert(step.arguments.begin() + 2, Argument{"at", std::string()});
    for (const std::string& name : loop_names(program_.body)) {
      step.arguments[2].value = name;
      if (!applies(step)) continue;
      places.push_back(name);
      innermost = step.cpp();
    }
    return places.empty() ? "" : fmt::format("; it works at {}: {}", fmt::join(places, ", "), innermost);
  }

  /// In place of a name that is no input's.
  std::string other_tensors(const std::vector<std::string>& names) const {
    std::vector<std::string> fitting;
    std::ranges::copy_if(names, std::back_inserter(fitting),
                         [&](const std::string& name) { return applies(with_tensor(name)); });
    const std::string tensor = arguments_.text("tensor");
    if (!fitting.empty())
      return fmt::format("what is read there: {}{}", fmt::join(fitting, ", "), nearest(tensor, fitting));
    for (const std::string& name : names)
      if (const std::string found = proposal(with_tensor(name)); !found.empty())
        return fmt::format("{} in place of {}{}", name, tensor, found);
    return {};
  }

 private:
  const ir::Program& program_;
  const StepArguments& arguments_;
  const StepContext& context_;
  Apply apply_;
};

}  // namespace

StepResult at_place(const ir::Program& program, const StepArguments& arguments, const StepContext& context,
                    StepResult (*apply)(const ir::Program&, const StepArguments&, const StepContext&)) {
  StepResult result = apply(program, arguments, context);
  auto* refused = std::get_if<Reason>(&result);
  if (refused == nullptr || refused->precondition == 2 || refused->precondition >= 7) return result;
  const OtherPlaces others(program, arguments, context, apply);
  const std::vector<std::string> names = names_of_inputs(program, context);
  const std::string tensor = arguments.text("tensor");
  if (refused->precondition == 3 && std::ranges::find(names, tensor) == names.end() &&
      !is_of_baked_weights(program, tensor, context)) {
    if (std::string accepted = others.other_tensors(names); !accepted.empty())
      refused->accepted = std::move(accepted);
    return result;
  }
  refused->accepted += others.proposal(arguments.step());
  return result;
}

std::optional<Reason> require_reached_together(const ir::Program& program, const std::string& at,
                                               int number) {
  std::optional<Reason> refused;
  ir::each<ir::For>(program.body, [&](const ir::For& loop) {
    const bool around = loop.name == at || find_loop(loop.body, at) != nullptr;
    if (!refused && around && (ir::is_within_block(loop.kind) || loop.kind == LoopKind::vectorized)) {
      refused = Reason{number,
                       fmt::format("{} is {}, so its iterations do not reach the copy together", loop.name,
                                   ir::name_of(loop.kind)),
                       loop.name == at ? fmt::format("a loop outside of {}", at)
                                       : fmt::format("a copy outside of {}: {} first, or another place",
                                                     loop.name, written("reorder", {at, loop.name})),
                       loop.name};
    }
  });
  return refused;
}

}  // namespace weft::steps
