// reorder_writeback: results leave through shared memory, whole lines of a row at a time.
#include <fmt/format.h>
#include <weft/scheduler/hardware/fragments.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/other_steps.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace weft::steps {
namespace {

constexpr std::int64_t lanes_of_warp = 32, run = 8;
/// Where a warp has a run of each of its rows.
constexpr Layout sums = layout_of_sums(run);
constexpr std::int64_t rows_of_warp = sums.size().row;
/// Elements between the rows of a warp's tile, beyond their columns: rows then begin in different banks.
constexpr std::int64_t gap = 8;

const ir::Store* last_store(const Stmt& stmt) {
  if (const auto* let = stmt.as<ir::Let>()) return last_store(let->body);
  return stmt.as<ir::Store>();
}

/// The same statement around another store.
Stmt with_store(const Stmt& stmt, const std::function<Stmt(const ir::Store&)>& change) {
  if (const auto* let = stmt.as<ir::Let>())
    return ir::let(let->name, let->value, with_store(let->body, change));
  return change(*stmt.as<ir::Store>());
}

/// A nest that stores fragments of a warp.
struct Nest {
  ir::Chain chain;
  std::string rows, columns;  ///< the loops that tensorize has split
  std::vector<ir::For> warps;
  std::vector<ir::For> around;  ///< warps, and loops over several tiles of one
  const ir::Store* store = nullptr;

  FragmentLoops loops() const { return {rows, columns}; }
  /// How many iterations the loop has that it counts.
  std::int64_t extent(const Expr& variable) const {
    const auto found = std::ranges::find(chain.loops, name_of(variable), &ir::For::name);
    return found == chain.loops.end() ? 1 : *ir::integer_value(found->extent);
  }
  static const std::string& name_of(const Expr& variable) { return variable.as<ir::Variable>()->name; }
};

std::optional<Nest> nest_of(const Stmt& stmt, const std::string& tensor) {
  Nest nest;
  nest.chain = chain_of(stmt);
  nest.store = nest.chain.core.defined() ? last_store(nest.chain.core) : nullptr;
  if (nest.store == nullptr || nest.store->buffer->name != tensor) return std::nullopt;
  const auto tile = Fragments::tile_of(nest.chain.loops);
  if (!tile) return std::nullopt;
  std::tie(nest.rows, nest.columns) = *tile;
  std::ranges::copy_if(nest.chain.loops, std::back_inserter(nest.warps),
                       [](const ir::For& loop) { return loop.kind == LoopKind::warp; });
  std::ranges::copy_if(nest.chain.loops, std::back_inserter(nest.around), [](const ir::For& loop) {
    return loop.kind == LoopKind::warp || (loop.kind == LoopKind::serial && loop.tile.empty());
  });
  return nest;
}

class Writeback {
 public:
  /// Lines of up to so many columns.
  Writeback(const Nest& nest, int step, std::int64_t columns) : nest_(nest), at_(nest.loops()), step_(step) {
    eights_ = nest.extent(at_.eight);
    const std::int64_t all = nest.extent(at_.column_tile) * eights_;
    // A power of two, by which lanes can be shared out to rows.
    runs_ = columns / run;
    while (all % runs_ != 0) runs_ /= 2;
    parts_ = all / runs_;
    beside_ = neighbours();
    std::vector<Expr> shape;
    for (const ir::For& warp : nest.warps) {
      shape.push_back(warp.extent);
      warp_.push_back(ir::variable(warp.name));
    }
    if (beside_ == Neighbours::runs_of_rows) {
      shape.insert(shape.end(), {runs_ * run, rows_of_warp});
    } else {
      shape.insert(shape.end(), {rows_of_warp, runs_ * run + gap});
    }
    tile_ = ir::make_buffer(nest.store->buffer->name + ".lines", nest.store->buffer->dtype, ir::Scope::shared,
                            ir::Access::read_write, std::move(shape));
  }

  Stmt operator()() const {
    Stmt body = ir::allocate(tile_, ir::block({to_lines(), from_lines()}));
    body = loop(part_, parts_, LoopKind::unrolled, body);
    body = ir::for_range(at_.row_tile, nest_.extent(at_.row_tile), LoopKind::unrolled, step_, body,
                         ir::LoopRole::rows);
    return ir::for_loops(nest_.around, body);
  }

 private:
  Stmt loop(const Expr& variable, std::int64_t extent, LoopKind kind, const Stmt& body,
            ir::LoopRole role = ir::LoopRole::output) const {
    return ir::for_range(variable, extent, kind, step_, body, role, nest_.columns);
  }
  Expr variable(const char* name) const { return ir::variable(nest_.columns + name); }

  /// The column tile and the eight of that number, of all that a warp has.
  ir::Substitution eight_at(const Expr& number) const {
    const bool one_tile = nest_.extent(at_.column_tile) == 1;
    const Expr tile = one_tile ? 0 : eights_ == 1 ? number : number / eights_;
    const Expr eight = one_tile ? number : eights_ == 1 ? 0 : number % eights_;
    return {{Nest::name_of(at_.column_tile), tile}, {Nest::name_of(at_.eight), eight}};
  }

  Expr run_number(const Expr& inside) const { return part_ * runs_ + inside; }

  /// Where lines have an element of the row `eight` * 8 + `row`.
  std::vector<Expr> place(const Expr& eight, const Expr& row, const Expr& column) const {
    std::vector<Expr> indices = warp_;
    if (beside_ == Neighbours::runs_of_rows) {
      // The two eights of a column change places every four columns, so that no two lanes of a store meet in
      // a bank.
      indices.push_back(column);
      indices.push_back((eight + column / 4) % 2 * run + row);
    } else {
      indices.push_back(eight * run + row);
      indices.push_back(column);
    }
    return indices;
  }

  Stmt guarded(const ir::Substitution& names, const Stmt& body) const {
    std::vector<Expr> conditions = nest_.chain.conditions;
    for (Expr& condition : conditions) condition = ir::substitute(condition, names);
    return ir::if_all(conditions, body);
  }

  /// Each lane stores its fragments.
  Stmt to_lines() const {
    const Expr number = variable(".run"),
               column = number * run + at_.column_lane * sums.lane[0].columns + at_.pair;
    const ir::Substitution names = eight_at(run_number(number));
    Stmt body = with_store(nest_.chain.core, [&](const ir::Store& store) {
      return ir::store(tile_, place(at_.half, at_.row_lane, column), store.value);
    });
    body = guarded(names, ir::substitute(body, names));
    const bool beside = beside_ != Neighbours::runs_of_rows;
    body = loop(at_.pair, sums.element[0].extent, beside ? LoopKind::vectorized : LoopKind::unrolled, body,
                ir::LoopRole::fragment_columns);
    body = loop(number, runs_, LoopKind::unrolled, body);
    body = loop(at_.column_lane, sums.lane[0].extent, LoopKind::lane, body);
    body = ir::for_range(at_.half, sums.element[1].extent, LoopKind::unrolled, step_, body,
                         ir::LoopRole::fragment_rows, nest_.rows);
    return ir::for_range(at_.row_lane, sums.lane[1].extent, LoopKind::lane, step_, body, ir::LoopRole::rows);
  }

  /// What lies beside one another in the output: runs of a row's columns, or, where these do not lie there in
  /// runs, pixels of an image whose lines are no runs, rows that a format names, or runs of rows.
  enum class Neighbours : std::uint8_t { runs, columns, rows, runs_of_rows };
  Neighbours neighbours() const {
    const Expr& last = nest_.store->indices.back();
    if (!ir::uses(last, Nest::name_of(at_.pair))) {
      const bool named = ir::any<ir::Load>(last);
      const std::int64_t* rows = ir::integer_value(nest_.store->buffer->shape.back());
      return !named && rows != nullptr && *rows % run == 0 ? Neighbours::runs_of_rows : Neighbours::rows;
    }
    if (nest_.store->indices.size() <= 2) return Neighbours::runs;
    const auto* rest = ir::as_binary(last, ir::BinaryOperator::remainder);
    const std::int64_t* line = rest == nullptr ? nullptr : ir::integer_value(rest->right);
    return line == nullptr || *line % run == 0 ? Neighbours::runs : Neighbours::columns;
  }

  Stmt from_lines() const {
    if (beside_ == Neighbours::runs_of_rows) return runs_of_rows_from_lines();
    return beside_ == Neighbours::runs ? runs_from_lines() : elements_from_lines(beside_ == Neighbours::rows);
  }

  /// Neighbouring lanes write neighbouring runs of a row.
  Stmt runs_from_lines() const {
    const std::int64_t lanes = std::min(lanes_of_warp, rows_of_warp * runs_);
    const std::int64_t rows_at_once = lanes / runs_;
    const Expr lane = variable(".line_lane"), element = variable(".element"), line = variable(".line");
    const Expr row = line * rows_at_once + lane / runs_, inside = lane % runs_;
    Stmt body = loop(element, run, LoopKind::vectorized, stored(0, row, inside, element));
    body = loop(line, rows_of_warp / rows_at_once, LoopKind::unrolled, body);
    return loop(lane, lanes, LoopKind::lane, body);
  }

  /// Two neighbouring lanes write the sixteen rows of a column.
  Stmt runs_of_rows_from_lines() const {
    const std::int64_t columns = runs_ * run, lanes = std::min(lanes_of_warp, 2 * columns);
    const Expr lane = variable(".line_lane"), element = variable(".element"), line = variable(".line");
    const Expr column = line * (lanes / 2) + lane / 2;
    Stmt body =
        loop(element, run, LoopKind::vectorized, stored(lane % 2, element, column / run, column % run));
    body = loop(line, 2 * columns / lanes, LoopKind::unrolled, body);
    return loop(lane, lanes, LoopKind::lane, body);
  }

  /// Neighbouring lanes write neighbouring elements: a vector of a row would be stored one by one, each
  /// element by all lanes to as many sectors.
  Stmt elements_from_lines(bool of_rows) const {
    const std::int64_t columns = runs_ * run;
    const std::int64_t beside = of_rows ? rows_of_warp : std::min(lanes_of_warp, columns);
    const std::int64_t others = lanes_of_warp / beside, all = rows_of_warp * columns;
    const Expr lane = variable(".line_lane"), line = variable(".line");
    const Expr number = line * others + lane / beside, own = lane % beside;
    const std::int64_t parts = of_rows ? 1 : columns / beside;
    const Expr row = of_rows ? own : number / parts;
    const Expr column = of_rows ? number : number % parts * beside + own;
    Stmt body = stored(0, row, column / run, column % run);
    body = loop(line, all / lanes_of_warp, LoopKind::unrolled, body);
    return loop(lane, lanes_of_warp, LoopKind::lane, body);
  }

  /// The element of the run of the row `eight` * 8 + `row` goes to the output.
  Stmt stored(const Expr& eight, const Expr& row, const Expr& inside, const Expr& element) const {
    ir::Substitution names = eight_at(run_number(inside));
    names[Nest::name_of(at_.half)] = eight;
    names[Nest::name_of(at_.row_lane)] = row;
    names[Nest::name_of(at_.column_lane)] = 0;
    names[Nest::name_of(at_.pair)] = element;
    std::vector<Expr> indices;
    for (const Expr& index : nest_.store->indices) indices.push_back(ir::substitute(index, names));
    return guarded(names, ir::store(nest_.store->buffer, indices,
                                    ir::load(tile_, place(eight, row, inside * run + element))));
  }

  const Nest& nest_;
  FragmentLoops at_;
  int step_;
  Expr part_ = variable(".part");  ///< counts the parts of a row
  std::int64_t eights_ = 1;
  std::int64_t runs_ = 1;   ///< runs of eight elements of a row that are written at once
  std::int64_t parts_ = 1;  ///< parts of a row of the warp
  Neighbours beside_ = Neighbours::runs;
  std::vector<Expr> warp_;
  ir::BufferRef tile_;
};

StepResult apply_reorder_writeback(const ir::Program& program, const StepArguments& arguments,
                                   const StepContext& context) {
  const std::string tensor = arguments.text("tensor");
  const std::int64_t columns = arguments.number("columns");
  if ((columns & (columns - 1)) != 0)
    return Reason{4, fmt::format("columns = {}", columns), "columns = 8, 16, 32, 64, 128 or 256", {}};
  const Operand& output = context.algorithm.operands[context.algorithm.output.operand];
  if (output.name != tensor)
    return Reason{1,
                  fmt::format("{} is not what the program stores", tensor),
                  fmt::format("the output: {}", written("reorder_writeback", {output.name})),
                  {}};
  int found = 0;
  std::optional<Reason> refused;
  const std::function<Stmt(const Stmt&)> change = [&](const Stmt& s) -> Stmt {
    if (refused) return s;
    if (s.as<ir::For>() != nullptr) {
      if (const auto nest = nest_of(s, tensor)) {
        ++found;
        if (size_of(nest->store->buffer->dtype) > 2 || nest->store->accumulate)
          refused = Reason{3, fmt::format("{} holds {}", tensor, name_of(nest->store->buffer->dtype)),
                           "f16, bf16, e4m3, e5m2 or i8, stored once", tensor};
        return refused ? s : Writeback(*nest, context.step, columns)();
      }
    }
    return with_children(s, change);
  };
  ir::Program result = program;
  result.body = change(program.body);
  if (refused) return *refused;
  const Step fragments{"tensorize", {{{}, "mma_m16n8k16"}}, {}, {}};
  if (found != 1)
    return Reason{2, fmt::format("{} nests store fragments to {}", found, tensor),
                  fmt::format("one: {} first, or another instruction of tensor cores{}", fragments.cpp(),
                              asked_before(program, fragments, context)),
                  tensor};
  return result;
}

constexpr Parameter columns = [] {
  Parameter result =
      optional_number("columns", "64", "columns of a line in shared memory, a power of two", 4, 256, 64);
  result.least = run;
  return result;
}();
constexpr Parameter parameters[]{tensor_parameter("\"C\"", "the output"), columns};
constexpr Precondition preconditions[]{{1, "the tensor is the output"},
                                       {2, "it is stored from fragments: tensorize first"},
                                       {3, "in one place, elements of one byte or two"},
                                       {4, "there are 8, 16, 32, 64, 128 or 256 columns"}};

}  // namespace

constinit const StepKind reorder_writeback{
    .name = "reorder_writeback",
    .sentence = "Results leave through shared memory, in whole lines, to the rows that the format names.",
    .more =
        "What warps have in fragments of a tensor instruction goes to lines of so many columns in shared "
        "memory first, 16 rows of a warp, and from there to the output in runs of eight elements, each row "
        "to the place that the format's row order names. Of an output [n, m], whose rows lie beside one "
        "another, runs are of rows where the format keeps their order. A warp waits for itself alone. After "
        "Shfl-BW (Huang et al.), section IV, \"reordered write-back\".",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_reorder_writeback};

}  // namespace weft::steps
