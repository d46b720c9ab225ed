#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/launch_data.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/formats/parallel.h>
#include <weft/search/measure/trial.h>
#include <weft/search/trials/plan_runner.h>
#include <weft/search/trials/plan_runner/texts.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Products that the reference of a plan adds up: a second or so.
constexpr double budget = 1e8;
constexpr std::int64_t least_rows = 16;

std::string quoted_for_c(const std::string& text) {
  return Json(text).dump(-1, ' ', true);
}

std::string_view bytes_of(const void* data, std::size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

std::string_view c_name(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64: return name_of(dtype);
    default:
      throw UserError("results of this type are not measured elsewhere", "--plan",
                      std::string(name_of(dtype)), "f16, bf16, f32 or f64");
  }
}

/// Elements of the output: where they stand, their values in f64, and how far off a right kernel's may be.
struct Expected {
  std::vector<std::int64_t> places;
  std::vector<double> values, allowed;
  std::int64_t rows = 0;
};

/// Rows at equal distances, of a plain product.
Expected sampled(const TrialProblem& problem, double tolerance_of_sum) {
  const WeightMatrix& matrix = *problem.what.matrix;
  const std::shared_ptr<const Array> dense = problem.workload()->b;
  const Array& b = *dense;
  const bool across = problem.has_output_across();
  const std::int64_t columns = problem.columns;
  const double all = static_cast<double>(matrix.stored()) * static_cast<double>(columns);
  const auto affordable =
      static_cast<std::int64_t>(budget / std::max(all, 1.0) * static_cast<double>(matrix.rows));
  Expected expected;
  expected.rows = std::clamp(affordable, std::min(least_rows, matrix.rows), matrix.rows);
  for (std::int64_t i = 0; i < expected.rows; ++i) {
    const std::int64_t row = i * matrix.rows / expected.rows;
    std::vector<double> sums(columns), magnitudes(columns);
    const auto at = static_cast<std::size_t>(row);
    for (std::int64_t entry = matrix.row_begin[at]; entry < matrix.row_begin[at + 1]; ++entry) {
      const double weight = matrix.values.get(entry);
      const std::int64_t from = matrix.column[entry] * columns;
      for (std::int64_t n = 0; n < columns; ++n) {
        const double product = weight * b.get(from + n);
        sums[n] += product;
        magnitudes[n] += std::abs(product);
      }
    }
    for (std::int64_t n = 0; n < columns; ++n) {
      expected.places.push_back(across ? n * matrix.rows + row : row * columns + n);
      expected.allowed.push_back(magnitudes[n] * tolerance_of_sum);
    }
    expected.values.insert(expected.values.end(), sums.begin(), sums.end());
  }
  return expected;
}

Expected expected_of(TrialProblem& problem) {
  const Algorithm& algorithm = problem.what.algorithm;
  const double of_sum = tolerance(algorithm, longest_row(*problem.what.matrix));
  if (problem.workload()) return sampled(problem, of_sum);
  const SparseTensor weights = pack(*problem.what.matrix, formats::csr());
  const Reference whole = reference(algorithm, &weights, problem.arguments());
  Expected expected;
  expected.rows = problem.what.matrix->rows;
  for (std::int64_t i = 0; i < whole.value.size(); ++i) {
    expected.places.push_back(i);
    expected.values.push_back(whole.value.get(i));
    expected.allowed.push_back(whole.magnitude.get(i) * of_sum);
  }
  return expected;
}

/// A point's kernel, or why there is none.
struct Built {
  std::optional<Kernel> kernel;
  Record record;
  std::string reason;
};

class Writing {
 public:
  Writing(std::string folder, TrialProblem& problem, const Target& target)
      : folder_(std::move(folder)), problem_(problem), target_(target) {
    for (const char* part : {"kernels", "data"}) {
      std::error_code error;
      fs::create_directories(fs::path(folder_) / part, error);
      if (error) throw RuntimeError("cannot make a folder in " + folder_ + ": " + error.message());
    }
  }

  /// The kernel of a point, and its row of the table.
  void add(const Built& built) {
    const Kernel& kernel = *built.kernel;
    const LaunchData data = launch_data(kernel, problem_.arguments());
    const std::string image = fmt::format("kernels/{}", count_);
    if (!kernel.cubin().empty()) write(image + ".cubin", kernel.cubin());
    write(image + ".ptx", kernel.ptx());
    std::string arrays;
    for (std::size_t i = 0; i < data.memory.size(); ++i) {
      const LaunchData::Memory& one = data.memory[i];
      const bool is_read = one.source != nullptr && (i != data.output || reads_output());
      const std::string file = is_read ? quoted_for_c(file_of(*one.source)) : "NULL";
      arrays += fmt::format("{}{{{}, {}}}", arrays.empty() ? "" : ", ", file, one.bytes);
    }
    before_ += fmt::format("static const struct array arrays_{}[] = {{{}}};\n", count_, arrays);
    std::string calls;
    for (std::size_t i = 0; i < data.calls.size(); ++i) {
      const LaunchData::Call& call = data.calls[i];
      const std::string symbol = fmt::format("{}_{}", count_, i);
      before_ +=
          fmt::format("static const int places_{}[] = {{{}}};\n", symbol, fmt::join(call.memory, ", "));
      before_ += fmt::format("static const uint64_t words_{}[] = {{{}}};\n", symbol,
                             call.words.empty() ? "0" : fmt::format("{}u", fmt::join(call.words, "u, ")));
      calls += fmt::format("  {{{}, {{{}}}, {}, {}, places_{}, {}, words_{}, {}}},\n",
                           quoted_for_c(call.function), fmt::join(call.grid, ", "), call.threads,
                           call.shared_bytes, symbol, call.memory.size(), symbol, call.words.size());
    }
    before_ += fmt::format("static const struct call calls_{}[] = {{\n{}}};\n", count_, calls);
    rows_ += fmt::format("  {{{}, calls_{}, {}, arrays_{}, {}, {},\n   {}}},\n", quoted_for_c(image), count_,
                         data.calls.size(), count_, data.memory.size(), data.output,
                         quoted_for_c(middle_of(built.record)));
    ++count_;
  }

  void finish() {
    const Expected expected = expected_of(problem_);
    write("data/places.bin", bytes_of(expected.places.data(), expected.places.size() * sizeof(std::int64_t)));
    write("data/expected.bin", bytes_of(expected.values.data(), expected.values.size() * sizeof(double)));
    write("data/allowed.bin", bytes_of(expected.allowed.data(), expected.allowed.size() * sizeof(double)));
    const Json common = Json::parse(json_of(record_for(problem_, target_, "gpu", nullptr)));
    const DType dtype = problem_.output().dtype;
    std::string text = before_;
    text += fmt::format("static const struct candidate candidates[] = {{\n{}}};\n", rows_);
    text += fmt::format("enum {{ candidate_count = {}, expected_rows = {} }};\n", count_, expected.rows);
    text += fmt::format("static const int output_type = {};\n", c_name(dtype));
    text += fmt::format("enum {{ architecture = {}, exact_architecture = {}, reads_output = {} }};\n",
                        target_.sm, target_.architecture_specific ? 1 : 0, reads_output() ? 1 : 0);
    for (const char* part : {"target", "toolchain"})
      text += fmt::format("static const char {}_text[] = {};\n", part, quoted_for_c(inside(common.at(part))));
    write("candidates.h", text);
    for (const PlanRunnerText& part : plan_runner_texts) write(std::string(part.name), part.text);
  }

  std::size_t count() const { return count_; }

 private:
  void write(const std::string& name, std::string_view content) const {
    write_bytes((fs::path(folder_) / name).string(), std::string(content));
  }

  bool reads_output() const { return problem_.scalars.contains("beta"); }

  /// Kernels share their operands.
  std::string file_of(const Array& array) {
    const std::string_view bytes = bytes_of(array.data(), array.bytes());
    const auto [at, fresh] = files_.try_emplace(hash_of(bytes) + std::to_string(bytes.size()), files_.size());
    const std::string name = fmt::format("data/{}.bin", at->second);
    if (fresh) write(name, bytes);
    return name;
  }

  /// "a":1,"b":2 of {"a":1,"b":2}
  static std::string inside(const Json& object) {
    const std::string text = object.dump();
    return text.substr(1, text.size() - 2);
  }

  /// What the runner does not find out itself of a record's line.
  static std::string middle_of(const Record& record) {
    Json json = Json::parse(json_of(record));
    for (const char* found : {"id", "t", "target", "toolchain", "measure", "status"}) json.erase(found);
    return inside(json);
  }

  std::string folder_;
  TrialProblem& problem_;
  const Target& target_;
  std::size_t count_ = 0;
  std::string before_, rows_;
  std::map<std::string, std::size_t> files_;
};

Built build(const TrialProblem& problem, const std::vector<Space>& spaces, const Target& target,
            const NamedPoint& point, std::int64_t most_spill_bytes) {
  Built built;
  const auto number = number_of_space(spaces, point.recipe, point.format);
  if (!number) {
    built.reason = fmt::format("{} has no space here in {}", point.recipe, point.format);
    return built;
  }
  try {
    const Space& space = spaces[*number];
    const Schedule schedule = space.schedule(point.config);
    built.record = record_for(problem, target, "gpu", nullptr);
    if (!space.format().name.empty()) set_format(built.record, space.format());
    built.record.recipe = point.recipe;
    built.record.config = point.config;
    built.record.kernel_hash = hash_of(schedule.json());
    built.record.strategy = "planned";
    built.kernel = compile(schedule);
    add_resources(built.record, *built.kernel);
    if (const auto spilled = built.record.spill_bytes; spilled > most_spill_bytes)
      throw UserError("a kernel spills", "--max-spill", fmt::format("{} B", *spilled),
                      fmt::format("at most {} B", most_spill_bytes));
  } catch (const std::exception& error) {
    built.kernel.reset();
    built.reason = fmt::format("{}: {}", text_of_config(built.record), error.what());
  }
  return built;
}

}  // namespace

PlanRunner write_plan_runner(const std::string& folder, TrialProblem& problem,
                             const std::vector<Space>& spaces, const Target& target,
                             const std::vector<NamedPoint>& points, int jobs, std::int64_t most_spill_bytes) {
  internal_check(target.is_gpu(), "a plan for a target that is no GPU");
  std::vector<Built> built(points.size());
  parallel_for_on(jobs, std::ssize(points), [&](std::int64_t i) {
    built[i] = build(problem, spaces, target, points[i], most_spill_bytes);
  });
  Writing writing(folder, problem, target);
  PlanRunner result;
  for (const Built& one : built) {
    if (one.kernel)
      writing.add(one);
    else
      result.left_out.push_back(one.reason);
  }
  if (writing.count() > 0) writing.finish();
  result.kernels = writing.count();
  return result;
}

}  // namespace weft
