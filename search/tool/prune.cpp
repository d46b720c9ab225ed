// weft prune: which weights to keep so that a format suits them.
#include <fmt/format.h>
#include <unistd.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/read.h>
#include <weft/formats/prune.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/search/tool/table.h>
#include <weft/search/tool/verbs.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft::tool {
namespace {

struct PruneVerb {
  std::string weights;
  std::string tensor;
  std::string scores;
  std::string format;
  std::string out;
  PruneOptions options;
  bool json = false;
};

/// One of the ways to prune that are compared.
struct Method {
  Pruning pruning;
  double sparsity = 0;  ///< as it came out
};

/// A line for each stage, on a terminal one that changes.
class Progress {
 public:
  Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (terminal_ && any_) fmt::print(stderr, "\n");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void operator()(const PruneProgress& progress) {
    if (!terminal_ && progress.round != 1) return;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    const std::string text = fmt::format("row order {} of {}: {}, round {}, {:.1f} s", progress.attempt,
                                         progress.attempts, progress.stage, progress.round, taken.count());
    if (terminal_) {
      fmt::print(stderr, "\r{:<60}", text);
    } else {
      fmt::print(stderr, "{}\n", text);
    }
    any_ = true;
  }

 private:
  bool terminal_;
  bool any_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The format that was asked for first, then the others of the same granularity.
std::vector<Format> compared(const Format& asked) {
  const std::int64_t size = granularity_of(asked);
  std::vector<Format> formats{asked, formats::csr()};
  if (size > 1) {
    for (const char* name : {"shfl_bw", "vector_wise"}) formats.push_back({name, {{"V", size}}});
    formats.push_back({"bcsr", {{"b", size}}});
  }
  const auto again = std::find_if(formats.begin() + 1, formats.end(), [&](const Format& format) {
    return size == 1 || format.name == (asked.name == "blocked_ell" ? "bcsr" : asked.name);
  });
  formats.erase(again);
  return formats;
}

/// The name of the tensor in the file, which the origin of the weights ends with; "weight" where it had none.
std::string tensor_name(const PruneVerb& verb, const WeightMatrix& weights) {
  if (!verb.tensor.empty()) return verb.tensor;
  const std::string before = verb.weights + ":";
  return weights.origin.starts_with(before) ? weights.origin.substr(before.size()) : "weight";
}

void write(const PruneVerb& verb, const WeightMatrix& weights, const Method& method) {
  Array dense = to_dense(pruned(weights, method.pruning)).reshaped(weights.shape);
  if (verb.out.ends_with(".npy")) return write_npy(verb.out, dense);
  std::map<std::string, std::string> metadata{
      {"weft.format", method.pruning.format.text()},
      {"weft.sparsity", fmt::format("{:.6f}", method.sparsity)},
      {"weft.kept_score", fmt::format("{:.6f}", method.pruning.kept_score)},
  };
  if (!method.pruning.row_order.empty())
    metadata["weft.row_order"] = fmt::format("{}", fmt::join(method.pruning.row_order, ","));
  std::vector<std::pair<std::string, Array>> tensors;
  tensors.emplace_back(tensor_name(verb, weights), std::move(dense));
  write_safetensors(verb.out, tensors, metadata);
}

std::string table_of(const std::vector<Method>& methods) {
  Table table({"pruned as", "weights kept", "sparsity", "kept score"});
  for (const Method& method : methods) {
    table.row({method.pruning.format.text(), std::to_string(method.pruning.kept()),
               fmt::format("{:.2f} %", 100 * method.sparsity),
               fmt::format("{:.2f} %", 100 * method.pruning.kept_score)});
  }
  return table.text();
}

std::string json_of(const PruneVerb& verb, const WeightMatrix& weights, const std::vector<Method>& methods) {
  nlohmann::ordered_json document{{"weights", weights.origin},
                                  {"shape", weights.shape},
                                  {"written", nullptr},
                                  {"methods", nlohmann::ordered_json::array()}};
  if (!verb.out.empty()) document["written"] = verb.out;
  for (const Method& method : methods) {
    document["methods"].push_back({{"format", method.pruning.format.text()},
                                   {"kept", method.pruning.kept()},
                                   {"sparsity", method.sparsity},
                                   {"kept_score", method.pruning.kept_score}});
  }
  document["row_order"] = methods.front().pruning.row_order;
  return document.dump() + "\n";
}

void check_out(const std::string& out) {
  if (out.empty() || out.ends_with(".safetensors") || out.ends_with(".npy")) return;
  throw UserError(
      {"the pruned weights cannot be written", "-o", out, "a name that ends with .safetensors or .npy"});
}

int run(const PruneVerb& verb) {
  check_out(verb.out);
  const Format format = parse_format(verb.format);
  const std::vector<Format> formats = compared(format);
  // Parameters that the format itself refuses are found before the search, not after it.
  pack(from_dense(Array(DType::f32, {1, 1}), "one element"), format);
  ReadOptions read_options;
  read_options.tensor = verb.tensor;
  const WeightMatrix weights = read(verb.weights, read_options);
  if (weights.pattern_only)
    fmt::print(stderr, "{} has no values; every weight is worth the same\n", weights.origin);
  std::optional<WeightMatrix> scores;
  if (!verb.scores.empty()) scores = read(verb.scores);
  PruneOptions options = verb.options;
  options.scores = scores ? &*scores : nullptr;
  std::vector<Method> methods;
  {
    Progress progress;
    options.progress = [&](const PruneProgress& at) { progress(at); };
    for (const Format& each : formats) {
      Method method{choose_weights(weights, each, options), 0};
      const double places = static_cast<double>(weights.rows) * static_cast<double>(weights.columns);
      method.sparsity = places > 0 ? 1 - static_cast<double>(method.pruning.kept()) / places : 0;
      methods.push_back(std::move(method));
    }
  }
  if (methods.front().pruning.kept() == 0 && weights.stored() > 0)
    fmt::print(stderr, "everything was pruned: fewer weights were to be kept than one block or column has\n");
  if (!verb.out.empty()) write(verb, weights, methods.front());
  if (verb.json) {
    fmt::print("{}", json_of(verb, weights, methods));
    return exit_ok;
  }
  fmt::print("{}{}", table_of(methods),
             verb.out.empty() ? "" : fmt::format("{} written to {}\n", format.text(), verb.out));
  return exit_ok;
}

}  // namespace

void add_prune(CLI::App& app, Action& action) {
  auto verb = std::make_shared<PruneVerb>();
  CLI::App* command = app.add_subcommand("prune", "choose which weights to keep, and write them");
  command->footer(
      "Prints which share of the score (the sum of |w|, or of --scores) is kept, beside that of the other "
      "ways to\n"
      "prune at the same sparsity. No more than (1 - sparsity) of the places are kept, as many whole blocks "
      "or\n"
      "columns of V rows as fit. Written is this tensor alone, in its shape and element type, pruned weights "
      "being\n"
      "zero; in .safetensors under its name, with weft.format, weft.sparsity, weft.kept_score and, for "
      "shfl_bw,\n"
      "weft.row_order (the rows group by group) as metadata.\n"
      "Example: weft prune layer.safetensors --format shfl_bw:V=64 --sparsity 0.75 -o pruned.safetensors");
  command->add_option("weights", verb->weights, "dense or pruned weights: .npy .npz .safetensors .mtx .smtx")
      ->required();
  command
      ->add_option("--format", verb->format,
                   "csr (single weights), bcsr:b=32, blocked_ell:b=32, vector_wise:V=64 or shfl_bw:V=64")
      ->required();
  command
      ->add_option("--sparsity", verb->options.sparsity,
                   "share of the places to be zero, at least 0 and below 1")
      ->required();
  command->add_option("-o,--out", verb->out,
                      "a .safetensors or .npy file; without it only the table is printed");
  command->add_option("--tensor", verb->tensor, "which tensor of the file");
  command->add_option("--scores", verb->scores,
                      "what each weight is worth, in place of |w|: a file with one matrix of that shape");
  command->add_option("--seed", verb->options.seed, "of the search for a row order")->capture_default_str();
  command
      ->add_option("--attempts", verb->options.attempts,
                   "row orders that shfl_bw tries; 0: one to eight, by the size")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_flag("--json", verb->json, "one JSON document on a line");
  command->callback([verb, &action] { action = [verb] { return run(*verb); }; });
}

}  // namespace weft::tool
