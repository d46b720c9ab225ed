// Lesson 12: a recipe of your own.
//
// A recipe is a value: which formats it takes, what there is to choose, and the schedule of a point. Once it
// is added, it takes part wherever kernels are chosen or searched, beside those of weft. This file is all
// that it needs: no list of weft's is edited.

#include <weft/scheduler/recipes/list.h>
#include <weft/search/trials/tune.h>
#include <weft/weft.h>

#include <filesystem>
#include <iostream>

using namespace weft;

namespace {

// One row of a product a block, and a thread for some neighbouring columns of it.
constexpr const char* own_name = "row_blocks";
constexpr std::int64_t usual_columns = 128, usual_vector = 2;

std::string why_not(const SpaceProblem& problem, const Target& target) {
  if (!target.is_gpu()) return "it is for GPUs";
  if (problem.format.name != "csr") return "weights in " + problem.format.text();
  std::string names;
  for (const IndexVariable& index : problem.algorithm.indices) names += index.name;
  return names == "mnk" ? "" : "loops " + names + ", where it is for a product of m, n and k";
}

// Limits say what can run, worth what should be tried. Both are expressions of the knobs, which Z3 can ask.
RecipeChoices choices(const SpaceProblem&, PackedWeights&, const Target& target, const SpaceOptions&) {
  const ir::Expr threads = ir::variable("columns") / ir::variable("vector");
  RecipeChoices all;
  all.knobs = {{"columns", {32, 64, 128, 256}}, {"vector", {1, 2, 4}}};
  all.limits = {{"threads", "threads of a block", "threads", threads, target.threads_per_block, {}}};
  all.worth = {{"warp", "a block is a warp at least", "threads", 32, threads, {}}};
  return all;
}

Schedule write(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
               const KnobValues& point, CallPlace place) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const auto knob_or = [&](const char* name, std::int64_t usual) {
    const auto found = point.find(name);
    return found == point.end() ? usual : found->second;
  };
  Schedule s = schedule(std::move(algorithm), std::move(weights), target, place);
  s.split(n = knob_or("columns", usual_columns)).split(n.inner = knob_or("vector", usual_vector));
  s.reorder(n.outer, m, n.inner.outer, k, n.inner.inner);
  s.bind(n.outer, block_x).bind(m, block_y).bind(n.inner.outer, thread).vectorize(n.inner.inner);
  return s;
}

}  // namespace

int main() {
  Recipe own;
  own.name = own_name;
  own.summary = "a block a row, a thread some columns";
  own.is_format = [](const Format& format) { return format.name == "csr"; };
  own.knobs = {{.name = "columns", .most = 256}, {.name = "vector", .most = 4}};
  own.why_not = why_not;
  own.choices = choices;
  own.write = write;
  add_recipe(own);

  constexpr std::int64_t outputs = 64, inputs = 96, width = 200;
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {outputs, inputs});
  const Tensor<f32, 2> B("B", {inputs, width});
  const Tensor<f32, 2> C("C", {outputs, width});
  TrialProblem problem;
  problem.what.algorithm = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  problem.what.matrix = std::make_shared<const WeightMatrix>(
      synthetic_layer({.rows = outputs, .columns = inputs, .sparsity = 0.8}));
  problem.what.format = formats::csr();
  problem.tensors["B"] = random_array(DType::f32, {inputs, width}, 1);
  problem.tensors["C"] = Array(DType::f32, {outputs, width});
  problem.columns = width;

  // What is chosen looks at it as at any other, and `recipes` asks for it alone.
  const Target& target = target_named("sm_80");
  const Choice choice = choose(problem.what.algorithm, *problem.what.matrix, target, {.recipes = {own_name}});
  std::cout << choice.first().text() << "\n";

  // So does a search: here over its points alone, in the simulator. 32 columns in vectors of 4 would be a
  // quarter of a warp, and are not tried.
  const std::vector<Space> spaces{space_of(own_name, problem.what, target)};
  TuneOptions options;
  options.measure.measure = Measure::sim;
  options.strategy = Strategy::exhaustive;
  options.baselines = false;
  const std::string path = (std::filesystem::temp_directory_path() / "lesson_12.jsonl").string();
  std::filesystem::remove(path);
  TuneResult found;
  {
    RecordFile file(path, RecordFile::Mode::append);
    found = tune(problem, spaces, target, file, options);
  }
  std::filesystem::remove(path);
  std::cout << found.points << " points tried; the fastest: " << found.fastest << "\n";
  if (!found.best) return 1;
  std::cout << spaces.front().schedule(found.best->config).cpp();
  return found.best->recipe == own_name && found.status.failures.empty() ? 0 : 1;
}
