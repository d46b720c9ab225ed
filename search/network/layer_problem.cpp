#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/network/layer_problem.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace weft {
namespace {

std::vector<std::int64_t> shape_of(const Operand& operand) {
  std::vector<std::int64_t> shape;
  for (const Extent& extent : operand.shape) shape.push_back(extent.value);
  return shape;
}

/// As the command draws them, so that its flags make the same problem again.
void draw_operands(TrialProblem& problem) {
  constexpr std::uint64_t seed = 1;
  const Algorithm& algorithm = problem.what.algorithm;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    if (operand.name == "scale") {
      problem.tensors[operand.name] = Array::of(problem.what.matrix->row_scale);
      continue;
    }
    const bool output = &operand == &algorithm.operands[algorithm.output.operand];
    const std::uint64_t drawn = operand.name == "bias" ? seed + 1 : seed;
    problem.tensors[operand.name] =
        output ? Array(operand.dtype, shape_of(operand))
               : random_array(operand.dtype, shape_of(operand), drawn, RandomValues::uniform);
  }
}

std::string text_of_pair(const std::array<std::int64_t, 2>& pair) {
  return fmt::format("{}x{}", pair[0], pair[1]);
}

void name_convolution(const Convolution& c, std::map<std::string, std::string>& source) {
  const Convolution usual;
  source["image"] = text_of_pair(c.image);
  if (c.batch != usual.batch) source["batch"] = std::to_string(c.batch);
  if (c.pad != usual.pad) source["pad"] = text_of_pair(c.pad);
  if (c.stride != usual.stride) source["stride"] = text_of_pair(c.stride);
  if (c.dilation != usual.dilation) source["dilation"] = text_of_pair(c.dilation);
  if (c.layout != usual.layout) source["layout"] = name_of(c.layout);
}

}  // namespace

std::string why_not_searched(const NetworkLayer& layer) {
  if (layer.kind == LayerKind::other) return "neither a linear layer nor a 2-D convolution";
  if (layer.kind == LayerKind::linear) return {};
  if (!layer.convolution) return "the size of its images is not known: a network.json says it";
  return {};
}

ProductLayout layout_on(const NetworkLayer& layer, const Target& target) {
  return target.is_gpu() ? layer.layout : ProductLayout::kn;
}

namespace {

/// Those that the weights can be packed in without loss.
std::vector<Format> formats_that_hold(const WeightMatrix& weights, const std::vector<Format>& formats) {
  std::vector<Format> result;
  for (const Format& one : formats) {
    try {
      pack(weights, one);
      result.push_back(one);
    } catch (const UserError&) {
      continue;  // it has no such weights
    }
  }
  return result;
}

}  // namespace

std::vector<Format> searched_formats(const WeightMatrix& weights, const Target& target,
                                     const std::vector<Format>& asked) {
  std::vector<Format> formats = formats_that_hold(weights, asked);
  for (Format& one : formats_worth_trying(weights, target)) {
    if (std::ranges::find(formats, one) == formats.end()) formats.push_back(std::move(one));
  }
  return formats;
}

TrialProblem problem_of(const NetworkLayer& layer, std::shared_ptr<const WeightMatrix> weights,
                        std::int64_t n, ProductLayout layout) {
  TrialProblem problem = undrawn_problem_of(layer, std::move(weights), n, layout);
  draw_operands(problem);
  return problem;
}

TrialProblem undrawn_problem_of(const NetworkLayer& layer, std::shared_ptr<const WeightMatrix> weights,
                                std::int64_t n, ProductLayout layout) {
  if (const std::string why = why_not_searched(layer); !why.empty())
    throw UserError("a layer cannot be searched for a kernel", layer.name, why,
                    "a layer that inspect() keeps");
  TrialProblem problem;
  const DType dtype = weights->values.dtype();
  Epilogue epilogue;
  epilogue.bias = !layer.bias.empty();
  epilogue.activation = layer.activation;
  if (is_factor_of_a_byte(dtype)) {
    // The input is rounded token by token, as packages do it.
    epilogue.row_scale = !weights->row_scale.empty();
    epilogue.column_scale = true;
    problem.source["dtype"] = std::string(name_of(dtype));
    problem.source["token-scale"] = "random:1";
  }
  if (epilogue.activation != Activation::none)
    problem.source["activation"] = std::string(name_of(epilogue.activation));
  if (layer.convolution) {
    problem.kernel = "conv2d";
    problem.convolution = layer.convolution;
    problem.image_groups = layer.image_groups;
    if (layer.image_groups > 1) problem.source["groups"] = std::to_string(layer.image_groups);
    problem.what.algorithm = convolution_algorithm(*layer.convolution, dtype, epilogue);
    name_convolution(*layer.convolution, problem.source);
    const auto output = layer.convolution->output();
    problem.columns = layer.convolution->batch * output[0] * output[1];
    if (epilogue.bias) problem.source["bias"] = "random:2";
  } else {
    problem.kernel = epilogue.bias ? "linear" : "spmm";
    problem.what.algorithm = spmm_algorithm(weights->rows, weights->columns, n, dtype, epilogue, layout);
    problem.columns = n;
    if (layout != ProductLayout::kn) problem.source["layout"] = std::string(name_of(layout));
    problem.source["n"] = std::to_string(n);
  }
  problem.what.matrix = std::move(weights);
  problem.what.format = layer.found ? layer.found->format : formats::csr();
  problem.source["op"] = problem.kernel;
  problem.source["weights"] = layer.weight.path;
  problem.source["layer"] = layer.name;
  if (!layer.weight.tensor.empty()) problem.source["tensor"] = layer.weight.tensor;
  return problem;
}

void name_place(TrialProblem& problem, const Network& network, const LayerClass& layers, std::size_t member,
                const std::vector<std::int64_t>& asked) {
  std::map<std::string, std::string>& source = problem.source;
  source["network"] = network.path();
  if (!asked.empty()) source["columns"] = fmt::format("{}", fmt::join(asked, ","));
  if (member > 0) {
    source["like"] = network.layers()[layers.representative()].name;
    return;
  }
  const auto count = static_cast<std::int64_t>(layers.layers.size());
  if (count > 1) source["layers"] = std::to_string(count);
  if (layers.calls != count) source["calls"] = std::to_string(layers.calls);
}

}  // namespace weft
