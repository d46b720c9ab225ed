#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/search/records/words.h>
#include <weft/search/trials/record_export.h>
#include <weft/search/trials/record_query.h>
#include <weft/search/trials/standing.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> names{"t4", "kernel-tuner", "csv"};

/// Every knob of any record.
std::vector<std::string> knobs_of(const std::vector<StoredRecord>& records) {
  std::set<std::string> knobs;
  for (const StoredRecord& stored : records)
    for (const auto& [knob, value] : stored.record.config) knobs.insert(knob);
  return {knobs.begin(), knobs.end()};
}

std::int64_t value_of(const Record& record, const std::string& knob) {
  const auto found = record.config.find(knob);
  return found == record.config.end() ? 0 : found->second;
}

Json t4_result(const Record& record) {
  constexpr double to_seconds = 1e-3;
  Json configuration{{"format", record.pattern.kind}, {"recipe", record.recipe}};
  for (const auto& [knob, value] : record.config) configuration[knob] = value;
  Json times = Json::object();
  if (record.compile_milliseconds) times["compilation_time"] = *record.compile_milliseconds * to_seconds;
  times["runtimes"] = Json::array();
  Json measurements = Json::array();
  if (const auto& us = record.microseconds) {
    times["runtimes"].push_back(us->median * 1e-6);
    measurements.push_back({{"name", "time"}, {"value", us->median}, {"unit", "us"}});
    measurements.push_back({{"name", "time_min"}, {"value", us->minimum}, {"unit", "us"}});
    measurements.push_back({{"name", "time_p95"}, {"value", us->percentile_95}, {"unit", "us"}});
  }
  if (record.registers)
    measurements.push_back({{"name", "registers"}, {"value", *record.registers}, {"unit", ""}});
  if (record.spill_bytes)
    measurements.push_back({{"name", "spill"}, {"value", *record.spill_bytes}, {"unit", "B"}});
  return {{"timestamp", record.time},
          {"configuration", configuration},
          {"objectives", {"time"}},
          {"times", times},
          {"invalidity", name_of(record.status)},
          {"correctness", record.status == TrialStatus::correct ? 1 : 0},
          {"measurements", measurements}};
}

std::string t4_of(const std::vector<StoredRecord>& records) {
  Json document{{"schema_version", "1.0.0"}, {"results", Json::array()}};
  for (const StoredRecord& stored : records) document["results"].push_back(t4_result(stored.record));
  return document.dump(1) + "\n";
}

/// Its words for what has no time.
Json time_in_cache(const Record& record) {
  constexpr double to_milliseconds = 1e-3;
  if (const auto time = record.time_of_correct()) return *time * to_milliseconds;
  switch (record.status) {
    case TrialStatus::constraints: return "InvalidConfig";
    case TrialStatus::compile: return "CompilationFailedConfig";
    default: return "RuntimeFailedConfig";
  }
}

std::string kernel_tuner_of(const std::vector<StoredRecord>& records) {
  const std::vector<ProblemTrials> problems = problems_of(records);
  if (problems.size() != 1) {
    std::vector<std::string> found;
    for (const ProblemTrials& problem : problems) found.push_back(problem.name);
    throw UserError("a cache of Kernel Tuner holds one problem", "--to kernel-tuner",
                    fmt::format("{} of them: {}", problems.size(), fmt::join(found, "; ")),
                    "a choice by --kernel, --target, --measure, --M, --K and --N");
  }
  const Record& first = records.front().record;
  const std::vector<std::string> knobs = knobs_of(records);
  Json keys{"format", "recipe"};
  std::map<std::string, std::set<std::int64_t>> values;
  std::set<std::string> formats, recipes;
  for (const std::string& knob : knobs) keys.push_back(knob);
  Json cache = Json::object();
  for (const StoredRecord& stored : records) {
    const Record& record = stored.record;
    formats.insert(record.pattern.kind);
    recipes.insert(record.recipe);
    Json entry{{"format", record.pattern.kind}, {"recipe", record.recipe}};
    std::string key = record.pattern.kind + "," + record.recipe;
    for (const std::string& knob : knobs) {
      entry[knob] = value_of(record, knob);
      values[knob].insert(value_of(record, knob));
      key += fmt::format(",{}", value_of(record, knob));
    }
    entry["time"] = time_in_cache(record);
    entry["compile_time"] = record.compile_milliseconds.value_or(0);
    for (const char* none : {"verification_time", "benchmark_time", "strategy_time", "framework_time"})
      entry[none] = 0;
    entry["timestamp"] = record.time;
    cache[key] = entry;
  }
  Json parameters{{"format", formats}, {"recipe", recipes}};
  for (const std::string& knob : knobs) parameters[knob] = values[knob];
  const Json document{{"schema_version", "1.1.0"},
                      {"device_name", first.target.gpu.empty() ? first.target.name : first.target.gpu},
                      {"kernel_name", first.kernel},
                      {"problem_size", problems.front().name},
                      {"tune_params_keys", keys},
                      {"tune_params", parameters},
                      {"objective", "time"},
                      {"cache", cache}};
  return document.dump(1) + "\n";
}

std::string quoted_for_csv(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string inside;
  for (const char c : text) inside += c == '"' ? std::string("\"\"") : std::string(1, c);
  return "\"" + inside + "\"";
}

template <class T>
std::string cell(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string csv_of(const std::vector<StoredRecord>& records) {
  const std::vector<std::string> knobs = knobs_of(records);
  std::string text =
      "line,time,kernel,M,K,N,dtype,nnz,pattern,target,gpu,measure,recipe,status,us,us_min,us_p95,predicted_"
      "us,"
      "dense_us,dense,dense_of,compile_ms,registers,shared_bytes,spill_bytes,strategy";
  for (const std::string& knob : knobs) text += "," + quoted_for_csv(knob);
  text += "\n";
  for (const StoredRecord& stored : records) {
    const Record& r = stored.record;
    const auto size = [&](const char* name) {
      const auto found = r.problem.sizes.find(name);
      return found == r.problem.sizes.end() ? std::string() : std::to_string(found->second);
    };
    const Baseline* dense = dense_beside(r);
    const auto& us = r.microseconds;
    std::vector<std::string> cells{std::to_string(stored.line),
                                   r.time,
                                   quoted_for_csv(r.kernel),
                                   size("M"),
                                   size("K"),
                                   size("N"),
                                   quoted_for_csv(r.problem.word("dtype")),
                                   std::to_string(r.pattern.stored),
                                   quoted_for_csv(r.pattern.kind),
                                   r.target.name,
                                   quoted_for_csv(r.target.gpu),
                                   r.measure,
                                   quoted_for_csv(r.recipe),
                                   std::string(name_of(r.status)),
                                   us ? fmt::format("{}", us->median) : "",
                                   us ? fmt::format("{}", us->minimum) : "",
                                   us ? fmt::format("{}", us->percentile_95) : "",
                                   cell(r.predicted_microseconds),
                                   dense != nullptr ? fmt::format("{}", dense->microseconds) : "",
                                   dense != nullptr ? quoted_for_csv(dense->name) : "",
                                   dense != nullptr ? std::string(name_of(dense->whose)) : "",
                                   cell(r.compile_milliseconds),
                                   cell(r.registers),
                                   cell(r.shared_bytes),
                                   cell(r.spill_bytes),
                                   r.strategy};
    for (const std::string& knob : knobs)
      cells.push_back(r.config.count(knob) > 0 ? std::to_string(r.config.at(knob)) : "");
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace

RecordForm record_form_named(std::string_view name) {
  if (const auto known = value_named<RecordForm>(names, name)) return *known;
  throw UserError("records cannot be exported to that", "--to", std::string(name),
                  fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(name, names)));
}

std::string exported(const std::vector<StoredRecord>& records, RecordForm form) {
  switch (form) {
    case RecordForm::t4: return t4_of(records);
    case RecordForm::kernel_tuner: return kernel_tuner_of(records);
    case RecordForm::csv: return csv_of(records);
  }
  throw InternalError("a form of records without a writer");
}

}  // namespace weft
