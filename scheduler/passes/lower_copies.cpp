#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/agreement.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/loads_ahead.h>
#include <weft/scheduler/passes/own_variables.h>
#include <weft/scheduler/passes/passes.h>
#include <weft/scheduler/passes/ring.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace weft::passes {
namespace {

/// Whether runs of that many elements that begin at multiples of it are aligned, wherever they begin in the
/// other dimensions: buffers begin at multiples of 16 bytes.
bool has_aligned_runs(const ir::Buffer& buffer, std::int64_t run) {
  const std::int64_t* step = ir::integer_value(buffer.strides.back());
  return step != nullptr && *step == 1 &&
         std::all_of(buffer.strides.begin(), buffer.strides.end() - 1,
                     [&](const Expr& stride) { return divides(run, stride); });
}

/// Copies of as many pass the first-level cache by; loads and stores of a tile are faster
/// (docs/measurements.md).
constexpr std::int64_t bytes_past_first_cache = 16;

/// A copy in runs of elements of the last dimension that are moved together.
struct Runs {
  std::int64_t length = 1;
  std::vector<Expr> extents;  ///< those of the copy, the last one in runs
  std::string element;        ///< the name of the loop over a run
  bool started = false;       ///< by asynchronous copies

  std::vector<Expr> place_of(std::vector<Expr> place) const {
    if (!place.empty()) place.back() = place.back() * length;
    return place;
  }
};

class CopyLowering {
 public:
  CopyLowering(const ir::Program& program, std::int64_t threads, bool starts_copies)
      : threads_(threads), starts_copies_(starts_copies) {
    for (const ir::Variable& extent : program.extents) ranges_[extent.name] = {1, {}};
  }

  Stmt operator()(const Stmt& stmt) {
    if (!stmt.defined()) return stmt;
    if (const auto* copy = stmt.as<ir::Copy>()) {
      if (copy->of_one_thread) return stmt;
      const std::string name = copy->destination->name + ".element" + std::to_string(count_++);
      if (!copy->coordinates.empty()) return lower_gather(*copy, threads_, ranges_, name);
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
  static constexpr std::int64_t most_loads = 16;  ///< loads of a thread, under way together in registers

  /// Whether the region cannot leave the source in this dimension.
  bool is_inside(const ir::Copy& copy, std::size_t dimension) const {
    const Expr& begin = copy.source_begin[dimension];
    const Expr end = begin + copy.extents[dimension];
    return ir::always(ir::integer(0) <= begin, ranges_) &&
           ir::always(end <= copy.source->shape[dimension], ranges_);
  }

  /// As many elements as 16 bytes hold where they are aligned in both buffers, and inside the source together
  /// or not at all.
  Runs runs_of(const ir::Copy& copy, const std::string& name) const {
    Runs runs{1, copy.extents, name + ".run", false};
    const std::int64_t size = ir::element_bytes(*copy.source);
    for (const std::int64_t bytes : {16, 8, 4}) {
      const std::int64_t length = bytes / size;
      if (length < 2 || copy.extents.empty() || !has_runs(copy, length)) continue;
      runs.length = length;
      runs.extents.back() = copy.extents.back() / length;
      break;
    }
    const std::int64_t bytes = runs.length * size;
    const bool by_itself = bytes < bytes_past_first_cache && goes_on_by_itself(copy, runs);
    runs.started = (copy.asynchronous || by_itself) && bytes >= least_asynchronous_bytes;
    return runs;
  }

  /// Whether the threads start all of the copy before they wait for any of it, though nothing runs ahead: a
  /// thread that loads more than a few elements has no registers to wait for all of them together.
  bool goes_on_by_itself(const ir::Copy& copy, const Runs& runs) const {
    const auto all = ir::product_of(runs.extents);
    return starts_copies_ && threads_ > 0 && (!all || runs.length * *all > most_loads * threads_) &&
           copy.source->scope == ir::Scope::global && copy.destination->scope == ir::Scope::shared;
  }

  bool has_runs(const ir::Copy& copy, std::int64_t length) const {
    const std::size_t last = copy.extents.size() - 1;
    const std::int64_t* extent = ir::integer_value(copy.extents[last]);
    if (extent == nullptr || *extent % length != 0) return false;
    if (!divides(length, copy.source_begin[last]) || !divides(length, copy.destination_begin.back()))
      return false;
    if (!is_inside(copy, last) && !divides(length, copy.source->shape[last])) return false;
    return has_aligned_runs(*copy.source, length) && has_aligned_runs(*copy.destination, length);
  }

  /// Where the place lies in a buffer; the number of one of several buffers stays.
  static std::vector<Expr> moved_by(const std::vector<Expr>& begin, const std::vector<Expr>& place) {
    std::vector<Expr> sums = begin;
    const std::size_t leading = begin.size() - place.size();
    for (std::size_t i = 0; i < place.size(); ++i) sums[leading + i] = sums[leading + i] + place[i];
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

  /// For each element of a run.
  template <class Element>
  static Stmt whole_run(const ir::Copy& copy, const Runs& runs, std::vector<Expr> place,
                        const Element& element) {
    if (runs.length == 1) return element(place);
    place.back() = place.back() + ir::variable(runs.element);
    return ir::for_loop({runs.element, ir::integer(0), ir::integer(runs.length), ir::LoopKind::vectorized,
                         copy.step, element(place)});
  }

  /// destination[… + place] = source[… + place]
  static Stmt run_at(const ir::Copy& copy, const Runs& runs, const std::vector<Expr>& place) {
    return whole_run(copy, runs, place, [&](const std::vector<Expr>& each) {
      return ir::store(copy.destination, moved_by(copy.destination_begin, each),
                       ir::load(copy.source, moved_by(copy.source_begin, each)));
    });
  }

  static Stmt zero_at(const ir::Copy& copy, const Runs& runs, const std::vector<Expr>& place) {
    return whole_run(copy, runs, place, [&](const std::vector<Expr>& each) {
      return ir::store(copy.destination, moved_by(copy.destination_begin, each),
                       ir::zero_of(copy.destination->dtype));
    });
  }

  /// destination[… + place] = source[… + place], or zero outside the source.
  Stmt move(const ir::Copy& copy, const Runs& runs, const std::vector<Expr>& place) const {
    const Expr inside = condition_inside(copy, place);
    if (runs.started) return start_at(copy, runs, place, unless_always(inside));
    return ir::if_then(inside, run_at(copy, runs, place), zero_at(copy, runs, place));
  }

  /// The same by a copy that goes on by itself; `inside` is undefined where the run always is.
  static Stmt start_at(const ir::Copy& copy, const Runs& runs, const std::vector<Expr>& place, Expr inside) {
    ir::Copy own = copy;
    own.asynchronous = true;
    own.destination_begin = moved_by(copy.destination_begin, place);
    own.source_begin = moved_by(copy.source_begin, place);
    own.extents.assign(copy.extents.size(), ir::integer(1));
    if (!own.extents.empty()) own.extents.back() = ir::integer(runs.length);
    own.inside = std::move(inside);
    return ir::copy(std::move(own));
  }

  /// The longest row of a copy that is written out as vectors; beyond, a loop over its elements.
  static constexpr std::int64_t longest_vector = 1024;

  /// Elements that lie apart where they go are stored one by one.
  Stmt by_one(const ir::Copy& copy, const std::string& name) const {
    const std::int64_t* step =
        copy.destination->strides.empty() ? nullptr : ir::integer_value(copy.destination->strides.back());
    const bool together = step != nullptr && *step == 1;
    std::vector<Expr> place;
    for (std::size_t i = 0; i < copy.extents.size(); ++i)
      place.push_back(ir::variable(name + "_" + std::to_string(i)));
    Stmt body = move(copy, Runs{1, copy.extents, {}, false}, place);
    for (std::size_t i = copy.extents.size(); i-- > 0;) {
      const std::int64_t* extent = ir::integer_value(copy.extents[i]);
      const bool vector =
          together && i + 1 == copy.extents.size() && extent != nullptr && *extent <= longest_vector;
      body = ir::for_loop({name + "_" + std::to_string(i), ir::integer(0), copy.extents[i],
                           vector ? ir::LoopKind::vectorized : ir::LoopKind::serial, copy.step, body});
    }
    return body;
  }

  /// A copy seen as slices, one for each place in the dimensions in front of `first`, of one plane each. A
  /// round is `at_once` slices, a thread each run of elements; or, where a plane has more runs than there are
  /// threads, a part of one.
  struct Planes {
    std::size_t first = 0;
    std::int64_t slices = 1, runs = 1, at_once = 1, parts = 1;
  };

  /// The planes that leave the fewest threads idle. The slices lie inside the source, all dimensions that may
  /// leave it belong to the plane: then a thread asks once for all rounds. Nothing where that does not pay.
  std::optional<Planes> planes_of(const ir::Copy& copy, const Runs& runs) const {
    constexpr double least_busy = 0.6;
    std::optional<Planes> best;
    double busiest = least_busy;
    const auto all = ir::product_of(runs.extents);
    if (!all || *all < 1) return std::nullopt;
    Planes planes;
    planes.runs = *all;
    for (std::size_t i = 0; i + 1 < copy.extents.size() && is_inside(copy, i); ++i) {
      const std::int64_t extent = *ir::integer_value(copy.extents[i]);
      planes.first = i + 1;
      planes.slices *= extent;
      planes.runs /= extent;
      planes.at_once = std::max<std::int64_t>(1, threads_ / planes.runs);
      planes.parts = ceil_divide(planes.runs, threads_);
      const double busy =
          static_cast<double>(planes.at_once * planes.runs) / static_cast<double>(planes.parts * threads_);
      if (planes.slices < 2 * planes.at_once || busy <= busiest) continue;
      best = planes;
      busiest = busy;
    }
    return best;
  }

  /// The places in dimensions `begin` to `end` that the number stands for; the last runs fastest.
  static void take_apart(const std::vector<Expr>& extents, Expr number, std::size_t begin, std::size_t end,
                         std::vector<Expr>& place) {
    const auto is_one = [](const Expr& extent) { return *ir::integer_value(extent) == 1; };
    for (std::size_t i = end; i-- > begin;) {
      const auto outermost = extents.begin() + static_cast<std::ptrdiff_t>(i);
      const bool last = std::all_of(extents.begin() + static_cast<std::ptrdiff_t>(begin), outermost, is_one);
      place[i] = is_one(*outermost) ? ir::integer(0) : last ? number : number % *outermost;
      number = number / *outermost;
    }
  }

  /// Each thread keeps its place in the plane and goes from slice to slice: rounds differ in one constant
  /// distance. Loads of several rounds are under way together.
  Stmt by_planes(const ir::Copy& copy, const Runs& runs, const Planes& planes,
                 const std::string& name) const {
    const Expr thread = thread_number();
    const Expr slice = thread / ir::integer(planes.runs);
    std::vector<Stmt> parts;
    for (std::int64_t part = 0; part < planes.parts; ++part) {
      const Expr element =
          planes.parts == 1 ? thread % ir::integer(planes.runs) : thread + ir::integer(part * threads_);
      const auto in_slice = [&](const Expr& number) {
        std::vector<Expr> place(copy.extents.size());
        take_apart(runs.extents, number, 0, planes.first, place);
        take_apart(runs.extents, element, planes.first, place.size(), place);
        return runs.place_of(std::move(place));
      };
      const Expr inside = condition_inside(copy, in_slice(ir::integer(0)));
      const auto each = [&](const auto& moved) { return all_slices(copy, planes, slice, name, moved); };
      const Stmt copied = each([&](const Expr& number) {
        const std::vector<Expr> place = in_slice(number);
        return runs.started ? start_at(copy, runs, place, Expr()) : run_at(copy, runs, place);
      });
      const Stmt cleared = each([&](const Expr& number) { return zero_at(copy, runs, in_slice(number)); });
      const std::int64_t left =
          planes.parts == 1 ? planes.at_once * planes.runs : planes.runs - part * threads_;
      const Expr takes_part = left < threads_ ? thread < left : ir::boolean(true);
      parts.push_back(ir::if_then(takes_part, ir::if_then(inside, copied, cleared)));
    }
    return ir::block(std::move(parts));
  }

  template <class Move>
  static Stmt all_slices(const ir::Copy& copy, const Planes& planes, const Expr& slice,
                         const std::string& name, const Move& moved) {
    constexpr std::int64_t written_out = most_loads;
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
    return ir::block({ir::for_loop({some, ir::integer(0), ir::integer(loops), ir::LoopKind::serial, copy.step,
                                    several(ir::variable(some) * written_out, written_out)}),
                      several(ir::integer(loops * written_out), rounds % written_out),
                      rest == 0 ? Stmt() : ir::if_then(slice < rest, round(ir::integer(rounds)))});
  }

  /// Where the runs of a round begin. Rounds of whole rows differ in a constant alone.
  std::vector<Expr> place_of(const Runs& runs, const Expr& round) const {
    if (runs.extents.empty()) return {};
    const Expr thread = thread_number();
    const Expr& row = runs.extents.back();
    const std::int64_t* of_row = ir::integer_value(row);
    const bool whole_rows =
        runs.extents.size() > 1 && of_row != nullptr && *of_row > 0 && threads_ % *of_row == 0;
    const Expr number = round * threads_ + thread;
    std::vector<Expr> place(runs.extents.size());
    place.back() = place.size() == 1 ? number : (whole_rows ? thread : number) % row;
    Expr rest = whole_rows ? round * ir::integer(threads_ / *of_row) + thread / row : number / row;
    for (std::size_t i = place.size() - 1; i-- > 0;) {
      place[i] = i == 0 ? rest : rest % runs.extents[i];
      rest = rest / runs.extents[i];
    }
    return runs.place_of(std::move(place));
  }

  /// Consecutive threads take consecutive runs.
  Stmt in_rounds(const ir::Copy& copy, const Runs& runs, const std::string& name) const {
    // A chunk of 16 rows, one row a round, needs no loop in straight code.
    constexpr std::int64_t most_written_out = 16;
    Expr total = ir::integer(1);
    for (const Expr& extent : runs.extents) total = total * extent;
    const Expr thread = thread_number();
    const Expr round = ir::variable(name + ".round");
    ir::For rounds{name + ".round",      ir::integer(0), ir::ceil_divide(total, ir::integer(threads_)),
                   ir::LoopKind::serial, copy.step,      move(copy, runs, place_of(runs, round))};
    const std::int64_t* count = ir::integer_value(total);
    if (count == nullptr) {
      rounds.body = ir::if_then(round * threads_ + thread < total, rounds.body);
      return ir::for_loop(std::move(rounds));
    }
    const std::int64_t full = *count / threads_;
    const std::int64_t left = *count % threads_;
    rounds.extent = ir::integer(full);
    if (full <= most_written_out) rounds.kind = ir::LoopKind::unrolled;
    const bool by_elements = runs.length == 1 && has_elements(*copy.source) && !runs.started &&
                             copy.source->scope == ir::Scope::global &&
                             copy.destination->scope == ir::Scope::shared;
    const Stmt last = move(copy, runs, place_of(runs, ir::integer(full)));
    return ir::block({full == 0     ? Stmt()
                      : by_elements ? loaded(copy, runs, full, name)
                                    : ir::for_loop(std::move(rounds)),
                      left == 0 ? Stmt() : ir::if_then(thread < left, last)});
  }

  Stmt loaded(const ir::Copy& copy, const Runs& runs, std::int64_t rounds, const std::string& name) const {
    const auto place = [&](const Expr& round) { return place_of(runs, round); };
    return loads_ahead(copy, rounds, name,
                       {[&](const Expr& round) {
                          std::vector<Expr> from = moved_by(copy.source_begin, place(round));
                          for (std::size_t i = 0; i < from.size(); ++i)
                            if (!is_inside(copy, i)) from[i] = moved_inside(*copy.source, i, from[i], {});
                          return from;
                        },
                        [&](const Expr& round) { return moved_by(copy.destination_begin, place(round)); },
                        [&](const Expr& round) { return condition_inside(copy, place(round)); }});
  }

  Stmt by_threads(const ir::Copy& copy, const std::string& name) const {
    const Runs runs = runs_of(copy, name);
    const auto planes = copy.asynchronous ? std::nullopt : planes_of(copy, runs);
    Stmt body = planes ? by_planes(copy, runs, *planes, name) : in_rounds(copy, runs, name);
    body = ir::let(thread_name, ir::call("thread", DType::i64, {}), body);
    if (copy.asynchronous) return body;
    if (runs.started) body = ir::block({body, ir::commit_copies(), ir::wait_for_copies(0)});
    // The first barrier keeps a tile that slower threads still read from being overwritten.
    return ir::block({ir::barrier(), body, ir::barrier()});
  }

  std::int64_t threads_;
  bool starts_copies_;
  int count_ = 0;
  ir::Ranges ranges_;
};

/// Drops all but one of barriers that follow one another.
Stmt without_doubled_barriers(const Stmt& stmt) {
  return ir::rewrite<ir::Sequence>(stmt, [](const ir::Sequence& block) {
    std::vector<Stmt> statements;
    for (const Stmt& child : block.statements) {
      const bool doubled = child.as<ir::Barrier>() != nullptr && !statements.empty() &&
                           statements.back().as<ir::Barrier>() != nullptr;
      if (!doubled) statements.push_back(child);
    }
    return ir::block(std::move(statements));
  });
}

/// Whether all threads of a block reach its barriers.
class UniformBarriers {
 public:
  void require(const Stmt& stmt, bool uniform) {
    const auto* loop = stmt.as<ir::For>();
    const auto* branch = stmt.as<ir::If>();
    const auto* let = stmt.as<ir::Let>();
    if (!uniform && branch != nullptr && is_last_arrival(branch->condition) &&
        !is_arrival_of_some(branch->condition))
      internal_check(false, "an arrival that only part of a block reaches");
    if (!uniform && stmt.as<ir::Barrier>() != nullptr)
      internal_check(false, "a barrier that only part of a block reaches");
    const bool differs = let != nullptr && !is_of_block(let->value);
    if (differs) of_thread_.insert(let->name);
    const bool together = uniform &&
                          (loop == nullptr || (is_of_block(loop->begin) && is_of_block(loop->extent))) &&
                          (branch == nullptr || is_of_block(branch->condition));
    each_child(stmt, [&](const Stmt& child) { require(child, together); });
    if (differs) of_thread_.erase(let->name);
  }

 private:
  /// Whether all threads agree on the value. Conditions around barriers read only what all threads read.
  bool is_of_block(const Expr& expr) const {
    return ir::agree(expr,
                     {.agree_on = [this](const std::string& name) { return of_thread_.count(name) == 0; },
                      .threads = 0,
                      .agree_on_reads = true});
  }

  std::set<std::string> of_thread_;  ///< variables that depend on the thread's number
};

}  // namespace

ir::Program lower_copies(ir::Program program, std::int64_t threads, bool starts_copies) {
  // Waiting for one tile would wait for those that run ahead too.
  const bool starts = starts_copies && !has_ring(program.body);
  program.body = without_doubled_barriers(CopyLowering(program, threads, starts)(program.body));
  return program;
}

void check_barriers(const ir::Program& program) {
  UniformBarriers().require(program.body, true);
}

}  // namespace weft::passes
