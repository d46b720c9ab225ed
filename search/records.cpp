#include <fmt/chrono.h>
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/records.h>

#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> status_names{"correct", "constraints", "compile",
                                                       "timeout", "runtime",     "correctness"};

/// A field that is left out where there is nothing to say.
void put(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}
template <class T>
void put(Json& json, const char* name, const std::optional<T>& value) {
  if (value) json[name] = *value;
}

template <class T>
void get(const Json& json, const char* name, T& value) {
  const auto found = json.find(name);
  if (found != json.end() && !found->is_null()) value = found->get<T>();
}
template <class T>
void get(const Json& json, const char* name, std::optional<T>& value) {
  const auto found = json.find(name);
  if (found != json.end() && !found->is_null()) value = found->get<T>();
}

/// The object of that name, or an empty one.
Json object_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_object() ? *found : Json::object();
}

template <class T>
std::map<std::string, T> map_at(const Json& json, const char* name) {
  const Json object = object_at(json, name);
  std::map<std::string, T> values;
  for (const auto& [key, value] : object.items()) values[key] = value.template get<T>();
  return values;
}

Json json_of_problem(const Record::Problem& problem) {
  Json json = Json::object();
  for (const auto& [name, size] : problem.sizes) json[name] = size;
  for (const auto& [name, word] : problem.words) json[name] = word;
  return json;
}

Json json_of_pattern(const Record::Pattern& pattern) {
  Json json{{"kind", pattern.kind},
            {"nnz", pattern.stored},
            {"hash", pattern.hash},
            {"row_mean", pattern.row_mean},
            {"row_cv", pattern.row_variation}};
  if (pattern.group > 0) json["V"] = pattern.group;
  return json;
}

Json json_of_target(const Record::Target& target) {
  Json json{{"sm", target.name}};
  put(json, "gpu", target.gpu);
  if (target.shared_bytes > 0) json["smem_optin"] = target.shared_bytes;
  if (target.multiprocessors > 0) json["sms"] = target.multiprocessors;
  return json;
}

void put_measured(Json& json, const Record& record) {
  json["status"] = name_of(record.status);
  put(json, "message", record.message);
  json["measure"] = record.measure;
  if (const auto& us = record.microseconds)
    json["us"] = {{"median", us->median}, {"min", us->minimum}, {"p95", us->percentile_95}, {"n", us->count}};
  put(json, "compile_ms", record.compile_milliseconds);
  if (const auto& verified = record.verified)
    json["verify"] = {{"relative", verified->relative},
                      {"largest_scaled", verified->largest},
                      {"rows", verified->rows},
                      {"trusted", verified->against_trusted},
                      {"ref", "f64"}};
  put(json, "regs", record.registers);
  put(json, "smem", record.shared_bytes);
  put(json, "spill", record.spill_bytes);
  put(json, "predicted_us", record.predicted_microseconds);
  for (const Baseline& one : record.baselines)
    json["baselines"].push_back({{"name", one.name}, {"dense", one.dense}, {"us", one.microseconds}});
  put(json, "strategy", record.strategy);
  json["seed"] = record.seed;
}

void get_problem(const Json& json, Record::Problem& problem) {
  for (const auto& [name, value] : json.items()) {
    if (value.is_number_integer()) problem.sizes[name] = value.get<std::int64_t>();
    if (value.is_string()) problem.words[name] = value.get<std::string>();
  }
}

void get_measured(const Json& json, Record& record) {
  std::string status;
  get(json, "status", status);
  const auto known = trial_status_named(status);
  if (!known) throw UserError({"there is no such status", {}, status, "correct, or a kind of failure"});
  record.status = *known;
  get(json, "message", record.message);
  get(json, "measure", record.measure);
  if (const Json us = object_at(json, "us"); !us.empty()) {
    record.microseconds.emplace();
    get(us, "median", record.microseconds->median);
    get(us, "min", record.microseconds->minimum);
    get(us, "p95", record.microseconds->percentile_95);
    get(us, "n", record.microseconds->count);
  }
  get(json, "compile_ms", record.compile_milliseconds);
  if (const Json verify = object_at(json, "verify"); !verify.empty()) {
    record.verified.emplace();
    get(verify, "relative", record.verified->relative);
    get(verify, "largest_scaled", record.verified->largest);
    get(verify, "rows", record.verified->rows);
    get(verify, "trusted", record.verified->against_trusted);
  }
  get(json, "regs", record.registers);
  get(json, "smem", record.shared_bytes);
  get(json, "spill", record.spill_bytes);
  get(json, "predicted_us", record.predicted_microseconds);
  if (json.contains("baselines")) {
    for (const Json& one : json.at("baselines"))
      record.baselines.push_back({one.at("name"), one.at("dense"), one.at("us")});
  }
  get(json, "strategy", record.strategy);
  get(json, "seed", record.seed);
}

Record read_record(const Json& json) {
  if (!json.is_object() || !json.contains("config"))
    throw UserError({"a line is no record", {}, "no configuration", "an object with \"config\""});
  Record record;
  get(json, "id", record.id);
  get(json, "t", record.time);
  get(json, "run", record.run);
  get(json, "kernel", record.kernel);
  get(json, "recipe", record.recipe);
  get(json, "kernel_hash", record.kernel_hash);
  record.config = map_at<std::int64_t>(json, "config");
  get_problem(object_at(json, "problem"), record.problem);
  const Json pattern = object_at(json, "pattern");
  get(pattern, "kind", record.pattern.kind);
  get(pattern, "V", record.pattern.group);
  get(pattern, "nnz", record.pattern.stored);
  get(pattern, "hash", record.pattern.hash);
  get(pattern, "row_mean", record.pattern.row_mean);
  get(pattern, "row_cv", record.pattern.row_variation);
  const Json target = object_at(json, "target");
  get(target, "sm", record.target.name);
  get(target, "gpu", record.target.gpu);
  get(target, "sms", record.target.multiprocessors);
  get(target, "smem_optin", record.target.shared_bytes);
  record.toolchain = map_at<std::string>(json, "toolchain");
  record.source = map_at<std::string>(json, "source");
  get_measured(json, record);
  return record;
}

}  // namespace

std::string_view name_of(TrialStatus status) {
  return status_names.at(static_cast<std::size_t>(status));
}

std::optional<TrialStatus> trial_status_named(std::string_view name) {
  for (std::size_t i = 0; i < status_names.size(); ++i) {
    if (status_names[i] == name) return static_cast<TrialStatus>(i);
  }
  return std::nullopt;
}

std::optional<double> Record::time_of_correct() const {
  if (status != TrialStatus::correct || !microseconds) return std::nullopt;
  return microseconds->median;
}

std::string Record::problem_key() const {
  return Json{kernel,     json_of_problem(problem), pattern.hash, target.name,
              target.gpu, Json(toolchain),          measure}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Record::key() const {
  return problem_key() + recipe + Json(config).dump();
}

std::string text_of_config(const Record& record) {
  std::string text = record.recipe;
  for (const auto& [name, value] : record.config) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string architecture_of(const std::string& target) {
  const std::size_t end = target.find_last_of("0123456789");
  return end == std::string::npos ? target : target.substr(0, end + 1);
}

std::string json_of(const Record& record) {
  Json json;
  put(json, "id", record.id);
  put(json, "t", record.time);
  put(json, "run", record.run);
  json["kernel"] = record.kernel;
  put(json, "kernel_hash", record.kernel_hash);
  json["problem"] = json_of_problem(record.problem);
  json["pattern"] = json_of_pattern(record.pattern);
  json["target"] = json_of_target(record.target);
  json["toolchain"] = record.toolchain;
  json["recipe"] = record.recipe;
  json["config"] = record.config;
  put_measured(json, record);
  if (!record.source.empty()) json["source"] = record.source;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Record record_of(std::string_view line) {
  try {
    return read_record(Json::parse(line));
  } catch (const nlohmann::json::exception& error) {
    throw UserError({"a line is no record", {}, error.what(), "one JSON object, as weft tune writes it"});
  }
}

std::string new_record_id() {
  constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  static thread_local std::random_device chance;
  auto milliseconds = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                                     std::chrono::system_clock::now().time_since_epoch())
                                                     .count());
  std::string id(26, '0');
  for (std::size_t i = 10; i-- > 0; milliseconds /= 32) id[i] = digits[milliseconds % 32];
  for (std::size_t i = 10; i < id.size(); ++i) id[i] = digits[chance() % 32];
  return id;
}

std::string time_now() {
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace weft
