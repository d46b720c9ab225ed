// balance: the stored rows shared out to parts of about the same number of entries.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>
#include <numeric>

namespace weft::steps {
namespace {

constexpr std::int64_t most_parts = 65'535;  ///< the blocks along y or z of a launch

/// What each stored row takes: an addition an entry, and a result.
std::vector<std::int64_t> work_of_rows(const SparseTensor& weights) {
  std::vector<std::int64_t> entries(weights.rows(), 0);
  weights.walk([&](std::int64_t row, std::int64_t, std::int64_t) { ++entries[row]; });
  std::vector<std::int64_t> work(entries.size());
  const auto order = weights.row_order();
  for (std::size_t i = 0; i < work.size(); ++i) {
    const auto row = order ? static_cast<std::size_t>(weights.array(*order).as<std::int32_t>()[i]) : i;
    work[i] = entries[row] + 1;
  }
  return work;
}

/// parts + 1 places: every part ends where the work before it comes nearest to its share.
std::vector<std::int32_t> boundaries(const std::vector<std::int64_t>& work, std::int64_t parts) {
  std::vector<std::int64_t> before(work.size() + 1, 0);
  std::partial_sum(work.begin(), work.end(), before.begin() + 1);
  std::vector<std::int32_t> result{0};
  for (std::int64_t part = 1; part <= parts; ++part) {
    const double wanted =
        static_cast<double>(before.back()) * static_cast<double>(part) / static_cast<double>(parts);
    auto found = std::ranges::lower_bound(before, wanted, {}, [](std::int64_t sum) { return double(sum); });
    if (found == before.end()) --found;
    if (found != before.begin() && wanted - double(found[-1]) < double(*found) - wanted) --found;
    const auto place = static_cast<std::int32_t>(found - before.begin());
    result.push_back(std::max(result.back(), place));
  }
  result.back() = static_cast<std::int32_t>(work.size());
  return result;
}

StepResult apply_balance(const ir::Program& program, const StepArguments& arguments,
                         const StepContext& context) {
  const std::string name = arguments.text("loop");
  const std::int64_t parts = arguments.number("parts");
  if (auto missing = require_loop(program, name)) return *missing;
  const SparseTensor* weights = context.weights;
  // A loop that has a name of its own goes over blocks of rows.
  if (weights == nullptr || weights->row_levels() == 0 || !weights->levels().front().loop.empty())
    return Reason{
        3,
        weights == nullptr ? std::string("no operand is sparse") : "weights in " + weights->format().text(),
        "weights that are stored row by row, as pack(weights, formats::csr()) makes them", name};
  if (context.algorithm.takes_any_weights())
    return Reason{3, "the weights are given at launch", "a sparse operand whose sizes are numbers", name};
  for (const ir::For* loop : find_loops(program.body, name)) {
    const auto known = ir::constant_iterations(*loop);
    const bool whole = known && known->begin == 0 && known->extent == weights->rows();
    if (whole && name == row_loop_name(context.algorithm) && loop->kind == LoopKind::serial) continue;
    return Reason{
        2,
        fmt::format("{} is a {} loop over {} .. {}", name, ir::name_of(loop->kind), ir::print(loop->begin),
                    ir::print(loop->begin + loop->extent)),
        fmt::format("the loop over the stored rows, before it is split or bound: {}",
                    Step{"balance", {{{}, row_loop_name(context.algorithm)}, {"parts", parts}}, {}}.cpp()),
        name};
  }
  const auto table =
      ir::make_buffer(name + ".parts", DType::i32, ir::Scope::global, ir::Access::read, {parts + 1}, true);
  ir::Program result = program;
  result.constants.push_back({table, boundaries(work_of_rows(*weights), parts)});
  result.body = change_loops(program.body, name, [&](const ir::For& loop) {
    const auto [outer, inner] = split_names(name);
    const Expr part = ir::variable(outer);
    const Expr first = ir::load(table, {part}), last = ir::load(table, {part + 1});
    const Stmt body = ir::substitute(loop.body, {{name, ir::variable(inner)}});
    const Stmt rows =
        ir::for_loop({inner, first, last - first, LoopKind::serial, context.step, body, loop.role});
    return ir::for_range(part, parts, LoopKind::serial, context.step, rows, loop.role);
  });
  return result;
}

std::vector<std::string> loops_of_balance(const StepArguments& arguments, const Algorithm&) {
  const auto [outer, inner] = split_names(arguments.text("loop"));
  return {outer, inner};
}

constexpr Parameter parameters[]{
    loop_parameter("loop", "m", "the loop over the stored rows"),
    number_parameter("parts", "132", "parts of about the same number of entries", 4, most_parts)};
constexpr Precondition preconditions[]{loop_exists,
                                       {2, "it is the whole loop over the stored rows, serial"},
                                       {3, "the weights are known, and stored row by row"},
                                       {4, "the number of parts is 1 to 65,535"}};

}  // namespace

constinit const StepKind balance{.name = "balance",
                                 .sentence =
                                     "The stored rows are shared out to parts of about the same number of "
                                     "entries: m.outer over the parts, m.inner over the rows of one.",
                                 .more =
                                     "The rows of a part follow one another. The boundaries, a constant of "
                                     "the program, count one entry more for each row, for its result.",
                                 .parameters = parameters,
                                 .preconditions = preconditions,
                                 .apply = apply_balance,
                                 .loops = loops_of_balance};

}  // namespace weft::steps
