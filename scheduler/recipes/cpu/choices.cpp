#include <weft/scheduler/recipes/cpu/choices.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/parts/conditions.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <bit>

namespace weft {
namespace {

constexpr std::int64_t by_panels = number_of(CpuOrder::panels), of_panel = number_of(CpuCopy::panel);

/// Those of the numbers up to the first that holds `most`; the last one alone where `least` is above it.
std::vector<std::int64_t> up_to(std::vector<std::int64_t> numbers, std::int64_t most) {
  const auto end = std::ranges::find_if(numbers, [&](std::int64_t number) { return number >= most; });
  if (end != numbers.end()) numbers.erase(end + 1, numbers.end());
  return numbers;
}

std::vector<std::int64_t> panels_of(const CpuNest& nest, std::int64_t lanes) {
  if (nest.vectors.empty()) return {1};
  if (nest.width == 0) return {lanes, 2 * lanes, 4 * lanes, 8 * lanes};
  if (nest.width < lanes)
    return {static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(nest.width)))};
  return up_to({lanes, 2 * lanes, 4 * lanes, 8 * lanes, 16 * lanes}, nest.width);
}

std::vector<std::int64_t> rows_of(const CpuNest& nest) {
  if (nest.lines.empty()) return {1};
  if (nest.lines == nest.rows) return {1, 4, 6, 8};
  std::vector<std::int64_t> rows{1, 2, 4, 7, 8, 14, 16};
  std::erase_if(rows, [&](std::int64_t count) { return nest.height > 0 && count > nest.height; });
  return rows;
}

std::vector<std::int64_t> copies_of(const CpuNest& nest) {
  std::vector<std::int64_t> copies{number_of(CpuCopy::none)};
  if (!nest.vectors.empty()) copies.push_back(of_panel);
  if (nest.windows && !nest.others.empty()) copies.push_back(number_of(CpuCopy::image));
  return copies;
}

}  // namespace

std::string why_no_cpu_rows(const SpaceProblem& problem, const Target& target) {
  if (target.is_gpu()) return target.name + " is no CPU";
  if (problem.format.name != "csr" && problem.format.name != "dense")
    return problem.format.text() + " is neither csr nor dense";
  if (cpu_nest(problem.algorithm, problem.format, target).rows.empty())
    return "the results do not go by rows of the weights";
  return why_no_sum(problem.algorithm);
}

RecipeChoices cpu_rows_choices(const SpaceProblem& problem, PackedWeights&, const Target& target,
                               const SpaceOptions&) {
  const CpuNest nest = cpu_nest(problem.algorithm, problem.format, target);
  const std::int64_t lanes = cpu_lanes(problem.algorithm, target);
  std::vector<std::int64_t> orders{number_of(CpuOrder::rows)}, threads{number_of(CpuThreads::rows)};
  if (!nest.vectors.empty()) {
    orders.insert(orders.begin(), by_panels);
    threads.insert(threads.begin(), number_of(CpuThreads::panels));
  }
  RecipeChoices choices;
  choices.knobs = {{"panel", panels_of(nest, lanes)}, {"rows", rows_of(nest)}, {"groups", {1, 2, 4, 8, 16}},
                   {"copy", copies_of(nest)},         {"order", orders},       {"threads", threads}};
  Conditions list;
  const ir::Expr sums = v("rows") * v("groups") * ir::ceil_divide(v("panel"), lanes);
  list.at_most("sums", "vector registers of sums", "registers", sums, most_vectors_of_sums);
  list.where(by_panels < v("order"));
  list.nothing("copies of rows", "copies of a panel that every row of the weights would make again",
               one_if(ir::equal(v("copy"), of_panel)));
  list.nothing("panels inside of rows", "threads over panels that stand inside of rows",
               one_if(ir::equal(v("threads"), number_of(CpuThreads::panels))));
  list.everywhere();
  if (problem.format.name == "dense")
    list.nothing("groups of a copied panel",
                 "reads of a panel by groups that share dense weights, which are no tile",
                 one_if(ir::equal(v("copy"), of_panel)) * (v("groups") - 1));
  if (nest.lines == nest.rows && !nest.lines.empty()) {
    list.where(ir::equal(v("copy"), of_panel));
    list.nothing("shares of a copied panel",
                 "entries that groups share unevenly, whose parts of a panel differ in size",
                 problem.matrix->columns % v("groups"));
    if (!nest.fused.empty())
      list.nothing("copied panels of pixels", "panels of the pixels of several lines, which are no tile",
                   v("copy"));
  }
  choices.limits = list.take();
  Conditions worth;
  if (nest.windows)
    worth.at_most("windows in place", "reads of an image that ask each time where it ends", {}, 2, v("copy"));
  // A vector of entries gathers; beyond that, groups that wait for nothing gain nothing more.
  constexpr std::int64_t most_chains = 16;
  if (nest.width != 1 && !nest.vectors.empty())
    worth.at_most("chains", "additions of an entry and its groups that wait for one another", "additions",
                  v("groups") * v("rows") * ir::ceil_divide(v("panel"), lanes),
                  ir::maximum(most_chains, v("rows") * ir::ceil_divide(v("panel"), lanes)));
  choices.worth = worth.take();
  return choices;
}

}  // namespace weft
