#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/search/plan.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int version = 1;

/// "weights.npy" for "models/a.npy": one name a flag, so that none overwrites another.
std::string name_in_folder(const std::string& flag, const std::string& path) {
  return flag + fs::path(path).extension().string();
}

}  // namespace

std::string plan_file(const std::string& folder) {
  return (fs::path(folder) / "plan.json").string();
}

std::string results_file(const std::string& folder) {
  return (fs::path(folder) / "results.jsonl").string();
}

void write_plan(const std::string& folder, const Plan& plan, const std::vector<std::string>& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw RuntimeError("cannot make the folder " + folder + ": " + error.message());
  Json json{{"weft_plan", version}, {"target", plan.target}, {"source", plan.source}};
  json["files"] = Json::object();
  for (const std::string& flag : files) {
    const auto found = plan.source.find(flag);
    if (found == plan.source.end() || !fs::is_regular_file(found->second)) continue;
    const std::string name = name_in_folder(flag, found->second);
    fs::copy_file(found->second, fs::path(folder) / name, fs::copy_options::overwrite_existing, error);
    if (error)
      throw RuntimeError("cannot copy " + found->second + " into " + folder + ": " + error.message());
    json["files"][flag] = name;
  }
  for (const auto& [recipe, config] : plan.points)
    json["points"].push_back({{"recipe", recipe}, {"config", config}});
  write_bytes(plan_file(folder), json.dump(1) + "\n");
}

namespace {

Json plan_json(const std::string& folder) {
  const std::string path = plan_file(folder);
  const Json json = Json::parse(read_bytes(path), nullptr, false);
  if (!json.is_object() || !json.contains("weft_plan"))
    throw UserError({"a folder has no plan", path, "no \"weft_plan\"", "a folder of weft tune --plan"});
  if (json.at("weft_plan") != version)
    throw UserError(
        {"a plan is of another version", path, json.at("weft_plan").dump(), std::to_string(version)});
  return json;
}

}  // namespace

Plan read_plan(const std::string& folder) {
  try {
    const Json json = plan_json(folder);
    Plan plan;
    plan.target = json.at("target").get<std::string>();
    plan.source = json.at("source").get<std::map<std::string, std::string>>();
    for (const Json& point : json.at("points"))
      plan.points.emplace_back(point.at("recipe").get<std::string>(), point.at("config").get<KnobValues>());
    return plan;
  } catch (const nlohmann::json::exception& error) {
    throw UserError({"a plan cannot be read", plan_file(folder), error.what(), "a plan of weft tune --plan"});
  }
}

std::map<std::string, std::string> source_in(const std::string& folder, const Plan& plan) {
  std::map<std::string, std::string> source = plan.source;
  const Json json = plan_json(folder);
  const Json files = json.value("files", Json::object());
  for (const auto& [flag, name] : files.items())
    source[flag] = (fs::path(folder) / name.get<std::string>()).string();
  return source;
}

}  // namespace weft
