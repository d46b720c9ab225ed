#include "grouped_study_cases.h"

#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/draw.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace weft {
namespace {

std::vector<std::int64_t> up_to(std::int64_t largest, std::vector<std::int64_t> sizes) {
  std::erase_if(sizes, [&](std::int64_t size) { return size > largest; });
  return sizes;
}

/// Elements of the largest of the three operands.
std::int64_t most_elements(const SuiteProblem& problem) {
  return std::max({problem.m * problem.k, problem.k * problem.n, problem.m * problem.n});
}

std::vector<SuiteCase> drawn_cases(const StudyCases& options, const std::vector<StudyKind>& kinds,
                                   Random& random) {
  constexpr std::int64_t most = std::int64_t{1} << 23;
  constexpr std::size_t widths_of_matrix = 3;
  const auto sizes = up_to(options.largest, {256, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 8192});
  const auto widths =
      up_to(options.largest, {64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096});
  const std::vector<double> densities{0.05, 0.1, 0.2, 0.3, 0.5};
  std::vector<SuiteCase> cases;
  while (cases.size() < options.drawn) {
    SuiteCase one;
    one.problem.m = sizes[draw_below(random, sizes.size())];
    one.problem.k = sizes[draw_below(random, sizes.size())];
    one.sparsity = 1 - densities[draw_below(random, densities.size())];
    const StudyKind& kind = kinds[draw_below(random, kinds.size())];
    one.group_rows = kind.group_rows;
    one.pattern = kind.pattern;
    if (kind.pattern) {
      one.sparsity = kind.pattern->sparsity();
      one.problem.k = options.depths[draw_below(random, options.depths.size())];
    }
    std::vector<std::int64_t> some = widths;
    shuffle(some, random);
    some.resize(std::min(some.size(), widths_of_matrix));
    for (const std::int64_t width : some) {
      one.problem.n = width;
      if (most_elements(one.problem) <= most && cases.size() < options.drawn) cases.push_back(one);
    }
  }
  return cases;
}

/// Whole matrices, until there are as many products as are asked for.
std::vector<SuiteCase> suite_cases(const StudyCases& options, const std::vector<StudyKind>& kinds,
                                   Random& random) {
  constexpr std::int64_t most = std::int64_t{1} << 25;
  std::map<std::tuple<std::int64_t, std::int64_t, double, StudyKind>, std::vector<SuiteCase>> of_matrix;
  for (const SuiteCase& one : cases_of(read_suite(options.suite))) {
    const SuiteProblem& p = one.problem;
    const StudyKind kind = kind_of(one);
    const bool has_kernels =
        kind.depth == 0 || std::ranges::find(options.depths, kind.depth) != options.depths.end();
    if (!has_kernels || std::ranges::find(kinds, kind.of_any_depth()) == kinds.end() || p.n % 8 != 0 ||
        most_elements(p) > most)
      continue;
    of_matrix[{p.m, p.k, one.sparsity, kind}].push_back(one);
  }
  std::vector<std::vector<SuiteCase>> matrices;
  for (auto& [matrix, widths] : of_matrix) matrices.push_back(std::move(widths));
  shuffle(matrices, random);
  std::vector<SuiteCase> cases;
  for (const std::vector<SuiteCase>& widths : matrices) {
    if (cases.size() < options.of_suite) cases.insert(cases.end(), widths.begin(), widths.end());
  }
  return cases;
}

}  // namespace

std::string StudyKind::text() const {
  if (!pattern) return fmt::format("V={}", group_rows);
  return pattern->text() + (depth > 0 ? fmt::format(" of {}", depth) : "");
}

const char* StudyKind::recipe() const {
  return pattern ? "v_n_m" : "shfl_bw";
}

Format StudyKind::format() const {
  return pattern ? pattern->format() : formats::shfl_bw({.rows = group_rows});
}

StudyKind study_kind_named(const std::string& text) {
  if (const auto pattern = pair_pattern_named(text)) return {0, pattern, 0};
  StudyKind kind;
  const char* const end = text.data() + text.size();
  const bool is_group = text.starts_with("V=");
  if (is_group && std::from_chars(text.data() + 2, end, kind.group_rows).ptr == end && kind.group_rows >= 32)
    return kind;
  throw UserError("a study has no such weights", "--kinds", text,
                  fmt::format("V=32, V=64, V=128 of row groups; {}", pair_pattern_spelling));
}

StudyKind kind_of(const SuiteCase& one) {
  return {one.group_rows, one.pattern, one.pattern ? one.problem.k : 0};
}

SuiteCase example_of(const StudyKind& kind) {
  SuiteCase one;
  one.group_rows = kind.group_rows;
  one.pattern = kind.pattern;
  const std::int64_t rows = kind.pattern ? std::max<std::int64_t>(kind.pattern->rows, 32) : kind.group_rows;
  one.problem.m = 2 * rows;
  one.problem.k = kind.pattern ? kind.depth : 64;
  one.problem.n = 64;
  one.sparsity = kind.pattern ? kind.pattern->sparsity() : 0.5;
  return one;
}

std::vector<SuiteCase> study_cases(const StudyCases& options) {
  Random random(options.seed);
  std::vector<StudyKind> kinds;
  for (const std::string& text : options.kinds) kinds.push_back(study_kind_named(text));
  std::vector<SuiteCase> cases = drawn_cases(options, kinds, random);
  if (!options.suite.empty()) {
    const std::vector<SuiteCase> layers = suite_cases(options, kinds, random);
    cases.insert(cases.end(), layers.begin(), layers.end());
  }
  shuffle(cases, random);
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].problem.id = std::to_string(i + 1);
  return cases;
}

}  // namespace weft
