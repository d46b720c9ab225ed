#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/recorded_times.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace weft {
namespace {

std::int64_t size_of_problem(const Record& record, const char* name) {
  const std::int64_t size = record.problem.size(name);
  if (size < 1)
    throw UserError("a record does not say how large its problem is", "record " + record.id,
                    fmt::format("no size {}", name), "M, K and N, from 1 on");
  return size;
}

std::string name_of(const ProblemSummary& problem) {
  std::string name =
      fmt::format("{}x{}x{}, {:.1f} %", problem.m, problem.k, problem.n, 100 * problem.density());
  if (problem.group_rows > 0) name += fmt::format(", V={}", problem.group_rows);
  return name;
}

TimingTable::Problem problem_of(const Record& record) {
  TimingTable::Problem problem;
  problem.summary = summary_of(record);
  problem.device = device_of(record);
  problem.features = features_of(problem.summary, problem.device);
  problem.matrix = record.pattern.hash;
  problem.target = record.target.name;
  problem.name = name_of(problem.summary);
  return problem;
}

}  // namespace

ProblemSummary summary_of(const Record& record) {
  ProblemSummary problem;
  problem.m = size_of_problem(record, "M");
  problem.k = size_of_problem(record, "K");
  problem.n = size_of_problem(record, "N");
  const std::string dtype = record.problem.word("dtype");
  const auto known = dtype_named(dtype);
  if (!known)
    throw UserError("a record has an unknown element type", "record " + record.id,
                    dtype.empty() ? "none" : dtype, "f32, f16, bf16, f64, e4m3 or e5m2");
  problem.dtype = *known;
  problem.convolution = record.kernel == "conv2d";
  // In the layout nk, as the algorithm's text has it: what is turned over is in the time.
  const std::string algorithm = record.problem.word("algorithm");
  problem.output_across = problem.n > 1 && algorithm.starts_with("C[n, m]");
  problem.input_across = problem.n > 1 && algorithm.find("B[n, k]") != std::string::npos;
  problem.stored = record.pattern.stored;
  problem.dense_elements = (problem.convolution ? problem.m : problem.k) * problem.n;
  problem.row_mean = record.pattern.row_mean;
  problem.row_variation = record.pattern.row_variation;
  problem.group_rows = record.pattern.group;
  if (!record.pattern.kind.empty() && record.pattern.kind != "auto") {
    const std::int64_t group = problem.group_rows;
    add_format(problem, parse_format(record.pattern.kind));
    if (group != 0) problem.group_rows = group;
  }
  return problem;
}

DeviceNumbers device_of(const Record& record) {
  DeviceNumbers device = device_numbers(target_named(record.target.name));
  if (record.target.multiprocessors > 0) device.multiprocessors = record.target.multiprocessors;
  if (record.target.shared_bytes > 0) device.shared_bytes = record.target.shared_bytes;
  return device;
}

std::string best_measure(std::span<const Record> records) {
  for (const char* measure : {"gpu", "cpu", "sim"}) {
    if (std::ranges::find(records, measure, &Record::measure) != records.end()) return measure;
  }
  return "model";
}

TimingTable timing_table(std::span<const Record> records, const std::string& measure) {
  TimingTable table;
  std::map<std::string, std::size_t> problems;
  std::map<Configuration, std::size_t> configurations;
  for (const Record& record : records) {
    const std::optional<double> time = record.time_of_correct();
    if (record.measure != measure || !time || !(*time > 0) || !std::isfinite(*time)) continue;
    const auto [problem, fresh] = problems.try_emplace(record.packed_key(), problems.size());
    if (fresh) table.problems.push_back(problem_of(record));
    const Configuration configuration{record.recipe, record.config};
    const auto [number, unknown] = configurations.try_emplace(configuration, configurations.size());
    if (unknown) table.configurations.push_back(configuration);
    TimingTable::Problem& line = table.problems[problem->second];
    line.microseconds.resize(std::max(line.microseconds.size(), number->second + 1),
                             std::numeric_limits<double>::infinity());
    double& slot = line.microseconds[number->second];
    slot = std::min(slot, *time);
    if (record.strategy == "recipe") line.usual = static_cast<int>(number->second);
  }
  for (TimingTable::Problem& problem : table.problems)
    problem.microseconds.resize(configurations.size(), std::numeric_limits<double>::infinity());
  return table;
}

}  // namespace weft
