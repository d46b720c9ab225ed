#include <fmt/format.h>
#include <weft/search/network/layer_kind.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kind_names{"linear", "conv2d", "other"};

/// Parts of names, between dots, that embeddings have in common models.
constexpr std::array<std::string_view, 9> embedding_words{"embed_tokens",
                                                          "embeddings",
                                                          "word_embeddings",
                                                          "position_embeddings",
                                                          "token_type_embeddings",
                                                          "embed_positions",
                                                          "embedding",
                                                          "wte",
                                                          "wpe"};

bool is_embedding(const std::string& name) {
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = std::string_view(name).substr(begin, end - begin);
    if (std::ranges::find(embedding_words, part) != embedding_words.end()) return true;
    begin = end + 1;
  }
  return false;
}

std::string layer_name(const ListedWeight& weight, const std::string& folder) {
  constexpr std::string_view suffix = ".weight";
  std::string name = tensor_name(weight, folder);
  if (!weight.tensor.empty() && name.ends_with(suffix) && name.size() > suffix.size())
    name.resize(name.size() - suffix.size());
  return name;
}

}  // namespace

std::string_view name_of(LayerKind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

std::string tensor_name(const ListedWeight& weight, const std::string& folder) {
  if (!weight.tensor.empty()) return weight.tensor;
  const std::filesystem::path path(weight.path);
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return path.stem().string();
  return path.lexically_relative(folder).replace_extension().string();
}

bool may_be_layer(const ListedWeight& weight) {
  return !weight.is_vector();
}

NetworkLayer layer_of(const ListedWeight& weight, const std::string& folder) {
  NetworkLayer layer;
  layer.name = layer_name(weight, folder);
  layer.weight = weight;
  if (!weight.fault.empty()) {
    layer.left_out = weight.fault;
    layer.broken = true;
  } else if (weight.shape.empty() || weight.shape.size() == 2) {
    // Files of one matrix without a name hold what is multiplied with.
    layer.kind = LayerKind::linear;
    if (is_embedding(weight.tensor)) layer.left_out = "an embedding: its rows are looked up";
  } else if (weight.shape.size() == 4) {
    layer.kind = LayerKind::convolution;
  } else {
    layer.left_out =
        fmt::format("{} dimensions: neither a linear layer nor a 2-D convolution", weight.shape.size());
  }
  return layer;
}

}  // namespace weft
