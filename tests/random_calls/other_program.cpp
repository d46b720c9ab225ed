#include <weft/backends/export/export.h>
#include <weft/backends/parse_device.h>
#include <weft/dsl/assignment.h>
#include <weft/formats/io/mtx.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/io/read.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/choice/choice.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>
#include <weft/search/trials/best_file.h>
#include <weft/search/trials/record_export.h>
#include <weft/search/trials/record_query.h>
#include <weft/search/trials/tune.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "random_calls/random_program.h"
#include "random_calls/random_steps.h"
#include "random_calls/random_weights.h"
#include "support/sanitizers.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// Of a matrix. Work that grows with them in proportion still takes minutes where they fill the memory.
constexpr std::int64_t most_places = std::int64_t{1} << 20;

class OtherProgram {
 public:
  OtherProgram(Dice& dice, const ProgramOptions& options, Calls& calls)
      : dice_(dice), options_(options), calls_(calls) {}

  void run() {
    switch (dice_.between(0, 10)) {
      case 0: return handles();
      case 1: return words();
      case 2: return arrays();
      case 3:
      case 4: return pruning();
      case 5:
      case 6: return files();
      case 7: return spaces();
      case 8: return searches();
      case 9: return choices();
      default: return templates();
    }
  }

 private:
  std::string any_name() { return dice_.chance(50) ? dice_.odd_name() : dice_.wild_name(); }
  double wild_real() {
    return dice_.any_of(
        {0.0, 1.0, -1.0, 0.5, 0.9, 1e300, -1e300, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e-300, 0.999999});
  }
  std::string file(const std::string& name) const { return options_.folder + "/" + name; }
  template <class Action>
  bool make(const std::string& text, const Action& action) {
    return calls_.accepted(text, [&] { (void)action(); });
  }

  /// Handles that nobody filled.
  void handles() {
    const Kernel kernel;
    const BoundKernel bound;
    Array array(DType::f32, {4});
    make("Kernel().schedule", [&] { return kernel.schedule().cpp(); });
    make("Kernel().target", [&] { return kernel.target().name; });
    make("Kernel().lowered", [&] { return kernel.lowered().program.name; });
    make("Kernel().program_text", [&] { return kernel.program_text(); });
    make("Kernel().ptx", [&] { return kernel.ptx(); });
    make("Kernel().cuda_source", [&] { return kernel.cuda_source(); });
    make("Kernel().assembly", [&] { return kernel.assembly(); });
    make("Kernel().cubin", [&] { return kernel.cubin().size(); });
    make("Kernel().with_ptx", [&] { return kernel.with_ptx("x").ptx(); });
    make("Kernel().resources", [&] { return kernel.resources().has_value(); });
    make("Kernel().explain", [&] { return kernel.explain(); });
    make("Kernel().bind", [&] { return kernel.bind(Device::cpu(), {}).address("C"); });
    make("Kernel()()", [&] { kernel(Device::cpu(), {}); });
    make("Kernel().write_to", [&] { return kernel.write_to(file("empty")); });
    make("Kernel().export_to", [&] { return kernel.export_to(file("empty"), {}); });
    make("BoundKernel().launch", [&] { bound.launch(nullptr); });
    make("BoundKernel().poison_output", [&] { bound.poison_output(); });
    make("BoundKernel().upload", [&] { bound.upload("C", array); });
    make("BoundKernel().download", [&] { bound.download("C", array); });
    make("BoundKernel().address", [&] { return bound.address("C"); });
    make("export_package", [&] { return export_package(file("nothing"), {{Kernel()}, {Kernel()}}, {}); });
    make("Algorithm().check", [&] { Algorithm().check(); });
    make("schedule of Algorithm()", [&] { return schedule(Algorithm(), target_named("cpu")).cpp(); });
    make("default_schedule of Algorithm()",
         [&] { return default_schedule({}, nullptr, target_named("cpu")).cpp(); });
    make("WeightMatrix().check", [&] { WeightMatrix().check(); });
    make("pack of WeightMatrix()", [&] { return pack(WeightMatrix(), random_format(dice_)).bytes(); });
    make("Device(nullptr)", [&] { return Device(nullptr).name(); });
  }

  /// What is read from words.
  void words() {
    for (int i = 0; i < 12; ++i) {
      const std::string text =
          dice_.chance(60)
              ? dice_.damaged(dice_.any_of<std::string>(
                    {"csr:order=dealt,rows=8", "shfl_bw:V=64,k=32", "sim:sm_90a", "cuda:1", "sm_80"}))
          : dice_.chance(50) ? dice_.wild_text()
                             : any_name();
      calls_.note(text);
      make("parse_format", [&] { return parse_format(text); });
      make("parse_device", [&] { return parse_device(text).name(); });
      make("target_named", [&] { return target_named(text).name; });
      make("Device::simulator", [&] { return Device::simulator(text).name(); });
      make("step_kind", [&] { return step_kind(text).name; });
      make("steps_of_json", [&] { return steps_of_json(text); });
      make("record_of", [&] { return record_of(text).id; });
      make("best_kernel_of", [&] { return best_kernel_of(text, "text").format; });
      make("is_best_file", [&] { return is_best_file(text); });
      make("measure_named", [&] { return measure_named(text); });
      make("strategy_named", [&] { return strategy_named(text); });
      make("record_form_named", [&] { return record_form_named(text); });
      make("knob", [&] { return knob(text, {dice_.wild_number(), dice_.between(1, 4)}); });
      make("driver", [&] { return Device::cuda(static_cast<int>(dice_.wild_number())).name(); });
    }
  }

  /// Rows of 2^24 take formats half a minute, and so do the places of 2^26 columns in formats that have all;
  /// where no limit of memory holds, which is so under a sanitizer, those of 2^31 too much.
  static bool can_be_extent(std::int64_t extent) {
    constexpr std::int64_t most_rows = std::int64_t{1} << 22;
    return extent <= most_places || (!under_sanitizer && (extent <= most_rows || extent > INT32_MAX));
  }

  void arrays() {
    for (int i = 0; i < 8; ++i) {
      std::vector<std::int64_t> shape;
      for (std::int64_t d = dice_.between(0, 4); d > 0; --d)
        shape.push_back(dice_.chance(25) ? dice_.wild_number() : dice_.between(0, 20));
      const auto dtype = static_cast<DType>(dice_.between(0, 12));
      calls_.note(std::string(name_of(dtype)) + " " + text_of_shape(shape));
      std::int64_t size = 0;
      make("element_count", [&] { size = element_count(shape, "an array"); });
      if (size > most_places || !std::ranges::all_of(shape, can_be_extent)) {
        make("Array", [&] { return Array(dtype, shape).size(); });
        continue;
      }
      make("random_array", [&] { return random_array(dtype, shape, dice_.bits()).size(); });
      make("from_dense", [&] {
        const WeightMatrix weights = from_dense(random_array(dtype, shape, dice_.bits()), "x");
        return pack(weights, random_format(dice_)).bytes();
      });
      std::vector<std::int64_t> row, column;
      for (std::int64_t entry = dice_.between(0, 6); entry > 0; --entry) {
        row.push_back(dice_.chance(10) ? dice_.wild_number() : dice_.between(0, 5));
        if (!dice_.chance(3)) column.push_back(dice_.chance(10) ? dice_.wild_number() : dice_.between(0, 5));
      }
      const std::int64_t rows = dice_.chance(15) ? dice_.wild_number() : 6;
      const std::int64_t columns = dice_.chance(15) ? dice_.wild_number() : 6;
      if (!can_be_extent(rows) || !can_be_extent(columns)) continue;
      make("from_coordinates " + std::to_string(rows) + " " + std::to_string(columns), [&] {
        const WeightMatrix weights = from_coordinates(
            rows, columns, row, column, random_array(dtype, {static_cast<std::int64_t>(row.size())}, 1), "x");
        weights.check();
        return pack(weights, random_format(dice_)).bytes();
      });
    }
  }

  WeightMatrix layer() {
    SyntheticLayer layer;
    layer.rows = dice_.between(1, 70);
    layer.columns = dice_.between(1, 90);
    layer.sparsity = dice_.any_of({0.0, 0.5, 0.9, 1.0});
    layer.dtype = dice_.any_of({DType::f32, DType::f16, DType::bf16, DType::f64, DType::e4m3});
    layer.seed = dice_.bits();
    return synthetic_layer(layer);
  }

  void pruning() {
    SyntheticLayer layer;
    layer.rows = dice_.chance(15) ? dice_.wild_number() : dice_.between(0, 70);
    layer.columns = dice_.chance(15) ? dice_.wild_number() % (std::int64_t{1} << 20) : dice_.between(0, 90);
    if (layer.rows > 0 && layer.rows <= std::numeric_limits<std::int32_t>::max())
      layer.rows = std::min(layer.rows, most_places / std::max<std::int64_t>(1, layer.columns));
    layer.sparsity = dice_.chance(30) ? wild_real() : 0.8;
    if (dice_.chance(30)) layer.row_spread = wild_real();
    layer.dtype = static_cast<DType>(dice_.between(0, dice_.chance(80) ? 3 : 12));
    WeightMatrix weights;
    if (!make("synthetic_layer " + std::to_string(layer.rows) + " x " + std::to_string(layer.columns) + " " +
                  std::to_string(layer.sparsity),
              [&] { weights = synthetic_layer(layer); }))
      weights = this->layer();
    if (dice_.chance(25)) spoil(weights, dice_);
    calls_.note(description(weights));
    const bool legal = make("check", [&] { weights.check(); });
    if (legal) {
      make("statistics", [&] { return json_text(statistics(weights)) + report_text(statistics(weights)); });
      make("converted",
           [&] { return converted(weights, static_cast<DType>(dice_.between(0, 12))).stored(); });
      make("with_random_values",
           [&] { return with_random_values(weights, static_cast<DType>(dice_.between(0, 12)), 1).stored(); });
    }
    const Format format = random_format(dice_);
    PruneOptions options;
    if (dice_.chance(70))
      options.sparsity = dice_.chance(70) ? static_cast<double>(dice_.between(0, 99)) / 100 : wild_real();
    const WeightMatrix scores = dice_.chance(50) ? weights : this->layer();
    if (dice_.chance(20)) options.scores = &scores;
    if (dice_.chance(20)) options.attempts = dice_.chance(50) ? dice_.wild_number() % 9 : 2;
    make("granularity_of", [&] { return granularity_of(format); });
    options.progress = [](const PruneProgress&) { Calls::progresses(); };
    Pruning pruning;
    if (!make("choose_weights " + format.text(), [&] { pruning = choose_weights(weights, format, options); }))
      return;
    WeightMatrix kept;
    if (make("pruned", [&] { kept = pruned(weights, pruning); }))
      make("pack", [&] { return pack(kept, format).bytes(); });
    make("pruned of other weights", [&] { return pruned(this->layer(), pruning).stored(); });
  }

  void files() {
    const WeightMatrix weights = layer();
    const std::string kind =
        dice_.any_of<std::string>({"npy", "mtx", "safetensors", "smtx", "npz", "json", "pt"});
    const std::string path = file("weights." + kind);
    fs::remove_all(path);
    make("write " + kind, [&] {
      if (kind == "npy")
        write_npy(path, to_dense(weights));
      else if (kind == "mtx")
        write_mtx(path, weights);
      else if (kind == "safetensors")
        write_safetensors(path, {{"layer.weight", to_dense(weights)}, {"bias", Array(DType::f32, {3})}});
      else
        std::ofstream(path) << "2, 3, 2\n0 1 2\n1 2\n";
    });
    std::ifstream in(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (dice_.chance(75)) bytes = dice_.damaged(bytes);
    if (dice_.chance(10)) bytes.clear();
    std::ofstream(path, std::ios::binary) << bytes;
    ReadOptions options;
    if (dice_.chance(20)) options.tensor = dice_.chance(60) ? "layer.weight" : any_name();
    if (dice_.chance(10)) options.reinterpret_as = static_cast<DType>(dice_.between(0, 12));
    if (dice_.chance(20))
      options.row_dimensions = dice_.chance(50) ? dice_.wild_number() : dice_.between(0, 3);
    const std::string from =
        dice_.chance(90) ? path
                         : dice_.any_of<std::string>({"", "/", "/nosuch", "/dev/null", "/proc/self/mem"});
    make("read " + from, [&] { return pack(read(from, options), formats::csr()).bytes(); });
    make("read_array " + from,
         [&] { return read_array(from, options.tensor, options.reinterpret_as).size(); });
  }

  SpaceProblem problem() {
    auto weights = layer();
    const DType dtype = weights.values.dtype();
    const Extent n = dice_.chance(30) ? Extent::any("N", dice_.any_of<std::int64_t>({1, 8}))
                                      : Extent(dice_.between(1, 300));
    Epilogue epilogue;
    epilogue.bias = dice_.chance(30);
    epilogue.activation = static_cast<Activation>(dice_.between(0, 2));
    return {spmm_algorithm(weights.rows, weights.columns, n, dtype, epilogue),
            std::make_shared<const WeightMatrix>(std::move(weights)), random_format(dice_)};
  }

  Target any_target() {
    const auto all = targets();
    return all[static_cast<std::size_t>(dice_.between(0, static_cast<std::int64_t>(all.size()) - 1))];
  }

  void spaces() {
    const SpaceProblem what = problem();
    const Target target = any_target();
    SpaceOptions options;
    if (dice_.chance(20)) options.resident_blocks = dice_.chance(50) ? dice_.wild_number() : 2;
    if (dice_.chance(20)) options.more_registers = dice_.chance(50) ? dice_.wild_number() : 10;
    calls_.note(what.algorithm.text() + " in " + what.format.text() + " for " + target.name);
    std::optional<Space> space;
    const std::string recipe =
        dice_.chance(80) ? std::string(dice_.any_of(names_of_recipes())) : dice_.wild_text();
    if (!make("space_of " + recipe, [&] { space = space_of(recipe, what, target, options); })) {
      make("spaces_for", [&] { return spaces_for(what, target, options).size(); });
      return;
    }
    std::optional<Points> points;
    if (space->size() < 200'000) make("worth_trying", [&] { points = space->worth_trying(); });
    KnobValues values;
    for (const ir::Knob& knob : space->knobs())
      if (dice_.chance(50))
        values[knob.name] = dice_.chance(80) ? dice_.any_of(knob.values) : dice_.wild_number();
    if (dice_.chance(10)) values[any_name()] = 1;
    make("complete", [&] { (void)space->complete(values); });
    make("violated", [&] { return space->violated(values); });
    make("schedule of some", [&] { return space->schedule(values).cpp(); });
    make("text", [&] { return space->text(values); });
    make("value_of", [&] { return space->value_of(any_name(), dice_.wild_text()); });
    if (!points || points->empty()) return;
    const KnobValues point =
        (*points)[static_cast<std::size_t>(dice_.between(0, static_cast<std::int64_t>(points->size()) - 1))];
    std::optional<Schedule> made;
    if (!make("schedule of " + space->text(point), [&] { made = space->schedule(point); })) {
      // Some formats do not fit the weights, which a space does not pack before a point is made.
      if (make("pack " + what.format.text(), [&] { return pack(*what.matrix, what.format).format().name; }))
        calls_.fail("a feasible point has no schedule: " + recipe);
      return;
    }
    make("compile", [&] { return compile(*made, {.assemble = false}).lowered().program.name; });
  }

  static std::vector<std::string_view> names_of_recipes() {
    std::vector<std::string_view> names;
    for (const Recipe& recipe : recipes()) names.push_back(recipe.name);
    return names;
  }

  /// What is chosen where nobody names a format or a recipe.
  void choices() {
    const SpaceProblem what = problem();
    const Target target = any_target();
    ChoiceOptions options;
    if (dice_.chance(30)) options.formats = {what.format};
    if (dice_.chance(20)) options.recipes = {dice_.any_of(names_of_recipes())};
    if (dice_.chance(10)) options.recipes.push_back("nosuch");
    if (dice_.chance(20)) options.open_size = dice_.chance(50) ? dice_.wild_number() : 7;
    if (dice_.chance(20)) options.predictor = nullptr;
    calls_.note(what.algorithm.text() + " of " + what.format.text() + " for " + target.name);
    std::optional<Choice> choice;
    if (!make("choose", [&] { choice = choose(what.algorithm, *what.matrix, target, options); })) return;
    make("Choice::text", [&] { return choice->text(); });
    for (const Way& way : choice->ways)
      make("schedule of " + way.text(),
           [&] { return schedule_of_way(way, what.algorithm, *what.matrix, nullptr, target).cpp(); });
    make("auto_kernel", [&] {
      return auto_kernel(what.algorithm, *what.matrix, target, options, {.assemble = false}).choice.text();
    });
  }

  void searches() {
    TrialProblem trial;
    trial.what = problem();
    trial.columns = 16;
    for (const Operand& operand : trial.what.algorithm.operands) {
      if (operand.storage == Storage::sparse) continue;
      std::vector<std::int64_t> shape;
      for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.value : 16);
      trial.tensors[operand.name] = random_array(operand.dtype, shape, 1);
    }
    const std::string path = file("trials.jsonl");
    if (dice_.chance(50)) fs::remove_all(path);
    TuneOptions options;
    const bool is_cpu = dice_.chance(40);
    options.measure.measure =
        is_cpu ? Measure::cpu : dice_.any_of({Measure::model, Measure::model, Measure::sim});
    options.measure.build_seconds = dice_.chance(90) ? 10 : wild_real();
    options.measure.run_seconds = dice_.chance(90) ? 10 : wild_real();
    options.measure.memory_bytes = std::uint64_t{4} << 30U;
    options.measure.rounds = static_cast<int>(dice_.chance(90) ? 2 : dice_.wild_number() % 5);
    options.trials = dice_.chance(85) ? dice_.between(0, 3) : dice_.wild_number() % 4;
    options.seconds = dice_.chance(85) ? 8 : std::min(8.0, wild_real());
    options.jobs = static_cast<int>(dice_.chance(90) ? 1 : dice_.wild_number() % 3);
    options.strategy = static_cast<Strategy>(dice_.between(0, 3));
    options.baselines = dice_.chance(30);
    options.any_architecture = dice_.chance(50);
    if (dice_.chance(10)) options.limits[any_name()] = {dice_.wild_text()};
    if (dice_.chance(10)) options.only = {{dice_.chance(50) ? "default" : any_name(), {{any_name(), 1}}}};
    Target target = is_cpu ? target_named("cpu") : any_target();
    calls_.note("tune " + trial.what.algorithm.text() + " " + trial.what.format.text() + " for " +
                target.name + ", trials " + std::to_string(options.trials));
    std::vector<Space> spaces;
    if (!make("spaces_for", [&] { spaces = spaces_for(trial.what, target); })) return;
    TuneResult result;
    const bool tuned = make("tune", [&] {
      RecordFile records(path, RecordFile::Mode::append);
      result = tune(trial, spaces, target, records, options);
    });
    if (tuned && result.best) {
      make("json_of_best", [&] {
        std::string json = json_of_best(
            *result.best,
            default_schedule(
                trial.what.algorithm,
                std::make_shared<const SparseTensor>(pack(*trial.what.matrix, trial.what.format)), target));
        for (int i = 0; i < 4; ++i) {
          const std::string damaged = dice_.damaged(json);
          make("best_kernel_of " + damaged.substr(0, 3000), [&] { return best_kernel_of(damaged, "best"); });
        }
      });
    }
    databases(path);
  }

  void databases(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (bytes.size() > 100'000) fs::remove_all(path);
    const std::string other = file("damaged.jsonl");
    std::ofstream(other, std::ios::binary) << (dice_.chance(80) ? dice_.damaged(bytes) : bytes);
    make("a database read, queried and exported", [&] {
      RecordFile records(other, dice_.chance(50) ? RecordFile::Mode::read : RecordFile::Mode::append);
      for (const StoredRecord& stored : records.records()) {
        make("record_of", [&] {
          return record_of(dice_.chance(50) ? json_of(stored.record) : dice_.damaged(json_of(stored.record)))
              .id;
        });
        make("append", [&] { return records.append(stored.record, dice_.chance(50)); });
        break;
      }
      make("problems_of", [&] { return problems_of(records.records()).size(); });
      make("exported",
           [&] { return exported(records.records(), static_cast<RecordForm>(dice_.between(0, 2))).size(); });
      make("regrets_of", [&] { return regrets_of(records.records(), records.records()).size(); });
      make("played_through", [&] {
        return played_through(records.records(), dice_.chance(80) ? 2 : dice_.wild_number() % 5, 2).size();
      });
    });
  }

  /// Programs as people write them, with sizes that need not fit.
  void templates() {
    WEFT_INDEX(m);
    WEFT_INDEX(n);
    WEFT_INDEX(k);
    WEFT_INDEX(g);
    const auto size = [&]() -> Extent {
      if (dice_.chance(5)) return dice_.wild_number();
      if (dice_.chance(15))
        return Extent::any(dice_.chance(60) ? "N" : any_name(), dice_.chance(80) ? 1 : dice_.wild_number());
      return dice_.any_of<std::int64_t>({6, 6, 6, 7});
    };
    const auto name = [&](const char* usual) { return dice_.chance(75) ? std::string(usual) : any_name(); };
    Algorithm made;
    const Scalar alpha(name("alpha"));
    const std::string called = name("linear");
    const std::int64_t which = dice_.between(0, 4);
    const bool built = make("a template, number " + std::to_string(which), [&] {
      const Tensor<f32, 2, sparse> a(name("A"), {size(), size()});
      const Tensor<f32, 3, sparse> batches(name("A"), {size(), size(), size()});
      const Tensor<f32, 2> dense(name("D"), {size(), size()}), b(name("B"), {size(), size()}),
          c(name("C"), {size(), size()});
      const Tensor<f32, 3> results(name("C"), {size(), size(), size()});
      const Tensor<f32, 1> bias(name("bias"), {size()});
      switch (which) {
        case 0: made = algorithm(called, c(m, n) = sum(k, a(m, k) * b(k, n))); break;
        case 1: made = algorithm(called, c(m, n) = relu(alpha * sum(k, a(m, k) * b(k, n)) + bias(m))); break;
        case 2: made = algorithm(called, results(g, m, n) = sum(k, batches(g, m, k) * b(k, n))); break;
        case 3: made = algorithm(called, c(m, n) = sum(k, dense(m, m) * b(k, n))); break;
        default:
          made = algorithm(called, c(m, n) = gelu(sum(k, a(m, k) * b(2 * k + n - 1, n)) - c(m, n)) * bias(n));
      }
    });
    if (!built) return;
    calls_.note(made.text());
    const Target target = any_target();
    std::shared_ptr<const SparseTensor> weights;
    if (made.sparse_operand() != nullptr) {
      make("pack", [&] {
        WeightMatrix matrix = from_dense(
            random_array(DType::f32,
                         which == 2 ? std::vector<std::int64_t>{6, 6, 6} : std::vector<std::int64_t>{6, 6},
                         1),
            "x");
        weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
      });
    }
    std::optional<Schedule> chosen;
    if (!make("default_schedule", [&] { chosen = default_schedule(made, weights, target); })) return;
    KernelOptions options;
    options.assemble = false;
    make("compile", [&] { return compile(*chosen, options).program_text(); });
  }

  Dice& dice_;
  const ProgramOptions& options_;
  Calls& calls_;
};

}  // namespace

void run_other_program(Dice& dice, const ProgramOptions& options, Calls& calls) {
  OtherProgram(dice, options, calls).run();
}

void run_random_program(std::uint64_t seed, const ProgramOptions& options, Calls& calls) {
  Dice dice(seed);
  calls.begin(seed);
  if (options.on_cuda || dice.chance(82)) return run_kernel_program(dice, options, calls);
  run_other_program(dice, options, calls);
}

}  // namespace weft::test
