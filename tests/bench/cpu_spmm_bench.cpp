// CPU: weft beside Eigen (as its users write it, and at its best), a hand-written AVX-512 loop and XNNPACK,
// on the suite of the SparseRT paper at 90 %, one thread and two. Each result is compared with weft's before
// anything is timed. Every contestant runs many times, in random order, and counts with its fastest time:
// other work on the machine then disturbs none of them more than the others. Prints Google Benchmark's
// table, then the geometric means.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <weft/search/spaces/problems.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "contestants.h"

namespace weft::bench {
namespace {

struct Shape {
  std::int64_t id, m, k, n;
};

/// Of the networks that the SparseRT paper prunes, at batch 1.
std::vector<Shape> shapes() {
  return {{1, 64, 256, 3136},  {2, 256, 64, 3136},   {3, 128, 512, 784},  {4, 512, 128, 784},
          {5, 256, 1024, 196}, {6, 1024, 256, 196},  {7, 512, 2048, 49},  {8, 2048, 512, 49},
          {9, 2048, 512, 256}, {10, 512, 2048, 256}, {11, 512, 512, 256}, {12, 64, 32, 12544},
          {13, 128, 64, 3136}, {14, 128, 128, 3136}, {15, 256, 128, 784}, {16, 256, 256, 784},
          {17, 512, 256, 196}, {18, 512, 512, 196},  {19, 1024, 512, 49}, {20, 1024, 1024, 49}};
}

struct Problem {
  Shape shape;
  WeightMatrix weights;
  Array b;
  Array c;
  Array expected;
};

double distance(const Array& a, const Array& b) {
  double error = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    error += (a.get(i) - b.get(i)) * (a.get(i) - b.get(i));
    norm += b.get(i) * b.get(i);
  }
  return std::sqrt(error / norm);
}

/// weft's kernel, run on the problem's own arrays.
Contestant weft_kernel(Problem& problem, int threads) {
  const Shape& s = problem.shape;
  const auto packed = std::make_shared<const SparseTensor>(pack(problem.weights, formats::csr()));
  const Algorithm algorithm = spmm_algorithm(s.m, s.k, s.n, DType::f32);
  KernelOptions options;
  options.threads = threads;
  const Kernel kernel = compile(default_schedule(algorithm, packed, target_named("cpu")), options);
  const Arguments arguments{{{"B", &problem.b}, {"C", &problem.c}}, {}};
  const Verification check = verify(kernel, Device::cpu(), arguments);
  internal_check(check.passed, "weft is wrong: " + check.text());
  problem.expected = problem.c;
  const BoundKernel bound = kernel.bind(Device::cpu(), arguments);
  return {"weft", [bound] { bound.launch(nullptr); }};
}

void add(Problem& problem, const Contestant& contestant, int threads) {
  if (!contestant.run) return;
  if (contestant.name != "weft") {
    contestant.run();
    if (contestant.collect) contestant.collect();
    const double error = distance(problem.c, problem.expected);
    internal_check(error < 1e-5, fmt::format("{} is wrong: {:.1e}", contestant.name, error));
  }
  const std::string name = fmt::format("{}/{}/{}", contestant.name, problem.shape.id, threads);
  benchmark::RegisterBenchmark(name.c_str(),
                               [contestant](benchmark::State& state) {
                                 for (auto _ : state) contestant.run();
                               })
      ->UseRealTime()
      ->ComputeStatistics(
          "fastest",
          [](const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); })
      ->ReportAggregatesOnly(true)
      ->Unit(benchmark::kMicrosecond);
}

constexpr std::array contestants{"weft", "eigen-default", "eigen-native", "hand-written", "xnnpack"};

/// Keeps the fastest time of each benchmark for the summary.
class Summary : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      const bool fastest =
          run.run_type == Run::RT_Aggregate ? run.aggregate_name == "fastest" : run.repetitions <= 1;
      if (fastest) times_[run.run_name.function_name] = run.GetAdjustedRealTime();
    }
  }

  /// GFLOP/s of the stored weights.
  void print_problem(const Problem& problem) const {
    const Shape& s = problem.shape;
    const double operations = 2.0 * static_cast<double>(problem.weights.stored()) * static_cast<double>(s.n);
    fmt::print("{:3} {:5} x {:4} x {:5}:", s.id, s.m, s.k, s.n);
    for (const int threads : {1, 2}) {
      for (const char* name : contestants) {
        const auto time = find(name, s.id, threads);
        if (time) fmt::print(" {}/{} {:.1f}", name, threads, operations / *time / 1e3);
      }
    }
    fmt::print(" GFLOP/s\n");
  }

  void print() const {
    for (const int threads : {1, 2}) {
      std::map<std::string, std::pair<double, int>> logarithms;
      for (const Shape& shape : shapes()) {
        const auto weft_time = find("weft", shape.id, threads);
        if (!weft_time) continue;
        for (const char* other : contestants) {
          if (std::string_view(other) == "weft") continue;
          const auto time = find(other, shape.id, threads);
          if (!time) continue;
          logarithms[other].first += std::log(*time / *weft_time);
          ++logarithms[other].second;
        }
      }
      for (const auto& [name, sum] : logarithms) {
        fmt::print("{} thread(s): weft is {:.2f} times as fast as {} (geometric mean of {} problems)\n",
                   threads, std::exp(sum.first / sum.second), name, sum.second);
      }
    }
  }

 private:
  std::optional<double> find(const std::string& name, std::int64_t id, int threads) const {
    const auto found = times_.find(fmt::format("{}/{}/{}", name, id, threads));
    return found == times_.end() ? std::nullopt : std::optional<double>(found->second);
  }
  std::map<std::string, double> times_;
};

/// Each shape's problem, with the contestants that can run it.
std::vector<std::unique_ptr<Problem>> add_contestants() {
  std::vector<std::unique_ptr<Problem>> problems;
  for (const Shape& shape : shapes()) {
    auto problem = std::make_unique<Problem>();
    problem->shape = shape;
    problem->weights = synthetic_layer(
        {.rows = shape.m, .columns = shape.k, .sparsity = 0.9, .seed = static_cast<std::uint64_t>(shape.id)});
    problem->b = random_array(DType::f32, {shape.k, shape.n}, 7);
    problem->c = Array(DType::f32, {shape.m, shape.n});
    for (const int threads : {1, 2}) {
      const float* b = problem->b.as<float>().data();
      float* c = problem->c.as<float>().data();
      add(*problem, weft_kernel(*problem, threads), threads);
      add(*problem, eigen_default(problem->weights, b, c, shape.n, threads), threads);
      add(*problem, eigen_native(problem->weights, b, c, shape.n, threads), threads);
      add(*problem, hand_written(problem->weights, b, c, shape.n, threads), threads);
      add(*problem, xnnpack(problem->weights, b, c, shape.n, threads), threads);
    }
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const auto problems = weft::bench::add_contestants();
  // Rounds in random order unless the command line says otherwise.
  std::vector<std::string> words{argv[0], "--benchmark_enable_random_interleaving=true",
                                 "--benchmark_repetitions=15", "--benchmark_min_time=0.01"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  weft::bench::Summary summary;
  benchmark::RunSpecifiedBenchmarks(&summary);
  for (const auto& problem : problems) summary.print_problem(*problem);
  summary.print();
}
