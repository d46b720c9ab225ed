#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

namespace weft::passes {
namespace {

using ir::Expr;
using ir::Stmt;

Expr zero_of(DType dtype) {
  return is_float(dtype) ? ir::constant(dtype, 0) : ir::integer(0);
}

class CopyLowering {
 public:
  explicit CopyLowering(std::int64_t threads) : threads_(threads) {}

  Stmt operator()(const ir::Copy& copy) {
    const std::string name = copy.destination->name + ".element" + std::to_string(count_++);
    return threads_ == 0 ? by_one(copy, name) : by_threads(copy, name);
  }

 private:
  /// Whether the region cannot leave the source in this dimension.
  static bool is_inside(const ir::Copy& copy, std::size_t dimension) {
    const std::int64_t* begin = ir::integer_value(copy.source_begin[dimension]);
    if (begin == nullptr || *begin < 0) return false;
    const Expr end = copy.source_begin[dimension] + copy.extents[dimension];
    return ir::always(end <= copy.source->shape[dimension], {});
  }

  /// destination[… + place] = source[… + place], or zero outside the source.
  static Stmt move(const ir::Copy& copy, const std::vector<Expr>& place) {
    std::vector<Expr> to;
    std::vector<Expr> from;
    Expr inside = ir::boolean(true);
    for (std::size_t i = 0; i < place.size(); ++i) {
      to.push_back(copy.destination_begin[i] + place[i]);
      from.push_back(copy.source_begin[i] + place[i]);
      if (!is_inside(copy, i))
        inside = inside && ir::integer(0) <= from[i] && from[i] < copy.source->shape[i];
    }
    const Stmt zero = ir::store(copy.destination, to, zero_of(copy.destination->dtype));
    return ir::if_then(inside, ir::store(copy.destination, to, ir::load(copy.source, from)), zero);
  }

  /// The longest row of a copy that is written out as vectors; beyond, a loop over its elements.
  static constexpr std::int64_t longest_vector = 1024;

  static Stmt by_one(const ir::Copy& copy, const std::string& name) {
    std::vector<Expr> place;
    for (std::size_t i = 0; i < copy.extents.size(); ++i)
      place.push_back(ir::variable(name + "_" + std::to_string(i)));
    Stmt body = move(copy, place);
    for (std::size_t i = copy.extents.size(); i-- > 0;) {
      const std::int64_t* extent = ir::integer_value(copy.extents[i]);
      const bool vector = i + 1 == copy.extents.size() && extent != nullptr && *extent <= longest_vector;
      body = ir::for_loop({name + "_" + std::to_string(i), ir::integer(0), copy.extents[i],
                           vector ? ir::LoopKind::vectorized : ir::LoopKind::serial, copy.step, body});
    }
    return body;
  }

  /// Consecutive threads take consecutive elements.
  Stmt by_threads(const ir::Copy& copy, const std::string& name) const {
    Expr total = ir::integer(1);
    for (const Expr& extent : copy.extents) total = total * extent;
    const Expr element = ir::variable(name);
    std::vector<Expr> place(copy.extents.size());
    Expr rest = element;
    for (std::size_t i = copy.extents.size(); i-- > 0;) {
      place[i] = i == 0 ? rest : rest % copy.extents[i];
      rest = rest / copy.extents[i];
    }
    const Expr number = ir::variable(name + ".round") * ir::integer(threads_) + ir::variable("thread_index");
    const std::int64_t* count = ir::integer_value(total);
    const bool even = count != nullptr && *count % threads_ == 0;
    const Stmt moved = even ? move(copy, place) : ir::if_then(element < total, move(copy, place));
    Stmt body = ir::let(name, number, moved);
    body = ir::for_loop({name + ".round", ir::integer(0), ir::ceil_divide(total, ir::integer(threads_)),
                         ir::LoopKind::serial, copy.step, body});
    body = ir::let("thread_index", ir::call("thread", DType::i64, {}), body);
    // The first barrier keeps a tile that slower threads still read from being overwritten.
    return ir::block({ir::barrier(), body, ir::barrier()});
  }

  std::int64_t threads_;
  int count_ = 0;
};

/// Of barriers that follow one another only one is needed.
Stmt without_doubled_barriers(const Stmt& stmt) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [](const Stmt& s) {
    const auto* block = s.as<ir::Block>();
    if (block == nullptr) return s;
    std::vector<Stmt> statements;
    for (const Stmt& child : block->statements) {
      const bool doubled = child.as<ir::Barrier>() != nullptr && !statements.empty() &&
                           statements.back().as<ir::Barrier>() != nullptr;
      if (!doubled) statements.push_back(child);
    }
    return ir::block(std::move(statements));
  };
  return rewriter(stmt);
}

void require_uniform(const Stmt& stmt, bool uniform) {
  const auto inner = [&](const Stmt& child, bool still) {
    if (child.defined()) require_uniform(child, still);
  };
  const auto depends_on_thread = [](const Expr& expr) { return ir::uses(expr, "thread_index"); };
  if (const auto* s = stmt.as<ir::For>()) {
    inner(s->body, uniform && !depends_on_thread(s->begin) && !depends_on_thread(s->extent));
  } else if (const auto* condition = stmt.as<ir::If>()) {
    inner(condition->then, uniform && !depends_on_thread(condition->condition));
    inner(condition->otherwise, uniform && !depends_on_thread(condition->condition));
  } else if (const auto* block = stmt.as<ir::Block>()) {
    for (const Stmt& child : block->statements) inner(child, uniform);
  } else if (const auto* allocation = stmt.as<ir::Allocate>()) {
    inner(allocation->body, uniform);
  } else if (const auto* let = stmt.as<ir::Let>()) {
    inner(let->body, uniform);
  } else {
    internal_check(uniform || stmt.as<ir::Barrier>() == nullptr,
                   "a barrier that only part of a block reaches");
  }
}

/// Lets written out, so that what depends on the thread's number says so.
Stmt without_lets(const Stmt& stmt) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [](const Stmt& s) {
    const auto* let = s.as<ir::Let>();
    if (let == nullptr) return s;
    const auto* call = let->value.as<ir::Call>();
    const bool thread = call != nullptr && call->instruction == "thread";
    return ir::substitute(let->body, {{let->name, thread ? ir::variable("thread_index") : let->value}});
  };
  return rewriter(stmt);
}

}  // namespace

ir::Program lower_copies(ir::Program program, std::int64_t threads) {
  CopyLowering lowering(threads);
  ir::Rewriter rewriter;
  rewriter.on_stmt = [&](const Stmt& s) {
    const auto* copy = s.as<ir::Copy>();
    return copy == nullptr ? s : lowering(*copy);
  };
  program.body = without_doubled_barriers(rewriter(program.body));
  return program;
}

void check_barriers(const ir::Program& program) {
  require_uniform(without_lets(program.body), true);
}

}  // namespace weft::passes
