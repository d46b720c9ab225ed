#include <weft/backends/runtime/timing.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/baseline.h>
#include <weft/search/measure/vendor_contestants.h>

#include <algorithm>

namespace weft {
namespace {

TimingOptions timing_of(const MeasureOptions& options) {
  return {.rounds = options.rounds, .limit_seconds = options.run_seconds};
}

/// So many sets of the workload's operands, that a product finds none of them in a cache.
using OperandCopies = std::vector<std::shared_ptr<const Operands>>;

OperandCopies operand_copies(const Device& device, const Workload& workload, const MeasureOptions& options) {
  const int count = options.measure == Measure::gpu ? std::max(1, options.copies) : 1;
  OperandCopies copies;
  for (int copy = 0; copy < count; ++copy)
    copies.push_back(std::make_shared<const Operands>(device, workload));
  return copies;
}

/// One contestant: the fastest of its ways that is right; nothing where none is.
class ContestantRun {
 public:
  ContestantRun(const Device& device, const MeasureOptions& options) : device_(device), options_(options) {}

  std::optional<Baseline> measure(const Contestant& contestant, const OperandCopies& copies,
                                  const Checker& checker, std::optional<Array>* trusted) {
    std::optional<Baseline> best;
    for (const Variant& variant : contestant.variants) {
      try {
        const Run run = variant.prepare(copies.front());
        const Stream stream(device_);
        run.poison();
        run.launch(stream);
        wait_for(device_, stream, options_.run_seconds);
        Array output = run.output();
        if (!checker.check(output, contestant.arithmetic).passed) continue;
        const double microseconds = time_of(variant, run, copies);
        if (trusted != nullptr && !*trusted) *trusted = std::move(output);
        if (best && best->microseconds <= microseconds) continue;
        best = Baseline{contestant.name, contestant.kind == ContestantKind::dense, microseconds,
                        BaselineOf::library};
      } catch (const UserError&) {
        continue;  // this way does not compute such a problem
      } catch (const RuntimeError&) {
        continue;
      }
    }
    return best;
  }

 private:
  double time_of(const Variant& variant, const Run& first, const OperandCopies& copies) const {
    std::vector<Run> runs{first};
    for (std::size_t copy = 1; copy < copies.size(); ++copy) runs.push_back(variant.prepare(copies[copy]));
    const auto launch = [&](StreamHandle stream) {
      for (const Run& run : runs) run.launch(stream);
    };
    return time(device_, launch, timing_of(options_)).median / static_cast<double>(runs.size());
  }

  const Device& device_;
  const MeasureOptions& options_;
};

/// `trusted` gets the first right result, where one is wanted.
std::vector<Baseline> of_libraries(const Workload& workload, const Checker& checker, const Format& format,
                                   const Device& device, const MeasureOptions& options,
                                   std::optional<Array>* trusted) {
  const auto group = format.parameters.find("V");
  SuiteCase chosen{workload.problem, workload.matrix.sparsity(), 1};
  Suite suite;
  suite.dtype = workload.dtype;
  if (format.name == "n_m" || format.name == "v_n_m") {
    // Whatever its pattern is, the vendors have 2:4 to offer.
    chosen.pattern = PairPattern{};
    suite.patterns = {*chosen.pattern};
  } else if (group != format.parameters.end()) {
    chosen.group_rows = group->second;
    suite.group_rows = {group->second};
  }
  if (workload.problem.convolution) suite.problems = {workload.problem};
  const DenseType arithmetic = *dense_type_of(workload.dtype);
  const Libraries libraries(device);
  const OperandCopies operands = operand_copies(device, workload, options);
  std::vector<Baseline> all;
  ContestantRun run(device, options);
  for (const Contestant& contestant : library_contestants(suite, device, libraries)) {
    if (contestant.variants.empty()) continue;
    try {
      std::optional<Baseline> found;
      if (contestant.own_weights) {
        const Workload own = contestant.own_weights(chosen, workload);
        found = run.measure(contestant, operand_copies(device, own, options), Checker(own, options.budget),
                            nullptr);
      } else {
        const bool exact = contestant.arithmetic == arithmetic;
        found = run.measure(contestant, operands, checker, exact ? trusted : nullptr);
      }
      if (found) all.push_back(*found);
    } catch (const UserError&) {
      continue;  // it has no such weights
    }
  }
  return all;
}

std::vector<Baseline> of_weft(TrialProblem& problem, const OutputCheck& check, const Device& device,
                              const Target& target, const MeasureOptions& options) {
  const auto dense = std::make_shared<const SparseTensor>(pack(*problem.what.matrix, formats::dense()));
  const Kernel kernel = compile(default_schedule(problem.what.algorithm, dense, target));
  if (options.measure == Measure::sim) tell_registers(device, kernel);
  const BoundKernel bound = kernel.bind(device, problem.arguments());
  const auto launch = [&](StreamHandle stream) { bound.launch(stream); };
  const Stream stream(device);
  const double before = device.implementation().own_microseconds().value_or(0);
  launch(stream);
  wait_for(device, stream, options.run_seconds);
  const double after = device.implementation().own_microseconds().value_or(0);
  Array output(problem.output().dtype, problem.tensors.at(problem.output().name).shape());
  bound.download(problem.output().name, output);
  if (!check.check(output).reason.empty()) return {};
  // The simulator takes the same time at every launch.
  const double microseconds =
      options.measure == Measure::sim ? after - before : time(device, launch, timing_of(options)).median;
  return {{"weft, dense", true, microseconds, BaselineOf::weft}};
}

}  // namespace

std::vector<Baseline> measure_baselines(TrialProblem& problem, const OutputCheck& check, const Device& device,
                                        const Target& target, const MeasureOptions& options,
                                        std::optional<Array>& trusted) {
  const bool by_meaning = device.kind() == DeviceKind::cpu && target.is_gpu();
  const bool has_libraries = device.is_cuda() || (device.kind() == DeviceKind::cpu && !by_meaning);
  std::vector<Baseline> all;
  if (has_libraries && check.workload() != nullptr && dense_type_of(check.workload()->dtype)) {
    all = of_libraries(*check.workload(), *check.checker(), problem.what.format, device, options,
                       check.wants_trusted() ? &trusted : nullptr);
  } else if (has_libraries && dense_type_of(problem.output().dtype)) {
    // Libraries add some of what follows a sum for nothing, and none needs less than its product.
    const auto alone = problem.convolution ? problem.images() : problem.product();
    if (alone && dense_type_of(alone->dtype))
      all = of_libraries(*alone, Checker(*alone, options.budget), problem.what.format, device, options,
                         nullptr);
    const bool alone_is_all = problem.what.algorithm.result.kind == Term::Kind::sum;
    for (Baseline& one : all) {
      if (!alone_is_all) one.name += problem.convolution ? ", the convolution alone" : ", the product alone";
    }
  }
  if (!all.empty()) return all;
  return of_weft(problem, check, device, by_meaning ? target_named("cpu") : target, options);
}

}  // namespace weft
