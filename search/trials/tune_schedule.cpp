#include <fmt/format.h>
#include <weft/backends/runtime/process.h>
#include <weft/formats/random.h>
#include <weft/scheduler/program/check_weights.h>
#include <weft/search/records/words.h>
#include <weft/search/trials/best_file.h>
#include <weft/search/trials/tune_schedule.h>
#include <weft/search/trials/verdict.h>

#include <map>
#include <optional>

namespace weft {
namespace {

constexpr std::int64_t open_size = 256;

/// The sizes that a launch decides: those of the weights, else as the nearest multiple from `open_size` on.
std::map<std::string, std::int64_t> launched_sizes(const Algorithm& algorithm, const SparseTensor& weights) {
  std::map<std::string, std::int64_t> sizes;
  const std::vector<std::int64_t> of_weights = sizes_of_operand(algorithm, weights);
  const std::vector<Extent>& shape = algorithm.sparse_operand()->shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_static()) sizes[shape[i].name] = of_weights[i];
  }
  for (const Operand& operand : algorithm.operands) {
    for (const Extent& extent : operand.shape) {
      if (extent.is_static()) continue;
      sizes.try_emplace(extent.name, (open_size + extent.multiple - 1) / extent.multiple * extent.multiple);
    }
  }
  return sizes;
}

/// The shape of the array of an operand: one dimension of all elements that its strides reach.
std::vector<std::int64_t> array_shape(const Operand& operand,
                                      const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::int64_t> shape;
  for (const Extent& extent : operand.shape)
    shape.push_back(extent.is_static() ? extent.value : sizes.at(extent.name));
  if (operand.strides.empty()) return shape;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * operand.strides[i];
  return {last + 1};
}

/// The problem of the schedule, with weights as they were before they were packed, and operands.
TrialProblem problem_of(const Schedule& schedule) {
  const Algorithm& algorithm = schedule.algorithm();
  const SparseTensor* weights = schedule.weights();
  if (weights == nullptr)
    throw UserError("a schedule cannot be searched", algorithm.name, "no sparse operand",
                    "an algorithm with one operand stored sparse");
  // Zeros that fill up blocks are none of the weight's entries.
  WeightMatrix matrix = from_dense(weights->to_dense(), "weights of a schedule");
  matrix.shape = weights->shape();
  TrialProblem problem;
  problem.kernel = algorithm.name;
  problem.what = {algorithm, std::make_shared<const WeightMatrix>(std::move(matrix)), weights->format()};
  const std::map<std::string, std::int64_t> sizes = launched_sizes(algorithm, *weights);
  std::uint64_t seed = 1;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    problem.tensors.emplace(operand.name, random_array(operand.dtype, array_shape(operand, sizes), seed++,
                                                       RandomValues::uniform));
  }
  for (const std::string& scalar : algorithm.scalars) problem.scalars[scalar] = 1;
  Operand output = problem.output();
  output.strides.clear();
  problem.columns = element_count(array_shape(output, sizes), output.name) / weights->rows();
  return problem;
}

/// Says which device measures, without opening it. A simulated one is that of the target.
void set_device(MeasureOptions& options, const std::string& device, const Target& target) {
  const std::size_t colon = device.find(':');
  const std::string kind = device.substr(0, colon);
  options.device = 0;
  if (kind == "cuda" && target.is_gpu()) {
    const auto ordinal =
        colon == std::string::npos ? std::optional(0) : read_number<int>(device.substr(colon + 1));
    options.measure = Measure::gpu;
    options.device = ordinal.value_or(-1);
    if (options.device >= 0) return;
  }
  if (device == (target.is_gpu() ? "sim:" + target.name : "cpu")) {
    options.measure = target.is_gpu() ? Measure::sim : Measure::cpu;
    return;
  }
  throw UserError("a schedule cannot be searched on that device", "tune",
                  fmt::format("'{}', and a schedule of the target {}", device, target.name),
                  target.is_gpu() ? fmt::format("sim:{}, cuda, or cuda:<number> such as cuda:1", target.name)
                                  : "cpu, for a schedule of the target " + target.name);
}

Tuned tuned(const Schedule& schedule, const std::string& device, TuneOptions options,
            const std::string& database) {
  set_device(options.measure, device, schedule.target());
  options.any_recipe = false;
  TrialProblem problem = problem_of(schedule);
  const std::vector<Space> spaces{space_of(schedule)};
  std::optional<TemporaryFolder> folder;
  if (database.empty()) folder.emplace();
  RecordFile file(folder ? (folder->path() / "trials.jsonl").string() : database, RecordFile::Mode::append);
  const TuneResult result = tune(problem, spaces, schedule.target(), file, options);
  if (!result.best)
    throw RuntimeError(
        fmt::format("no kernel of the schedule was right on {}: {}", device,
                    file.records().empty() ? "nothing was tried" : file.records().front().record.message));
  return {spaces.front().schedule(result.best->config), result,
          text_of(verdict_of(result, problem, schedule.target(), file.records()), *result.best)};
}

struct CommandLine {
  std::string out, target, database;
  std::string device = "cpu";
  TuneOptions options;
};

CommandLine read_words(const std::vector<std::string>& words) {
  const auto refuse = [](const std::string& found) {
    throw UserError("a program that searches cannot read its arguments", "command line", found,
                    "--out FILE, and where they are wanted --device DEVICE, --target TARGET, --db FILE and "
                    "--trials NUMBER");
  };
  CommandLine line;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) refuse(words[i] + " without a value");
    const std::string& value = words[i + 1];
    const auto number = read_number<std::int64_t>(value);
    if (words[i] == "--out") {
      line.out = value;
    } else if (words[i] == "--device") {
      line.device = value;
    } else if (words[i] == "--target") {
      line.target = value;
    } else if (words[i] == "--db") {
      line.database = value;
    } else if (words[i] == "--trials" && number) {
      line.options.trials = *number;
    } else {
      refuse(words[i] + " " + value);
    }
  }
  if (line.out.empty()) refuse("no --out");
  if (line.target.empty())
    line.target = line.device.starts_with("sim:") ? line.device.substr(4) : line.device;
  return line;
}

}  // namespace

Tuned tune(const Schedule& schedule, const std::string& device, const TuneOptions& options,
           const std::string& database, CallPlace place) {
  return user_call(place, [&] { return tuned(schedule, device, options, database); });
}

int search_program(int count, char** arguments, const std::function<Schedule(const Target&)>& make,
                   CallPlace place) {
  return exit_code_of([&] {
    const CommandLine line = read_words({arguments + 1, arguments + count});
    const Target& target = target_named(line.target, place);
    const Schedule schedule = make(target);
    if (schedule.target().name != target.name)
      throw UserError("a program that searches made a schedule for another target", SourcePlace(place).text(),
                      schedule.target().name, target.name + ", which the function is given");
    const Tuned found = tune(schedule, line.device, line.options, line.database, place);
    write_bytes(line.out, json_of_best(*found.result.best, found.schedule));
    fmt::print("{}schedule: {}\n", found.verdict, line.out);
  });
}

}  // namespace weft
