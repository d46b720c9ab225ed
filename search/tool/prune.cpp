// weft prune: which weights to keep so that a format suits them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/file_and_tensor.h>
#include <weft/formats/io/pruned_for.h>
#include <weft/formats/io/read.h>
#include <weft/formats/io/split_weight.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/quantized.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/search/network/layer_kind.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::tool {
namespace {

struct PruneVerb {
  std::string weights;
  std::vector<std::string> tensors;  ///< empty: the only one
  bool all = false;
  std::string scores;
  std::string format;
  std::string out;
  std::string quantize;
  std::string scales;
  std::optional<double> sparsity;
  PruneOptions options;
  std::optional<std::uint64_t> seed;
  bool json = false;
};

/// What --quantize asks for.
struct Quantizing {
  DType type;
  ScaledTogether together = ScaledTogether::row;
};

/// "e4m3", "e4m3:per_row" or "e4m3:per_tensor"; nothing where it is not asked for.
std::optional<Quantizing> quantizing_of(const PruneVerb& verb) {
  if (verb.quantize.empty()) {
    if (verb.scales.empty()) return std::nullopt;
    throw UserError("scales have no use", "--scales " + verb.scales, "no --quantize",
                    "--quantize e4m3, or no --scales");
  }
  const std::size_t colon = verb.quantize.find(':');
  const std::optional<DType> type = dtype_named(verb.quantize.substr(0, colon));
  const std::string how = colon == std::string::npos ? "per_row" : verb.quantize.substr(colon + 1);
  const bool is_known = type && is_factor_of_a_byte(*type) && (how == "per_row" || how == "per_tensor");
  if (!is_known)
    throw UserError("weights cannot be quantised so", "--quantize", verb.quantize,
                    "e4m3, e5m2 or i8, alone or with :per_row or :per_tensor, such as e4m3:per_row");
  if (colon != std::string::npos && !verb.scales.empty())
    throw UserError("scales are given, and how many there are to be", "--quantize " + verb.quantize,
                    "--scales " + verb.scales, "--quantize e4m3 --scales FILE: its shape says how many");
  if (!verb.out.empty() && !verb.out.ends_with(".safetensors"))
    throw UserError("scales cannot be written beside the weights", "-o", verb.out,
                    "a name that ends with .safetensors");
  return Quantizing{*type, how == "per_row" ? ScaledTogether::row : ScaledTogether::tensor};
}

/// What is written of a weight.
struct Outcome {
  Array values;
  std::optional<Array> scale;          ///< as the file has it beside them
  std::optional<Quantized> quantized;  ///< where that was asked for
};

/// The name of a weight's scale.
std::string scale_name(const std::string& tensor) {
  return tensor + "_scale";
}

Outcome outcome_of(const PruneVerb& verb, const WeightMatrix& weights, const Pruning& pruning) {
  Outcome outcome;
  WeightMatrix kept = pruned(weights, pruning);
  if (const auto quantizing = quantizing_of(verb)) {
    if (verb.scales.empty()) {
      outcome.quantized = quantized(kept, quantizing->type, quantizing->together);
    } else {
      const auto [file, tensor] = file_and_tensor(verb.scales);
      outcome.quantized = of_option("--scales " + verb.scales, [&, &path = file, &name = tensor] {
        return quantized(kept, quantizing->type, read_array(path, name));
      });
    }
    kept = outcome.quantized->weights;
    outcome.scale = outcome.quantized->scale;
  } else if (!kept.row_scale.empty()) {
    outcome.scale = Array::of(kept.row_scale).reshaped({kept.rows, 1});
  }
  outcome.values = to_dense(kept).reshaped(weights.shape);
  return outcome;
}

void add(std::vector<std::pair<std::string, Array>>& tensors, const std::string& name, Outcome outcome) {
  tensors.emplace_back(name, std::move(outcome.values));
  if (outcome.scale) tensors.emplace_back(scale_name(name), std::move(*outcome.scale));
}

nlohmann::ordered_json json_of(const PruneVerb& verb, const Quantized& quantized) {
  return {{"as", verb.quantize},
          {"largest_error", quantized.largest_error},
          {"root_mean_square_error", quantized.root_mean_square_error}};
}

/// One of the ways to prune that are compared.
struct Method {
  Pruning pruning;
  double sparsity = 0;  ///< as it came out
};

/// On a terminal a line that changes; elsewhere one every few seconds, and none of what is done before.
class Progress {
 public:
  Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (terminal_ && any_) fmt::print(stderr, "\n");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void operator()(const PruneProgress& progress) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    if (!terminal_ && taken.count() < next_) return;
    next_ = taken.count() + pause;
    const std::string text = fmt::format("row order {} of {}: {}, round {}, {:.1f} s", progress.attempt,
                                         progress.attempts, progress.stage, progress.round, taken.count());
    if (terminal_)
      fmt::print(stderr, "\r{:<60}", text);
    else
      fmt::print(stderr, "{}\n", text);
    any_ = true;
  }

 private:
  static constexpr double pause = 5;  // seconds

  bool terminal_;
  bool any_ = false;
  double next_ = pause;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Rows and columns of what 2:4, which has no groups of rows, is compared with.
constexpr std::int64_t beside_two_of_four = 64;

/// The format that was asked for first, then the others of the same granularity.
std::vector<Format> compared(const Format& asked) {
  const std::int64_t size = asked.name == "n_m" ? beside_two_of_four : granularity_of(asked);
  std::vector<Format> formats{asked};
  const auto add = [&](Format format) {
    const std::string& name = asked.name == "blocked_ell" ? "bcsr" : asked.name;
    if (format.name != name) formats.push_back(std::move(format));
  };
  if (size == 1) return formats;
  add(formats::csr());
  for (const char* name : {"shfl_bw", "vector_wise"}) add({name, {{"V", size}}});
  add({"bcsr", {{"b", size}}});
  return formats;
}

double share_pruned(const WeightMatrix& weights, const Pruning& pruning) {
  const double places = static_cast<double>(weights.rows) * static_cast<double>(weights.columns);
  return places > 0 ? 1 - static_cast<double>(pruning.kept()) / places : 0;
}

/// What weights with scales are worth: |value * scale|.
WeightMatrix worth_of(const WeightMatrix& weights) {
  WeightMatrix worth = dequantized(weights);
  for (std::int64_t i = 0; i < worth.stored(); ++i) worth.values.set(i, std::abs(worth.values.get(i)));
  return worth;
}

/// choose_weights, whose refusals name the option.
Pruning chosen_of(const WeightMatrix& weights, const Format& format, PruneOptions options) {
  std::optional<WeightMatrix> worth;
  if (options.scores == nullptr && !weights.row_scale.empty())
    options.scores = &worth.emplace(worth_of(weights));
  try {
    return choose_weights(weights, format, options);
  } catch (const UserError& error) {
    UserError::Report report = error.report();
    if (report.where.ends_with("the sparsity")) report.where = "--sparsity";
    throw UserError(std::move(report));
  }
}

/// Every way to prune, at the sparsity of the first: where its pattern leaves it no choice, as it comes out,
/// because blocks at the edge keep more.
std::vector<Method> prune_as(const std::vector<Format>& formats, const WeightMatrix& weights,
                             PruneOptions options) {
  std::vector<Method> methods;
  for (const Format& format : formats) {
    Method method{chosen_of(weights, format, options), 0};
    method.sparsity = share_pruned(weights, method.pruning);
    const std::optional<double> of_pattern = sparsity_of_pattern(format);
    if (of_pattern) options.sparsity = std::min(*of_pattern, method.sparsity);
    methods.push_back(std::move(method));
  }
  return methods;
}

/// The name of the tensor in the file, which the origin of the weights ends with; "weight" where it had none.
std::string tensor_name(const PruneVerb& verb, const WeightMatrix& weights) {
  if (!verb.tensors.empty()) return verb.tensors.front();
  const std::string before = verb.weights + ":";
  if (!weights.origin.starts_with(before)) return "weight";
  const std::string name = weights.origin.substr(before.size());
  return name.substr(0, name.find(io::counted_columns));
}

/// The layers of the file that --all or the names mean, in its order.
std::vector<ListedWeight> chosen_tensors(const PruneVerb& verb, const std::vector<ListedWeight>& listed) {
  std::vector<ListedWeight> chosen;
  for (const ListedWeight& weight : listed) {
    const bool is_layer =
        may_be_layer(weight) && layer_of(weight, {}).left_out.empty() && weight.fault.empty();
    const bool is_named = std::ranges::find(verb.tensors, weight.tensor) != verb.tensors.end();
    if (verb.all ? is_layer : is_named) chosen.push_back(weight);
  }
  for (const std::string& name : verb.tensors)
    if (std::ranges::find(listed, name, &ListedWeight::tensor) == listed.end())
      weft::read(verb.weights, {.tensor = name});  // which says what there is
  if (chosen.empty())
    throw UserError("there is nothing to prune", "--all, " + verb.weights, "no tensor of a layer",
                    "a file with weights of two or four dimensions");
  return chosen;
}

/// A tensor that is not pruned; what a package has split into parts as one.
Array as_it_is(const ListedWeight& weight) {
  if (weight.stored_as == "dense" || weight.is_scale()) return read_array(weight.path, weight.tensor);
  const WeightMatrix matrix = weft::read(weight.path, {.tensor = weight.tensor});
  return to_dense(matrix).reshaped(matrix.shape);
}

/// Prunes several tensors of a file, and writes all that are in it.
int prune_several(const PruneVerb& verb, const Format& format, PruneOptions options) {
  if (verb.all && !verb.tensors.empty())
    throw UserError("all tensors and some are asked for", "--all",
                    fmt::format("--tensor {}", fmt::join(verb.tensors, ",")), "one of them");
  if (!verb.scores.empty())
    throw UserError("scores are of one tensor", "--scores " + verb.scores, "several tensors", "one --tensor");
  if (!verb.scales.empty())
    throw UserError("scales are of one tensor", "--scales " + verb.scales, "several tensors", "one --tensor");
  if (!verb.out.empty() && !verb.out.ends_with(".safetensors"))
    throw UserError("several tensors cannot be written", "-o", verb.out,
                    "a name that ends with .safetensors");
  const std::vector<ListedWeight> listed = list_weights(verb.weights);
  const std::vector<ListedWeight> chosen = chosen_tensors(verb, listed);
  std::vector<std::string> heading{"tensor", "shape", "weights kept", "sparsity", "kept score"};
  if (!verb.quantize.empty()) heading.insert(heading.end(), {"largest error", "root mean square"});
  Table table(heading);
  nlohmann::ordered_json document{{"weights", verb.weights}, {"format", format.text()}, {"written", nullptr}};
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<std::string, Array>> tensors;
  std::optional<Progress> progress(std::in_place);
  options.progress = [&](const PruneProgress& at) { (*progress)(at); };
  const auto is_scale_of_chosen = [&](const ListedWeight& weight) {
    return weight.is_scale() && std::ranges::any_of(chosen, [&](const ListedWeight& one) {
             return weight.tensor == scale_name(one.tensor);
           });
  };
  for (const ListedWeight& weight : listed) {
    if (is_scale_of_chosen(weight)) continue;
    if (std::ranges::find(chosen, weight.tensor, &ListedWeight::tensor) == chosen.end()) {
      if (!verb.out.empty()) tensors.emplace_back(weight.tensor, as_it_is(weight));
      continue;
    }
    const WeightMatrix matrix = weft::read(weight.path, {.tensor = weight.tensor});
    const Pruning pruning = chosen_of(matrix, format, options);
    const double sparsity = share_pruned(matrix, pruning);
    Outcome outcome = outcome_of(verb, matrix, pruning);
    std::vector<std::string> cells{weight.tensor, text_of_shape(matrix.shape), std::to_string(pruning.kept()),
                                   fmt::format("{:.2f} %", 100 * sparsity),
                                   fmt::format("{:.2f} %", 100 * pruning.kept_score)};
    document["tensors"].push_back({{"tensor", weight.tensor},
                                   {"shape", matrix.shape},
                                   {"kept", pruning.kept()},
                                   {"sparsity", sparsity},
                                   {"kept_score", pruning.kept_score}});
    if (outcome.quantized) {
      cells.push_back(fmt::format("{:.3g}", outcome.quantized->largest_error));
      cells.push_back(fmt::format("{:.3g}", outcome.quantized->root_mean_square_error));
      document["tensors"].back()["quantized"] = json_of(verb, *outcome.quantized);
    }
    table.row(cells);
    metadata.merge(io::metadata_of_pruned(format, pruning.row_order, weight.tensor));
    add(tensors, weight.tensor, std::move(outcome));
  }
  progress.reset();
  if (!verb.out.empty()) {
    write_safetensors(verb.out, tensors, metadata);
    document["written"] = verb.out;
  }
  if (verb.json) {
    fmt::print("{}\n", document.dump());
    return exit_ok;
  }
  fmt::print("{}{}", table.text(),
             verb.out.empty() ? "" : fmt::format("{} tensors written to {}\n", tensors.size(), verb.out));
  return exit_ok;
}

void write(const PruneVerb& verb, const WeightMatrix& weights, const Method& method, Outcome outcome) {
  if (verb.out.ends_with(".npy")) {
    if (outcome.scale)
      throw UserError("the weights have scales, which a .npy file cannot hold", "-o", verb.out,
                      "a name that ends with .safetensors");
    return write_npy(verb.out, outcome.values);
  }
  auto metadata = io::metadata_of_pruned(method.pruning.format, method.pruning.row_order);
  metadata["weft.sparsity"] = fmt::format("{:.6f}", method.sparsity);
  metadata["weft.kept_score"] = fmt::format("{:.6f}", method.pruning.kept_score);
  std::vector<std::pair<std::string, Array>> tensors;
  add(tensors, tensor_name(verb, weights), std::move(outcome));
  write_safetensors(verb.out, tensors, metadata);
}

std::string table_of(const std::vector<Method>& methods) {
  Table table({"pruned as", "weights kept", "sparsity", "kept score"});
  for (const Method& method : methods)
    table.row({method.pruning.format.text(), std::to_string(method.pruning.kept()),
               fmt::format("{:.2f} %", 100 * method.sparsity),
               fmt::format("{:.2f} %", 100 * method.pruning.kept_score)});
  return table.text();
}

std::string json_of(const PruneVerb& verb, const WeightMatrix& weights, const std::vector<Method>& methods,
                    const Outcome& outcome) {
  nlohmann::ordered_json document{{"weights", weights.origin},
                                  {"shape", weights.shape},
                                  {"written", nullptr},
                                  {"methods", nlohmann::ordered_json::array()}};
  if (!verb.out.empty()) document["written"] = verb.out;
  for (const Method& method : methods)
    document["methods"].push_back({{"format", method.pruning.format.text()},
                                   {"kept", method.pruning.kept()},
                                   {"sparsity", method.sparsity},
                                   {"kept_score", method.pruning.kept_score}});
  if (outcome.quantized) document["quantized"] = json_of(verb, *outcome.quantized);
  document["row_order"] = methods.front().pruning.row_order;
  return document.dump() + "\n";
}

void check_out(const std::string& out) {
  require_place_for("--out", out);
  if (out.empty() || out.ends_with(".safetensors") || out.ends_with(".npy")) return;
  throw UserError("the pruned weights cannot be written", "-o", out,
                  "a name that ends with .safetensors or .npy");
}

/// The library would take a usual one; a command says what it does.
void check_sparsity(const PruneVerb& verb, const Format& format) {
  if (verb.sparsity || sparsity_of_pattern(format)) return;
  throw UserError("the weights cannot be pruned", "--sparsity", "none for " + format.text(),
                  "--sparsity 0.75; only n_m and v_n_m have one of their own");
}

/// The search for a row order is of shfl_bw alone, whose prunings are also among those that are compared.
void refuse_idle_search(const PruneVerb& verb, const Format& format, const std::vector<Format>& formats) {
  if (std::ranges::find(formats, "shfl_bw", &Format::name) != formats.end()) return;
  const auto refuse = [&](const std::string& option, const std::string& found) {
    return UserError("an option has no use for the format", option,
                     fmt::format("{}, and {} has no row order to search", found, format.text()),
                     "--format shfl_bw:V=64, or no " + option);
  };
  if (verb.options.attempts > 0) throw refuse("--attempts", std::to_string(verb.options.attempts));
  if (verb.seed) throw refuse("--seed", std::to_string(*verb.seed));
}

int run(const PruneVerb& verb) {
  check_out(verb.out);
  require_apart_from("--out", verb.out,
                     {{"weights", verb.weights}, {"--scores", verb.scores}, {"--scales", verb.scales}});
  quantizing_of(verb);  // refuses what it cannot read before the search
  const Format format = of_option("--format", [&] { return parse_format(verb.format); });
  const std::vector<Format> formats = compared(format);
  refuse_idle_search(verb, format, formats);
  check_sparsity(verb, format);
  // Parameters that the format itself refuses are found before the search, not after it.
  of_option("--format", [&] { return pack(from_dense(Array(DType::f32, {1, 1}), "one element"), format); });
  refuse_other_file_for_weights("weights", verb.weights);
  PruneOptions options = verb.options;
  options.sparsity = verb.sparsity;
  if (verb.seed) options.seed = *verb.seed;
  if (verb.all || verb.tensors.size() > 1) return prune_several(verb, format, options);
  const WeightMatrix weights =
      read(verb.weights, {.tensor = verb.tensors.empty() ? "" : verb.tensors.front()});
  if (weights.pattern_only)
    fmt::print(stderr, "{} has no values; every weight is worth the same\n", weights.origin);
  std::optional<WeightMatrix> scores;
  if (!verb.scores.empty()) scores = of_option("--scores", [&] { return read(verb.scores); });
  options.scores = scores ? &*scores : nullptr;
  std::vector<Method> methods;
  {
    Progress progress;
    options.progress = [&](const PruneProgress& at) { progress(at); };
    methods = prune_as(formats, weights, options);
  }
  if (methods.front().pruning.kept() == 0 && weights.stored() > 0)
    fmt::print(stderr, "everything was pruned: fewer weights were to be kept than one block or column has\n");
  const Outcome outcome = outcome_of(verb, weights, methods.front().pruning);
  if (!verb.out.empty()) write(verb, weights, methods.front(), outcome);
  if (verb.json) {
    fmt::print("{}", json_of(verb, weights, methods, outcome));
    return exit_ok;
  }
  std::string text = table_of(methods);
  if (outcome.quantized)
    text += fmt::format("quantised to {}: largest error {:.3g}, root mean square {:.3g}\n", verb.quantize,
                        outcome.quantized->largest_error, outcome.quantized->root_mean_square_error);
  fmt::print("{}{}", text,
             verb.out.empty() ? "" : fmt::format("{} written to {}\n", format.text(), verb.out));
  return exit_ok;
}

}  // namespace

void add_prune(CLI::App& app, Action& action) {
  const auto [command, verb] = new_verb<PruneVerb>(
      app, action, "prune", "choose which weights to keep, and write them",
      "Prints which share of the score (the sum of |w|, or of --scores) is kept, beside that of other ways.\n"
      "Example: weft prune layer.safetensors --format shfl_bw:V=64 --sparsity 0.75 -o pruned.safetensors",
      run);
  add_option(command, "weights", verb.weights, "dense or pruned weights: .npy .npz .safetensors .mtx .smtx")
      ->required();
  begin_group(command, "Problem");
  add_option(command, "--format", verb.format, "for which to prune: see weft formats")->required();
  add_option(command, "--sparsity", verb.sparsity,
             "share of the places to be zero, at least 0 and below 1; n_m and v_n_m have 1 - 2/M, mixed at "
             "most 0.5");
  add_list(command, "--tensor", verb.tensors,
           "which tensors of the file; of several all others are written, too");
  command.add_flag("--all", verb.all, "every layer of the file");
  add_option(command, "--scores", verb.scores,
             "what each weight is worth, in place of |w|: a file with one matrix of that shape");
  add_option(command, "--quantize", verb.quantize,
             "then round to e4m3, e5m2 or i8; :per_row (unasked) or :per_tensor says what has a scale",
             "TYPE");
  add_option(command, "--scales", verb.scales, "these, not by the largest: a file, or FILE:TENSOR", "FILE");
  begin_group(command, "Search");
  add_option(command, "--seed", verb.seed, "of the search for a row order");
  only_from(add_option(command, "--attempts", verb.options.attempts,
                       "row orders that shfl_bw tries; 0: one to eight, by the size")
                ->capture_default_str(),
            0, 1000);
  begin_group(command, "Output");
  add_option(command, "-o,--out", verb.out,
             "a .safetensors or .npy file; without it only the table is printed");
  add_json_flag(command, verb.json, "one JSON document on a line");
}

}  // namespace weft::tool
