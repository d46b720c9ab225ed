#include <weft/formats/io/file.h>
#include <weft/formats/io/json_events.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/io/safetensors_index.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

namespace weft::io {
namespace {

/// {"metadata": {anything}, "weight_map": {"tensor": "file"}}
class IndexEvents : public JsonEvents {
 public:
  using JsonEvents::JsonEvents;
  std::map<std::string, std::string> files;
  bool has_map = false;

  bool start_object(std::size_t) override {
    if (state_ == State::map_begins) {
      state_ = State::map;
    } else if (state_ == State::beginning) {
      state_ = State::top;
    } else {
      deeper("an object");
    }
    return true;
  }
  bool end_object() override {
    if (state_ == State::metadata) return shallower();
    state_ = state_ == State::top ? State::done : State::top;
    return true;
  }
  bool start_array(std::size_t) override {
    deeper("an array");
    return true;
  }
  bool end_array() override { return shallower(); }

  bool key(string_t& name) override {
    if (state_ == State::metadata) return true;
    if (state_ == State::map) {
      tensor_ = name;
    } else if (!keys_.insert(name).second) {
      refuse_here("the key " + in_quotes(name) + " twice", "every key once");
    } else if (name == "weight_map") {
      has_map = true;
      state_ = State::map_begins;
    } else {
      state_ = State::metadata;
    }
    return true;
  }
  bool string(string_t& value) override {
    if (state_ != State::map) return JsonEvents::string(value);
    if (value.empty() || value.find('/') != std::string::npos || value.find('\0') != std::string::npos)
      refuse_here("the file name " + in_quotes(value), "a file beside the index");
    if (!files.emplace(tensor_, value).second)
      refuse_here("the tensor " + in_quotes(tensor_) + " twice", "every tensor once");
    return true;
  }
  bool boolean(bool) override { return scalar("a boolean"); }

 private:
  enum class State { beginning, top, metadata, map_begins, map, done };

  void deeper(const std::string& found) {
    if (state_ != State::metadata) unexpected(found);
    ++depth_;
  }
  bool shallower() {
    if (--depth_ == 0) state_ = State::top;
    return true;
  }
  bool scalar(const std::string& found) override {
    if (state_ != State::metadata) unexpected(found);
    if (depth_ == 0) state_ = State::top;
    return true;
  }
  std::string expected() const override {
    return "an object whose weight_map gives the file name of every tensor";
  }

  State state_ = State::beginning;
  int depth_ = 0;  ///< inside a value other than weight_map
  std::string tensor_;
  std::set<std::string> keys_;
};

/// The shards of a model, open, and the tensors that the index says they hold.
struct Shards {
  std::vector<File> files;
  std::vector<StoredTensor> tensors;
};

/// Parts of a compressed weight share its prefix, so a name stands for all tensors that differ in the last
/// word; those of a 2:4 weight and of a CSR tensor have one word more, or one behind a '_', as masks have it.
bool belongs_to(const std::string& tensor, const std::string& name) {
  const std::string before = tensor.substr(0, tensor.rfind('.'));
  return tensor == name || before == name || before == name.substr(0, name.rfind('.')) ||
         tensor.starts_with(name + "_");
}

std::string path_of_shard(const std::string& index, const std::string& file) {
  return (std::filesystem::path(index).parent_path() / file).string();
}

File open_shard(const std::string& shard, const std::string& index) {
  try {
    return File(shard);
  } catch (const UserError& error) {
    const UserError::Report& report = error.report();
    throw UserError(report.what, index + ", which has tensors there", report.found,
                    "all files that the index names, beside it");
  }
}

Shards open_shards(const std::map<std::string, std::string>& index, const std::string& path,
                   const std::string& name) {
  const bool known =
      std::ranges::any_of(index, [&](const auto& entry) { return belongs_to(entry.first, name); });
  std::set<std::string> wanted;
  for (const auto& [tensor, file] : index) {
    if (name.empty() || !known || belongs_to(tensor, name)) wanted.insert(file);
  }
  Shards shards;
  std::set<std::string> seen;
  for (const std::string& file : wanted) {
    const std::string shard = path_of_shard(path, file);
    shards.files.push_back(open_shard(shard, path));
    for (StoredTensor& tensor : parse_safetensors_header(shards.files.back().bytes(), shard)) {
      const auto entry = index.find(tensor.name);
      if (entry == index.end() || entry->second != file) continue;
      seen.insert(tensor.name);
      shards.tensors.push_back(std::move(tensor));
    }
  }
  for (const auto& [tensor, file] : index) {
    if (wanted.contains(file) && !seen.contains(tensor))
      refuse(path, "tensor " + in_quotes(tensor), "no such tensor in " + in_quotes(file),
             "an index that fits its shards");
  }
  return shards;
}

}  // namespace

std::map<std::string, std::string> parse_safetensors_index(Bytes bytes, const std::string& origin) {
  IndexEvents events(bytes, 0, origin);
  events.run();
  if (!events.has_map) refuse(origin, {}, "no weight_map", "an object with a weight_map");
  return std::move(events.files);
}

WeightMatrix read_sharded_weights(Bytes bytes, const std::string& path, const ReadOptions& options) {
  return weights_among(open_shards(parse_safetensors_index(bytes, path), path, options.tensor).tensors, path,
                       options);
}

Array read_sharded_array(Bytes bytes, const std::string& path, const ReadOptions& options) {
  return array_among(open_shards(parse_safetensors_index(bytes, path), path, options.tensor).tensors, path,
                     options);
}

std::vector<ListedWeight> list_sharded_weights(Bytes bytes, const std::string& path) {
  const std::map<std::string, std::string> index = parse_safetensors_index(bytes, path);
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  Shards shards;
  std::map<std::string, std::string> fault_of_file;
  std::set<std::string> seen;
  for (const std::string& file : names) {
    fault_of_file[file] = fault_of(path, [&] {
      const std::string shard = path_of_shard(path, file);
      File opened = open_shard(shard, path);
      for (StoredTensor& tensor : parse_safetensors_header(opened.bytes(), shard)) {
        const auto entry = index.find(tensor.name);
        if (entry == index.end() || entry->second != file) continue;
        seen.insert(tensor.name);
        shards.tensors.push_back(std::move(tensor));
      }
      shards.files.push_back(std::move(opened));
    });
  }
  std::vector<ListedWeight> weights = list_among(shards.tensors, path);
  for (const auto& [tensor, file] : index) {
    if (seen.contains(tensor)) continue;
    const std::string& fault = fault_of_file[file];
    weights.push_back({.path = path,
                       .tensor = tensor,
                       .fault = fault.empty()
                                    ? "no such tensor in " + in_quotes(file) +
                                          ", where the index has it; accepted: the shard that holds " +
                                          in_quotes(tensor)
                                    : fault});
  }
  return weights;
}

std::string shard_of(Bytes bytes, const std::string& path, const std::string& tensor) {
  const std::map<std::string, std::string> index = parse_safetensors_index(bytes, path);
  const auto entry = index.find(tensor);
  if (entry == index.end())
    refuse(path, {}, "no tensor named " + in_quotes(tensor), "a tensor that the index names");
  return path_of_shard(path, entry->second);
}

bool looks_like_safetensors_index(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  return text.starts_with('{') && text.find("\"weight_map\"") != std::string_view::npos;
}

}  // namespace weft::io
