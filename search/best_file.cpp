#include <weft/dsl/errors.h>
#include <weft/search/best_file.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

constexpr int version = 1;

/// A field a line, and a step a line: what changes in a review is what changed.
std::string lines_of(const nlohmann::ordered_json& json) {
  std::string text = "{";
  const char* between = "\n ";
  for (const auto& [name, value] : json.items()) {
    text += between + nlohmann::json(name).dump() + ": ";
    between = ",\n ";
    if (name != "schedule" || value.empty()) {
      text += value.dump();
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i) text += (i == 0 ? "[\n  " : ",\n  ") + value[i].dump();
    text += "\n ]";
  }
  return text + "\n}\n";
}

}  // namespace

std::string json_of_best(const Record& record, const Schedule& schedule) {
  const auto measured = nlohmann::ordered_json::parse(json_of(record));
  nlohmann::ordered_json json{{"weft_best", version}};
  for (const char* field : {"kernel", "problem", "pattern", "target", "recipe", "config"})
    json[field] = measured.at(field);
  if (schedule.weights() != nullptr) json["format"] = schedule.weights()->format().text();
  json["schedule"] = nlohmann::ordered_json::parse(schedule.json());
  for (const char* field : {"status", "measure", "us", "baselines", "toolchain", "id", "t"}) {
    if (measured.contains(field)) json[field] = measured.at(field);
  }
  return lines_of(json);
}

bool is_best_file(std::string_view json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  return parsed.is_object() && parsed.contains("weft_best");
}

BestKernel best_kernel_of(std::string_view json, const std::string& origin) {
  const auto refuse = [&](const std::string& found) {
    return UserError({"a file is not the outcome of a search", origin, found, "a file that weft tune wrote"});
  };
  try {
    const auto parsed = nlohmann::ordered_json::parse(json);
    if (!parsed.is_object() || !parsed.contains("weft_best")) throw refuse("no \"weft_best\"");
    if (parsed.at("weft_best").get<int>() > version) throw refuse("a later version");
    BestKernel best;
    best.record = record_of(json);
    best.format = parsed.value("format", std::string());
    best.steps = steps_of_json(parsed.at("schedule").dump());
    return best;
  } catch (const nlohmann::json::exception& error) {
    throw refuse(error.what());
  }
}

}  // namespace weft
