#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/runtime/thread_pool.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/read.h>
#include <weft/scheduler/limits/advice.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_array.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/made_weights.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/other_names.h>
#include <weft/search/tool/recipe.h>
#include <weft/search/tool/sizes.h>
#include <weft/search/trials/best_file.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <ranges>
#include <string_view>
#include <utility>

namespace weft::tool {
namespace {

/// Flags of some operations alone, and of which.
struct FlagOfOperations {
  std::string_view flag;
  std::string_view operations;
};
constexpr std::string_view products = "spmm or linear";
constexpr std::string_view convolutions = "conv2d";
constexpr std::array<FlagOfOperations, 8> flags_of_operations{{{"--n", products},
                                                               {"--filter", convolutions},
                                                               {"--image", convolutions},
                                                               {"--batch", convolutions},
                                                               {"--pad", convolutions},
                                                               {"--stride", convolutions},
                                                               {"--dilation", convolutions},
                                                               {"--groups", convolutions}}};

/// What is given without an effect would be a mistake that nobody sees.
void refuse_idle_flags(const ProblemOptions& options) {
  constexpr std::array<std::string_view, 4> operations_known{"spmm", "spmv", "linear", "conv2d"};
  if (std::ranges::find(operations_known, options.op) == operations_known.end())
    throw UserError("there is no such operation", "--op", options.op,
                    "spmm, spmv, linear or conv2d" + meant_by(options.op, operations_known));
  for (const auto& [flag, operations] : flags_of_operations) {
    const bool has_use = (options.op == "conv2d") == (operations == convolutions) && options.op != "spmv";
    if (has_use || std::ranges::find(options.given, flag) == options.given.end()) continue;
    throw UserError("the operation has no use for a flag", std::string(flag), "--op " + options.op,
                    fmt::format("--op {}, or no {}{}", operations, flag,
                                options.op == "conv2d" ? "; --batch says how many images" : ""));
  }
  if (!options.schedule.empty() && options.recipe != automatic)
    throw UserError("--schedule and --recipe exclude one another", "--schedule " + options.schedule,
                    "--recipe " + options.recipe, "one of them");
  if (!options.c.empty() && !options.beta)
    throw UserError("the old output is not read", "--c " + options.c, "no --beta", "--beta 1, or no --c");
  if (!options.tensor.empty() && is_made_weights(options.weights))
    throw UserError("made weights have no tensors", "--tensor " + options.tensor, options.weights,
                    "a file of weights, or no --tensor");
  for (const auto& [flag, value] : {std::pair{"--alpha", options.alpha}, std::pair{"--beta", options.beta}}) {
    if (value && !std::isfinite(*value))
      throw UserError("a factor is not a number", flag, fmt::format("{}", *value), "a finite number");
  }
  if (options.c_scale && !(std::isfinite(*options.c_scale) && *options.c_scale > 0))
    throw UserError("results cannot be divided by that", "--c-scale", fmt::format("{}", *options.c_scale),
                    "a finite number above 0");
}

/// Host and device each have the operands. A system that promises more memory than it has ends the process
/// that uses it. `sizes` are the options that say how large they are.
void require_memory(const Algorithm& algorithm, const std::string& sizes) {
  double bytes = 0;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    double elements = 1;
    for (const Extent& extent : operand.shape) elements *= static_cast<double>(extent.value);
    bytes += 2 * elements * static_cast<double>(size_of(operand.dtype));
  }
  const auto memory = static_cast<double>(Device::cpu().description().memory_bytes);
  if (memory == 0 || bytes <= memory) return;
  throw UserError("the dense operands do not fit into memory", fmt::format("{}, {}", sizes, algorithm.text()),
                  fmt::format("{:.0f} bytes, on the host and on the device", bytes),
                  fmt::format("at most the {:.0f} bytes of this machine: smaller numbers there", memory));
}

/// "3x3" or "3" as two numbers, none below `least`.
std::array<std::int64_t, 2> pair_of(const std::string& text, const std::string& flag,
                                    std::int64_t least = 1) {
  const auto number = [&](std::string_view part) {
    constexpr std::int64_t most = 1'000'000'000;  // products of three such numbers are far from any end
    const auto value = read_number<std::int64_t>(part);
    if (!value || *value < least || *value > most)
      throw UserError(
          "a flag cannot be read", flag, text,
          fmt::format("a number from {} to {}, or two joined by x: {}", least, most,
                      flag == "--pad" ? "1x1, by which filters of 3x3 keep an image's size" : "3x3"));
    return *value;
  };
  const auto cross = text.find('x');
  if (cross == std::string::npos) return {number(text), number(text)};
  return {number(std::string_view(text).substr(0, cross)), number(std::string_view(text).substr(cross + 1))};
}

DType dtype_of_text(const std::string& text, DType fallback, const std::string& flag = "--dtype") {
  if (text.empty()) return fallback;
  const auto dtype = dtype_named(text);
  constexpr std::array<std::string_view, 7> names{"f32", "f16", "bf16", "f64", "e4m3", "e5m2", "i8"};
  if (!dtype || !is_factor(*dtype))
    throw UserError("there is no such element type", flag, text,
                    "f32, f16, bf16, f64, e4m3, e5m2 or i8" + meant_by(text, names));
  return *dtype;
}

Epilogue epilogue_of(const ProblemOptions& options, const WeightMatrix& matrix) {
  Epilogue epilogue;
  epilogue.alpha = options.alpha.has_value();
  epilogue.beta = options.beta.has_value();
  epilogue.row_scale = !options.scale.empty() || !matrix.row_scale.empty();
  epilogue.column_scale = !options.token_scale.empty();
  epilogue.bias = !options.bias.empty();
  const auto activation = value_named<Activation>(activation_names, options.activation);
  if (!activation)
    throw UserError("there is no such activation", "--activation", options.activation,
                    fmt::format("{}{}", fmt::join(activation_names, ", "),
                                meant_by(options.activation, activation_names)));
  epilogue.activation = *activation;
  epilogue.result_scale = options.c_scale.has_value();
  if (!options.c_type.empty()) epilogue.result_type = dtype_of_text(options.c_type, DType::f32, "--c-type");
  return epilogue;
}

Convolution convolution_of(const ProblemOptions& options, const WeightMatrix& matrix) {
  Convolution c;
  c.filters = matrix.rows;
  if (!options.filter.empty()) {
    c.filter = pair_of(options.filter, "--filter");
    if (matrix.shape.size() == 4 && c.filter != std::array{matrix.shape[2], matrix.shape[3]})
      throw UserError("the weight has filters of another size", "--filter",
                      fmt::format("{} of a weight of {}", options.filter, text_of_shape(matrix.shape)),
                      fmt::format("--filter {}x{}, or none", matrix.shape[2], matrix.shape[3]));
  } else if (matrix.shape.size() == 4) {
    c.filter = {matrix.shape[2], matrix.shape[3]};
  } else {
    throw UserError("a convolution needs the size of its filter", "--filter",
                    "a weight of " + text_of_shape(matrix.shape),
                    fmt::format("--filter {}, or a weight of four dimensions", filters_of(matrix.columns)));
  }
  const std::int64_t area = c.filter[0] * c.filter[1];
  if (area < 1 || matrix.columns % area != 0)
    throw UserError("the filter does not divide the weight's columns", "--filter",
                    fmt::format("{} columns, filter {}", matrix.columns, options.filter),
                    fmt::format("a filter whose height times width divides {}, the channels being the rest, "
                                "such as --filter {}",
                                matrix.columns, filters_of(matrix.columns)));
  c.channels = matrix.columns / area;
  if (options.image.empty())
    throw UserError("a convolution needs the size of its image", "--image", "nothing", "--image 56x56");
  c.image = pair_of(options.image, "--image");
  c.pad = pair_of(options.pad, "--pad", 0);
  c.stride = pair_of(options.stride, "--stride");
  c.dilation = pair_of(options.dilation, "--dilation");
  c.batch = options.batch;
  constexpr std::array<std::string_view, 3> names{"nchw", "nhwc", "chwn"};
  const auto layout = layout_named(options.layout.empty() ? names[0] : options.layout);
  if (!layout)
    throw UserError("images have no such layout", "--layout", options.layout,
                    "nchw, nhwc or chwn" + meant_by(options.layout, names));
  c.layout = *layout;
  return c;
}

ProductLayout product_layout_of(const ProblemOptions& options) {
  const auto layout = product_layout_named(options.layout.empty() ? "kn" : options.layout);
  if (layout && (options.op != "spmv" || options.layout.empty())) return *layout;
  throw UserError("a product has no such layout", "--layout", options.layout + " with --op " + options.op,
                  options.op == "spmv"
                      ? "no --layout: one column lies the same way in all"
                      : product_layout_names() +
                            ": the last two letters say how the output lies, [m, n] or [n, m], "
                            "where they are others than the input's; nchw, nhwc, chwn with "
                            "--op conv2d");
}

Algorithm algorithm_of(const ProblemOptions& options, const WeightMatrix& matrix, DType dtype) {
  refuse_idle_flags(options);
  if (options.op == "conv2d")
    return algorithm_of_image(convolution_of(options, matrix), dtype, epilogue_of(options, matrix),
                              options.image);
  const std::int64_t columns = options.op == "spmv" ? 1 : options.n;
  if (columns < 1)
    throw UserError("the dense operand has no columns", "--n",
                    options.given.empty() ? "none, as --n is left out" : fmt::format("{} columns", options.n),
                    "--n 256, at least 1");
  Epilogue epilogue = epilogue_of(options, matrix);
  epilogue.bias = epilogue.bias || options.op == "linear";
  return spmm_algorithm(matrix.rows, matrix.columns, columns, dtype, epilogue, product_layout_of(options));
}

std::vector<std::int64_t> static_shape(const Operand& operand) {
  std::vector<std::int64_t> shape;
  for (const Extent& extent : operand.shape) shape.push_back(extent.value);
  return shape;
}

void make_tensors(Problem& problem, const ProblemOptions& options) {
  require_memory(problem.algorithm, options.op == "conv2d" ? "--image, --batch" : "--n");
  const bool of_rows = options.layout == "nk" || options.layout == "nk_mn";
  const char* const other_layout = options.op == "spmv" ? "" : of_rows ? "kn" : "nk";
  for (const Operand& operand : problem.algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    const bool output = &operand == &problem.algorithm.operands[problem.algorithm.output.operand];
    std::string source = output ? options.c : options.b;
    if (output && source.empty() && options.beta) {
      // Zeros would hide whether they are read.
      source = "random:" + std::to_string(options.seed + 2);
      problem.notes.push_back(
          fmt::format("the old output, which --beta reads, is --c {}, as none is given", source));
    }
    if (source.empty()) source = "zeros";
    const char* flag = output ? "--c" : "--b";
    if (operand.name == "bias") {
      source = options.bias.empty() ? "random:" + std::to_string(options.seed + 1) : options.bias;
      flag = "--bias";
    } else if (operand.name == "token_scale") {
      source = options.token_scale;
      flag = "--token-scale";
    } else if (operand.name == "scale") {
      source = options.scale;
      flag = "--scale";
      if (source.empty()) {
        problem.tensors[operand.name] = Array::of(problem.matrix.row_scale);
        continue;
      }
    }
    problem.tensors[operand.name] =
        array_of(source, operand.dtype, static_shape(operand), flag, &problem.notes, other_layout);
  }
  for (auto& [name, array] : problem.tensors) problem.arguments.tensors[name] = &array;
  if (options.alpha == 0.0) problem.notes.push_back("with --alpha 0 nothing of the product is in the output");
  if (options.alpha) problem.arguments.scalars["alpha"] = *options.alpha;
  if (options.beta) problem.arguments.scalars["beta"] = *options.beta;
  if (options.c_scale) problem.arguments.scalars["c_scale"] = *options.c_scale;
}

}  // namespace

UserError with_option(const std::string& option, UserError::Report report) {
  if (!report.where.starts_with(option))
    report.where = report.where.empty() ? option : option + ", " + report.where;
  return UserError(std::move(report));
}

void add_problem_flags(CLI::App& app, ProblemOptions& options) {
  begin_group(app, "Problem");
  add_option(app, "--weights,weights", options.weights,
             ".smtx .mtx .npy .npz .onnx .safetensors, or made:M=512,K=1024,sparsity=0.9", "FILE")
      ->required();
  add_option(app, "--tensor", options.tensor, "which tensor of it", "NAME");
  only(add_option(app, "--n", options.n, "columns of a product", "N"),
       "one whole number from 1 on, such as 256 (export takes 1:512, model tune 1,8,512)",
       [](const std::string& word) { return read_number<std::int64_t>(word).has_value(); });
  add_option(app, "--op", options.op, "spmm, spmv, linear, conv2d");
  add_option(app, "--layout", options.layout, "kn or nk; nchw, nhwc, chwn");
  add_option(app, "--dtype", options.dtype, "f64 f32 f16 bf16 e4m3 e5m2 i8", "TYPE");
  add_option(app, "--format", options.format, "see weft formats");
  begin_group(app, "Operands");
  add_option(app, "--seed", options.seed, "of values not in the file");
  add_option(app, "--b", options.b, "random:1, ints:1, a file");
  add_option(app, "--scale", options.scale, "as --b, one a row or for all", "SCALE");
  add_option(app, "--token-scale", options.token_scale, "as --b, one a column or image", "SCALE");
  add_option(app, "--bias", options.bias, "as --b, one a row", "B");
  add_option(app, "--activation", options.activation, "none, relu, relu6, gelu, tanh, sigmoid, silu");
  add_option(app, "--alpha", options.alpha, "factor of the sum");
  add_option(app, "--beta", options.beta, "of the old output");
  add_option(app, "--c", options.c, "the old output, as --b", "C");
  add_option(app, "--c-type", options.c_type, "element type of the output", "TYPE");
  add_option(app, "--c-scale", options.c_scale, "what the output is divided by");
  begin_group(app, "Convolution");
  add_option(app, "--filter", options.filter, "its height x width", "3x3");
  add_option(app, "--image", options.image, "its height x width", "56x56");
  add_option(app, "--batch", options.batch, "images");
  add_option(app, "--pad", options.pad, "one number or 1x2");
  add_option(app, "--stride", options.stride, "one number or 1x2");
  add_option(app, "--dilation", options.dilation, "one number or 1x2");
  only_from(add_option(app, "--groups", options.groups, "of channels; filters have those of their own"), 1,
            1'000'000);
  begin_group(app, "Schedule");
  add_option(app, "--recipe", options.recipe, "see weft recipes");
  add_option(app, "--schedule", options.schedule, "JSON of weft tune", "FILE");
  for (const auto& [flag, operations] : flags_of_operations) {
    app.get_option(std::string(flag))->each([&options, name = std::string(flag)](const std::string&) {
      options.given.push_back(name);
    });
  }
}

void add_choice_flags(CLI::App& app, ProblemOptions& options) {
  begin_group(app, "Schedule");
  add_option(app, "--db", options.databases, "trials to choose by", "FILE");
  add_option(app, "--tree", options.tree, "of weft train, likewise", "FILE");
  app.add_flag("--overlap-launches", options.overlap_launches, "begin before the last one ends");
}

void add_emitter_flag(CLI::App& app, std::string& emitter) {
  only(add_option(app, "--emitter", emitter, "GPU code by llvm or cuda"), {"llvm", "cuda"});
}

Emitter emitter_named(const std::string& name, bool on_gpu) {
  if (name != "cuda") return Emitter::llvm;
  if (!on_gpu)
    throw UserError("CUDA source is for GPUs", "--emitter cuda", "no GPU",
                    "a GPU's target, or --emitter llvm");
  return Emitter::cuda;
}

namespace {

WeightMatrix read_weights(const ProblemOptions& options) {
  const DType dtype = dtype_of_text(options.dtype, DType::f32);
  if (is_made_weights(options.weights)) return made_weights(options.weights, dtype);
  return read_as(
      dtype,
      [&](std::optional<DType> seen_as) {
        return read(options.weights, {.tensor = options.tensor, .reinterpret_as = seen_as});
      },
      [](const WeightMatrix& matrix) { return matrix.values.dtype(); });
}

/// What a search found, where --schedule names that.
std::optional<BestKernel> best_of(const ProblemOptions& options) {
  if (options.schedule.empty()) return std::nullopt;
  refuse_own_file("--schedule", options.schedule, "a schedule that weft tune found, or its steps");
  const std::string text = of_option("--schedule", [&] { return text_of_file(options.schedule); });
  if (!is_best_file(text)) return std::nullopt;
  return best_kernel_of(text, options.schedule);
}

/// The weights as `options` want them, and what is computed with them.
struct Layer {
  WeightMatrix matrix;
  Algorithm algorithm;
  std::vector<std::string> notes;
};

/// What is read is finite, and has to stay so in the type that was asked for.
void refuse_infinite(const WeightMatrix& before, const WeightMatrix& after) {
  const auto becomes_infinite = [&](const Array& values, std::int64_t i) {
    return !std::isfinite(values.get(i)) && std::isfinite(before.values.get(i));
  };
  std::int64_t count = 0, first = 0;
  for (std::int64_t i = after.stored() - 1; i >= 0; --i) {
    if (becomes_infinite(after.values, i)) ++count, first = i;
  }
  if (count == 0) return;
  std::vector<std::string_view> fitting;
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    const Array values = before.values.converted(dtype);
    if (std::ranges::none_of(std::views::iota(std::int64_t{0}, values.size()),
                             [&](std::int64_t i) { return becomes_infinite(values, i); }))
      fitting.push_back(name_of(dtype));
  }
  std::int64_t row = 0;
  while (before.row_begin[static_cast<std::size_t>(row) + 1] <= first) ++row;
  throw UserError("weights become infinite in the element type",
                  fmt::format("--dtype {}, {}, row {}, column {}", name_of(after.values.dtype()),
                              before.origin, row, before.column_of(first)),
                  fmt::format("{}, and {} of {} weights in all are beyond its numbers",
                              before.values.get(first), count, before.stored()),
                  fmt::format("--dtype {}; or smaller weights", fmt::join(fitting, ", ")));
}

/// Filters of a convolution in groups as those of one over all channels.
WeightMatrix of_groups(WeightMatrix matrix, std::int64_t groups) {
  if (matrix.rows % groups != 0)
    throw UserError("groups do not divide the filters", "--groups",
                    fmt::format("{} groups of {} filters", groups, matrix.rows),
                    fmt::format("a divisor of {}", matrix.rows));
  return across_groups(std::move(matrix), groups);
}

Layer read_layer(const ProblemOptions& options) {
  Layer layer;
  dtype_of_text(options.dtype, DType::f32);  // whose error names no option but its own
  refuse_other_file_for_weights(std::string(options.weights_word), options.weights, options.schedule);
  layer.matrix = of_option(std::string(options.weights_word), [&] { return read_weights(options); });
  if (!layer.matrix.note.empty()) layer.notes.push_back(layer.matrix.note);
  const DType own = is_float(layer.matrix.values.dtype()) ? layer.matrix.values.dtype() : DType::f32;
  const DType dtype = dtype_of_text(options.dtype, own);
  if (!layer.matrix.row_scale.empty())
    layer.notes.push_back(fmt::format(
        "{} has scales beside its weights, which {}", layer.matrix.origin,
        options.scale.empty() ? "rows of the product are multiplied by" : "--scale takes the place of"));
  if (layer.matrix.pattern_only) {
    layer.matrix = with_random_values(layer.matrix, dtype, options.seed);
    layer.notes.push_back(fmt::format("{} has no values; drawn with seed {}", options.weights, options.seed));
  } else if (layer.matrix.values.dtype() != dtype) {
    double change = 0;
    const DType before = layer.matrix.values.dtype();
    WeightMatrix rounded = converted(layer.matrix, dtype, &change);
    refuse_infinite(layer.matrix, rounded);
    layer.matrix = std::move(rounded);
    if (change == 0 && !is_float(before))
      layer.notes.push_back(fmt::format("weights of {} are taken as {}", name_of(before), name_of(dtype)));
    if (change > 0)
      layer.notes.push_back(fmt::format("weights rounded from {} to {}; largest change {:.2e}",
                                        name_of(before), name_of(dtype), change));
  }
  if (options.groups > 1 && options.op == convolutions)
    layer.matrix = of_groups(std::move(layer.matrix), options.groups);
  layer.algorithm = algorithm_of(options, layer.matrix, dtype);
  if (options.op != "conv2d" && layer.matrix.shape.size() != 2)
    layer.notes.push_back(fmt::format("weights of {} are taken as {} x {}", text_of_shape(layer.matrix.shape),
                                      layer.matrix.rows, layer.matrix.columns));
  if (options.op == "conv2d") layer.matrix.shape = static_shape(*layer.algorithm.sparse_operand());
  return layer;
}

}  // namespace

Problem make_problem(const ProblemOptions& options, const ChosenFor& chosen_for) {
  Problem problem;
  Layer layer = read_layer(options);
  problem.matrix = std::move(layer.matrix);
  problem.algorithm = std::move(layer.algorithm);
  problem.notes = std::move(layer.notes);
  const Operand& output = problem.algorithm.operands[problem.algorithm.output.operand];
  problem.columns = element_count(static_shape(output), "output") / problem.matrix.rows;
  const auto best = best_of(options);
  if (best && !problem.algorithm.takes_any_weights())
    require_weights(*best, options.schedule, problem.matrix, problem.columns);
  const bool of_best = best && options.format == automatic && !best->format.empty();
  ProblemOptions wanted = options;
  if (of_best) wanted.format = best->format;
  const Format format = chosen_format(problem.algorithm, problem.matrix, wanted,
                                      options.schedule.empty() ? chosen_for : ChosenFor());
  problem.weights = of_option(
      "--format", [&] { return std::make_shared<const SparseTensor>(pack(problem.matrix, format)); });
  make_tensors(problem, options);
  if (options.op == convolutions) problem.convolution = convolution_of(options, problem.matrix);
  return problem;
}

SpaceProblem make_space_problem(const ProblemOptions& options) {
  Layer layer = read_layer(options);
  const Format format = options.format == automatic
                            ? formats::csr()
                            : chosen_format(layer.algorithm, layer.matrix, options, {});
  return {std::move(layer.algorithm), std::make_shared<const WeightMatrix>(std::move(layer.matrix)), format};
}

Schedule read_schedule(const Algorithm& algorithm, const Problem& problem, const ProblemOptions& options,
                       const Target& target) {
  Schedule schedule(algorithm, problem.weights, target);
  const auto best = best_of(options);
  // The algorithm may be for another size than the problem, as those of packages are.
  const auto n = std::ranges::find(algorithm.indices, "n", &IndexVariable::name);
  const bool has_own = n != algorithm.indices.end() && n->extent.is_static();
  if (best)
    require_fits(*best, options.schedule,
                 {algorithm, problem.matrix, problem.weights->format(),
                  has_own ? n->extent.value : problem.columns, target});
  const auto read = [&] { return steps_of_json(text_of_file(options.schedule), options.schedule); };
  for (const Step& step : best ? best->steps : of_option("--schedule", read)) schedule.apply(step);
  for (const std::string& advice : advice_on(schedule)) fmt::print(stderr, "warning: {}\n", advice);
  return schedule;
}

std::string text_of_file(const std::string& path) {
  const io::File file(path);
  return std::string(io::text_of(file.bytes()));
}

std::vector<StoredRecord> records_of_files(const std::vector<std::string>& paths) {
  std::vector<StoredRecord> records;
  for (const std::string& path : paths) {
    const RecordFile file(path, RecordFile::Mode::read);
    for (const std::string& warning : file.warnings()) fmt::print(stderr, "{}\n", warning);
    records.insert(records.end(), file.records().begin(), file.records().end());
  }
  return records;
}

void check_threads(const std::optional<int>& threads, bool on_cpu) {
  if (!threads) return;
  const std::string flag = fmt::format("--threads {}", *threads);
  if (!on_cpu)
    throw UserError("threads are of a CPU", flag, "no CPU", "the device or target cpu, or no --threads");
  if (*threads < 0 || *threads > ThreadPool::most_threads)
    throw UserError("there is no such number of threads", flag, std::to_string(*threads),
                    fmt::format("1 to {}, or 0 for one a core", ThreadPool::most_threads));
}

}  // namespace weft::tool
