#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/report.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace weft {
namespace {

using OrderedJson = nlohmann::ordered_json;

template <class Wanted>
const Entry* fastest(const CaseResult& result, Wanted&& wanted) {
  const Entry* best = nullptr;
  for (const Entry& entry : result.entries) {
    if (!entry.timed() || !wanted(entry)) continue;
    if (best == nullptr || entry.timing.median < best->timing.median) best = &entry;
  }
  return best;
}

double ratio(const Entry& other, const Entry& ours) {
  return other.timing.median / ours.timing.median;
}

/// "2.31", or "-" where one of the two was not timed.
std::string cell_of_ratio(const Entry* other, const Entry* ours) {
  return other != nullptr && ours != nullptr ? fmt::format("{:.2f}", ratio(*other, *ours)) : "-";
}

std::string cell_of_share(double limit, const Entry* ours) {
  return ours != nullptr && limit > 0 ? fmt::format("{:.0f} %", 100 * limit / ours->timing.median) : "-";
}

std::string size_of_problem(const SuiteProblem& p) {
  if (!p.convolution) return fmt::format("{}x{}x{}", p.m, p.k, p.n);
  const Convolution& c = *p.convolution;
  return fmt::format("{}->{} {}x{} of {}x{}", c.channels, c.filters, c.filter[0], c.filter[1], c.image[0],
                     c.image[1]);
}

std::string pattern_of(const SuiteCase& chosen) {
  return chosen.pattern ? chosen.pattern->text() : std::string();
}

/// Rows of a group.
std::int64_t rows_of(const SuiteCase& chosen) {
  return chosen.pattern ? chosen.pattern->rows : chosen.group_rows;
}

std::string in_one_line(const std::string& text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      line += text[i];
      continue;
    }
    while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
    line += "; ";
  }
  return line;
}

OrderedJson json_of(const Entry& entry) {
  OrderedJson json{{"name", entry.name}};
  if (!entry.variant.empty()) json["variant"] = entry.variant;
  if (!entry.weights.empty()) json["weights"] = entry.weights;
  for (const auto& [name, microseconds] : entry.tried) json["tried"][name] = microseconds;
  if (entry.timed()) {
    json["us"] = {{"median", entry.timing.median},     {"minimum", entry.timing.minimum},
                  {"p95", entry.timing.percentile_95}, {"n", entry.timing.count},
                  {"repeats", entry.timing.repeats},   {"method", entry.timing.method}};
    json["verify"] = {{"relative", entry.check.relative},
                      {"rows", entry.check.rows},
                      {"whole_against_trusted", entry.check.against_trusted}};
    json["prepare_seconds"] = entry.prepare_seconds;
  }
  if (entry.wrong) json["wrong"] = true;
  if (!entry.reason.empty()) json["reason"] = entry.reason;
  return json;
}

OrderedJson json_of(const SuiteProblem& problem) {
  OrderedJson json{{"M", problem.m}, {"K", problem.k}, {"N", problem.n}};
  if (!problem.convolution) return json;
  const Convolution& c = *problem.convolution;
  json.update({{"C", c.channels},
               {"F", c.filters},
               {"H", c.image[0]},
               {"W", c.image[1]},
               {"R", c.filter[0]},
               {"S", c.filter[1]},
               {"stride", c.stride[0]},
               {"pad", c.pad[0]},
               {"images", c.batch}});
  return json;
}

}  // namespace

const Entry* baseline_of(const CaseResult& result) {
  return fastest(result, [](const Entry& entry) {
    return entry.kind == ContestantKind::dense && entry.arithmetic != DenseType::tf32;
  });
}

const Entry* pruned_baseline_of(const CaseResult& result) {
  return fastest(result, [](const Entry& entry) { return entry.kind == ContestantKind::pruned; });
}

const Entry* best_of_weft(const CaseResult& result) {
  return fastest(result, [](const Entry& entry) { return entry.kind == ContestantKind::weft; });
}

const Entry* fastest_of(const CaseResult& result) {
  return fastest(result, [](const Entry&) { return true; });
}

std::string verdict_of(const CaseResult& result) {
  for (const Entry& entry : result.entries) {
    if (entry.kind == ContestantKind::weft && entry.wrong) return entry.name + " is WRONG";
  }
  const Entry* ours = best_of_weft(result);
  const Entry* first = fastest_of(result);
  if (ours == nullptr) return "weft has no kernel here";
  if (first != ours) {
    const bool tf32 = first->arithmetic == DenseType::tf32;
    return fmt::format("{} is faster{}: {:.2f}x", first->name, tf32 ? ", at less precision" : "",
                       ratio(*first, *ours));
  }
  const Entry* next = fastest(result, [&](const Entry& entry) { return entry.kind != ContestantKind::weft; });
  if (next == nullptr) return ours->name;
  return fmt::format("{}, {:.2f}x over {}", ours->name, ratio(*next, *ours), next->name);
}

std::optional<double> geometric_mean(const std::vector<double>& numbers) {
  if (numbers.empty()) return std::nullopt;
  double sum = 0;
  for (const double number : numbers) {
    internal_check(number > 0, "a geometric mean of a number that is not above zero");
    sum += std::log(number);
  }
  return std::exp(sum / static_cast<double>(numbers.size()));
}

std::vector<MeanLine> means_of(const std::vector<CaseResult>& results) {
  struct Group {
    std::vector<double> ratios;
    std::string worst_id;
  };
  // Batch, sparsity, V, pattern, then the place of the contestant: the lines come in the order of the table.
  std::map<std::tuple<std::int64_t, double, std::int64_t, std::string, std::size_t>, Group> by_contestant;
  for (const CaseResult& result : results) {
    const Entry* ours = best_of_weft(result);
    for (std::size_t i = 0; i < result.entries.size(); ++i) {
      const Entry& other = result.entries[i];
      if (ours == nullptr || !other.timed() || other.kind == ContestantKind::weft) continue;
      const SuiteCase& chosen = result.chosen;
      Group& group = by_contestant[{chosen.batch, chosen.sparsity, rows_of(chosen), pattern_of(chosen), i}];
      const double r = ratio(other, *ours);
      if (group.ratios.empty() || r < *std::ranges::min_element(group.ratios))
        group.worst_id = result.chosen.problem.id;
      group.ratios.push_back(r);
    }
  }
  std::vector<MeanLine> lines;
  for (const auto& [key, group] : by_contestant) {
    const auto& [batch, sparsity, group_rows, pattern, place] = key;
    const CaseResult* any = nullptr;
    for (const CaseResult& result : results) {
      if (any == nullptr && place < result.entries.size()) any = &result;
    }
    lines.push_back({sparsity, batch, group_rows, pattern, any->entries[place].name,
                     static_cast<int>(group.ratios.size()), *geometric_mean(group.ratios),
                     *std::ranges::min_element(group.ratios), group.worst_id});
  }
  return lines;
}

std::vector<std::string> table_heading(const Suite& suite, const std::vector<Contestant>& contestants) {
  std::vector<std::string> heading{"id", "problem", "zero", "batch"};
  if (suite.is_grouped()) heading.emplace_back("V");
  if (suite.is_patterned()) heading.emplace_back("pattern");
  for (const Contestant& contestant : contestants) heading.push_back(contestant.name);
  heading.emplace_back("over dense");
  if (suite.is_grouped() || suite.is_patterned())
    heading.insert(heading.end(), {"over pruned", "of tensor", "of L2"});
  else
    heading.emplace_back("of H200 limit");
  heading.emplace_back("verdict");
  return heading;
}

std::vector<std::string> table_row(const CaseResult& result) {
  const SuiteProblem& problem = result.chosen.problem;
  std::vector<std::string> cells{problem.id, size_of_problem(problem),
                                 fmt::format("{:.1f} %", 100 * result.sparsity),
                                 std::to_string(result.chosen.batch)};
  if (result.chosen.pattern) {
    cells.push_back(result.chosen.pattern->text());
  } else if (result.chosen.group_rows > 0) {
    cells.push_back(std::to_string(result.chosen.group_rows));
  }
  for (const Entry& entry : result.entries)
    cells.push_back(entry.timed() ? fmt::format("{:.2f}", entry.timing.median) : entry.wrong ? "WRONG" : "-");
  const Entry* ours = best_of_weft(result);
  cells.push_back(cell_of_ratio(baseline_of(result), ours));
  if (result.chosen.is_structured()) {
    const GroupLimits limits = result.group_limits.value_or(GroupLimits{});
    cells.push_back(cell_of_ratio(pruned_baseline_of(result), ours));
    cells.push_back(cell_of_share(limits.tensor, ours));
    cells.push_back(cell_of_share(limits.l2, ours));
  } else {
    cells.push_back(cell_of_share(result.limit, ours));
  }
  cells.push_back(verdict_of(result));
  return cells;
}

std::vector<std::string> own_weights_of(const std::vector<CaseResult>& results) {
  std::vector<std::string> lines;
  for (const CaseResult& result : results) {
    for (const Entry& entry : result.entries) {
      if (!entry.timed() || entry.weights.empty()) continue;
      // Without the seed, which is another for every shape.
      const std::string line =
          fmt::format("{}: {}", entry.name, entry.weights.substr(0, entry.weights.rfind(", seed")));
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    }
  }
  return lines;
}

std::vector<std::string> reasons_of(const std::vector<CaseResult>& results) {
  std::map<std::string, std::vector<std::string>> ids;
  for (const CaseResult& result : results) {
    for (const Entry& entry : result.entries) {
      if (entry.timed()) continue;
      std::vector<std::string>& of_reason = ids[entry.name + ": " + in_one_line(entry.reason)];
      const std::string& id = result.chosen.problem.id;
      if (std::ranges::find(of_reason, id) == of_reason.end()) of_reason.push_back(id);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, of_reason] : ids)
    lines.push_back(fmt::format("{} (problem {})", reason, fmt::join(of_reason, ", ")));
  return lines;
}

std::string json_line(const CaseResult& result, const BenchPlace& place) {
  const SuiteProblem& problem = result.chosen.problem;
  const Entry* ours = best_of_weft(result);
  const Entry* dense = baseline_of(result);
  OrderedJson json{
      {"weftbench", 1},
      {"t", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"suite", place.suite},
      {"id", problem.id},
      {"label", problem.label},
      {"problem", json_of(problem)},
      {"batch", result.chosen.batch},
      {"V", rows_of(result.chosen)},
      {"dtype", name_of(result.dtype)},
      {"sparsity", {{"asked", result.chosen.sparsity}, {"found", result.sparsity}, {"nnz", result.stored}}},
      {"weights", result.source},
      {"device", {{"name", place.device}, {"model", place.model}, {"target", place.target}}},
      {"libraries", place.libraries},
      {"rounds", place.rounds},
      {"copies", result.copies},
      {"limit_us", result.limit}};
  if (result.chosen.pattern) json["pattern"] = result.chosen.pattern->text();
  for (const Entry& entry : result.entries) json["entries"].push_back(json_of(entry));
  if (ours != nullptr && result.limit > 0) json["of_limit"] = result.limit / ours->timing.median;
  if (ours != nullptr && dense != nullptr) json["over_dense"] = ratio(*dense, *ours);
  if (const Entry* pruned = pruned_baseline_of(result); ours != nullptr && pruned != nullptr)
    json["over_pruned"] = ratio(*pruned, *ours);
  if (result.group_limits) {
    json["tensor_limit_us"] = result.group_limits->tensor;
    json["l2_limit_us"] = result.group_limits->l2;
    if (ours != nullptr) json["of_tensor"] = result.group_limits->tensor / ours->timing.median;
    if (ours != nullptr) json["of_l2"] = result.group_limits->l2 / ours->timing.median;
  }
  json["verdict"] = verdict_of(result);
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace weft
