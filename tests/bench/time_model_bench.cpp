// How well the simulator's time model ranks schedules: model and measurement of many schedules of some
// problems.
//
//   time_model_bench --measure FILE    on a machine with a GPU: times every pair, writes FILE
//   time_model_bench --compare FILE    anywhere: estimates every pair, compares with the measurements in FILE
//
// Pairs are the same in both, by name. Every kernel is compared with the reference before it is timed.
#include <fmt/format.h>
#include <weft/backends/runtime/timing.h>
#include <weft/backends/simulator/device.h>
#include <weft/search/model/rank_correlation.h>
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

struct Shape {
  std::int64_t rows, inner, columns;
  double sparsity;
};

// Layers of ResNet-50 and MobileNet as SpMM, and one with many columns.
constexpr Shape shapes[] = {{64, 256, 3136, 0.9},   {512, 128, 784, 0.9},   {256, 1024, 196, 0.8},
                            {1024, 1024, 49, 0.95}, {128, 128, 12544, 0.9}, {2048, 512, 256, 0.9}};

/// Rows of a block (a warp each), columns of a lane, whether the non-zeros of a row are unrolled, the format.
struct Point {
  std::string format;
  int rows, columns, unroll;
  std::string text() const {
    return fmt::format("{} rows {} columns {} unroll {}", format, rows, columns, unroll);
  }
};

std::vector<Point> points() {
  std::vector<Point> all;
  for (const int rows : {1, 2, 4, 8, 16}) {
    for (const int columns : {1, 2, 4}) all.push_back({"csr", rows, columns, 1});
  }
  for (const int rows : {2, 8}) {
    for (const int columns : {1, 2}) all.push_back({"ell", rows, columns, 1});
  }
  return all;
}

Schedule schedule_of(const Algorithm& product, const WeightMatrix& weights, const Point& point) {
  Schedule s = schedule(product, pack(weights, parse_format(point.format)), target_named("sm_90"));
  s.split(m = point.rows, n = 32 * point.columns);
  if (point.columns > 1) {
    s.split(n.inner = 32)
        .reorder(m.outer, n.outer, m.inner, n.inner.inner, k, n.inner.outer)
        .bind(n.inner.inner, lane)
        .unroll(n.inner.outer);
  } else {
    s.reorder(m.outer, n.outer, m.inner, n.inner, k).bind(n.inner, lane);
  }
  s.bind(m.outer, block_x).bind(n.outer, block_y).bind(m.inner, warp);
  return s;
}

struct Pair {
  std::string problem, schedule;
  double measured = 0, model = 0;
  std::string bound;
};

template <class F>
void for_each_pair(F function) {
  for (const Shape& shape : shapes) {
    const Tensor<f32, 2, sparse> A("A", {shape.rows, shape.inner});
    const Tensor<f32, 2> B("B", {shape.inner, shape.columns});
    const Tensor<f32, 2> C("C", {shape.rows, shape.columns});
    const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
    const WeightMatrix weights = synthetic_layer({.rows = shape.rows,
                                                  .columns = shape.inner,
                                                  .sparsity = shape.sparsity,
                                                  .dtype = DType::f32,
                                                  .seed = 3});
    Array b = random_array(DType::f32, {shape.inner, shape.columns}, 1);
    Array c(DType::f32, {shape.rows, shape.columns});
    const Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
    const std::string problem =
        fmt::format("{}x{}x{} {:.0f} %", shape.rows, shape.inner, shape.columns, 100 * shape.sparsity);
    for (const Point& point : points()) {
      const Kernel kernel = compile(schedule_of(product, weights, point), {.assemble = false});
      function(problem, point.text(), kernel, arguments);
    }
  }
}

int measure(const std::string& file) {
  nlohmann::json lines = nlohmann::json::array();
  const Device device = Device::cuda();
  for_each_pair([&](const std::string& problem, const std::string& name, const Kernel& kernel,
                    const Arguments& arguments) {
    const Verification verification = verify(kernel, device, arguments);
    if (!verification.passed) throw RuntimeError(problem + ", " + name + ": " + verification.text());
    const BoundKernel bound = kernel.bind(device, arguments);
    const Timing timing = time(device, [&](StreamHandle stream) { bound.launch(stream); });
    lines.push_back({{"problem", problem}, {"schedule", name}, {"us", timing.median}});
  });
  std::ofstream(file) << nlohmann::json{{"device", device.description().model}, {"pairs", lines}}.dump(1)
                      << "\n";
  fmt::print("{} pairs measured on {}\n", lines.size(), device.description().model);
  return 0;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

int compare(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw RuntimeError("cannot read " + file);
  const auto document = nlohmann::json::parse(stream);
  std::map<std::string, double> measured;
  for (const auto& pair : document.at("pairs"))
    measured[pair.at("problem").get<std::string>() + pair.at("schedule").get<std::string>()] = pair.at("us");
  const Device device = Device::simulator("sm_90");
  simulator::options(device).launch.sample = 128;
  simulator::options(device).launch.check = false;
  simulator::options(device).tolerates_findings = true;
  std::vector<Pair> pairs;
  for_each_pair([&](const std::string& problem, const std::string& name, const Kernel& kernel,
                    const Arguments& arguments) {
    kernel(device, arguments);
    const simulator::TimeEstimate estimate = simulator::last_estimate(device);
    pairs.push_back({problem, name, measured.at(problem + name), estimate.microseconds, estimate.bound});
    fmt::print("{:<22} {:<32} {:9.2f} us measured {:9.2f} us by the model, {}\n", problem, name,
               pairs.back().measured, pairs.back().model, estimate.bound);
  });
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> problems;
  std::vector<double> errors, correlations;
  for (const Pair& pair : pairs) {
    problems[pair.problem].first.push_back(pair.measured);
    problems[pair.problem].second.push_back(pair.model);
    errors.push_back(std::abs(pair.model - pair.measured) / pair.measured);
  }
  fmt::print(
      "\n| problem | schedules | Spearman | model's best, measured against the best |\n|---|---|---|---|\n");
  for (const auto& [problem, times] : problems) {
    correlations.push_back(rank_correlation(times.first, times.second));
    const auto chosen =
        static_cast<std::size_t>(std::ranges::min_element(times.second) - times.second.begin());
    fmt::print("| {} | {} | {:.2f} | {:.2f} |\n", problem, times.first.size(), correlations.back(),
               times.first[chosen] / *std::ranges::min_element(times.first));
  }
  fmt::print("\n{} pairs on {}: median Spearman {:.2f}, median absolute error {:.0f} %\n", pairs.size(),
             document.at("device").get<std::string>(), median(correlations), 100 * median(errors));
  return 0;
}

}  // namespace
}  // namespace weft

int main(int count, char** arguments) try {
  const std::string mode = count == 3 ? arguments[1] : "";
  if (mode == "--measure") return weft::measure(arguments[2]);
  if (mode == "--compare") return weft::compare(arguments[2]);
  fmt::print(stderr, "usage: {} --measure FILE | --compare FILE\n", arguments[0]);
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "time_model_bench: {}\n", error.what());
  return 1;
}
