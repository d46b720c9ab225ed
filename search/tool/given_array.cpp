#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/file_and_tensor.h>
#include <weft/formats/io/read.h>
#include <weft/formats/quantized.h>
#include <weft/formats/random.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/given_array.h>
#include <weft/search/tool/options.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ranges>
#include <string_view>
#include <utility>

namespace weft::tool {
namespace {

/// UserError where what is finite becomes infinite.
double largest_change(const Array& before, const Array& after, const std::string& where) {
  double change = 0;
  for (std::int64_t i = 0; i < before.size(); ++i) {
    if (!std::isfinite(before.get(i))) continue;
    if (!std::isfinite(after.get(i)))
      throw UserError("a value becomes infinite in the element type", fmt::format("{}, element {}", where, i),
                      fmt::format("{} in {}", before.get(i), name_of(before.dtype())),
                      fmt::format("values that {} holds; or a wider --dtype", name_of(after.dtype())));
    change = std::max(change, std::abs(before.get(i) - after.get(i)));
  }
  return change;
}

}  // namespace

bool are_bits_of(DType found, DType wanted) {
  if (wanted == DType::bf16) return found == DType::u16 || found == DType::i16;
  return is_float_of_a_byte(wanted) && found == DType::u8;
}

Array array_of(const std::string& text, DType dtype, std::vector<std::int64_t> shape, const std::string& flag,
               std::vector<std::string>* notes, std::string_view other_layout) {
  const auto seed_after = [&](const std::string& prefix) {
    const auto seed = read_number<std::uint64_t>(std::string_view(text).substr(prefix.size()));
    if (!seed) throw UserError("a seed cannot be read", flag, text, prefix + "7");
    return *seed;
  };
  if (text == "zeros") return Array(dtype, std::move(shape));
  if (text.starts_with("random:"))
    return random_array(dtype, std::move(shape), seed_after("random:"), RandomValues::uniform);
  if (text.starts_with("ints:"))
    return random_array(dtype, std::move(shape), seed_after("ints:"), RandomValues::small_integers);
  std::error_code error;
  if (text.find('.') == std::string::npos && !std::filesystem::exists(text, error))
    throw UserError(
        "an operand cannot be made", flag, '"' + text + "\", which is no file either",
        "random:7, ints:7, zeros, or the path of a .npy or .safetensors file, with a tensor of it "
        "layer.safetensors:fc1.bias");
  const auto [file, tensor] = file_and_tensor(text);
  Array array = of_option(flag, [&, &path = file, &name = tensor] {
    return read_as(
        dtype, [&](std::optional<DType> seen_as) { return read_array(path, name, seen_as); },
        [](const Array& read) { return read.dtype(); });
  });
  const bool is_scale = flag.ends_with("scale");
  if (is_scale) {
    if (const auto scales = scales_of_rows(array, shape.front())) array = Array::of(*scales);
  }
  const bool is_exchanged =
      shape.size() == 2 && std::ranges::equal(array.shape(), shape | std::views::reverse);
  if (array.shape() != shape)
    throw UserError("an array has another shape", flag + " " + text, text_of_shape(array.shape()),
                    (is_scale ? shapes_of_scales(shape.front()) : text_of_shape(shape)) +
                        (flag == "--bias" ? ", one number for each row of the weights" : "") +
                        (is_exchanged ? "; with its two dimensions exchanged it would be that" : "") +
                        (is_exchanged && !other_layout.empty()
                             ? fmt::format(", and --layout {} takes it as it is", other_layout)
                             : ""));
  if (array.dtype() == dtype) return array;
  Array rounded = array.converted(dtype);
  const double change = largest_change(array, rounded, flag + " " + text);
  if (change > 0 && notes != nullptr)
    notes->push_back(fmt::format("{} {} rounded from {} to {}; largest change {:.2e}", flag, text,
                                 name_of(array.dtype()), name_of(dtype), change));
  return rounded;
}

}  // namespace weft::tool
