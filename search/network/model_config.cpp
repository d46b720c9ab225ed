#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/file.h>
#include <weft/search/measure/located_json.h>
#include <weft/search/network/model_config.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <string_view>

namespace weft {
namespace {

using Json = nlohmann::json;

/// Where packages that prune and quantise write which layers they left alone.
constexpr std::array<std::string_view, 4> places_of_ignored{
    "/quantization_config/ignore", "/quantization_config/sparsity_config/ignore",
    "/compression_config/ignore", "/compression_config/sparsity_config/ignore"};

std::vector<std::string> names_at(const LocatedJson& file, std::string_view place) {
  const Json::json_pointer pointer{std::string(place)};
  if (!file.document().contains(pointer)) return {};
  const Json& list = file.document()[pointer];
  const auto is_text = [](const Json& one) { return one.is_string(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_text))
    throw UserError("a model's configuration cannot be read", file.place(std::string(place)), list.dump(),
                    "a list of names");
  return list.get<std::vector<std::string>>();
}

bool is_named(const std::string& pattern, const std::string& name) {
  if (!pattern.starts_with("re:")) return pattern == name;
  try {
    return std::regex_match(name, std::regex(pattern.substr(3)));
  } catch (const std::regex_error& error) {
    throw UserError("a model's configuration has a broken pattern", "config.json, ignore",
                    fmt::format("\"{}\": {}", pattern, error.what()), "a regular expression");
  }
}

}  // namespace

ModelConfig model_config_of(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "config.json").string();
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return {};
  const io::File bytes(path);
  const LocatedJson file(std::string(io::text_of(bytes.bytes())), path);
  ModelConfig config;
  if (const auto type = file.document().find("model_type");
      type != file.document().end() && type->is_string())
    config.model_type = type->get<std::string>();
  for (const std::string_view place : places_of_ignored)
    std::ranges::copy(names_at(file, place), std::back_inserter(config.ignored));
  config.transposed = config.model_type == "gpt2";
  return config;
}

void follow(const ModelConfig& config, std::vector<NetworkLayer>& layers) {
  for (NetworkLayer& layer : layers) {
    if (!layer.is_candidate()) continue;
    const auto names_it = [&](const std::string& pattern) { return is_named(pattern, layer.name); };
    if (std::ranges::any_of(config.ignored, names_it)) {
      layer.left_out = "on the list of layers that config.json keeps dense";
    } else if (config.transposed && layer.kind == LayerKind::linear &&
               layer.name.find(".c_") != std::string::npos) {
      layer.left_out = "its weights lie the other way, [in, out], as GPT-2's Conv1D has them";
    }
  }
}

}  // namespace weft
