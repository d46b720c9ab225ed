#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/file.h>
#include <weft/formats/suggestion.h>
#include <weft/search/measure/located_json.h>
#include <weft/search/network/layer_kind.h>
#include <weft/search/network/network_file.h>
#include <weft/search/records/words.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

namespace weft {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string_view>;

/// Fields of every layer, and of those of one operation.
const Names layer_fields{"name", "op", "weight", "bias", "activation", "calls"};
const Names product_fields{"n", "layout"};
const Names convolution_fields{"batch", "image", "stride", "pad", "dilation", "groups", "layout"};

/// Reads one file; every refusal names a line of it.
class Reader {
 public:
  Reader(const std::string& text, std::string path) : path_(std::move(path)), json_(text, path_) {}

  NetworkFile file() {
    const Json& root = json_.document();
    if (!root.is_object() || !root.contains("weft_network"))
      refuse("", "weft_network", "no such field", "{\"weft_network\": 1, \"weights\": …, \"layers\": […]}");
    if (root["weft_network"] != 1) refuse("/weft_network", "weft_network", root["weft_network"].dump(), "1");
    only(root, "", {"weft_network", "weights", "layers", "left_out"});
    NetworkFile file;
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    file.weights = (folder / text_of(root, "", "weights")).lexically_normal().string();
    for (std::size_t i = 0; i < list_of(root, "layers").size(); ++i)
      file.layers.push_back(layer_of(root["layers"][i], fmt::format("/layers/{}", i)));
    if (file.layers.empty()) refuse("/layers", "layers", "none", "at least one layer");
    if (!root.contains("left_out")) return file;
    for (std::size_t i = 0; i < list_of(root, "left_out").size(); ++i)
      file.left_out.push_back(left_out_of(root["left_out"][i], fmt::format("/left_out/{}", i)));
    return file;
  }

 private:
  [[noreturn]] void refuse(const std::string& at, std::string_view field, std::string found,
                           std::string accepted) const {
    throw UserError("a network file cannot be read", fmt::format("{}, \"{}\"", json_.place(at), field),
                    std::move(found), std::move(accepted));
  }

  void only(const Json& object, const std::string& at, const Names& names) const {
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(names, name) == names.end())
        refuse(at + "/" + name, name, "a field that nobody reads" + did_you_mean(name, names),
               fmt::format("{}", fmt::join(names, ", ")));
    }
  }

  const Json& list_of(const Json& object, const char* name) const {
    if (!object.contains(name)) refuse("", name, "no such field", "a list");
    if (!object[name].is_array()) refuse(std::string("/") + name, name, object[name].dump(), "a list");
    return object[name];
  }

  std::string text_of(const Json& object, const std::string& at, const char* name) const {
    if (!object.contains(name)) refuse(at, name, "no such field", "a name");
    if (!object[name].is_string() || object[name].get<std::string>().empty())
      refuse(at + "/" + name, name, object[name].dump(), "a name");
    return object[name].get<std::string>();
  }

  std::int64_t number(const Json& value, const std::string& at, const char* name, std::int64_t least) const {
    constexpr std::int64_t most = 1'000'000'000;
    if (!value.is_number_integer() || value < least || value > most)
      refuse(at, name, value.dump(), fmt::format("a whole number from {} to {}", least, most));
    return value.get<std::int64_t>();
  }

  std::int64_t number_of(const Json& object, const std::string& at, const char* name, std::int64_t least,
                         std::int64_t usual) const {
    return object.contains(name) ? number(object[name], at + "/" + name, name, least) : usual;
  }

  /// Two numbers, height first, or one for both.
  std::array<std::int64_t, 2> pair_of(const Json& object, const std::string& at, const char* name,
                                      std::int64_t least, std::int64_t usual) const {
    if (!object.contains(name)) return {usual, usual};
    const Json& value = object[name];
    const std::string place = at + "/" + name;
    if (value.is_number()) return {number(value, place, name, least), number(value, place, name, least)};
    if (!value.is_array() || value.size() != 2)
      refuse(place, name, value.dump(), "two numbers, height first");
    return {number(value[0], place + "/0", name, least), number(value[1], place + "/1", name, least)};
  }

  NetworkLayer named(const Json& object, const std::string& at) {
    if (!object.is_object()) refuse(at, "layers", object.dump(), "an object a layer");
    NetworkLayer layer;
    layer.name = text_of(object, at, "name");
    layer.place = json_.place(at + "/name");
    if (!names_.insert(layer.name).second)
      refuse(at + "/name", "name", layer.name + ", twice", "every name once");
    return layer;
  }

  NetworkLayer layer_of(const Json& object, const std::string& at) {
    NetworkLayer layer = named(object, at);
    const std::string op = text_of(object, at, "op");
    if (op != "linear" && op != "conv2d")
      refuse(at + "/op", "op", '"' + op + '"', "\"linear\" or \"conv2d\"");
    layer.kind = op == "linear" ? LayerKind::linear : LayerKind::convolution;
    Names fields = layer_fields;
    std::ranges::copy(layer.kind == LayerKind::linear ? product_fields : convolution_fields,
                      std::back_inserter(fields));
    only(object, at, fields);
    layer.weight.tensor = text_of(object, at, "weight");
    if (object.contains("bias") && !object["bias"].is_null()) layer.bias = text_of(object, at, "bias");
    layer.activation = activation_of(object, at);
    layer.calls = number_of(object, at, "calls", 1, 1);
    if (layer.kind == LayerKind::convolution)
      read_convolution(object, at, layer);
    else
      read_product(object, at, layer);
    return layer;
  }

  void read_product(const Json& object, const std::string& at, NetworkLayer& layer) const {
    if (object.contains("n")) layer.n = number_of(object, at, "n", 1, 1);
    if (!object.contains("layout")) return;
    const std::string name = text_of(object, at, "layout");
    const auto layout = product_layout_named(name);
    if (!layout) refuse(at + "/layout", "layout", '"' + name + '"', product_layout_names());
    layer.layout = *layout;
  }

  Activation activation_of(const Json& object, const std::string& at) const {
    if (!object.contains("activation") || object["activation"].is_null()) return Activation::none;
    const std::string name = text_of(object, at, "activation");
    const auto known = value_named<Activation>(activation_names, name);
    if (!known)
      refuse(at + "/activation", "activation", '"' + name + '"',
             fmt::format("\"{}\"", fmt::join(activation_names, "\", \"")));
    return *known;
  }

  /// Channels, filters and the filter's size follow from the weight.
  void read_convolution(const Json& object, const std::string& at, NetworkLayer& layer) const {
    layer.image_groups = number_of(object, at, "groups", 1, 1);
    Convolution c;
    c.batch = number_of(object, at, "batch", 1, 1);
    c.stride = pair_of(object, at, "stride", 1, 1);
    c.pad = pair_of(object, at, "pad", 0, 0);
    c.dilation = pair_of(object, at, "dilation", 1, 1);
    if (object.contains("layout")) {
      const std::string name = text_of(object, at, "layout");
      const auto layout = layout_named(name);
      if (!layout) refuse(at + "/layout", "layout", '"' + name + '"', "\"nchw\", \"nhwc\" or \"chwn\"");
      c.layout = *layout;
    }
    if (!object.contains("image")) return;
    c.image = pair_of(object, at, "image", 1, 1);
    layer.convolution = c;
  }

  NetworkLayer left_out_of(const Json& object, const std::string& at) {
    NetworkLayer layer = named(object, at);
    only(object, at, {"name", "weight", "why"});
    if (object.contains("weight")) layer.weight.tensor = text_of(object, at, "weight");
    layer.left_out = text_of(object, at, "why");
    return layer;
  }

  std::string path_;
  LocatedJson json_;
  std::set<std::string> names_;
};

using NamedWeights = std::map<std::string, const ListedWeight*>;

/// Channels, filters and filter of a convolution, from the shape of its weight.
void complete(NetworkLayer& layer, const std::string& weight) {
  const std::vector<std::int64_t>& shape = layer.weight.shape;
  if (layer.broken || shape.empty()) return;
  const bool fits = layer.kind == LayerKind::convolution ? shape.size() == 4 : shape.size() == 2;
  if (!fits) {
    const bool is_convolution = layer.kind == LayerKind::convolution;
    const bool fits_other = shape.size() == (is_convolution ? 2 : 4);
    throw UserError("a layer has a weight of another shape",
                    fmt::format("{}, layer {}", layer.place, layer.name),
                    fmt::format("{} {}", weight, text_of_shape(shape)),
                    fmt::format("{}{}",
                                is_convolution ? "four dimensions of a 2-D convolution"
                                               : "two dimensions of a linear layer",
                                !fits_other      ? ""
                                : is_convolution ? ", or \"op\": \"linear\""
                                                 : ", or \"op\": \"conv2d\""));
  }
  if (shape[0] % layer.image_groups != 0)
    throw UserError("filters of a convolution cannot be shared out to its groups",
                    fmt::format("{}, layer {}, \"groups\"", layer.place, layer.name),
                    fmt::format("{} filters and {} groups", shape[0], layer.image_groups),
                    "a number of groups that divides them");
  if (!layer.convolution) return;
  Convolution& c = *layer.convolution;
  c.filters = shape[0];
  c.channels = shape[1] * layer.image_groups;
  c.filter = {shape[2], shape[3]};
  try {
    c.output();
  } catch (const UserError& error) {
    const UserError::Report& report = error.report();
    throw UserError(report.what, fmt::format("{}, layer {}, \"image\"", layer.place, layer.name),
                    report.found, report.accepted);
  }
}

/// A kernel adds an element of it to each row.
void check_bias(const NetworkLayer& layer, const std::string& weight, const NamedWeights& tensors) {
  if (layer.bias.empty() || layer.weight.shape.empty()) return;
  const auto found = tensors.find(layer.bias);
  const ListedWeight* const listed = found == tensors.end() ? nullptr : found->second;
  const std::vector<std::int64_t> wanted{layer.weight.shape.front()};
  if (listed != nullptr && (!listed->fault.empty() || listed->shape == wanted)) return;
  throw UserError("a layer's bias does not fit it",
                  fmt::format("{}, layer {}, \"bias\"", layer.place, layer.name),
                  layer.bias + (listed == nullptr ? ", which is no tensor of the weights"
                                                  : " " + text_of_shape(listed->shape)),
                  fmt::format("a tensor {}, an element for each row of {}", text_of_shape(wanted), weight));
}

std::string first_of(const std::vector<std::string_view>& names) {
  constexpr std::size_t most = 12;
  const std::size_t shown = std::min(names.size(), most);
  return fmt::format("{}{}",
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     names.size() > most ? ", …" : "");
}

}  // namespace

NetworkFile network_file_of(const std::string& path) {
  const io::File bytes(path);
  return Reader(std::string(io::text_of(bytes.bytes())), path).file();
}

std::vector<NetworkLayer> layers_of(const NetworkFile& file, const std::vector<ListedWeight>& weights) {
  NamedWeights named;
  for (const ListedWeight& weight : weights) named.try_emplace(tensor_name(weight, file.weights), &weight);
  std::vector<NetworkLayer> layers = file.layers;
  for (NetworkLayer& layer : layers) {
    const std::string name = layer.weight.tensor;
    const auto found = named.find(name);
    if (found == named.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, weight] : named) names.emplace_back(known);
      throw UserError("a layer names a tensor that is not there",
                      fmt::format("{}, layer {}", layer.place, layer.name), name + did_you_mean(name, names),
                      fmt::format("a tensor of {}: {}", file.weights, first_of(names)));
    }
    layer.weight = *found->second;
    layer.broken = !layer.weight.fault.empty();
    layer.left_out = layer.weight.fault;
    complete(layer, name);
    check_bias(layer, name, named);
  }
  std::ranges::copy(file.left_out, std::back_inserter(layers));
  return layers;
}

}  // namespace weft
