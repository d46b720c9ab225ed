#include <fmt/format.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/pruned_for.h>
#include <weft/formats/io/safetensors.h>
#include <weft/search/network/layer_problem.h>
#include <weft/search/network/network_plan.h>
#include <weft/search/trials/plan.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <utility>

namespace weft {
namespace {

namespace fs = std::filesystem;

/// "03_encoder.0.fc1_n8": a folder of every system.
std::string shard_name(std::size_t number, const std::string& layer, std::int64_t n) {
  constexpr std::size_t longest = 60;
  std::string name = fmt::format("{:03}_{}_n{}", number, layer.substr(0, longest), n);
  for (char& c : name) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (!is_plain) c = '_';
  }
  return name;
}

/// The weights as the layer computes with them, whatever file they came from.
void write_weights(const std::string& path, const WeightMatrix& weights) {
  std::vector<std::pair<std::string, Array>> tensors;
  tensors.emplace_back("weight", to_dense(weights).reshaped(weights.shape));
  if (!weights.row_scale.empty())
    tensors.emplace_back("weight_scale", Array::of(weights.row_scale).reshaped({weights.rows, 1}));
  std::map<std::string, std::string> metadata;
  if (weights.pruned_for != nullptr)
    metadata = io::metadata_of_pruned(weights.pruned_for->format, weights.pruned_for->row_order);
  write_safetensors(path, tensors, metadata);
}

void write_shard(const Network& network, const ClassAtColumns& one, const Target& target,
                 const fs::path& folder, const NetworkTuneOptions& options) {
  const NetworkLayer& layer = network.layers()[one.layers.representative()];
  const auto weights = std::make_shared<const WeightMatrix>(weights_of_kernel(layer));
  TrialProblem problem = problem_of(layer, weights, one.n, layout_on(layer, target));
  name_place(problem, network, one.layers, 0, options.columns);
  const std::vector<Format> formats = searched_formats(*weights, target, options.formats);
  problem.what.format = formats.front();
  Plan plan{problem.source, target.name, {}};
  TuneOptions tune = options.tune;
  tune.any_format = true;
  plan.points =
      likeliest(problem, spaces_for(problem.what, formats, target), target, tune, options.most_trials);
  const std::string file = (folder / "weights.safetensors").string();
  fs::create_directories(folder);
  write_weights(file, *weights);
  plan.source["weights"] = file;
  plan.source["tensor"] = "weight";
  write_plan(folder.string(), plan, {"weights"});
}

std::vector<std::string> written_plan(Network& network, const Target& target, const std::string& folder,
                                      const NetworkTuneOptions& options) {
  if (fs::exists(shards_file(folder)))
    throw UserError("a plan is there already", folder, shards_file(folder),
                    "another folder, or this one removed");
  const std::vector<ClassAtColumns> classes = classes_at_columns(network, options.columns);
  std::vector<std::string> names;
  std::string list;
  for (const ClassAtColumns& one : classes) {
    const NetworkLayer& layer = network.layers()[one.layers.representative()];
    names.push_back(shard_name(names.size() + 1, layer.name, one.n));
    write_shard(network, one, target, fs::path(folder) / names.back(), options);
    list += names.back() + "\n";
  }
  // Last: with it the plan is whole.
  const io::Bytes bytes = std::as_bytes(std::span(list));
  io::write_file(shards_file(folder), std::span(&bytes, 1));
  return names;
}

AbsorbedPlan absorbed_plan(const std::string& folder, RecordFile& file) {
  std::error_code none;
  if (!fs::exists(shards_file(folder), none))
    throw UserError("no plan of a network is there", folder,
                    fs::is_directory(folder, none) ? "a folder without shards.txt"
                    : fs::exists(folder, none)     ? "a file"
                                                   : "no such folder",
                    "a folder that weft model tune --plan wrote");
  const io::File list(shards_file(folder));
  std::istringstream names{std::string(io::text_of(list.bytes()))};
  AbsorbedPlan result;
  std::vector<Record> records;
  for (std::string name; std::getline(names, name);) {
    if (name.empty()) continue;
    ++result.shards;
    const std::string results = results_file((fs::path(folder) / name).string());
    if (!fs::exists(results)) {
      result.without.push_back(name);
      continue;
    }
    const RecordFile measured(results, RecordFile::Mode::read);
    for (const StoredRecord& stored : measured.records()) records.push_back(stored.record);
    std::ranges::copy(measured.warnings(), std::back_inserter(result.warnings));
  }
  result.trials = records.size();
  result.added = file.append_all(std::move(records));
  return result;
}

}  // namespace

std::string shards_file(const std::string& folder) {
  return (fs::path(folder) / "shards.txt").string();
}

std::vector<std::string> write_network_plan(Network& network, const Target& target, const std::string& folder,
                                            const NetworkTuneOptions& options, CallPlace place) {
  return user_call(place, [&] { return written_plan(network, target, folder, options); });
}

AbsorbedPlan absorb_network_plan(const std::string& folder, RecordFile& file, CallPlace place) {
  return user_call(place, [&] { return absorbed_plan(folder, file); });
}

}  // namespace weft
