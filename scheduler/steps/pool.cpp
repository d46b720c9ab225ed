// pool: the groups of places of a block's rows, dealt to workers without regard to rows.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/known_weights.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/register_sum.h>

#include <algorithm>
#include <optional>

namespace weft::steps {
namespace {

constexpr std::int64_t few_turns = 2;  ///< turns of workers whose rows are known before the sums are there
constexpr std::int64_t most_workers = 32;

/// The first stored row of each block, and one more; rows without groups belong to the block that begins.
std::vector<std::int32_t> first_rows(const SparseTensor& weights, std::int64_t fill) {
  const auto begin = weights.array("begin").as<std::int32_t>();
  std::vector<std::int32_t> first;
  for (std::size_t row = 0; row + 1 < begin.size(); ++row) {
    if (begin[row] == std::ssize(first) * fill && begin[row] < begin.back())
      first.push_back(static_cast<std::int32_t>(row));
  }
  first.push_back(static_cast<std::int32_t>(begin.size()) - 1);
  return first;
}

/// Over blocks of rows; over turns and workers, of the groups of places of a block; the same of its rows.
std::vector<std::string> loops_of_pool(const StepArguments& arguments, const Algorithm&) {
  const std::string row = arguments.text("rows");
  const auto [turn, worker] = split_names(group_loop(arguments.text("places")));
  const auto [row_turn, row_worker] = split_names(row + ".row");
  return {row + ".block", turn, worker, row_turn, row_worker};
}

class Pooling {
 public:
  Pooling(const ir::Program& program, const StepContext& context, const StepArguments& arguments,
          std::int64_t fill, const std::vector<std::int32_t>& first)
      : known_(program, context.algorithm.sparse_operand()->name, *context.weights),
        row_(arguments.text("rows")),
        sum_loop_(arguments.text("places")),
        workers_(arguments.number("workers")),
        fill_(fill),
        first_(first),
        step_(context.step) {
    const auto loops = loops_of_pool(arguments, context.algorithm);
    block_ = ir::variable(loops[0]);
    groups_ = {ir::variable(loops[1]), ir::variable(loops[2])};
    rows_ = {ir::variable(loops[3]), ir::variable(loops[4])};
    for (std::size_t i = 1; i < first_.size(); ++i)
      row_turns_ = std::max<std::int64_t>(row_turns_, ceil_divide(first_[i] - first_[i - 1], workers_));
  }

  StepResult operator()(const ir::Program& program) {
    const auto* rows = find_loop(program.body, row_);
    auto found = find_register_sum(rows->body, sum_loop_, 4);
    if (auto* refused = std::get_if<Reason>(&found)) return *refused;
    sum_ = std::get<RegisterSum>(std::move(found));
    chain_ = chain_of(rows->body);
    if (auto refused = check_sum()) return *refused;
    ir::Program result = program;
    result.body = change_loops(program.body, row_, [&](const ir::For&) { return pooled(); });
    result.constants.push_back({table_, numbers()});
    return result;
  }

 private:
  /// Preconditions 5 and 6.
  std::optional<Reason> check_sum() {
    const auto* allocation = chain_.core.as<ir::Allocate>();
    if (allocation == nullptr || allocation->buffer != sum_.buffer)
      return Reason{4, fmt::format("{} has more inside than one sum in registers", row_),
                    fmt::format("loops and conditions around a sum over {} alone", sum_loop_), row_};
    for (const ir::For& loop : chain_.loops) {
      if (loop.kind == LoopKind::vectorized || ir::integer_value(loop.extent) == nullptr)
        return Reason{5,
                      fmt::format("{} around the sum has {} iterations{}", loop.name, ir::print(loop.extent),
                                  loop.kind == LoopKind::vectorized ? " of a vector" : ""),
                      "loops of constant extent, vectorized after pool", loop.name};
    }
    const ir::For* loop = find_loop(sum_.update, sum_loop_);
    begin_ = loop->begin;
    end_ = loop->begin + loop->extent;
    const auto* load = begin_.as<ir::Load>();
    const bool of_row = load != nullptr && load->indices.size() == 1 &&
                        ir::same(load->indices[0], ir::variable(row_)) && !ir::uses(loop->body, row_);
    const bool outside =
        std::ranges::any_of(chain_.conditions, [&](const Expr& e) { return ir::uses(e, row_); });
    if (of_row && !outside && loop->kind == LoopKind::serial) return std::nullopt;
    return Reason{6,
                  fmt::format("{} is a {} loop over {} .. {}", sum_loop_, ir::name_of(loop->kind),
                              ir::print(begin_), ir::print(end_)),
                  "the serial loop over the groups of places of a row", sum_loop_};
  }

  /// What the workers of a block share: each has one iteration of a turn.
  struct Shared {
    Expr turn, worker;
    Expr number(std::int64_t workers) const { return turn * workers + worker; }
  };
  Stmt loop(const Expr& variable, std::int64_t extent, Stmt body, ir::LoopRole role) const {
    return ir::for_range(variable, extent, LoopKind::serial, step_, std::move(body), role);
  }
  Stmt shared_out(const Shared& shared, std::int64_t turns, Stmt body, ir::LoopRole role) const {
    return loop(shared.turn, turns, loop(shared.worker, workers_, std::move(body), role), role);
  }
  Stmt of_rows(Stmt body) const { return shared_out(rows_, row_turns_, std::move(body), ir::LoopRole::rows); }

  /// The loops and conditions between the rows and the sum, around another statement.
  Stmt around(Stmt core) const {
    ir::Chain chain = chain_;
    chain.core = std::move(core);
    return rebuild(std::move(chain));
  }
  /// The loops alone; the conditions stand around each statement, so that where loads may go without asking
  /// nothing keeps those of several sums from being under way together.
  Stmt around_each(const std::vector<Stmt>& statements) const {
    ir::Chain chain = chain_;
    chain.conditions.clear();
    std::vector<Stmt> guarded;
    for (const Stmt& stmt : statements) guarded.push_back(ir::if_all(chain_.conditions, stmt));
    chain.core = ir::allocate(sum_.buffer, ir::block(std::move(guarded)));
    return rebuild(std::move(chain));
  }

  Stmt pooled() {
    std::vector<Expr> shape{fill_};
    shape.insert(shape.end(), sum_.buffer->shape.begin(), sum_.buffer->shape.end());
    for (const ir::For& each : chain_.loops) shape.push_back(each.extent);
    const auto parts = ir::make_buffer(sum_.buffer->name + ".parts", sum_.buffer->dtype, ir::Scope::shared,
                                       ir::Access::read_write, shape);
    const Stmt own = shared_out(groups_, fill_ / workers_,
                                around_each(own_sum(parts, groups_.number(workers_))), ir::LoopRole::groups);
    Stmt rows = result_of_rows(parts);
    if (!asks_first()) rows = ir::allocate(asked_, ir::block({ask(), rows}));
    Stmt body = ir::allocate(parts, ir::block({own, of_rows(rows)}));
    if (asks_first()) body = ir::allocate(asked_, ir::block({of_rows(ask()), body}));
    return loop(block_, blocks(), body, ir::LoopRole::rows);
  }

  std::int64_t blocks() const { return std::ssize(first_) - 1; }
  bool asks_first() const { return row_turns_ <= few_turns; }
  std::vector<Expr> asked_place(const Expr& number) const {
    return asks_first() ? std::vector<Expr>{rows_.turn, rows_.worker, number} : std::vector<Expr>{number};
  }
  Expr asked(std::int64_t number) const { return ir::load(asked_, asked_place(number)); }

  /// What a row of a block has to know.
  Stmt ask() const {
    const Expr number = ir::variable(row_ + ".number");
    const Expr row = (block_ * row_turns_ + rows_.turn) * workers_ + rows_.worker;
    const Stmt one =
        ir::store(asked_, asked_place(number), ir::load(table_, {row * asked_->shape.back() + number}));
    return ir::for_range(number, asked_->shape.back(), LoopKind::unrolled, step_, one);
  }

  /// A row adds up the parts of its groups. What is known of its weights comes out of the table, in which
  /// rows that a block lacks are negative.
  Stmt result_of_rows(const ir::BufferRef& parts) {
    numbers_of_row_ = {ir::variable(row_)};
    const std::string mark = row_ + ".known";
    const Stmt result = ir::rewrite<ir::Load>(around(total(parts)), [&](const ir::Load& load, const Expr& e) {
      const bool known = known_.holds(load.buffer) && !is_float(load.buffer->dtype) && of_row_alone(e);
      return known ? ir::variable(mark + std::to_string(number_of(e))) : e;
    });
    const Expr count = std::ssize(numbers_of_row_);
    table_ = ir::make_buffer(row_ + ".numbers", DType::i32, ir::Scope::global, ir::Access::read,
                             {blocks() * row_turns_ * workers_ * count});
    std::vector<Expr> shape{count};
    if (asks_first()) shape = {row_turns_, workers_, count};
    asked_ =
        ir::make_buffer(row_ + ".asked", DType::i32, ir::Scope::registers, ir::Access::read_write, shape);
    ir::Substitution names{{row_, asked(0)}};
    for (std::size_t i = 1; i < numbers_of_row_.size(); ++i)
      names[mark + std::to_string(i)] = asked(static_cast<std::int64_t>(i));
    return ir::if_then(0 <= asked(0), ir::substitute(result, names));
  }

  /// No variable but the row.
  bool of_row_alone(const Expr& expr) const {
    return !ir::any<ir::Variable>(expr, [&](const ir::Variable& variable) { return variable.name != row_; });
  }

  std::size_t number_of(const Expr& expr) {
    for (std::size_t i = 1; i < numbers_of_row_.size(); ++i) {
      if (ir::same(numbers_of_row_[i], expr)) return i;
    }
    numbers_of_row_.push_back(expr);
    return numbers_of_row_.size() - 1;
  }

  /// The contents of the table.
  std::vector<std::int32_t> numbers() const {
    std::vector<std::int32_t> result;
    for (std::size_t number = 0; number + 1 < first_.size(); ++number) {
      for (std::int64_t i = 0; i < row_turns_ * workers_; ++i) {
        const std::int64_t row = first_[number] + i;
        const bool there = row < first_[number + 1];
        for (const Expr& expr : numbers_of_row_) {
          const auto value = there ? known_.integer(expr, {{row_, row}}) : std::nullopt;
          internal_check(!there || value.has_value(), "a number of the weights is not known");
          result.push_back(static_cast<std::int32_t>(value.value_or(-1)));
        }
      }
    }
    return result;
  }

  std::vector<Expr> place(const Expr& group, const std::vector<Expr>& indices) const {
    std::vector<Expr> result{group};
    result.insert(result.end(), indices.begin(), indices.end());
    for (const ir::For& each : chain_.loops) result.push_back(ir::variable(each.name) - each.begin);
    return result;
  }

  Expr first_group() const { return block_ * fill_; }

  std::vector<Stmt> own_sum(const ir::BufferRef& parts, const Expr& group) const {
    std::vector<Stmt> statements = sum_.first;
    statements.push_back(change_loops(sum_.update, sum_loop_, [&](const ir::For& each) {
      return ir::substitute(each.body, {{sum_loop_, first_group() + group}});
    }));
    for (Stmt& stmt : each_element(sum_, [&](const std::vector<Expr>& indices) {
           return ir::store(parts, place(group, indices), ir::load(sum_.buffer, indices));
         }))
      statements.push_back(std::move(stmt));
    return statements;
  }

  Stmt total(const ir::BufferRef& parts) const {
    const auto all = ir::make_buffer(sum_.buffer->name + ".all", sum_.buffer->dtype, ir::Scope::registers,
                                     ir::Access::read_write, sum_.buffer->shape);
    const Expr part = ir::variable(sum_loop_ + ".part");
    std::vector<Stmt> statements = each_element(sum_, [&](const std::vector<Expr>& indices) {
      return ir::store(all, indices, ir::zero_of(all->dtype));
    });
    const std::vector<Stmt> adds = each_element(sum_, [&](const std::vector<Expr>& indices) {
      return ir::store(all, indices, ir::load(parts, place(part, indices)), true);
    });
    statements.push_back(ir::for_loop({sum_loop_ + ".part", begin_ - first_group(), end_ - begin_,
                                       LoopKind::serial, step_, ir::block(adds)}));
    for (const Stmt& stmt : sum_.last) statements.push_back(ir::replace_buffer(stmt, sum_.buffer, all));
    return ir::allocate(all, ir::block(std::move(statements)));
  }

  KnownWeights known_;
  std::string row_, sum_loop_;
  std::int64_t workers_, fill_;
  std::vector<std::int32_t> first_;  ///< stored row of each block, and one more
  int step_;
  Expr block_;                        ///< counts the blocks
  Shared groups_, rows_;              ///< groups of places of a block, and its rows
  std::int64_t row_turns_ = 1;        ///< rows of a worker, at most
  std::vector<Expr> numbers_of_row_;  ///< what is known of a row: its number first
  ir::BufferRef table_, asked_;       ///< these for all rows; for those of the block
  RegisterSum sum_;
  ir::Chain chain_;   ///< inside the loop over the rows
  Expr begin_, end_;  ///< the groups of places of a row
};

/// Groups of places of each block of known weights, where they are in such blocks.
std::optional<std::int64_t> fill_of(const StepContext& context) {
  if (context.weights == nullptr || context.algorithm.takes_any_weights()) return std::nullopt;
  const auto filled =
      std::ranges::find_if(context.weights->levels(), [](const Level& level) { return level.fill > 0; });
  return filled == context.weights->levels().end() ? std::nullopt : std::optional(filled->fill);
}

StepResult apply_pool(const ir::Program& program, const StepArguments& arguments,
                      const StepContext& context) {
  const std::string row = arguments.text("rows"), sum = arguments.text("places");
  const std::int64_t workers = arguments.number("workers");
  for (const std::string& name : {row, sum}) {
    if (auto missing = require_loop(program, name)) return *missing;
  }
  const SparseTensor* weights = context.weights;
  const std::optional<std::int64_t> fill = fill_of(context);
  if (!fill)
    return Reason{
        3,
        weights == nullptr ? std::string("no operand is sparse") : "weights in " + weights->format().text(),
        "known weights in blocks of as many groups each (padded_csr:pad=8,fill=128)", row};
  const auto loops = find_loops(program.body, row);
  const std::int64_t* extent = ir::integer_value(loops.front()->extent);
  if (loops.size() != 1 || extent == nullptr || *extent != weights->rows() ||
      loops.front()->kind != LoopKind::serial || row != row_loop_name(context.algorithm))
    return Reason{2,
                  fmt::format("{} is a {} loop over {}", row, ir::name_of(loops.front()->kind),
                              ir::print(loops.front()->extent)),
                  fmt::format("{} before it is split or bound: the loop over the stored rows",
                              row_loop_name(context.algorithm)),
                  row};
  const std::vector<std::int32_t> first = first_rows(*weights, *fill);
  const std::int64_t groups = weights->array("begin").as<std::int32_t>().back();
  if ((std::ssize(first) - 1) * *fill != groups)
    return Reason{3, fmt::format("{} groups in {} blocks", groups, first.size() - 1),
                  fmt::format("blocks of {} groups each", *fill), row};
  if (*fill % workers != 0)
    return Reason{7, fmt::format("workers = {}", workers),
                  fmt::format("workers = a number from 1 to {} that divides {}", most_workers, *fill), row};
  return Pooling(program, context, arguments, *fill, first)(program);
}

constexpr Parameter parameters[]{
    loop_parameter("rows", "m", "the loop over the stored rows"),
    loop_parameter("places", "k", "the loop over the groups of places of a row"),
    number_parameter("workers", "27", "workers, which get equal numbers of groups and divide `fill`", 7,
                     most_workers)};
constexpr Precondition preconditions[]{
    loops_exist,
    {2, "m is the whole loop over the stored rows, serial"},
    {3, "the weights are known, in padded_csr with fill"},
    {4, "inside it stand loops and conditions around one sum in registers that start as zero"},
    {5, "these loops have constant sizes and are no vectors"},
    {6, "k is the loop over the groups of places of a row, serial"},
    {7, "workers are 1 to 32 and divide fill"}};

}  // namespace

constinit const StepKind pool{.name = "pool",
                              .sentence =
                                  "The rows of a block pool their groups of places, so that workers get "
                                  "equal numbers of them, whichever rows they belong to.",
                              .more =
                                  "m.block goes over the blocks; in each, k.group.outer and k.group.inner, "
                                  "which is the worker, over the `fill` groups of places that the format "
                                  "gives every block, each with sums of its own, left in shared memory; "
                                  "then m.row.outer and m.row.inner, the worker again, over the rows of the "
                                  "block, which add up the parts of their groups in order. Where rows are "
                                  "and where they end, which the weights say, are constants of the program; "
                                  "a worker with one or two rows asks for them before it sums. The loops "
                                  "over workers are to be bound to warps.",
                              .parameters = parameters,
                              .preconditions = preconditions,
                              .apply = apply_pool,
                              .loops = loops_of_pool};

}  // namespace weft::steps
