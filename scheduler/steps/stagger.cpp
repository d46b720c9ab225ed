// stagger: neighbouring iterations of a loop go through another loop in different orders.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/annotate.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace weft::steps {
namespace {

/// A dimension of an array in registers.
using Dimension = std::pair<ir::BufferRef, std::size_t>;

class Stagger {
 public:
  Stagger(const std::string& name, const std::string& by, std::int64_t extent)
      : plain_(ir::variable(name)), turned_((plain_ + ir::variable(by)) % extent) {}

  /// The arrays that are indexed by the loop, or the access that is neither by it alone nor without it.
  std::optional<Reason> collect(const Stmt& body) {
    std::optional<Reason> refused;
    ir::each_access(body, [&](const ir::BufferRef& buffer, const std::vector<Expr>& indices) {
      if (buffer->scope != ir::Scope::registers) return;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        if (!ir::uses(indices[i], name())) continue;
        if (ir::same(indices[i], plain_)) {
          if (!has({buffer, i})) dimensions_.emplace_back(buffer, i);
        } else {
          refused = Reason{5, fmt::format("{}[…, {}, …]", buffer->name, ir::print(indices[i])),
                           name() + " alone, as an index of an array in registers", name()};
        }
      }
    });
    return refused;
  }

  /// Whether every access, in the whole program, of the arrays found is by the loop.
  std::optional<Reason> check(const Stmt& program) const {
    std::optional<Reason> refused;
    ir::each_access(program, [&](const ir::BufferRef& buffer, const std::vector<Expr>& indices) {
      for (std::size_t i = 0; i < indices.size(); ++i) {
        if (has({buffer, i}) && !ir::same(indices[i], plain_))
          refused = Reason{5, fmt::format("{}[…, {}, …]", buffer->name, ir::print(indices[i])),
                           fmt::format("an array that is indexed by {} everywhere", name()), name()};
      }
    });
    return refused;
  }

  /// body[x := (x + y) % extent], but elements of arrays in registers keep the number under which they were
  /// first written.
  Stmt operator()(const Stmt& body) const {
    ir::Rewriter rewriter;
    rewriter.on_expr = [&](const Expr& e) {
      if (ir::same(e, plain_)) return turned_;
      const auto* load = e.as<ir::Load>();
      return load == nullptr || load->buffer->scope != ir::Scope::registers
                 ? e
                 : ir::load(load->buffer, kept(load->buffer, load->indices));
    };
    rewriter.on_stmt = [&](const Stmt& s) {
      const auto* store = s.as<ir::Store>();
      if (store == nullptr) return s;
      return ir::store(store->buffer, kept(store->buffer, store->indices), store->value, store->accumulate);
    };
    return rewriter(body);
  }

 private:
  const std::string& name() const { return plain_.as<ir::Variable>()->name; }
  bool has(const Dimension& dimension) const {
    return std::ranges::find(dimensions_, dimension) != dimensions_.end();
  }

  std::vector<Expr> kept(const ir::BufferRef& buffer, std::vector<Expr> indices) const {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (has({buffer, i})) indices[i] = plain_;
    }
    return indices;
  }

  Expr plain_, turned_;
  std::vector<Dimension> dimensions_;
};

/// Precondition 5: each iteration of `by` has arrays of its own.
std::optional<Reason> require_arrays_inside(const ir::Program& program, const std::string& name,
                                            const std::string& by) {
  std::optional<Reason> refused;
  ir::each<ir::Allocate>(program.body, [&](const ir::Allocate& allocation) {
    if (allocation.buffer->scope == ir::Scope::registers && find_loop(allocation.body, by) != nullptr &&
        find_loop(allocation.body, name) != nullptr)
      refused = Reason{5, fmt::format("{} is made around {}", allocation.buffer->name, by),
                       fmt::format("registers that are made inside {}", by), by};
  });
  return refused;
}

std::optional<Reason> check_loops(const ir::Program& program, const std::string& name,
                                  const std::string& by) {
  for (const std::string& each : {name, by}) {
    if (auto missing = require_loop(program, each)) return missing;
  }
  for (const ir::For* loop : find_loops(program.body, name)) {
    const auto known = ir::constant_iterations(*loop);
    const bool fits = known && known->begin == 0 && known->extent > 0 &&
                      std::has_single_bit(static_cast<std::uint64_t>(known->extent));
    const bool serial = loop->kind == LoopKind::serial || loop->kind == LoopKind::unrolled;
    if (!fits || !serial)
      return Reason{
          2, fmt::format("{} is {}, over {}", name, name_of(loop->kind), ir::print(loop->extent)),
          fmt::format("a loop that is serial or unrolled, with a power of two of iterations, as {} gives "
                      "{}.inner",
                      split_text(name, 8), name),
          name};
  }
  std::size_t inside = 0;
  for (const ir::For* loop : find_loops(program.body, by)) inside += find_loops(loop->body, name).size();
  if (inside != find_loops(program.body, name).size())
    return Reason{3, fmt::format("{} stands outside of {}", name, by),
                  fmt::format("{} inside {}, wherever it stands", name, by), name};
  return std::nullopt;
}

StepResult apply_stagger(const ir::Program& program, const StepArguments& arguments,
                         const StepContext& context) {
  const std::string name = arguments.text("loop"), by = arguments.text("by");
  if (auto refused = check_loops(program, name, by)) return *refused;
  if (auto refused = require_independent(program, name)) return *refused;
  if (auto refused = require_no_copy(program, name)) return *refused;
  if (auto refused = require_arrays_inside(program, name, by)) return *refused;
  const std::vector<const ir::For*> loops = find_loops(program.body, name);
  Stagger stagger(name, by, *ir::integer_value(loops.front()->extent));
  for (const ir::For* loop : loops) {
    if (auto refused = stagger.collect(loop->body)) return *refused;
  }
  if (auto refused = stagger.check(program.body)) return *refused;
  ir::Program result = program;
  result.body = change_loops(result.body, name, [&](const ir::For& loop) {
    ir::For changed = loop;
    changed.step = context.step;
    return ir::for_loop(std::move(changed), stagger(loop.body));
  });
  return result;
}

constexpr Parameter parameters[]{loop_parameter("loop", "n.inner.outer", "the loop x whose order changes"),
                                 loop_parameter("by", "\"m.row\"", "the loop y around it")};
constexpr Precondition preconditions[]{
    loops_exist,
    {2, "x is serial or unrolled, with a power of two of iterations from 0"},
    {3, "x stands inside y, wherever it stands"},
    {4, "its iterations add to different sums"},
    {5, "arrays in registers that x is an index of are made inside y, and x alone is their index everywhere"},
    {10, "no copy into shared memory is made inside x, and no groups meet there"}};

}  // namespace

constinit const StepKind stagger{
    .name = "stagger",
    .sentence =
        "Iteration y of one loop goes through those of another, x, in the order y, y + 1, …, modulo their "
        "number.",
    .more =
        "Lanes that read shared memory for two rows at a time then read different halves of a line, and no "
        "bank twice.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_stagger};

}  // namespace weft::steps
