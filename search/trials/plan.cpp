#include <fmt/format.h>
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/file_and_tensor.h>
#include <weft/search/records/json_fields.h>
#include <weft/search/trials/plan.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int plan_version = 1;

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

namespace {

void write(const std::string& folder, const Plan& plan, const std::vector<std::string>& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse_path("make the folder", folder, error);
  Json json{{"weft_plan", plan_version}, {"target", plan.target}, {"source", plan.source}};
  json["files"] = Json::object();
  for (const std::string& flag : files) {
    const auto found = plan.source.find(flag);
    if (found == plan.source.end()) continue;
    const auto [file, tensor] = file_and_tensor(found->second);
    if (!fs::is_regular_file(file, error)) continue;
    const std::string name = name_in_folder(flag, file);
    const fs::path copy = fs::path(folder) / name;
    if (!fs::equivalent(file, copy, error))
      fs::copy_file(file, copy, fs::copy_options::overwrite_existing, error);
    if (error) throw RuntimeError("cannot copy " + file + " into " + folder + ": " + error.message());
    json["files"][flag] = tensor.empty() ? name : name + ":" + tensor;
  }
  for (const auto& [recipe, config, format] : plan.points)
    json["points"].push_back({{"recipe", recipe}, {"config", config}, {"format", format}});
  write_bytes(plan_file(folder), json.dump(1) + "\n");
}

JsonOrigin origin_of(const std::string& folder) {
  return {"a plan cannot be read", plan_file(folder),
          "the plan.json of a folder that weft tune --plan wrote"};
}

/// The plans that a folder holds, as that of a network's search does, in the order of their names.
std::vector<std::string> plans_inside(const fs::path& folder) {
  std::error_code none;
  std::vector<std::string> plans;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    if (fs::exists(plan_file(entry.path().string()), none)) plans.push_back(entry.path().string());
  std::ranges::sort(plans);
  return plans;
}

/// UserError when it cannot be opened, as of every file that a user names.
std::string text_of(const JsonOrigin& origin) {
  try {
    const io::File file(origin.file);
    return std::string(io::text_of(file.bytes()));
  } catch (const UserError& error) {
    const UserError::Report& report = error.report();
    std::error_code none;
    if (const fs::path folder = fs::path(origin.file).parent_path(); fs::is_regular_file(folder, none))
      throw UserError("a plan is a folder", folder.string(), "a file",
                      "a folder that weft tune --plan wrote");
    const fs::path folder = fs::path(origin.file).parent_path();
    if (const std::vector<std::string> shards = plans_inside(folder); !shards.empty())
      throw UserError("a whole plan is given in place of a shard", folder.string(),
                      fmt::format("the folder of a whole plan, with {} shard{}", shards.size(),
                                  shards.size() == 1 ? "" : "s"),
                      fmt::format("one of the shards in that folder: weft measure {}", shards.front()));
    throw UserError(report.what, report.where, report.found, origin.accepted);
  }
}

Plan read(const std::string& folder) {
  const JsonOrigin origin = origin_of(folder);
  const Json json = parse_json(text_of(origin), origin);
  const JsonFields fields(json, origin);
  require_version(fields, "weft_plan", plan_version);
  Plan plan;
  plan.target = fields.required<std::string>("target");
  fields.need("source");
  fields.read("source", plan.source);
  for (std::size_t i = 0; i < fields.list("points").size(); ++i) {
    const JsonFields point = fields.element("points", i);
    point.need("config");
    plan.points.push_back({point.required<std::string>("recipe"), {}, {}});
    point.read("config", plan.points.back().config);
    point.read("format", plan.points.back().format);
  }
  if (plan.points.empty()) fields.refuse("points", "no points", "at least one point to measure");
  return plan;
}

}  // namespace

void write_plan(const std::string& folder, const Plan& plan, const std::vector<std::string>& files,
                CallPlace place) {
  user_call(place, [&] { write(folder, plan, files); });
}

Plan read_plan(const std::string& folder, CallPlace place) {
  return user_call(place, [&] { return read(folder); });
}

std::map<std::string, std::string> source_in(const std::string& folder, const Plan& plan, CallPlace place) {
  return user_call(place, [&] {
    const JsonOrigin origin = origin_of(folder);
    const Json json = parse_json(text_of(origin), origin);
    std::map<std::string, std::string> source = plan.source, files;
    JsonFields(json, origin).read("files", files);
    for (const auto& [flag, name] : files) source[flag] = (fs::path(folder) / name).string();
    return source;
  });
}

}  // namespace weft
