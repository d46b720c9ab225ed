// The point that the recipe of the CPU takes unasked, beside the default schedule and the fastest of its
// space: cpu_space_bench [--threads N] [--only TEXT] [--unasked] [FILE]. Every result is verified first; then
// all take turns and count with their fastest round. The fastest points of a first look are timed again, with
// the unasked one and the default schedule, so that no point wins by chance alone.
#include <fmt/format.h>
#include <weft/backends/kernel.h>
#include <weft/backends/runtime/timing.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft {
namespace {

struct Options {
  int threads = 1;
  std::string only;
  bool unasked = false;  ///< no other point of the space
  std::vector<std::string> files;
};

struct Problem {
  std::string name;
  Algorithm algorithm;
  WeightMatrix matrix;
};

Problem product(std::int64_t m, std::int64_t k, double sparsity, std::int64_t n) {
  return {fmt::format("{} x {} x {}, {:.0f} %", m, k, n, 100 * sparsity), spmm_algorithm(m, k, n, DType::f32),
          synthetic_layer({.rows = m, .columns = k, .sparsity = sparsity})};
}

Problem convolution(std::int64_t channels, std::int64_t filters, std::int64_t filter, std::int64_t image,
                    std::int64_t stride, std::int64_t batch, ImageLayout layout, double sparsity = 0.9) {
  const Convolution c{.batch = batch,
                      .channels = channels,
                      .filters = filters,
                      .image = {image, image},
                      .filter = {filter, filter},
                      .pad = {filter / 2, filter / 2},
                      .stride = {stride, stride},
                      .layout = layout};
  return {fmt::format("{0}x{0} {1} to {2}, {3}x{3}, batch {4}, stride {5}, {6}", filter, channels, filters,
                      image, batch, stride, name_of(layout)),
          convolution_algorithm(c, DType::f32),
          synthetic_layer({.rows = filters, .columns = channels * filter * filter, .sparsity = sparsity})};
}

std::vector<Problem> problems(const Options& options) {
  std::vector<Problem> all;
  for (const std::string& file : options.files) {
    WeightMatrix matrix = read(file);
    for (const std::int64_t n : {1, 8, 196}) {
      all.push_back({fmt::format("{}, N = {}", file.substr(file.rfind('/') + 1), n),
                     spmm_algorithm(matrix.rows, matrix.columns, n, DType::f32), matrix});
    }
  }
  if (!all.empty()) return all;
  for (const std::int64_t n : {1, 4, 16, 128}) all.push_back(product(4096, 4096, 0.9, n));
  for (const std::int64_t n : {1, 8}) all.push_back(product(768, 3072, 0.9, n));
  all.push_back(product(256, 2304, 0.9, 196));
  all.push_back(product(512, 2048, 0.9, 49));
  all.push_back(product(64, 256, 0.9, 3136));
  all.push_back(product(1000, 513, 0.7, 33));
  for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::chwn}) {
    for (const auto& [channels, image] : {std::pair(64, 56), {128, 28}, {256, 14}, {512, 7}})
      all.push_back(convolution(channels, channels, 3, image, 1, 1, layout));
  }
  all.push_back(convolution(256, 256, 3, 14, 1, 16, ImageLayout::nchw));
  all.push_back(convolution(256, 256, 3, 14, 1, 16, ImageLayout::chwn));
  all.push_back(convolution(1024, 256, 1, 14, 1, 1, ImageLayout::nchw));
  all.push_back(convolution(512, 2048, 1, 7, 1, 1, ImageLayout::nchw));
  all.push_back(convolution(128, 128, 3, 56, 2, 1, ImageLayout::nchw));
  return all;
}

/// One schedule, compiled and right.
struct Contestant {
  std::string name;
  Kernel kernel;
  double microseconds = 0;
};

class Case {
 public:
  Case(const Problem& problem, const Options& options) : problem_(problem), options_(options) {
    for (const Operand& operand : problem.algorithm.operands) {
      if (operand.storage == Storage::sparse) continue;
      std::vector<std::int64_t> shape;
      for (const Extent& extent : operand.shape) shape.push_back(extent.value);
      tensors_[operand.name] = random_array(operand.dtype, shape, 7, RandomValues::uniform);
    }
    for (auto& [name, array] : tensors_) arguments_.tensors[name] = &array;
  }

  void operator()() {
    const SpaceProblem what{problem_.algorithm, std::make_shared<const WeightMatrix>(problem_.matrix),
                            formats::csr()};
    const Target& target = target_named("cpu");
    const auto packed = std::make_shared<const SparseTensor>(pack(problem_.matrix, formats::csr()));
    const Space space = space_of("cpu_rows", what, target);
    const KnobValues usual = space.usual().value_or(KnobValues());
    std::vector<Contestant> first;
    first.push_back(contestant("default", default_schedule(problem_.algorithm, packed, target)));
    first.push_back(contestant(
        "unasked", recipe_named("cpu_rows")
                       ->write(problem_.algorithm, packed, target, {}, std::source_location::current())));
    std::vector<Contestant> others;
    const Points points = space.worth_trying();
    for (std::size_t i = 0; i < points.size() && !options_.unasked; ++i) {
      if (points[i] == usual) continue;
      others.push_back(contestant(space.text(points[i]), space.schedule(points[i])));
    }
    constexpr std::size_t most_again = 6;
    constexpr int few_rounds = 7, many_rounds = 12, turns = 8;
    time(others, 1, few_rounds);
    std::ranges::sort(others, {}, &Contestant::microseconds);
    others.resize(std::min(others.size(), most_again));
    std::ranges::move(others, std::back_inserter(first));
    time(first, turns, many_rounds);
    const auto best = std::ranges::min_element(first, {}, &Contestant::microseconds);
    fmt::print("{:<52} {:>10.1f} {:>10.1f} {:>10.1f} {:>6.2f} {:>6.2f}  {} | {}\n", problem_.name,
               first[0].microseconds, first[1].microseconds, best->microseconds,
               first[0].microseconds / first[1].microseconds, best->microseconds / first[1].microseconds,
               usual.empty() ? std::string("-") : space.text(usual), best->name);
    std::fflush(stdout);
    before_ += std::log(first[0].microseconds / first[1].microseconds);
  }
  static inline double before_ = 0;

 private:
  Contestant contestant(std::string name, const Schedule& schedule) {
    const Kernel kernel = compile(schedule, {.threads = options_.threads});
    const Verification verification = verify(kernel, Device::cpu(), arguments_);
    if (!verification.passed) fmt::print("{} of {} is wrong: {}\n", name, problem_.name, verification.text());
    return {std::move(name), kernel};
  }

  /// Each alone with its operands, which are then where a layer's are when it runs again and again.
  void time(std::vector<Contestant>& contestants, int turns, int rounds) const {
    for (int turn = 0; turn < turns; ++turn) {
      for (Contestant& each : contestants) {
        const BoundKernel bound = each.kernel.bind(Device::cpu(), arguments_);
        const std::function<void(StreamHandle)> launch = [&](StreamHandle stream) { bound.launch(stream); };
        const double fastest =
            time_in_turns(Device::cpu(), {launch}, {.rounds = rounds, .maximum_seconds = 30})[0].minimum;
        each.microseconds = turn == 0 ? fastest : std::min(each.microseconds, fastest);
      }
    }
  }

  const Problem& problem_;
  const Options& options_;
  std::map<std::string, Array> tensors_;
  Arguments arguments_;
};

int run(const Options& options) {
  fmt::print("{:<52} {:>10} {:>10} {:>10} {:>6} {:>6}\n", "problem", "default", "unasked", "best", "gain",
             "of best");
  int count = 0;
  for (const Problem& problem : problems(options)) {
    if (problem.name.find(options.only) == std::string::npos) continue;
    Case(problem, options)();
    ++count;
  }
  if (count > 0)
    fmt::print("default over unasked, geometric mean: {:.2f}\n", std::exp(Case::before_ / count));
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--threads" && i + 1 < argc) {
      options.threads = std::atoi(argv[++i]);
    } else if (word == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (word == "--unasked") {
      options.unasked = true;
    } else {
      options.files.push_back(word);
    }
  }
  return weft::run(options);
}
