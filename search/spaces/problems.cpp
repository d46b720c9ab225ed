#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/search/records/words.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace weft {
namespace {

AffineIndex plain(const std::string& name) {
  return {{{name, 1}}, 0};
}

Term term(Term::Kind kind, std::vector<Term> arguments = {}) {
  Term result;
  result.kind = kind;
  result.arguments = std::move(arguments);
  return result;
}

Term scalar(Algorithm& algorithm, const std::string& name) {
  if (std::ranges::find(algorithm.scalars, name) == algorithm.scalars.end())
    algorithm.scalars.push_back(name);
  Term result = term(Term::Kind::scalar);
  result.scalar = name;
  return result;
}

Term access(TensorAccess place) {
  Term result = term(Term::Kind::access);
  result.access = std::move(place);
  return result;
}

Term number(double value) {
  Term result = term(Term::Kind::number);
  result.number = value;
  return result;
}

Term activated(Activation activation, Term x) {
  constexpr double most_of_relu6 = 6;
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return term(Term::Kind::relu, {std::move(x)});
    case Activation::relu6:
      return term(Term::Kind::minimum, {term(Term::Kind::relu, {std::move(x)}), number(most_of_relu6)});
    case Activation::gelu: return term(Term::Kind::gelu, {std::move(x)});
    case Activation::tanh: return term(Term::Kind::tanh, {std::move(x)});
    case Activation::sigmoid: return term(Term::Kind::sigmoid, {std::move(x)});
    case Activation::silu: return term(Term::Kind::silu, {std::move(x)});
  }
  throw InternalError("an activation of an unknown kind");
}

/// Adds an operand with one value for each place of an index.
Term one_each(Algorithm& algorithm, const char* name, DType dtype, const std::string& index) {
  algorithm.operands.push_back({name, dtype, {algorithm.index(index).extent}, {}, Storage::dense});
  return access({algorithm.operands.size() - 1, {plain(index)}});
}

/// Adds the operands of the epilogue (if any), the output, and the epilogue.
void finish(Algorithm& algorithm, Operand output, std::vector<AffineIndex> output_indices,
            const std::string& row, const std::string& column, const Epilogue& epilogue) {
  Term result = term(Term::Kind::sum);
  if (epilogue.alpha) result = term(Term::Kind::multiply, {scalar(algorithm, "alpha"), result});
  if (epilogue.row_scale)
    result = term(Term::Kind::multiply, {result, one_each(algorithm, "scale", DType::f32, row)});
  if (epilogue.column_scale)
    result = term(Term::Kind::multiply, {result, one_each(algorithm, "token_scale", DType::f32, column)});
  if (epilogue.result_type) output.dtype = *epilogue.result_type;
  const DType of_bias = is_factor_of_a_byte(output.dtype) ? DType::f32 : output.dtype;
  if (epilogue.bias) result = term(Term::Kind::add, {result, one_each(algorithm, "bias", of_bias, row)});
  algorithm.operands.push_back(std::move(output));
  algorithm.output = {algorithm.operands.size() - 1, std::move(output_indices)};
  if (epilogue.beta) {
    Term before = access(algorithm.output);
    if (epilogue.result_scale) before = term(Term::Kind::multiply, {before, scalar(algorithm, "c_scale")});
    const Term old = term(Term::Kind::multiply, {scalar(algorithm, "beta"), before});
    result = term(Term::Kind::add, {result, old});
  }
  result = activated(epilogue.activation, std::move(result));
  if (epilogue.result_scale) {
    // One division for all elements.
    const Term inverse = term(Term::Kind::divide, {number(1), scalar(algorithm, "c_scale")});
    result = term(Term::Kind::multiply, {result, inverse});
  }
  algorithm.result = std::move(result);
  algorithm.check();
}

template <class T>
std::vector<T> in_layout(ImageLayout layout, T image, T channel, T height, T width) {
  switch (layout) {
    case ImageLayout::nchw: return {image, channel, height, width};
    case ImageLayout::nhwc: return {image, height, width, channel};
    case ImageLayout::chwn: return {channel, height, width, image};
  }
  throw InternalError("a layout without an order");
}

constexpr std::array<std::pair<ImageLayout, std::string_view>, 3> names_of_layouts{
    {{ImageLayout::nchw, "nchw"}, {ImageLayout::nhwc, "nhwc"}, {ImageLayout::chwn, "chwn"}}};
constexpr std::array<std::string_view, 4> names_of_product_layouts{"kn", "nk", "nk_mn", "kn_nm"};

}  // namespace

std::string_view name_of(Activation activation) {
  return activation_names[static_cast<std::size_t>(activation)];
}

std::string_view name_of(ImageLayout layout) {
  for (const auto& [each, name] : names_of_layouts) {
    if (each == layout) return name;
  }
  throw InternalError("a layout without a name");
}

std::optional<ImageLayout> layout_named(std::string_view name) {
  for (const auto& [layout, own] : names_of_layouts) {
    if (own == name) return layout;
  }
  return std::nullopt;
}

std::string_view name_of(ProductLayout layout) {
  return names_of_product_layouts.at(static_cast<std::size_t>(layout));
}

std::optional<ProductLayout> product_layout_named(std::string_view name) {
  return value_named<ProductLayout>(names_of_product_layouts, name);
}

std::string product_layout_names() {
  const auto all_but_last = std::span(names_of_product_layouts).first(names_of_product_layouts.size() - 1);
  return fmt::format("{} or {}", fmt::join(all_but_last, ", "), names_of_product_layouts.back());
}

DType results_of(DType factors) {
  return is_factor_of_a_byte(factors) ? DType::f16 : factors;
}

Algorithm spmm_algorithm(Extent m, Extent k, Extent n, DType dtype, const Epilogue& epilogue,
                         CallPlace place) {
  return spmm_algorithm(std::move(m), std::move(k), std::move(n), dtype, epilogue, ProductLayout::kn, place);
}

Algorithm spmm_algorithm(Extent m, Extent k, Extent n, DType dtype, const Epilogue& epilogue,
                         ProductLayout layout, CallPlace place) {
  return user_call(place, [&] {
    const bool inner_k = layout == ProductLayout::nk || layout == ProductLayout::nk_mn;
    const bool inner_m = layout == ProductLayout::nk || layout == ProductLayout::kn_nm;
    const auto ordered = [](bool swapped, auto first, auto second) {
      if (swapped) std::swap(first, second);
      return std::vector{first, second};
    };
    Algorithm algorithm;
    algorithm.name = "spmm";
    algorithm.accumulator = accumulator_of(dtype);
    algorithm.indices = ordered(inner_m, IndexVariable{"m", m, false}, IndexVariable{"n", n, false});
    algorithm.indices.push_back({"k", k, true});
    algorithm.operands = {{"A", dtype, {m, k}, {}, Storage::sparse},
                          {"B", dtype, ordered(inner_k, k, n), {}, Storage::dense}};
    algorithm.factors = {{0, {plain("m"), plain("k")}}, {1, ordered(inner_k, plain("k"), plain("n"))}};
    finish(algorithm, {"C", results_of(dtype), ordered(inner_m, m, n), {}, Storage::dense},
           ordered(inner_m, plain("m"), plain("n")), "m", "n", epilogue);
    return algorithm;
  });
}

namespace {

void require_extents(const Convolution& c) {
  const std::pair<const char*, std::int64_t> extents[] = {{"batch", c.batch},
                                                          {"channels", c.channels},
                                                          {"filters", c.filters},
                                                          {"image height", c.image[0]},
                                                          {"image width", c.image[1]},
                                                          {"filter height", c.filter[0]},
                                                          {"filter width", c.filter[1]},
                                                          {"stride", c.stride[0]},
                                                          {"stride", c.stride[1]},
                                                          {"dilation", c.dilation[0]},
                                                          {"dilation", c.dilation[1]},
                                                          {"pad", c.pad[0]},
                                                          {"pad", c.pad[1]}};
  for (const auto& [name, value] : extents) {
    const std::int64_t least = std::string_view(name) == "pad" ? 0 : 1;
    // Sums and products of two such numbers fit 63 bits.
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (value < least || value > most)
      throw UserError("a convolution cannot have that size", std::string("convolution, ") + name,
                      std::to_string(value), fmt::format("{} to {}", least, most));
  }
}

std::array<std::int64_t, 2> output_of(const Convolution& c) {
  require_extents(c);
  std::array<std::int64_t, 2> size{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = c.dilation[i] * (c.filter[i] - 1) + 1;
    const std::int64_t padded = c.image[i] + 2 * c.pad[i];
    if (padded < reach) {
      throw UserError("the filter does not fit the image", i == 0 ? "height" : "width",
                      fmt::format("image {}, pad {}, filter {}, dilation {}", c.image[i], c.pad[i],
                                  c.filter[i], c.dilation[i]),
                      fmt::format("image + 2 pad, here {}, of at least dilation * (filter - 1) + 1, here {}: "
                                  "pad {} would do",
                                  padded, reach, (reach - c.image[i] + 1) / 2));
    }
    size[i] = (padded - reach) / c.stride[i] + 1;
  }
  return size;
}

}  // namespace

std::array<std::int64_t, 2> Convolution::output(CallPlace place) const {
  return user_call(place, [&] { return output_of(*this); });
}

namespace {

Algorithm algorithm_of(const Convolution& c, DType dtype, const Epilogue& epilogue) {
  const auto output = output_of(c);
  Algorithm algorithm;
  algorithm.name = "conv2d";
  algorithm.accumulator = accumulator_of(dtype);
  const IndexVariable b{"b", c.batch, false};
  const IndexVariable f{"f", c.filters, false};
  const IndexVariable p{"p", output[0], false};
  const IndexVariable q{"q", output[1], false};
  algorithm.indices = in_layout(c.layout, b, f, p, q);
  algorithm.indices.insert(algorithm.indices.end(),
                           {{"c", c.channels, true}, {"r", c.filter[0], true}, {"s", c.filter[1], true}});
  const AffineIndex row{{{"p", c.stride[0]}, {"r", c.dilation[0]}}, -c.pad[0]};
  const AffineIndex column{{{"q", c.stride[1]}, {"s", c.dilation[1]}}, -c.pad[1]};
  algorithm.operands = {
      {"A", dtype, {c.filters, c.channels, c.filter[0], c.filter[1]}, {}, Storage::sparse},
      {"B",
       dtype,
       in_layout(c.layout, Extent(c.batch), Extent(c.channels), Extent(c.image[0]), Extent(c.image[1])),
       {},
       Storage::dense}};
  algorithm.factors = {{0, {plain("f"), plain("c"), plain("r"), plain("s")}},
                       {1, in_layout(c.layout, plain("b"), plain("c"), row, column)}};
  finish(algorithm,
         {"C",
          results_of(dtype),
          in_layout(c.layout, Extent(c.batch), Extent(c.filters), Extent(output[0]), Extent(output[1])),
          {},
          Storage::dense},
         in_layout(c.layout, plain("b"), plain("f"), plain("p"), plain("q")), "f", "b", epilogue);
  return algorithm;
}

void set_extents(Algorithm& algorithm, const TensorAccess& access, const std::string& index,
                 const Extent& extent) {
  for (std::size_t d = 0; d < access.indices.size(); ++d) {
    const std::string* plain = access.indices[d].plain();
    if (plain != nullptr && *plain == index) algorithm.operands[access.operand].shape[d] = extent;
  }
}

void set_extents(Algorithm& algorithm, const Term& term, const std::string& index, const Extent& extent) {
  if (term.kind == Term::Kind::access) set_extents(algorithm, term.access, index, extent);
  for (const Term& argument : term.arguments) set_extents(algorithm, argument, index, extent);
}

}  // namespace

Algorithm convolution_algorithm(const Convolution& convolution, DType dtype, const Epilogue& epilogue,
                                CallPlace place) {
  return user_call(place, [&] { return algorithm_of(convolution, dtype, epilogue); });
}

Algorithm with_size(Algorithm algorithm, const std::string& index, const Extent& extent) {
  for (IndexVariable& variable : algorithm.indices) {
    if (variable.name == index) variable.extent = extent;
  }
  for (const TensorAccess& factor : std::vector<TensorAccess>(algorithm.factors))
    set_extents(algorithm, factor, index, extent);
  set_extents(algorithm, algorithm.output, index, extent);
  set_extents(algorithm, algorithm.result, index, extent);
  return algorithm;
}

}  // namespace weft
