#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/children.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <optional>

namespace weft::passes {
namespace {

using ir::Expr;
using ir::Stmt;

Expr zero_of(DType dtype) {
  return is_float(dtype) ? ir::constant(dtype, 0) : ir::integer(0);
}

class CopyLowering {
 public:
  CopyLowering(const ir::Program& program, std::int64_t threads) : threads_(threads) {
    for (const ir::Variable& extent : program.extents) ranges_[extent.name] = {1, {}};
  }

  Stmt operator()(const Stmt& stmt) {
    if (!stmt.defined()) return stmt;
    if (const auto* copy = stmt.as<ir::Copy>()) {
      const std::string name = copy->destination->name + ".element" + std::to_string(count_++);
      return threads_ == 0 ? by_one(*copy, name) : by_threads(*copy, name);
    }
    const auto* loop = stmt.as<ir::For>();
    if (loop != nullptr) {
      const ir::Range end = ir::range_of(loop->begin + loop->extent - 1, ranges_);
      ranges_[loop->name] = {ir::range_of(loop->begin, ranges_).minimum, end.maximum};
    }
    Stmt changed = with_children(stmt, [&](const Stmt& child) { return (*this)(child); });
    if (loop != nullptr) ranges_.erase(loop->name);
    return changed;
  }

 private:
  /// Whether the region cannot leave the source in this dimension.
  bool is_inside(const ir::Copy& copy, std::size_t dimension) const {
    const Expr& begin = copy.source_begin[dimension];
    const Expr end = begin + copy.extents[dimension];
    return ir::always(ir::integer(0) <= begin, ranges_) &&
           ir::always(end <= copy.source->shape[dimension], ranges_);
  }

  static std::vector<Expr> moved_by(const std::vector<Expr>& begin, const std::vector<Expr>& place) {
    std::vector<Expr> sums;
    for (std::size_t i = 0; i < place.size(); ++i) sums.push_back(begin[i] + place[i]);
    return sums;
  }

  /// Whether the place lies inside the source.
  Expr condition_inside(const ir::Copy& copy, const std::vector<Expr>& place) const {
    const std::vector<Expr> from = moved_by(copy.source_begin, place);
    Expr inside = ir::boolean(true);
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (!is_inside(copy, i))
        inside = inside && ir::integer(0) <= from[i] && from[i] < copy.source->shape[i];
    }
    return inside;
  }

  /// destination[… + place] = source[… + place]
  static Stmt element_of(const ir::Copy& copy, const std::vector<Expr>& place) {
    return ir::store(copy.destination, moved_by(copy.destination_begin, place),
                     ir::load(copy.source, moved_by(copy.source_begin, place)));
  }

  static Stmt zero_at(const ir::Copy& copy, const std::vector<Expr>& place) {
    return ir::store(copy.destination, moved_by(copy.destination_begin, place),
                     zero_of(copy.destination->dtype));
  }

  /// destination[… + place] = source[… + place], or zero outside the source.
  Stmt move(const ir::Copy& copy, const std::vector<Expr>& place) const {
    return ir::if_then(condition_inside(copy, place), element_of(copy, place), zero_at(copy, place));
  }

  /// The longest row of a copy that is written out as vectors; beyond, a loop over its elements.
  static constexpr std::int64_t longest_vector = 1024;

  Stmt by_one(const ir::Copy& copy, const std::string& name) const {
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

  /// A copy seen as slices, one for each place in the dimensions in front of `first`, of one plane each. A
  /// round is `at_once` slices, a thread each element; or, where a plane has more elements than there are
  /// threads, a part of one.
  struct Planes {
    std::size_t first = 0;
    std::int64_t slices = 1, elements = 1, at_once = 1, parts = 1;
  };

  /// The planes that leave the fewest threads idle. The slices lie inside the source, all dimensions that may
  /// leave it belong to the plane: then a thread asks once for all rounds. Nothing where that does not pay.
  std::optional<Planes> planes_of(const ir::Copy& copy) const {
    constexpr double least_busy = 0.6;
    std::optional<Planes> best;
    double busiest = least_busy;
    Planes planes;
    planes.elements = 1;
    for (const Expr& extent : copy.extents) {
      const std::int64_t* elements = ir::integer_value(extent);
      if (elements == nullptr || *elements < 1) return std::nullopt;
      planes.elements *= *elements;
    }
    for (std::size_t i = 0; i + 1 < copy.extents.size() && is_inside(copy, i); ++i) {
      const std::int64_t extent = *ir::integer_value(copy.extents[i]);
      planes.first = i + 1;
      planes.slices *= extent;
      planes.elements /= extent;
      planes.at_once = std::max<std::int64_t>(1, threads_ / planes.elements);
      planes.parts = (planes.elements + threads_ - 1) / threads_;
      const double busy = static_cast<double>(planes.at_once * planes.elements) /
                          static_cast<double>(planes.parts * threads_);
      if (planes.slices < 2 * planes.at_once || busy <= busiest) continue;
      best = planes;
      busiest = busy;
    }
    return best;
  }

  /// The places in dimensions `begin` to `end` that the number stands for; the last runs fastest.
  static void take_apart(const ir::Copy& copy, Expr number, std::size_t begin, std::size_t end,
                         std::vector<Expr>& place) {
    const auto is_one = [](const Expr& extent) { return *ir::integer_value(extent) == 1; };
    for (std::size_t i = end; i-- > begin;) {
      const auto outermost = copy.extents.begin() + static_cast<std::ptrdiff_t>(i);
      const bool last =
          std::all_of(copy.extents.begin() + static_cast<std::ptrdiff_t>(begin), outermost, is_one);
      place[i] = is_one(*outermost) ? ir::integer(0) : last ? number : number % *outermost;
      number = number / *outermost;
    }
  }

  /// Each thread keeps its place in the plane and goes from slice to slice: rounds differ in one constant
  /// distance. Loads of several rounds are under way together.
  Stmt by_planes(const ir::Copy& copy, const Planes& planes, const std::string& name) const {
    const Expr thread = ir::variable("thread_index");
    const Expr slice = thread / ir::integer(planes.elements);
    std::vector<Stmt> parts;
    for (std::int64_t part = 0; part < planes.parts; ++part) {
      const Expr element =
          planes.parts == 1 ? thread % ir::integer(planes.elements) : thread + ir::integer(part * threads_);
      const auto in_slice = [&](const Expr& number) {
        std::vector<Expr> place(copy.extents.size());
        take_apart(copy, number, 0, planes.first, place);
        take_apart(copy, element, planes.first, place.size(), place);
        return place;
      };
      const Expr inside = condition_inside(copy, in_slice(ir::integer(0)));
      const auto each = [&](const auto& moved) { return all_slices(copy, planes, slice, name, moved); };
      const Stmt copied = each([&](const Expr& number) { return element_of(copy, in_slice(number)); });
      const Stmt cleared = each([&](const Expr& number) { return zero_at(copy, in_slice(number)); });
      const Expr takes_part = planes.parts == 1 ? thread < ir::integer(planes.at_once * planes.elements)
                                                : element < ir::integer(planes.elements);
      parts.push_back(ir::if_then(takes_part, ir::if_then(inside, copied, cleared)));
    }
    return ir::block(std::move(parts));
  }

  template <class Move>
  static Stmt all_slices(const ir::Copy& copy, const Planes& planes, const Expr& slice,
                         const std::string& name, const Move& moved) {
    constexpr std::int64_t written_out = 16;
    const std::int64_t rounds = planes.slices / planes.at_once;
    const std::int64_t loops = rounds / written_out;
    const std::int64_t rest = planes.slices % planes.at_once;
    const Expr at_once = ir::integer(planes.at_once);
    const auto round = [&](const Expr& number) {
      return moved(planes.at_once == 1 ? number : number * at_once + slice);
    };
    const auto several = [&](const Expr& first, std::int64_t count) {
      const std::string one = name + ".round";
      return ir::for_loop({one, ir::integer(0), ir::integer(count), ir::LoopKind::unrolled, copy.step,
                           round(first + ir::variable(one))});
    };
    const std::string some = name + ".rounds";
    return ir::block(
        {ir::for_loop({some, ir::integer(0), ir::integer(loops), ir::LoopKind::serial, copy.step,
                       several(ir::variable(some) * ir::integer(written_out), written_out)}),
         several(ir::integer(loops * written_out), rounds % written_out),
         rest == 0 ? Stmt() : ir::if_then(slice < ir::integer(rest), round(ir::integer(rounds)))});
  }

  /// Consecutive threads take consecutive elements.
  Stmt by_threads(const ir::Copy& copy, const std::string& name) const {
    if (const auto planes = planes_of(copy)) return among_barriers(by_planes(copy, *planes, name));
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
    return among_barriers(body);
  }

  /// The first barrier keeps a tile that slower threads still read from being overwritten.
  static Stmt among_barriers(const Stmt& body) {
    return ir::block(
        {ir::barrier(), ir::let("thread_index", ir::call("thread", DType::i64, {}), body), ir::barrier()});
  }

  std::int64_t threads_;
  int count_ = 0;
  ir::Ranges ranges_;
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
  program.body = without_doubled_barriers(CopyLowering(program, threads)(program.body));
  return program;
}

void check_barriers(const ir::Program& program) {
  require_uniform(without_lets(program.body), true);
}

}  // namespace weft::passes
