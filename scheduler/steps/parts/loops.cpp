#include <fmt/format.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/loops.h>

#include <algorithm>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

/// What follows the index, or a piece of its loop as "n.inner", with which the name begins; nothing where it
/// does not.
std::optional<std::string_view> behind(std::string_view name, const IndexVariable& index) {
  if (!name.starts_with(index.name)) return std::nullopt;
  std::string_view rest = name.substr(index.name.size());
  if (rest.starts_with(".")) rest.remove_prefix(std::min(rest.find('_'), rest.size()));
  return rest;
}

/// One output index or a piece of one, or several with "_" between them: a loop over several indices together
/// is named after all of them.
bool is_of_outputs(std::string_view name, const Algorithm& algorithm) {
  for (const IndexVariable& index : algorithm.indices) {
    if (const auto rest = behind(name, index); rest && rest->empty()) return !index.reduction;
  }
  return std::ranges::any_of(algorithm.indices, [&](const IndexVariable& index) {
    const auto rest = behind(name, index);
    return rest && !index.reduction && rest->front() == '_' && is_of_outputs(rest->substr(1), algorithm);
  });
}

/// The loops of what instructions of the table do at once: the name of each with that of its instruction.
std::map<std::string, std::string> loops_of_instructions(const Stmt& body) {
  std::map<std::string, std::string> loops;
  ir::visit(body, [&](const Stmt& s) {
    const auto* operation = s.as<ir::TensorOperation>();
    if (operation == nullptr || !operation->meaning.defined()) return;
    for (const std::string& name : loop_names(operation->meaning)) loops[name] = operation->instruction;
  });
  return loops;
}

/// The loops that steps may name.
std::vector<std::string> names_for_steps(const Stmt& body) {
  const auto of_instructions = loops_of_instructions(body);
  std::vector<std::string> names = loop_names(body);
  std::erase_if(names, [&](const std::string& name) { return of_instructions.count(name) != 0; });
  return names;
}

}  // namespace

std::optional<Reason> require_loop(const ir::Program& program, const std::string& name) {
  const std::vector<std::string> names = names_for_steps(program.body);
  if (std::ranges::find(names, name) != names.end()) return std::nullopt;
  const auto of_instructions = loops_of_instructions(program.body);
  if (const auto found = of_instructions.find(name); found != of_instructions.end())
    return Reason{
        1, fmt::format("{} is a loop of {}, which does all its iterations at once", name, found->second),
        fmt::format("a loop around it, one of {}; or this step before .tensorize({})", fmt::join(names, ", "),
                    found->second),
        name};
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string whole = name.substr(0, name.rfind('.'));
  std::string meant;
  if ((name.ends_with(".inner") || name.ends_with(".outer")) && find_loop(program.body, whole) != nullptr) {
    meant = fmt::format("; .split({} = 64) makes {}.outer and {}.inner", whole, whole, whole);
  } else if (find_loop(program.body, name + ".outer") != nullptr) {
    meant = fmt::format("; {} was split: {}.outer or {}.inner", name, name, name);
  } else if (const std::string_view nearest = nearest_name(name, candidates); !nearest.empty()) {
    meant = fmt::format("; the nearest is {}", nearest);
  }
  return Reason{1,
                fmt::format("no loop is called {}", name),
                fmt::format("one of the loops {}{}", fmt::join(names, ", "), meant),
                {}};
}

bool is_output_loop(const std::string& name, const Algorithm& algorithm) {
  if (name.find(".stored") != std::string::npos) return false;
  // "__" joins what "_" would let be read otherwise.
  const std::string_view whole = name;
  const std::size_t end = std::min(whole.find("__"), whole.size());
  return is_of_outputs(whole.substr(0, end), algorithm) &&
         (end == whole.size() || is_output_loop(name.substr(end + 2), algorithm));
}

std::variant<ir::Chain, Reason> permuted(ir::Chain chain, const std::vector<std::string>& names, int number) {
  std::vector<ir::For> loops;
  for (const std::string& name : names) {
    const auto found = std::find_if(chain.loops.begin(), chain.loops.end(),
                                    [&](const ir::For& loop) { return loop.name == name; });
    loops.push_back(*found);
  }
  for (std::size_t i = 0; i < loops.size(); ++i) {
    for (std::size_t inner = i + 1; inner < loops.size(); ++inner) {
      if (!ir::uses(loops[i].begin, loops[inner].name) && !ir::uses(loops[i].extent, loops[inner].name))
        continue;
      return Reason{
          number,
          fmt::format("{} would stand inside {}, whose range {} .. {} depends on it", loops[inner].name,
                      loops[i].name, ir::print(loops[i].begin), ir::print(loops[i].begin + loops[i].extent)),
          fmt::format("{} outside {}", loops[inner].name, loops[i].name), loops[i].name};
    }
  }
  chain.loops = std::move(loops);
  return chain;
}

bool is_constant_extent(const ir::Program& program, const Expr& extent) {
  bool constant = true;
  ir::visit(extent, [&](const Expr& e) {
    if (e.as<ir::Load>() != nullptr) constant = false;
    const auto* v = e.as<ir::Variable>();
    if (v == nullptr) return;
    constant = constant && std::any_of(program.knobs.begin(), program.knobs.end(),
                                       [&](const ir::Knob& knob) { return knob.name == v->name; });
  });
  return constant;
}

std::string variable_called(const ir::Program& program, const std::string& name) {
  const auto is_it = [&](const auto& variable) { return variable.name == name; };
  if (std::ranges::any_of(program.scalars, is_it)) return "a scalar";
  if (std::ranges::any_of(program.extents, is_it)) return "a size";
  if (std::ranges::any_of(program.knobs, is_it)) return "a knob";
  std::string found;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    const auto* let = s.as<ir::Let>();
    if (loop != nullptr && loop->name == name) found = "a loop";
    if (let != nullptr && let->name == name) found = "a value";
  });
  return found;
}

namespace {

std::optional<Reason> require_knob_name(const ir::Program& program, const KnobChoice& choice,
                                        const Reason& otherwise) {
  const auto known = std::ranges::find(program.knobs, choice.name, &ir::Knob::name);
  if (known != program.knobs.end()) {
    if (known->values == choice.values) return std::nullopt;
    return Reason{otherwise.precondition,
                  fmt::format("the knob {} of {}, and before of {}", choice.name,
                              fmt::join(choice.values, ", "), fmt::join(known->values, ", ")),
                  fmt::format("the same values wherever {} stands, or a knob of another name", choice.name),
                  otherwise.marked};
  }
  const std::string taken = variable_called(program, choice.name);
  if (taken.empty()) return std::nullopt;
  return Reason{otherwise.precondition,
                fmt::format("a knob called {}, as {} of the program is", choice.name, taken),
                fmt::format("another name for the knob, as {}_choice", choice.name), otherwise.marked};
}

}  // namespace

std::optional<Reason> require_number(const ir::Program& program, const Argument& argument, std::int64_t most,
                                     const Reason& otherwise) {
  const auto refuse = [&](const std::string& found) {
    return Reason{otherwise.precondition, found, otherwise.accepted, otherwise.marked};
  };
  if (const auto* word = std::get_if<std::string>(&argument.value))
    return refuse(fmt::format("{} = {}, which is no number", argument.name, *word));
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
    if (*number >= 1 && *number <= most) return std::nullopt;
    return refuse(fmt::format("{} = {}", argument.name, *number));
  }
  const auto& choice = std::get<KnobChoice>(argument.value);
  for (const std::int64_t value : choice.values) {
    if (value < 1 || value > most)
      return refuse(fmt::format("{} = knob {}, which may be {}", argument.name, choice.name, value));
  }
  return require_knob_name(program, choice, otherwise);
}

Expr factor_of(ir::Program& program, const Argument& argument) {
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) return ir::integer(*number);
  const auto* choice = std::get_if<KnobChoice>(&argument.value);
  internal_check(choice != nullptr, "an argument that is no number was let through");
  const bool known = std::any_of(program.knobs.begin(), program.knobs.end(),
                                 [&](const ir::Knob& knob) { return knob.name == choice->name; });
  if (!known) program.knobs.push_back({choice->name, choice->values});
  return ir::variable(choice->name);
}

std::vector<std::string> serial_loops(const ir::Program& program, const Algorithm& algorithm,
                                      bool of_output) {
  std::vector<std::string> names = names_for_steps(program.body);
  std::erase_if(names, [&](const std::string& name) {
    return is_output_loop(name, algorithm) != of_output ||
           find_loop(program.body, name)->kind != ir::LoopKind::serial;
  });
  return names;
}

std::string written(const std::string& step, const std::vector<std::string>& words) {
  Step result{step, {}, {}};
  for (const std::string& word : words) result.arguments.push_back({{}, word});
  return result.cpp();
}

const std::string& word_of(const Argument& argument) {
  const auto* word = std::get_if<std::string>(&argument.value);
  if (word == nullptr) throw UserError({"an argument is not a name", argument.name, "a number", "a name"});
  return *word;
}

}  // namespace weft::steps
