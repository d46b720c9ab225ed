// A layer of a network: one weight, and what is computed with it as far as that is known.
#pragma once

#include <weft/formats/format.h>
#include <weft/formats/io/weight_list.h>
#include <weft/search/spaces/problems.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weft {

enum class LayerKind : std::uint8_t { linear, convolution, other };
/// "linear", "conv2d", "other"
std::string_view name_of(LayerKind kind);

/// What one look at the weights of a layer found.
struct LayerWeights {
  std::int64_t elements = 0;
  std::int64_t zeros = 0;
  DType dtype = DType::f32;
  /// The most particular format that holds the weights without loss, whose name says what structure they
  /// have.
  Format format = {};
  std::uint64_t dense_bytes = 0;
  std::uint64_t packed_bytes = 0;  ///< in `format`
  /// The least and the largest of what rows are multiplied by, of weights of a byte.
  std::optional<std::pair<float, float>> scales = {};
  std::string note = {};  ///< what the file says that does not fit the weights; empty: nothing

  double sparsity() const {
    return elements > 0 ? static_cast<double>(zeros) / static_cast<double>(elements) : 0;
  }
};

/// One layer as files and the network file have it.
struct NetworkLayer {
  std::string name;  ///< "encoder.0.fc1": the tensor without ".weight", or the file without its ending
  LayerKind kind = LayerKind::other;
  ListedWeight weight;
  std::string bias;  ///< the name of its tensor; empty: none, or none that is known
  Activation activation = Activation::none;
  std::optional<std::int64_t> n;  ///< columns of a product, rows of the input, where they are known
  /// A product's on a GPU, where layers of a chain leave features outermost between them.
  ProductLayout layout = ProductLayout::nk;
  std::optional<Convolution> convolution;  ///< where the size of its images is known
  std::int64_t image_groups = 1;           ///< groups of a convolution's channels
  std::int64_t calls = 1;                  ///< how often it runs when the network runs once
  std::string place;                       ///< where a network file has it: "net.json, line 5"
  std::string left_out;                    ///< why no kernel is looked for; empty: one is
  bool broken = false;                     ///< left out because its weights cannot be read
  bool transposed = false;            ///< the tensor is [in, out]; weight.shape says [out, in] all the same
  std::optional<LayerWeights> found;  ///< by inspect()

  bool is_candidate() const { return left_out.empty(); }
};

}  // namespace weft
