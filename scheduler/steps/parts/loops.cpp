#include <fmt/format.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/loops.h>

#include <algorithm>

namespace weft::steps {
namespace {

/// The loops of what instructions of the table do at once: the name of each with that of its instruction.
std::map<std::string, std::string> loops_of_instructions(const Stmt& body) {
  std::map<std::string, std::string> loops;
  ir::each<ir::TensorOperation>(body, [&](const ir::TensorOperation& operation) {
    for (const std::string& name : loop_names(operation.meaning)) loops[name] = operation.instruction;
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

std::array<std::string, 2> split_names(const std::string& name) {
  return {name + ".outer", name + ".inner"};
}

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
  const auto whole = std::ranges::find_if(
      names, [&](const std::string& each) { return std::ranges::count(split_names(each), name) > 0; });
  const auto parts = split_names(name);
  std::string meant;
  if (whole != names.end()) {
    meant = fmt::format("; {} makes {}", split_text(*whole, 64), fmt::join(split_names(*whole), " and "));
  } else if (std::ranges::count(names, parts.front()) > 0) {
    meant = fmt::format("; {} was split: {}", name, fmt::join(parts, " or "));
  } else if (const std::string_view nearest = nearest_name(name, candidates); !nearest.empty()) {
    meant = fmt::format("; the nearest is {}", nearest);
  }
  return Reason{1,
                fmt::format("no loop is called {}", name.empty() ? "\"\"" : name),
                fmt::format("one of the loops {}{}", fmt::join(names, ", "), meant),
                {}};
}

std::variant<ir::Chain, Reason> permuted(ir::Chain chain, const std::vector<std::string>& names, int number) {
  std::vector<ir::For> loops;
  for (const std::string& name : names)
    loops.push_back(*std::ranges::find(chain.loops, name, &ir::For::name));
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

std::vector<std::string> serial_loops(const ir::Program& program, bool of_output) {
  std::vector<std::string> names = names_for_steps(program.body);
  std::erase_if(names, [&](const std::string& name) {
    const ir::For& loop = *find_loop(program.body, name);
    return ir::is_over_output(loop.role) != of_output || loop.kind != LoopKind::serial;
  });
  return names;
}

std::string written(const std::string& step, const std::vector<std::string>& words) {
  Step result{step, {}, {}};
  for (const std::string& word : words) result.arguments.push_back({{}, word});
  return result.cpp();
}

}  // namespace weft::steps
