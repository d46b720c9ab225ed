#include <fmt/format.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/copies_ahead.h>
#include <weft/scheduler/steps/parts/loops.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace weft::steps {
namespace {

/// Copies, with the conditions around each.
using Copies = std::vector<std::pair<const ir::Copy*, std::vector<Expr>>>;

/// Asynchronous copies of the iterations of the loop whose body it is.
void collect(const Stmt& body, std::vector<Expr> conditions, Copies& found) {
  if (const auto* copy = body.as<ir::Copy>(); copy != nullptr && copy->asynchronous) {
    found.emplace_back(copy, conditions);
  } else if (const auto* condition = body.as<ir::If>()) {
    conditions.push_back(condition->condition);
    collect(condition->then, conditions, found);
  } else if (body.as<ir::Sequence>() != nullptr || body.as<ir::Allocate>() != nullptr) {
    each_child(body, [&](const Stmt& child) { collect(child, conditions, found); });
  }
}

Copies copies_at(const Stmt& body) {
  Copies found;
  collect(body, {}, found);
  return found;
}

/// Precondition 8.
std::optional<Reason> check_loop(const ir::For& loop, std::int64_t wanted) {
  if (loop.kind != LoopKind::serial && loop.kind != LoopKind::unrolled)
    return Reason{8, fmt::format("{} is {}", loop.name, ir::name_of(loop.kind)),
                  "a serial or unrolled loop, whose iterations follow one another", loop.name};
  for (const auto& [copy, conditions] : copies_at(loop.body)) {
    const std::int64_t buffers = *ir::integer_value(copy->destination->shape.front());
    if (buffers == wanted) continue;
    return Reason{8, fmt::format("{} has {} buffers at {}", copy->source->name, buffers, loop.name),
                  fmt::format("depth = {} for all copies at one loop", buffers), loop.name};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Reason> check_depth(const ir::Program& program, const std::string& at, const std::string& scope,
                                  std::int64_t depth, const Target& target) {
  if (depth == 1) return std::nullopt;
  const std::string found = fmt::format("depth = {} in {}", depth, scope);
  if (scope != "shared")
    return Reason{7, found, fmt::format("depth = 1 in {}, or shared in place of it", scope), {}};
  if (target.is_gpu() && !target.has(Capability::asynchronous_copies))
    return Reason{7,
                  fmt::format("{} has no cp.async, by which copies run ahead", target.name),
                  "depth = 1, or a target from sm_80 on",
                  {}};
  for (const ir::For* loop : find_loops(program.body, at)) {
    if (auto refused = check_loop(*loop, depth)) return refused;
  }
  return std::nullopt;
}

namespace {

ir::Ranges ranges_of_loops(const ir::Program& program) {
  ir::Ranges ranges;
  ir::each<ir::For>(program.body, [&](const ir::For& loop) {
    const ir::Range begin = ir::range_of(loop.begin, ranges);
    const ir::Range last = ir::range_of(loop.begin + loop.extent - 1, ranges);
    ranges[loop.name] = {begin.minimum, last.maximum};
  });
  return ranges;
}

/// The loops that the index goes along with, save where they choose what is loaded for it.
std::set<std::string> loops_of(const ir::Linear& index) {
  std::set<std::string> loops;
  const std::function<void(const Expr&)> look = [&](const Expr& expr) {
    if (const auto* variable = expr.as<ir::Variable>()) loops.insert(variable->name);
    if (expr.as<ir::Load>() == nullptr) each_child(expr, look);
  };
  for (const ir::Linear::Term& term : index.terms) look(term.atom);
  return loops;
}

/// A loop whose body is now `staged`, whose copies run ahead.
struct Ahead {
  const ir::For& loop;
  const Stmt& staged;
  const ir::Ranges& ranges;  ///< all loops of the program have one

  /// Whether the variable is a loop around this one.
  bool stays(const std::string& variable) const {
    return variable != loop.name && ranges.contains(variable) &&
           !ir::any<ir::For>(staged, [&](const ir::For& inner) { return inner.name == variable; });
  }
};

/// Whether a condition behind the copies keeps what the index goes along with below something.
bool is_asked_later(const ir::Linear& index, const Ahead& ahead) {
  std::set<std::string> loops = loops_of(index);
  std::erase_if(loops, [&](const std::string& each) { return ahead.stays(each); });
  const auto asks = [&](const Expr& condition) {
    const auto* less = condition.as<ir::Binary>();
    if (less == nullptr || less->op != ir::BinaryOperator::less || is_float(less->left.dtype())) return false;
    const ir::Linear compared = ir::linear(less->left);
    return std::ranges::all_of(loops,
                               [&](const std::string& loop) { return compared.coefficient_of(loop) != 0; });
  };
  return !loops.empty() && ir::any<ir::If>(ahead.staged, [&](const ir::If& choice) {
    return std::ranges::any_of(ir::conjuncts_of(choice.condition), asks);
  });
}

/// Whether an index may reach behind its dimension, where a condition behind the copies keeps it inside. Of
/// an index whose range is data, as the block of block * 32 + place is, the rest has to stay inside of a
/// block; places of rows that end anywhere, as those of csr do, may reach behind the last one where they are
/// asked for.
bool may_reach_behind(const Expr& index, const std::int64_t* extent, const Ahead& ahead) {
  const ir::Linear sum = ir::linear(index);
  std::int64_t known = sum.constant, block = 0;
  for (const ir::Linear::Term& term : sum.terms) {
    const auto last = ir::range_of(term.atom * term.coefficient, ahead.ranges).maximum;
    last ? known += * last : block = std::gcd(block, term.coefficient);
  }
  if (block == 0) return extent != nullptr && known >= *extent;
  if (block == 1) return is_asked_later(sum, ahead);
  // Arrays of offsets have one more behind their last block; where rows are given at launch the last block of
  // a loop that was cut may not be whole.
  if (extent == nullptr) return known > block || is_asked_later(sum, ahead);
  return known >= block + *extent % block;
}

/// The first such index of the load.
std::optional<Reason> reads_behind(const ir::Load& load, const Ahead& ahead, const ir::Copy& copy) {
  for (std::size_t i = 0; i < load.indices.size(); ++i) {
    if (!may_reach_behind(load.indices[i], ir::integer_value(load.buffer->shape[i]), ahead)) continue;
    return Reason{
        9,
        fmt::format("the place of {} is asked of {}[{}] ahead of the condition that keeps it inside of "
                    "{} elements",
                    copy.source->name, load.buffer->name, ir::print(load.indices[i]),
                    ir::print(load.buffer->shape[i])),
        "depth = 1, or loops cut by a number that divides their iterations", load.buffer->name};
  }
  return std::nullopt;
}

/// Precondition 9 of a loop whose body is now `staged`.
std::optional<Reason> needs_its_iteration(const ir::Program& program, const Stmt& staged,
                                          const ir::For& loop) {
  const ir::Ranges ranges = ranges_of_loops(program);
  std::set<const ir::Buffer*> made;
  ir::each<ir::Allocate>(staged,
                         [&](const ir::Allocate& allocation) { made.insert(allocation.buffer.get()); });
  for (const auto& [copy, conditions] : copies_at(staged)) {
    std::vector<Expr> needed = conditions;
    needed.insert(needed.end(), copy->source_begin.begin(), copy->source_begin.end());
    std::optional<Reason> refused;
    for (const Expr& expr : needed) {
      ir::each<ir::Load>(expr, [&](const ir::Load& load) {
        if (refused) return;
        if (!made.contains(load.buffer.get())) {
          if (conditions.empty()) refused = reads_behind(load, {loop, staged, ranges}, *copy);
          return;
        }
        refused = Reason{9,
                         fmt::format("the place of {} depends on {}, which each iteration of {} makes",
                                     copy->source->name, load.buffer->name, loop.name),
                         "depth = 1, or places known before the loop", load.buffer->name};
      });
    }
    if (refused) return refused;
  }
  return std::nullopt;
}

}  // namespace

StepResult with_copies(ir::Program program, const std::string& at, const ir::BufferRef& buffer,
                       const std::function<std::variant<Stmt, Reason>(const ir::For&)>& copied,
                       const std::function<Stmt(const Stmt&)>& around) {
  std::optional<Reason> refused;
  Stmt body = change_loops(program.body, at, [&](const ir::For& loop) {
    if (refused || !reads(loop.body, buffer)) return ir::for_loop(loop);
    auto changed = copied(loop);
    if (auto* reason = std::get_if<Reason>(&changed)) {
      refused = std::move(*reason);
      return ir::for_loop(loop);
    }
    refused = needs_its_iteration(program, std::get<Stmt>(changed), loop);
    const Stmt result = ir::for_loop(loop, std::get<Stmt>(std::move(changed)));
    return around ? around(result) : result;
  });
  if (refused) return *std::move(refused);
  program.body = std::move(body);
  return program;
}

}  // namespace weft::steps
