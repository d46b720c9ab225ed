#define XXH_INLINE_ALL  // nothing to link
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/records/json_fields.h>
#include <weft/search/records/records.h>
#include <weft/search/records/words.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <random>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> status_names{"correct", "constraints", "compile",
                                                       "timeout", "runtime",     "correctness"};
constexpr std::array<std::string_view, 3> baseline_names{"library", "weft", "model"};
/// Microseconds. No launch takes less, and ratios of times stay finite.
constexpr double least_time = 1e-6;

/// A field that is left out where there is nothing to say.
void put(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}
template <class T>
void put(Json& json, const char* name, const std::optional<T>& value) {
  if (value) json[name] = *value;
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
  if (target.threads > 0) json["threads"] = target.threads;
  if (target.first_cache > 0) json["first_cache"] = target.first_cache;
  if (target.second_cache > 0) json["second_cache"] = target.second_cache;
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
    json["baselines"].push_back(
        {{"name", one.name}, {"dense", one.dense}, {"us", one.microseconds}, {"of", name_of(one.whose)}});
  put(json, "strategy", record.strategy);
  json["seed"] = record.seed;
}

/// Sizes are whole numbers and words are texts, under names of the operation's own.
void read_problem(const Json& json, const JsonFields& fields, Record::Problem& problem) {
  for (const auto& [name, value] : json.items()) {
    if (value.is_string())
      fields.read(name, problem.words[name]);
    else
      fields.read(name, problem.sizes[name], std::int64_t{0});
  }
}

/// Lines of before it was said: names tell.
BaselineOf whose_by_name(const std::string& name) {
  if (name.starts_with("weft")) return BaselineOf::weft;
  return name.ends_with("by the model") ? BaselineOf::model : BaselineOf::library;
}

Baseline read_baseline(const JsonFields& fields) {
  Baseline baseline;
  baseline.name = fields.required<std::string>("name");
  baseline.dense = fields.required<bool>("dense");
  baseline.microseconds = fields.required<double>("us", least_time);
  baseline.whose = whose_by_name(baseline.name);
  std::string whose;
  fields.read("of", whose);
  if (whose.empty()) return baseline;
  const auto known = value_named<BaselineOf>(baseline_names, whose);
  if (!known) fields.refuse("of", whose, fmt::format("{}", fmt::join(baseline_names, ", ")));
  baseline.whose = *known;
  return baseline;
}

TrialTime read_time(const JsonFields& fields) {
  TrialTime time;
  time.median = fields.required<double>("median", least_time);
  fields.read("min", time.minimum, 0.0);
  fields.read("p95", time.percentile_95, 0.0);
  fields.read("n", time.count, 0, std::numeric_limits<int>::max());
  return time;
}

void read_measured(const JsonFields& fields, Record& record) {
  const auto status = fields.required<std::string>("status");
  const auto known = trial_status_named(status);
  if (!known) fields.refuse("status", status, fmt::format("{}", fmt::join(status_names, ", ")));
  record.status = *known;
  fields.read("message", record.message);
  fields.read("measure", record.measure);
  if (fields.has("us")) record.microseconds = read_time(fields.object("us"));
  fields.read("compile_ms", record.compile_milliseconds, 0.0);
  if (fields.has("verify")) {
    const JsonFields verify = fields.object("verify");
    TrialCheck& check = record.verified.emplace();
    verify.read("relative", check.relative);
    verify.read("largest_scaled", check.largest);
    verify.read("rows", check.rows, std::int64_t{0});
    verify.read("trusted", check.against_trusted);
  }
  fields.read("regs", record.registers, 0, std::numeric_limits<int>::max());
  fields.read("smem", record.shared_bytes, std::int64_t{0});
  fields.read("spill", record.spill_bytes, std::int64_t{0});
  fields.read("predicted_us", record.predicted_microseconds, 0.0);
  for (std::size_t i = 0; i < fields.list("baselines").size(); ++i)
    record.baselines.push_back(read_baseline(fields.element("baselines", i)));
  fields.read("strategy", record.strategy);
}

/// 64 bits, of which every value may have been drawn.
std::uint64_t read_seed(const Json& json, const JsonFields& fields) {
  if (!fields.has("seed")) return 0;
  if (!json.at("seed").is_number_unsigned())
    fields.refuse("seed", shown(json.at("seed")), "a whole number from 0");
  return json.at("seed").get<std::uint64_t>();
}

void read_pattern(const JsonFields& fields, Record::Pattern& pattern) {
  fields.read("kind", pattern.kind);
  fields.read("V", pattern.group, std::int64_t{0});
  fields.read("nnz", pattern.stored, std::int64_t{0});
  fields.read("hash", pattern.hash);
  fields.read("row_mean", pattern.row_mean, 0.0);
  fields.read("row_cv", pattern.row_variation, 0.0);
}

void read_target(const JsonFields& fields, Record::Target& target) {
  constexpr int most = std::numeric_limits<int>::max();
  fields.read("sm", target.name);
  fields.read("gpu", target.gpu);
  fields.read("sms", target.multiprocessors, 0, most);
  fields.read("smem_optin", target.shared_bytes, std::int64_t{0});
  fields.read("threads", target.threads, 0, most);
  fields.read("first_cache", target.first_cache, std::int64_t{0});
  fields.read("second_cache", target.second_cache, std::int64_t{0});
}

Record read_record(const Json& json, const JsonOrigin& origin) {
  const JsonFields fields(json, origin);
  fields.need("config");
  Record record;
  fields.read("id", record.id);
  fields.read("t", record.time);
  fields.read("run", record.run);
  fields.read("kernel", record.kernel);
  fields.read("recipe", record.recipe);
  fields.read("kernel_hash", record.kernel_hash);
  fields.read("config", record.config);
  if (fields.has("problem")) read_problem(json.at("problem"), fields.object("problem"), record.problem);
  read_pattern(fields.object("pattern"), record.pattern);
  read_target(fields.object("target"), record.target);
  fields.read("toolchain", record.toolchain);
  fields.read("source", record.source);
  read_measured(fields, record);
  record.seed = read_seed(json, fields);
  return record;
}

}  // namespace

std::string_view name_of(TrialStatus status) {
  return status_names.at(static_cast<std::size_t>(status));
}

std::optional<TrialStatus> trial_status_named(std::string_view name) {
  return value_named<TrialStatus>(status_names, name);
}

std::string_view name_of(BaselineOf whose) {
  return baseline_names.at(static_cast<std::size_t>(whose));
}

std::int64_t Record::Problem::size(const std::string& name) const {
  const auto found = sizes.find(name);
  return found == sizes.end() ? 0 : found->second;
}

std::string Record::Problem::word(const std::string& name) const {
  const auto found = words.find(name);
  return found == words.end() ? std::string() : found->second;
}

std::optional<double> Record::time_of_correct() const {
  if (status != TrialStatus::correct || !microseconds) return std::nullopt;
  return microseconds->median;
}

bool Record::sums_roughly() const {
  const auto found = config.find("promote");
  return found != config.end() && found->second == 0;
}

std::string Record::problem_key() const {
  return Json{kernel,     json_of_problem(problem), pattern.hash,    target.name,
              target.gpu, target.threads,           Json(toolchain), measure}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Record::packed_key() const {
  return problem_key() + pattern.kind;
}

std::string Record::key() const {
  return packed_key() + " " + recipe + Json(config).dump();
}

bool is_flag(std::string_view name) {
  constexpr std::array<std::string_view, 6> of_networks{"network", "columns", "layer",
                                                        "like",    "layers",  "calls"};
  return std::ranges::find(of_networks, name) == of_networks.end();
}

std::string text_of_microseconds(double microseconds) {
  if (microseconds < 1000) return fmt::format("{:.2f} us", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.2f} ms", microseconds / 1e3);
  return fmt::format("{:.2f} s", microseconds / 1e6);
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
  const JsonOrigin origin{"a line is no record", {}, "one JSON object, as weft tune writes it"};
  return read_record(parse_json(line, origin), origin);
}

std::string hash_of(std::string_view bytes) {
  return fmt::format("xxh3:{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
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
