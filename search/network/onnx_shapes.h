// Shapes of the values of a graph of ONNX.
#pragma once

#include <weft/formats/io/onnx.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft {

using OnnxShape = std::vector<std::int64_t>;
/// By the names of values; io::unknown_extent where a size is not known.
using OnnxShapes = std::map<std::string, OnnxShape>;

/// Those that the model gives, and those that follow from them through convolutions, pooling, what works
/// element by element, and products. A value of another node has none.
OnnxShapes shapes_of(const io::OnnxModel& model);

/// The filter, and how it goes over an image, height first.
struct OnnxWindow {
  std::array<std::int64_t, 2> filter{1, 1}, stride{1, 1}, dilation{1, 1}, pad{0, 0};
  std::array<std::int64_t, 2> pad_behind{0, 0};
};
/// Nothing for windows of other than two dimensions. `image` is needed where the node asks for equal sizes
/// (auto_pad).
std::optional<OnnxWindow> window_of(const io::OnnxNode& node, const OnnxShape& filter,
                                    const OnnxShape& image);

}  // namespace weft
