// What kernels take beyond their modelled time, learnt from choice studies (choice_study.cpp) and from trials
// of `weft tune`, and judged by problems that were left out:
//
//   learn_times STUDY.jsonl OTHER.jsonl --trees 250 --height 5 -o search/model/sm_90a_times.json
//   learn_times UNSEEN.jsonl --by search/model/sm_90a_times.json
//
// Prints, of the first study (--judged: of as many), the best time that was measured over that of the kernel
// that is taken, by the modelled times alone and by what was learnt, and what was measured over what is
// expected of the kernels that are taken: the numbers of docs/measurements/choice.md and search.md and of
// search/model/known_error.cpp. --by judges times that were learnt before, and learns nothing.
#include <fmt/format.h>
#include <weft/backends/runtime/process.h>
#include <weft/formats/random.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/draw.h>
#include <weft/search/model/known_error.h>
#include <weft/search/model/learnt_times.h>
#include <weft/search/model/recorded_times.h>
#include <weft/search/records/record_file.h>
#include <weft/search/spaces/problems.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>

namespace weft {
namespace {

using Json = nlohmann::json;

struct Measured {
  std::string id, recipe;
  Format format;
  ProblemSummary problem;
  KnobValues point;
  Bound bound;
  double modelled = 0, microseconds = 0;
  Target target;

  KernelOutline outline() const { return {problem, format, recipe, point, bound, modelled, target}; }
};

Algorithm images_of(const Json& image, DType dtype) {
  const auto pair = [&](const char* name) { return image.at(name).get<std::array<std::int64_t, 2>>(); };
  const Convolution convolution{.batch = image.at("batch"),
                                .channels = image.at("channels"),
                                .filters = image.at("filters"),
                                .image = pair("image"),
                                .filter = pair("filter"),
                                .pad = pair("pad"),
                                .stride = pair("stride"),
                                .dilation = pair("dilation"),
                                .layout = layout_named(image.at("layout").get<std::string>()).value()};
  return convolution_algorithm(convolution, dtype);
}

/// Of what copies take nothing is learnt.
double without_copies(double all, double copying) {
  constexpr double least_share = 0.2;
  return std::max(least_share * all, all - copying);
}

Measured measured_of(const Json& line, const Target& target) {
  Measured kernel;
  kernel.target = target;
  kernel.id = line.at("id");
  kernel.recipe = line.at("recipe");
  kernel.format = parse_format(line.at("format").get<std::string>());
  ProblemSummary& problem = kernel.problem;
  problem = {.m = line.at("m"), .k = line.at("k"), .n = line.at("n")};
  problem.dtype = dtype_named(line.at("dtype").get<std::string>()).value();
  problem.convolution = line.at("convolution");
  problem.stored = line.at("stored");
  problem.dense_elements = line.at("dense_elements");
  problem.row_variation = line.at("row_variation");
  problem.row_mean = static_cast<double>(problem.stored) / static_cast<double>(problem.m);
  add_format(problem, kernel.format);
  if (line.contains("image")) add_algorithm(problem, images_of(line.at("image"), problem.dtype));
  kernel.point = filled_point(problem, kernel.recipe, line.at("point").get<KnobValues>(), target);
  kernel.bound = bound_of(problem, kernel.recipe, kernel.point, target);
  const Ceilings ceilings = ceilings_of(problem.dtype, target);
  kernel.modelled = modelled_time(problem, kernel.format, kernel.recipe, kernel.point, target, ceilings);
  if (problem.convolution && problem.of_images == nullptr) kernel.modelled += line.value("copying", 0.0);
  kernel.microseconds = without_copies(line.at("us"), problem.convolution ? 0 : line.value("copying", 0.0));
  return kernel;
}

/// The convolution of a record, of the smallest images that have such results; nothing where it is another.
std::optional<Algorithm> images_of(const Record& record) {
  static const std::regex windows(R"((?:(\d+)\*)?p \+ (?:(\d+)\*)?r(?: - (\d+))?, )");
  const std::string text = record.problem.word("algorithm");
  std::smatch found;
  if (!std::regex_search(text, found, windows)) return std::nullopt;
  const auto number = [&](std::size_t group, std::int64_t otherwise) {
    return found[group].matched ? std::stoll(found[group].str()) : otherwise;
  };
  const auto size = [&](const char* name) { return record.problem.size(name); };
  const std::int64_t stride = number(1, 1), dilation = number(2, 1), pad = number(3, 0);
  const auto extent = [&](std::int64_t results, std::int64_t taps) {
    return (results - 1) * stride + (taps - 1) * dilation + 1 - 2 * pad;
  };
  const Convolution convolution{
      .batch = size("extent_b"),
      .channels = size("extent_c"),
      .filters = size("extent_f"),
      .image = {extent(size("extent_p"), size("extent_r")), extent(size("extent_q"), size("extent_s"))},
      .filter = {size("extent_r"), size("extent_s")},
      .pad = {pad, pad},
      .stride = {stride, stride},
      .dilation = {dilation, dilation},
      .layout = text.starts_with("C[f,")  ? ImageLayout::chwn
                : text.ends_with(", c])") ? ImageLayout::nhwc
                                          : ImageLayout::nchw};
  return convolution_algorithm(convolution, dtype_named(record.problem.word("dtype")).value());
}

std::optional<Algorithm> algorithm_of(const Record& record) {
  if (record.kernel == "conv2d") return images_of(record);
  const std::string text = record.problem.word("algorithm");
  const bool across = text.find("B[n, k]") != std::string::npos;
  if (!across && text.find("B[k, n]") == std::string::npos) return std::nullopt;
  const ProblemSummary problem = summary_of(record);
  return spmm_algorithm(problem.m, problem.k, Extent(problem.n), problem.dtype, {},
                        across ? ProductLayout::nk : ProductLayout::kn);
}

/// With the caches of the processor that measured.
Target measured_on(const Record& record, Target target) {
  if (record.target.first_cache > 0) target.first_cache_bytes = record.target.first_cache;
  if (record.target.second_cache > 0) target.second_cache_bytes = record.target.second_cache;
  return target;
}

/// A right trial of `weft tune` of a convolution, or of a product in either layout.
std::optional<Measured> measured_of(const Record& record, const Target& of_all) {
  const Target target = measured_on(record, of_all);
  std::optional<double> time = record.time_of_correct();
  // Other processes of a CPU take their share of a median.
  if (time && !target.is_gpu() && record.microseconds->minimum > 0) time = record.microseconds->minimum;
  if (record.measure != (target.is_gpu() ? "gpu" : "cpu") || !time || record.recipe == "default")
    return std::nullopt;
  const std::optional<Algorithm> algorithm = algorithm_of(record);
  if (!algorithm) return std::nullopt;
  Measured kernel;
  kernel.target = target;
  kernel.id = record.problem_key();
  kernel.recipe = record.recipe;
  kernel.format = parse_format(record.pattern.kind);
  ProblemSummary problem = summary_of(record);
  add_algorithm(problem, *algorithm);
  const Ceilings ceilings = ceilings_of(problem.dtype, target);
  const double copying = time_of_copying_apart(problem, record.recipe, record.config, ceilings);
  kernel.problem = seen_by(record.recipe, problem);
  kernel.point = filled_point(kernel.problem, record.recipe, record.config, target);
  if (!target.is_gpu()) kernel.point.erase("threads");
  kernel.bound = bound_of(kernel.problem, record.recipe, kernel.point, target);
  kernel.modelled =
      modelled_time(kernel.problem, kernel.format, record.recipe, kernel.point, target, ceilings);
  // A CPU's modelled time is without them.
  if (target.is_gpu()) kernel.modelled -= copying;
  kernel.microseconds = without_copies(*time, copying);
  return kernel;
}

using Kernels = std::vector<Measured>;

KernelNumbers numbers_of(const Kernels& kernels) {
  std::set<std::string> recipes, formats, knobs;
  for (const Measured& one : kernels) {
    recipes.insert(one.recipe);
    formats.insert(one.format.name);
    for (const auto& [name, value] : one.point) knobs.insert(name);
  }
  return KernelNumbers::all({recipes.begin(), recipes.end()}, {formats.begin(), formats.end()},
                            {knobs.begin(), knobs.end()});
}

std::string text_of(const Measured& one) {
  std::string text = fmt::format("{} {}", one.recipe, one.format.text());
  for (const auto& [name, value] : one.point) text += fmt::format(" {}={}", name, value);
  return text;
}

/// Problems count alike, however many of their kernels were measured.
RegressionSet set_of(const Kernels& kernels, const KernelNumbers& numbers,
                     const std::set<std::string>& without) {
  std::map<std::string, int> counts;
  for (const Measured& one : kernels) ++counts[one.id];
  const double mean = static_cast<double>(kernels.size()) / static_cast<double>(counts.size());
  RegressionSet set{.width = numbers.names().size()};
  for (const Measured& one : kernels) {
    if (without.contains(one.id)) continue;
    if (!std::isfinite(std::log(one.microseconds / one.modelled)))
      throw UserError("nothing can be learnt of a kernel", one.id + ", " + text_of(one),
                      fmt::format("{} us measured and {} modelled", one.microseconds, one.modelled),
                      "two times above zero");
    const std::vector<double> values = numbers(one.outline());
    set.numbers.insert(set.numbers.end(), values.begin(), values.end());
    set.targets.push_back(std::log(one.microseconds / one.modelled));
    set.weights.push_back(mean / counts.at(one.id));
  }
  return set;
}

/// What is expected of each kernel by what was learnt from the other problems.
std::vector<double> held_out(const Kernels& kernels, const KernelNumbers& numbers,
                             const BoostingOptions& options, std::size_t folds, std::uint64_t seed) {
  std::vector<std::string> ids;
  for (const Measured& one : kernels) {
    if (std::ranges::find(ids, one.id) == ids.end()) ids.push_back(one.id);
  }
  Random random(seed);
  shuffle(ids, random);
  std::vector<double> expected(kernels.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::set<std::string> without;
    for (std::size_t i = fold; i < ids.size(); i += folds) without.insert(ids[i]);
    const BoostedTrees trees = fit_boosted_trees(set_of(kernels, numbers, without), options);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (without.contains(kernels[i].id))
        expected[i] = kernels[i].modelled * std::exp(trees.value(numbers(kernels[i].outline())));
    }
  }
  return expected;
}

/// The kernel of the least rank of each problem.
std::map<std::string, std::size_t> taken(const Kernels& kernels, const std::vector<double>& expected,
                                         const Target& target, bool reluctant) {
  std::map<std::string, std::size_t> best;
  const auto rank = [&](std::size_t i) {
    const Measured& one = kernels[i];
    return expected[i] * (reluctant ? reluctance_to(one.problem, one.format, one.recipe, target) : 1);
  };
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto [found, added] = best.try_emplace(kernels[i].id, i);
    if (rank(i) < rank(found->second)) found->second = i;
  }
  return best;
}

std::string kind_of(const Measured& one) {
  return fmt::format("{} {}", one.problem.dtype == DType::f32 ? "f32" : "16 bits",
                     one.problem.convolution ? "images" : "products");
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

void print_share_of_best(const Kernels& kernels, const std::vector<double>& expected, const Target& target,
                         bool reluctant, const char* rule) {
  std::map<std::string, double> best;
  for (const Measured& one : kernels) {
    const auto [found, added] = best.try_emplace(one.id, one.microseconds);
    found->second = std::min(found->second, one.microseconds);
  }
  std::map<std::string, std::vector<double>> shares;
  for (const auto& [id, i] : taken(kernels, expected, target, reluctant))
    shares[kind_of(kernels[i])].push_back(best.at(id) / kernels[i].microseconds);
  for (const auto& [kind, of_kind] : shares) {
    double logarithms = 0;
    for (const double share : of_kind) logarithms += std::log(share);
    fmt::print("{:26} {:17} {:3} problems: {:.3f}, worst {:.2f}, below 0.80 {}\n", rule, kind, of_kind.size(),
               std::exp(logarithms / static_cast<double>(of_kind.size())), std::ranges::min(of_kind),
               std::ranges::count_if(of_kind, [](double share) { return share < 0.8; }));
  }
}

/// Of each problem the kernel that is taken and the fastest one.
void print_each(const Kernels& kernels, const std::vector<double>& expected, const Target& target) {
  std::map<std::string, std::size_t> best;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto [found, added] = best.try_emplace(kernels[i].id, i);
    if (kernels[i].microseconds < kernels[found->second].microseconds) found->second = i;
  }
  for (const auto& [id, i] : taken(kernels, expected, target, false)) {
    const ProblemSummary& problem = kernels[i].problem;
    fmt::print("{:.3f} {} {} x {} x {} {:.3f}\n", kernels[best.at(id)].microseconds / kernels[i].microseconds,
               kind_of(kernels[i]), problem.m, problem.k, problem.n, problem.density());
    for (const auto& [word, at] : {std::pair("taken", i), {"best", best.at(id)}})
      fmt::print("  {:5} {:8.2f} us, expected {:8.2f}, modelled {:8.2f}: {}\n", word,
                 kernels[at].microseconds, expected[at], kernels[at].modelled, text_of(kernels[at]));
  }
}

void print_errors(const Kernels& kernels, const std::vector<double>& expected, const Target& target) {
  std::map<std::string, std::vector<double>> errors;
  for (const auto& [id, i] : taken(kernels, expected, target, false))
    errors[fmt::format("{} {}", kernels[i].recipe, kind_of(kernels[i]))].push_back(kernels[i].microseconds /
                                                                                   expected[i]);
  fmt::print("measured over expected, of the kernels that are taken: 0, 2.5, 50, 97.5, 100 %\n");
  for (const auto& [kind, of_kind] : errors)
    fmt::print("  {:28} {:3}: {:.2f} {:.2f} {:.2f} {:.2f} {:.2f}\n", kind, of_kind.size(),
               quantile(of_kind, 0), quantile(of_kind, 0.025), quantile(of_kind, 0.5),
               quantile(of_kind, 0.975), quantile(of_kind, 1));
}

Kernels kernels_of(const std::string& file, const Target& target) {
  Kernels kernels;
  std::ifstream in(file);
  std::string line;
  if (std::getline(in, line); is_database(line)) {
    const RecordFile trials(file, RecordFile::Mode::read);
    for (const StoredRecord& one : trials.records()) {
      if (auto kernel = measured_of(one.record, target)) kernels.push_back(std::move(*kernel));
    }
    return kernels;
  }
  for (; in; std::getline(in, line)) {
    Measured kernel = measured_of(Json::parse(line), target);
    // Of images nothing is learnt where it is not known how they are cut.
    if (kernel.recipe != "sparsert" || !kernel.problem.convolution || kernel.problem.of_images != nullptr)
      kernels.push_back(std::move(kernel));
  }
  return kernels;
}

/// What is expected of each kernel by times that were learnt before.
std::vector<double> expected_by(const std::string& file, const Kernels& kernels) {
  const LearntTimes times = learnt_times_of(read_bytes(file), file);
  std::vector<double> expected;
  for (const Measured& one : kernels) {
    const bool is_learnt = times.is_of(one.recipe, one.target);
    expected.push_back(one.modelled * (is_learnt ? times.correction(one.outline()) : 1));
  }
  return expected;
}

struct Options {
  std::vector<std::string> studies;
  std::string out, by, target = "sm_90a";
  std::size_t judged = 1;
  BoostingOptions boosting;
  std::size_t folds = 10;
  bool each = false;
  std::uint64_t seed = 1;
};

int run(const Options& options) {
  const Target& target = target_named(options.target);
  Kernels kernels;
  std::size_t judged = 0;
  for (std::size_t i = 0; i < options.studies.size(); ++i) {
    const Kernels more = kernels_of(options.studies[i], target);
    kernels.insert(kernels.end(), more.begin(), more.end());
    if (i < options.judged) judged = kernels.size();
  }
  if (kernels.empty())
    throw UserError("there is nothing to learn from", "no kernels", "lines of choice_study");
  const KernelNumbers numbers = numbers_of(kernels);
  const Kernels first(kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(judged));
  std::vector<double> modelled;
  for (const Measured& one : first) modelled.push_back(one.modelled);
  print_share_of_best(first, modelled, target, true, "modelled");
  const bool learns = options.by.empty();
  std::vector<double> expected =
      learns ? held_out(kernels, numbers, options.boosting, options.folds, options.seed)
             : expected_by(options.by, first);
  expected.resize(judged);
  print_share_of_best(first, expected, target, false, learns ? "learnt, held out" : "learnt before");
  print_errors(first, expected, target);
  if (options.each) print_each(first, expected, target);
  if (options.out.empty()) return 0;
  LearntTimes times;
  times.target = target.name;
  std::set<std::string> recipes;
  for (const Measured& one : kernels) recipes.insert(one.recipe);
  times.recipes.assign(recipes.begin(), recipes.end());
  times.numbers = numbers;
  times.trees = fit_boosted_trees(set_of(kernels, numbers, {}), options.boosting);
  write_bytes(options.out, json_of(times));
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Options options;
  CLI::App app("What kernels take beyond their modelled time, learnt from a choice study.");
  app.add_option("studies", options.studies, "lines of choice_study, or trials of weft tune")->required();
  app.add_option("-o,--out", options.out, "where what was learnt goes");
  CLI::Option* const by = app.add_option("--by", options.by, "times that were learnt before, to be judged");
  app.get_option("--out")->excludes(by);
  app.add_option("--judged", options.judged, "how many of the studies are judged")->capture_default_str();
  app.add_option("--target", options.target, "that was measured")->capture_default_str();
  app.add_option("--trees", options.boosting.trees)->capture_default_str();
  app.add_option("--height", options.boosting.height)->capture_default_str();
  app.add_option("--leaves", options.boosting.leaves, "of a tree, at most")->capture_default_str();
  app.add_option("--rate", options.boosting.rate)->capture_default_str();
  app.add_option("--least-weight", options.boosting.least_weight, "of a leaf")->capture_default_str();
  app.add_option("--folds", options.folds, "parts that problems are dealt into")->capture_default_str();
  app.add_flag("--each", options.each, "of each problem what is taken and what is fastest");
  app.add_option("--seed", options.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return weft::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "learn_times: {}\n", error.what());
    return 2;
  }
}
