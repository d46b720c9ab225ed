// weft model inspect: the layers of a network.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <weft/dsl/errors.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/model.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

struct InspectModel {
  std::string path;
  bool json = false;
};

/// A line that changes on a terminal; nothing elsewhere, where a table follows at once.
class InspectProgress {
 public:
  InspectProgress() : terminal_(isatty(STDERR_FILENO) == 1) {}
  ~InspectProgress() {
    if (terminal_) fmt::print(stderr, "\r{:<78}\r", "");
  }
  InspectProgress(const InspectProgress&) = delete;
  InspectProgress& operator=(const InspectProgress&) = delete;

  void operator()(std::size_t number, std::size_t all, const NetworkLayer& layer) const {
    if (terminal_) fmt::print(stderr, "\r{:<78.78}", fmt::format("[{}/{}] {}", number, all, layer.name));
  }

 private:
  bool terminal_;
};

}  // namespace

std::string text_of_bytes(std::uint64_t bytes) {
  constexpr double thousand = 1000;
  const auto size = static_cast<double>(bytes);
  if (size < thousand) return fmt::format("{} B", bytes);
  if (size < thousand * thousand) return fmt::format("{:.1f} KB", size / thousand);
  if (size < thousand * thousand * thousand) return fmt::format("{:.1f} MB", size / thousand / thousand);
  return fmt::format("{:.2f} GB", size / thousand / thousand / thousand);
}

std::vector<Format> asked_formats(const std::string& text) {
  if (text.empty()) return {};
  return {of_option("--format", [&] { return parse_format(text); })};
}

Network inspected_network(const std::string& path) {
  Network network = Network::read(path);
  {
    const InspectProgress progress;
    network.inspect({.progress = [&](std::size_t number, std::size_t all, const NetworkLayer& layer) {
      progress(number, all, layer);
    }});
  }
  for (const NetworkLayer& layer : network.layers()) {
    if (layer.is_candidate() && layer.found && !layer.found->note.empty())
      fmt::print(stderr, "note: {}\n", layer.found->note);
  }
  return network;
}

void print_left_out(const Network& network) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const NetworkLayer& layer : network.layers()) {
    if (layer.is_candidate()) continue;
    // Shares of zeros differ from layer to layer, and are one reason.
    const bool dense = layer.left_out.find(" % of its weights are zero") != std::string::npos;
    reasons[dense ? "hardly pruned: it stays dense" : layer.left_out].push_back(
        dense && layer.found ? fmt::format("{} ({:.1f} % zeros)", layer.name, 100 * layer.found->sparsity())
                             : layer.name);
  }
  if (reasons.empty() && network.other_tensors() == 0) return;
  fmt::print("\nleft out:\n");
  constexpr std::size_t most_names = 6;
  for (const auto& [reason, names] : reasons) {
    const std::size_t shown = std::min(names.size(), most_names);
    fmt::print("  {}\n    {}{}\n", reason,
               fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
               names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
  }
  if (network.other_tensors() > 0)
    fmt::print("  {} tensors that are no layer's weight: biases, norms, buffers\n", network.other_tensors());
}

namespace {

/// "0.0021 to 0.013"; one number where it is that of all rows.
std::string text_of_scales(const LayerWeights& found) {
  if (!found.scales) return "-";
  const auto [least, most] = *found.scales;
  return least == most ? fmt::format("{:.2g}", least) : fmt::format("{:.2g} to {:.2g}", least, most);
}

/// The candidates, and what they weigh.
void print_candidates(const Network& network) {
  const auto has_scales = [](const NetworkLayer& layer) { return layer.found && layer.found->scales; };
  const bool any_scales = std::ranges::any_of(network.layers(), has_scales);
  std::vector<std::string> heading{"layer", "kind", "shape", "type", "zeros", "structure", "dense", "packed"};
  if (any_scales) heading.insert(heading.begin() + 4, "scale");
  Table table(heading);
  std::uint64_t dense = 0, packed = 0;
  std::size_t count = 0;
  for (const NetworkLayer& layer : network.layers()) {
    if (!layer.is_candidate() || !layer.found) continue;
    const LayerWeights& found = *layer.found;
    std::vector<std::string> cells{layer.name,
                                   std::string(name_of(layer.kind)),
                                   fmt::format("{}", fmt::join(layer.weight.shape, " x ")),
                                   std::string(name_of(found.dtype)),
                                   fmt::format("{:.1f} %", 100 * found.sparsity()),
                                   found.format.text(),
                                   text_of_bytes(found.dense_bytes),
                                   text_of_bytes(found.packed_bytes)};
    if (any_scales) cells.insert(cells.begin() + 4, text_of_scales(found));
    table.row(cells);
    dense += found.dense_bytes;
    packed += found.packed_bytes;
    ++count;
  }
  if (count > 0) fmt::print("{}\n", table.text());
  fmt::print("{} layer{} to look for kernels for: {} dense, {} packed\n", count, count == 1 ? "" : "s",
             text_of_bytes(dense), text_of_bytes(packed));
}

nlohmann::ordered_json json_of(const NetworkLayer& layer) {
  nlohmann::ordered_json json{{"name", layer.name},          {"kind", name_of(layer.kind)},
                              {"file", layer.weight.path},   {"tensor", layer.weight.tensor},
                              {"shape", layer.weight.shape}, {"calls", layer.calls}};
  if (layer.found) {
    const LayerWeights& found = *layer.found;
    json["elements"] = found.elements;
    json["zeros"] = found.zeros;
    json["dense_bytes"] = found.dense_bytes;
    if (layer.is_candidate()) {
      json["dtype"] = name_of(found.dtype);
      json["format"] = found.format.text();
      json["packed_bytes"] = found.packed_bytes;
      if (found.scales) json["scale"] = {{"least", found.scales->first}, {"most", found.scales->second}};
    }
  }
  if (!layer.is_candidate()) json["left_out"] = layer.left_out;
  if (layer.broken) json["broken"] = true;
  return json;
}

int inspect(const InspectModel& options) {
  const Network network = inspected_network(options.path);
  if (options.json) {
    nlohmann::ordered_json document{{"path", network.path()}, {"other_tensors", network.other_tensors()}};
    document["layers"] = nlohmann::ordered_json::array();
    for (const NetworkLayer& layer : network.layers()) document["layers"].push_back(json_of(layer));
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    print_candidates(network);
    print_left_out(network);
  }
  const auto broken = std::ranges::count_if(network.layers(), &NetworkLayer::broken);
  if (broken == 0) return exit_ok;
  fmt::print(stderr, "{} layer{} could not be read; the reasons stand above\n", broken,
             broken == 1 ? "" : "s");
  return exit_usage;
}

}  // namespace

void add_model_inspect(CLI::App& verb, Action& action) {
  const auto [part, options] = new_verb<InspectModel>(
      verb, action, "inspect", "its layers: shape, zeros, structure, bytes, and what is left out",
      "A folder of Hugging Face's form, of .npy, .npz, .smtx or .safetensors files, one file of many\n"
      "tensors, or a network.json, which weft_trace.py writes from a PyTorch model.\n"
      "Example: weft model inspect llama-pruned",
      inspect);
  add_option(part, "path", options.path, "a folder, a file, or a network.json")->required();
  begin_group(part, "Output");
  add_json_flag(part, options.json);
}

}  // namespace weft::tool
