#include <fmt/format.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/loops.h>

#include <algorithm>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

/// Index [variable, rest…] in place of [rest…] wherever the buffer is used.
Stmt add_dimension(const Stmt& stmt, const ir::BufferRef& from, const ir::BufferRef& to, const Expr& index) {
  const auto extended = [&](const std::vector<Expr>& indices) {
    std::vector<Expr> result{index};
    result.insert(result.end(), indices.begin(), indices.end());
    return result;
  };
  ir::Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& expr) {
    const auto* e = expr.as<ir::Load>();
    return e != nullptr && e->buffer == from ? ir::load(to, extended(e->indices)) : expr;
  };
  rewriter.on_stmt = [&](const Stmt& child) {
    const auto* s = child.as<ir::Store>();
    if (s == nullptr || s->buffer != from) return child;
    return ir::store(to, extended(s->indices), s->value, s->accumulate);
  };
  return rewriter(stmt);
}

/// The loop and its conditions around every statement that uses its variable.
Stmt distribute(const ir::For& loop, const std::vector<Expr>& conditions, const Stmt& stmt) {
  if (const auto* s = stmt.as<ir::Block>()) {
    std::vector<Stmt> statements;
    for (const Stmt& child : s->statements) statements.push_back(distribute(loop, conditions, child));
    return ir::block(std::move(statements));
  }
  if (const auto* s = stmt.as<ir::Allocate>()) {
    if (s->buffer->scope != ir::Scope::registers)
      return ir::allocate(s->buffer, distribute(loop, conditions, s->body));
    std::vector<Expr> shape{loop.extent};
    shape.insert(shape.end(), s->buffer->shape.begin(), s->buffer->shape.end());
    const auto wider = ir::make_buffer(s->buffer->name, s->buffer->dtype, s->buffer->scope, s->buffer->access,
                                       shape, s->buffer->non_negative);
    const Expr index = ir::variable(loop.name) - loop.begin;
    return ir::allocate(wider, distribute(loop, conditions, add_dimension(s->body, s->buffer, wider, index)));
  }
  if (!ir::uses(stmt, loop.name)) return stmt;
  ir::For copy = loop;
  copy.body = stmt;
  // The outermost first: what an inner one reads may exist only where the outer ones hold.
  for (auto condition = conditions.rbegin(); condition != conditions.rend(); ++condition)
    copy.body = ir::if_then(*condition, copy.body);
  return ir::for_loop(std::move(copy));
}

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

std::vector<std::string> loop_names(const Stmt& stmt) {
  std::vector<std::string> names;
  ir::visit(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop != nullptr && std::find(names.begin(), names.end(), loop->name) == names.end())
      names.push_back(loop->name);
  });
  return names;
}

std::vector<const ir::For*> find_loops(const Stmt& stmt, const std::string& name) {
  std::vector<const ir::For*> found;
  ir::visit(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop != nullptr && loop->name == name) found.push_back(loop);
  });
  return found;
}

const ir::For* find_loop(const Stmt& stmt, const std::string& name) {
  const auto found = find_loops(stmt, name);
  return found.empty() ? nullptr : found.front();
}

InnerLoops inner_loops(const Stmt& stmt) {
  InnerLoops loops;
  ir::visit(stmt, [&](const Stmt& s) {
    if (const auto* loop = s.as<ir::For>()) loops.emplace(loop->name, *loop);
  });
  return loops;
}

bool stands_inside(const Stmt& stmt, const std::string& inner, const std::string& outer) {
  const auto around = find_loops(stmt, outer);
  return std::any_of(around.begin(), around.end(),
                     [&](const ir::For* loop) { return find_loop(loop->body, inner) != nullptr; });
}

Stmt change_loops(const Stmt& stmt, const std::string& name,
                  const std::function<Stmt(const ir::For&)>& change) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    return loop != nullptr && loop->name == name ? change(*loop) : s;
  };
  return rewriter(stmt);
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

Chain chain_of(const Stmt& stmt) {
  Chain chain;
  chain.core = stmt;
  while (chain.core.defined()) {
    if (const auto* loop = chain.core.as<ir::For>()) {
      ir::For bare = *loop;
      bare.body = {};
      const Stmt body = loop->body;
      chain.loops.push_back(std::move(bare));
      chain.core = body;
    } else if (const auto* condition = chain.core.as<ir::If>();
               condition != nullptr && !condition->otherwise.defined()) {
      chain.conditions.push_back(condition->condition);
      const Stmt body = condition->then;
      chain.core = body;
    } else {
      break;
    }
  }
  return chain;
}

Stmt rebuild(Chain chain) {
  std::vector<std::vector<Expr>> inside(chain.loops.size() + 1);
  for (const Expr& condition : chain.conditions) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < chain.loops.size(); ++i) {
      if (ir::uses(condition, chain.loops[i].name)) place = i + 1;
    }
    inside[place].push_back(condition);
  }
  Stmt body = chain.core;
  for (std::size_t i = chain.loops.size() + 1; i-- > 0;) {
    for (auto condition = inside[i].rbegin(); condition != inside[i].rend(); ++condition) {
      body = ir::if_then(*condition, body);
    }
    if (i == 0) break;
    ir::For loop = chain.loops[i - 1];
    loop.body = body;
    body = ir::for_loop(std::move(loop));
  }
  return body;
}

std::variant<Chain, Reason> permuted(Chain chain, const std::vector<std::string>& names, int number) {
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

Chain sink_innermost(Chain chain) {
  const ir::For loop = chain.loops.back();
  chain.loops.pop_back();
  std::vector<Expr> moving;
  std::erase_if(chain.conditions, [&](const Expr& condition) {
    if (!ir::uses(condition, loop.name)) return false;
    moving.push_back(condition);
    return true;
  });
  chain.core = distribute(loop, moving, chain.core);
  return chain;
}

bool holds_copy(const Stmt& stmt) {
  bool found = false;
  ir::visit(stmt, [&](const Stmt& s) { found = found || s.as<ir::Copy>() != nullptr; });
  return found;
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
