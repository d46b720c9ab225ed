// The algorithms that the command offers by name, as values.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/errors.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

enum class Activation : std::uint8_t { none, relu, relu6, gelu, tanh, sigmoid, silu };
inline constexpr std::array<std::string_view, 7> activation_names{"none", "relu",    "relu6", "gelu",
                                                                  "tanh", "sigmoid", "silu"};
std::string_view name_of(Activation activation);

/// What follows the sum: activation(alpha * sum * scale * token_scale + bias + beta * C), as a type. Scalars
/// are launch arguments and occur only when they are asked for; so do the scales, which are of f32 whatever
/// the others are. With a scale of its own the result is stored as what that is multiplied by: activation(… +
/// beta * (C * c_scale)) * (1 / c_scale). docs/command.md, "Results of a byte", says how it is rounded.
struct Epilogue {
  bool alpha = false;
  bool beta = false;
  bool row_scale = false;     ///< "scale": one value a row of the weights
  bool column_scale = false;  ///< "token_scale": one value a column of the product, or a convolution's image
  bool bias = false;          ///< one value a row of the weights
  Activation activation = Activation::none;
  bool result_scale = false;              ///< "c_scale": one number for all
  std::optional<DType> result_type = {};  ///< nothing: results_of() the factors
};

/// What products of factors of a type are stored as where nobody says it: as these, or as f16 where they are
/// of a byte.
DType results_of(DType factors);

/// C[m, n] = epilogue(sum over k of A[m, k] * B[k, n]) with sparse A; A and B are of the type. The bias is of
/// the result's, and of f32 where that has a byte. UserError for extents below 1 and for types of a result
/// that do not fit.
Algorithm spmm_algorithm(Extent m, Extent k, Extent n, DType dtype, const Epilogue& epilogue = {},
                         CallPlace place = {});

/// Which dimension of a product's operands is the outer one.
enum class ProductLayout : std::uint8_t {
  kn,     ///< B[k, n] and C[m, n]: columns of the product lie beside one another
  nk,     ///< B[n, k] and C[n, m]: features do, as frameworks have them
  nk_mn,  ///< B[n, k] and C[m, n]: the first of two products whose input and output a framework has
  kn_nm,  ///< B[k, n] and C[n, m]: the last of them
};
/// "kn"
std::string_view name_of(ProductLayout layout);
std::optional<ProductLayout> product_layout_named(std::string_view name);
/// "kn, nk, nk_mn or kn_nm"
std::string product_layout_names();

/// The same as above with operands in a layout.
Algorithm spmm_algorithm(Extent m, Extent k, Extent n, DType dtype, const Epilogue& epilogue,
                         ProductLayout layout, CallPlace place = {});

/// Which of batch, channels, height and width follow one another in memory. chwn has the batch innermost, as
/// Huang et al., "Shfl-BW" (DAC 2022), section IV: then a convolution is a product whose rows are contiguous.
enum class ImageLayout : std::uint8_t { nchw, nhwc, chwn };
/// "nchw"
std::string_view name_of(ImageLayout layout);
std::optional<ImageLayout> layout_named(std::string_view name);

/// A 2-D convolution. Heights first in every pair.
struct Convolution {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t filters = 1;
  std::array<std::int64_t, 2> image{1, 1};
  std::array<std::int64_t, 2> filter{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> dilation{1, 1};
  ImageLayout layout = ImageLayout::nchw;

  /// UserError when the filter does not fit the padded image, or an extent is below 1 or beyond 2^31 - 1.
  std::array<std::int64_t, 2> output(CallPlace place = {}) const;
};

/// C[b, f, p, q] = epilogue(sum over c, r, s of A[f, c, r, s] * B[b, c, stride p + dilation r - pad, …]) with
/// sparse A; with the layout nhwc, B and C have their channels last, with chwn their images.
Algorithm convolution_algorithm(const Convolution& convolution, DType dtype, const Epilogue& epilogue = {},
                                CallPlace place = {});

/// The algorithm with another extent for an index, in every operand that it stands alone in.
Algorithm with_size(Algorithm algorithm, const std::string& index, const Extent& extent);

}  // namespace weft
