// Lesson 7: let the search choose.
//
// A recipe has knobs: how many rows a block takes, how many threads share them, how deep copies run ahead.
// Which values are best depends on the layer and on the device. A space has every point that can run; the
// search ranks them by a bound, tries the likeliest and a few by chance, and remembers every trial. It ends
// with the fastest kernel, and with what you came for: whether it pays to be sparse at all.

#include <weft/search/trials/tune.h>
#include <weft/search/trials/verdict.h>
#include <weft/weft.h>

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>

using namespace weft;

namespace {

constexpr std::int64_t outputs = 128, inputs = 256, width = 196;

/// A pruned layer, and what it is multiplied with.
TrialProblem pruned_layer() {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<float, 2, sparse> A("A", {outputs, inputs});
  const Tensor<float, 2> B("B", {inputs, width});
  const Tensor<float, 2> C("C", {outputs, width});
  TrialProblem problem;
  problem.what.algorithm = algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n)));
  problem.what.matrix = std::make_shared<const WeightMatrix>(
      synthetic_layer({.rows = outputs, .columns = inputs, .sparsity = 0.9}));
  problem.what.format = formats::csr();
  problem.tensors["B"] = random_array(DType::f32, {inputs, width}, 1);
  problem.tensors["C"] = Array(DType::f32, {outputs, width});
  problem.columns = width;
  return problem;
}

/// Every point that was tried, the fastest first.
void print_trials(const RecordFile& file) {
  std::vector<Record> records;
  for (const StoredRecord& stored : file.records()) records.push_back(stored.record);
  std::ranges::sort(records, {}, [](const Record& record) { return record.time_of_correct().value_or(1e9); });
  for (std::size_t i = 0; i < std::min<std::size_t>(3, records.size()); ++i)
    std::cout << "  " << std::setw(8) << records[i].time_of_correct().value_or(0) << " us  "
              << text_of_config(records[i]) << "\n";
}

}  // namespace

int main() {
  // On a machine with a GPU say Measure::gpu. The simulator runs the same kernels, checks them against the
  // f64 reference and counts cycles, so the search is the same without one.
  TrialProblem problem = pruned_layer();
  const Target& target = target_named("sm_90");
  std::vector<Space> spaces = spaces_for(problem.what, target);
  for (const Space& space : spaces)
    std::cout << space.recipe() << ": " << space.size() << " points, " << space.feasible().size()
              << " can run, " << space.worth_trying().size() << " are worth trying\n";

  TuneOptions options;
  options.measure.measure = Measure::sim;
  options.trials = 8;
  options.jobs = 2;

  // A database is a file of lines. A search that was stopped, even by kill -9, goes on where it was.
  const std::string path = (std::filesystem::temp_directory_path() / "lesson_07.jsonl").string();
  std::filesystem::remove(path);
  RecordFile file(path, RecordFile::Mode::append);
  const TuneResult first = tune(problem, spaces, target, file, options);
  options.trials = 12;
  const TuneResult result = tune(problem, spaces, target, file, options);
  std::cout << "\n"
            << first.status.trials << " trials, then " << result.status.trials << ", of which "
            << result.status.resumed << " were known; the fastest:\n";
  print_trials(file);

  if (!result.best) {
    std::cout << "no kernel was right\n";
    return 1;
  }
  const Verdict verdict = verdict_of(result, problem, target, file.records());
  std::cout << "\n" << text_of(verdict, *result.best);

  // The best record says how to make the kernel again.
  for (const Space& space : spaces) {
    if (space.recipe() != result.best->recipe) continue;
    const Kernel kernel = compile(space.schedule(result.best->config));
    std::cout << "\n" << kernel.explain();
  }
  std::filesystem::remove(path);
  return result.status.resumed == 8 && result.status.trials == 12 ? 0 : 1;
}
