#include <weft/backends/export/export.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/random.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>

#include <algorithm>
#include <cmath>

#include "formats/generated_matrices.h"
#include "random_calls/random_algorithm.h"
#include "random_calls/random_program.h"
#include "random_calls/random_steps.h"
#include "random_calls/random_weights.h"
#include "support/naive.h"

namespace weft::test {
namespace {

/// Warp instructions of a launch: some seconds, also where blocks tell one another what they know.
constexpr std::uint64_t most_simulated = 2'000'000;

/// What launches; the simulator's limit is none of the program's failures.
template <class Action>
void launching(const Device& device, bool simulated, const Action& action) {
  try {
    action();
  } catch (const RuntimeError&) {
    if (!simulated) throw;
    const auto& findings = simulator::last_report(device).findings;
    const bool endless = !findings.empty() && std::ranges::all_of(findings, [](const auto& finding) {
      return finding.kind == "endless";
    });
    if (endless) throw TooLong();
    throw;
  }
}

class KernelProgram {
 public:
  KernelProgram(Dice& dice, const ProgramOptions& options, Calls& calls)
      : dice_(dice), options_(options), calls_(calls) {}

  void run() {
    make_algorithm();
    const bool legal = calls_.accepted("Algorithm::check", [&] { algorithm_.check(); });
    if (!legal && dice_.chance(70)) return;
    if (!make_weights()) return;
    if (!make_schedule()) return;
    if (!legal) return calls_.fail("a schedule of an algorithm that its check refuses");
    write_schedule();
    compile_and_run();
  }

 private:
  void make_algorithm() {
    RandomAlgorithm made = random_algorithm(dice_);
    algorithm_ = made.algorithm;
    sizes_ = made.sizes;
    calls_.note(description(algorithm_));
    for (const auto& [name, size] : sizes_) calls_.note("    " + name + " = " + std::to_string(size));
    if (!dice_.chance(14)) return;
    spoil(algorithm_, dice_);
    spoiled_ = true;
    calls_.note("    with something else in it");
  }

  bool make_weights() {
    const Operand* sparse = nullptr;
    for (const Operand& operand : algorithm_.operands)
      if (operand.storage == Storage::sparse) sparse = &operand;
    if (sparse == nullptr) return true;
    Format format = random_format(dice_);
    calls_.note("    format " + format.text());
    // A spoilt algorithm may have sizes that no weights have.
    if (!calls_.accepted("random weights", [&] { matrix_ = small_weights(); })) return false;
    const bool wrong_matrix = dice_.chance(10);
    const bool is_sane = std::ranges::all_of(format.parameters, [](const auto& parameter) {
      return parameter.first == "order" || (parameter.second >= 1 && parameter.second <= 1024);
    });
    if (is_sane) matrix_ = fitted(matrix_, format);
    if (wrong_matrix) spoil(matrix_, dice_);
    fits_ = !wrong_matrix;
    calls_.note("    " + description(matrix_));
    comparable_ = comparable_ && is_finite(matrix_);
    if (dice_.chance(30)) calls_.accepted("WeightMatrix::check", [&] { matrix_.check(); });
    std::optional<SparseTensor> tensor;
    if (!calls_.accepted("pack " + format.text(), [&] { tensor = pack(matrix_, format); })) return false;
    if (dice_.chance(8)) {
      const Format other = random_format(dice_);
      if (!calls_.accepted("repack " + other.text(), [&] { tensor = repack(*tensor, other); })) return false;
    }
    if (dice_.chance(8)) {
      calls_.note("    a tensor made by hand");
      comparable_ = false;
      if (!calls_.accepted("SparseTensor()", [&] { tensor = spoiled(*tensor, dice_); })) return false;
      if (dice_.chance(30)) calls_.accepted("SparseTensor::check", [&] { tensor->check(); });
    }
    weights_ = std::make_shared<const SparseTensor>(std::move(*tensor));
    if (dice_.chance(2)) weights_ = nullptr;
    return true;
  }

  WeightMatrix small_weights() {
    if (!spoiled_) return random_weights(algorithm_, sizes_, dice_);
    // The weights of an algorithm before it was spoilt are lost; some that may fit.
    Array dense(DType::f32, {dice_.between(1, 20), dice_.between(1, 20)});
    for (std::int64_t i = 0; i < dense.size(); i += dice_.between(1, 5)) dense.set(i, 2);
    return from_dense(dense, "weights of another algorithm");
  }

  bool make_schedule() {
    static const std::vector<std::string> names{"cpu",   "cpu",   "cpu",   "cpu",    "sm_75", "sm_80",
                                                "sm_80", "sm_86", "sm_90", "sm_90a", "sm_90a"};
    const Target target = target_named(options_.on_cuda ? "sm_90a" : dice_.any_of(names));
    const std::int64_t way = dice_.between(0, 9);
    const bool made = way < 5 ? by_recipe(target, way < 2)
                              : calls_.accepted(
                                    "schedule for " + target.name,
                                    [&] { schedule_ = schedule(algorithm_, weights_, target); });
    if (!made) return false;
    if (way >= 5 || dice_.chance(25)) apply_steps(static_cast<int>(dice_.between(1, 14)));
    return true;
  }

  bool by_recipe(const Target& target, bool plain) {
    std::string text = "default";
    const bool made = calls_.accepted("recipe for " + target.name, [&] {
      schedule_ = plain ? default_schedule(algorithm_, weights_, target)
                        : random_recipe(algorithm_, weights_, target, dice_, text);
    });
    calls_.note("    " + text);
    // Weights of any size fit formats that store row by row alone.
    if (!made && plain && !spoiled_ && fits_ && comparable_ && !algorithm_.takes_any_weights() &&
        (weights_ != nullptr || algorithm_.sparse_operand() == nullptr))
      calls_.fail("default_schedule refuses a legal algorithm");
    return made;
  }

  void apply_steps(int count) {
    for (int i = 0; i < count; ++i) {
      Step step = random_step(*schedule_, dice_);
      calls_.accepted("Step::cpp", [&] { calls_.note("    " + step.cpp()); });
      const std::string before = ir::print(schedule_->program());
      bool applied = false;
      if (dice_.chance(30)) {
        applied = calls_.accepted("apply", [&] { schedule_->apply(step); });
      } else {
        calls_.accepted("try_apply", [&] {
          const std::optional<Reason> reason = schedule_->try_apply(step);
          applied = !reason;
          if (!reason) return;
          calls_.note("  no: " + reason->found + " | " + reason->accepted);
          if (reason->found.empty() || reason->accepted.empty())
            calls_.fail("a reason without words: " + step.name);
          const auto asked = step_kind(step.name).preconditions;
          // 0: of an earlier step, which the reason names.
          if (reason->precondition != 0 &&
              std::ranges::find(asked, reason->precondition, &Precondition::number) == asked.end())
            calls_.fail("a reason that the row of its step does not have: " + step.name);
        });
      }
      if (!applied && ir::print(schedule_->program()) != before)
        calls_.fail("a refused step changed the program: " + step.name);
    }
  }

  /// The schedule as text and back.
  void write_schedule() {
    if (dice_.chance(15)) calls_.accepted("Schedule::cpp", [&] { (void)schedule_->cpp(); });
    if (!dice_.chance(20)) return;
    std::string json;
    if (!calls_.accepted("Schedule::json", [&] { json = schedule_->json(); })) return;
    const bool damage = dice_.chance(60);
    if (damage) json = dice_.damaged(json);
    if (damage) calls_.note(json);
    calls_.damaged_places = calls_.damaged_places || damage;
    std::vector<Step> steps;
    if (!calls_.accepted("steps_of_json", [&] { steps = steps_of_json(json); })) return;
    std::optional<Schedule> again;
    if (!calls_.accepted("schedule", [&] { again = schedule(algorithm_, weights_, schedule_->target()); }))
      return;
    for (const Step& step : steps) {
      if (!calls_.accepted("apply", [&] { again->apply(step); })) break;
    }
    if (!damage && !schedule_->steps().empty() &&
        ir::print(again->program()) != ir::print(schedule_->program())) {
      // A recipe may have packed the weights anew.
      if (again->shared_weights() == schedule_->shared_weights())
        calls_.fail("a schedule read back makes another program");
    }
    if (damage && dice_.chance(50)) schedule_ = again;
  }

  // ---- kernels ----

  void compile_and_run() {
    std::string text;
    KernelOptions options = random_options(dice_, text);
    const bool gpu = schedule_->target().is_gpu();
    options.by_meaning = gpu ? !options_.on_cuda && dice_.chance(30) : dice_.chance(10);
    if (options.by_meaning) text += ", by meaning";
    std::optional<Kernel> kernel;
    if (!calls_.accepted("compile, " + text, [&] { kernel = compile(*schedule_, options); })) return;
    ask(*kernel);
    const bool on_gpu = gpu && !options.by_meaning;
    std::optional<Device> device;
    if (!calls_.accepted("device", [&] {
          device = !on_gpu            ? Device::cpu()
                   : options_.on_cuda ? Device::cuda(0)
                                      : Device::simulator(schedule_->target().name);
        }))
      return;
    if (on_gpu && !options_.on_cuda) {
      simulator::options(*device).launch.seed = dice_.bits();
      simulator::options(*device).launch.late = dice_.chance(50);
      simulator::options(*device).timed = dice_.chance(30);
      simulator::options(*device).launch.step_limit = most_simulated;
    }
    launch(*kernel, *device, on_gpu);
    if (dice_.chance(4)) export_kernel(*kernel);
  }

  void ask(const Kernel& kernel) {
    const auto text = [&](const char* name, auto&& action) {
      if (dice_.chance(6)) calls_.accepted(name, [&] { (void)action(); });
    };
    text("program_text", [&] { return kernel.program_text(); });
    text("ptx", [&] { return kernel.ptx(); });
    text("cuda_source", [&] { return kernel.cuda_source(); });
    text("assembly", [&] { return kernel.assembly(); });
    text("cubin", [&] { return kernel.cubin().size(); });
    text("resources", [&] { return kernel.resources().has_value(); });
    text("explain", [&] { return kernel.explain(); });
    text("lowered", [&] { return kernel.lowered().program.name; });
    if (dice_.chance(2))
      calls_.accepted("write_to", [&] { (void)kernel.write_to(options_.folder + "/kernel"); });
  }

  void make_arguments() {
    tensors_.clear();
    arguments_ = {};
    for (const Operand& operand : algorithm_.operands) {
      if (operand.storage == Storage::sparse) continue;
      tensors_[operand.name] =
          random_array(operand.dtype, shape_of(operand, sizes_), dice_.bits(), RandomValues::small_integers);
    }
    for (auto& [name, array] : tensors_) arguments_.tensors[name] = &array;
    for (const std::string& scalar : algorithm_.scalars)
      arguments_.scalars[scalar] = static_cast<double>(dice_.between(-3, 3));
    // A recipe may have packed them anew.
    if (weights_ != nullptr && algorithm_.takes_any_weights() && dice_.chance(50))
      arguments_.weights = schedule_->shared_weights();
  }

  void spoil_arguments() {
    calls_.note("    with other arguments");
    auto& [name, pointer] =
        *std::next(arguments_.tensors.begin(), dice_.between(0, std::ssize(arguments_.tensors) - 1));
    Array& array = tensors_.at(name);
    std::vector<std::int64_t> shape = array.shape();
    switch (dice_.between(0, 9)) {
      case 0: pointer = nullptr; break;
      case 1: arguments_.tensors.erase(name); break;
      case 2: array = array.converted(static_cast<DType>(dice_.between(0, 12))); break;
      case 3:
        dice_.shuffle(shape);
        array = std::move(array).reshaped(shape);
        break;
      case 4:
        shape[dice_.place_in(shape)] = dice_.between(0, 40);
        array = Array(array.dtype(), shape);
        break;
      case 5: arguments_.tensors[dice_.chance(50) ? dice_.odd_name() : dice_.wild_name()] = &array; break;
      case 6: arguments_.scalars[dice_.chance(50) ? dice_.odd_name() : dice_.wild_name()] = 1; break;
      case 7:
        if (!arguments_.scalars.empty())
          arguments_.scalars.begin()->second = dice_.any_of({HUGE_VAL, 1e300, -0.0});
        break;
      case 8: arguments_.scalars.clear(); break;
      default:
        arguments_.weights = dice_.chance(50) ? weights_ : nullptr;
        if (weights_ != nullptr && dice_.chance(50))
          calls_.accepted("repack", [&] {
            arguments_.weights =
                std::make_shared<const SparseTensor>(repack(*weights_, random_format(dice_)));
          });
    }
  }

  /// What is larger takes the naive evaluation minutes, or the simulator more than its limit of
  /// instructions where one thread computes all of it; a spoilt algorithm may be.
  bool is_small(double most_products) const {
    double products = 1, elements = 0;
    for (const IndexVariable& index : algorithm_.indices)
      products *= static_cast<double>(index.extent.is_static() ? index.extent.value : 300);
    for (const Operand& operand : algorithm_.operands) {
      double size = 1;
      for (const std::int64_t extent : shape_of(operand, sizes_)) size *= static_cast<double>(extent);
      elements += size;
    }
    return products < most_products && elements < 1e7;
  }

  void launch(const Kernel& kernel, const Device& device, bool on_gpu) {
    const bool simulated = on_gpu && !options_.on_cuda;
    if (!is_small(simulated ? 5e5 : 3e7)) return;
    if (!calls_.accepted("arguments", [&] { make_arguments(); })) return;
    const bool wrong = !tensors_.empty() && dice_.chance(12);
    std::optional<NaiveResult> expected;
    if (wrong) spoil_arguments();
    if (!wrong && comparable_)
      expected = naive(algorithm_, algorithm_.sparse_operand() == nullptr ? nullptr : &matrix_, arguments_);
    std::optional<BoundKernel> bound;
    const std::uint64_t failed = calls_.ledger().failed;
    if (!calls_.accepted("bind", [&] { bound = kernel.bind(device, arguments_); })) {
      // Memory that there is not is no refusal.
      if (calls_.ledger().failed == failed && !wrong && !spoiled_ && fits_ && comparable_)
        calls_.fail("bind refuses what was right to begin with");
      return;
    }
    const std::string output = algorithm_.operands[algorithm_.output.operand].name;
    if (wrong && !tensors_.contains(output)) return;
    const bool reads_output = reads(algorithm_.result, algorithm_.output.operand);
    if (!reads_output) calls_.accepted("poison", [&] { bound->poison_output(); });
    if (dice_.chance(10)) move_arrays(*bound);
    if (!calls_.accepted(
            "launch", [&] { launching(device, simulated, [&] { bound->launch(nullptr); }); },
            Outside::is_weft))
      return;
    Array result = tensors_.at(output);
    if (!calls_.accepted("download " + output, [&] { bound->download(output, result); }, Outside::is_weft))
      return;
    if (!expected || moved_) return;
    const std::string where = std::string(on_gpu ? "GPU" : "CPU") + ", " +
                              (weights_ == nullptr ? "dense" : weights_->format().name) + ", " +
                              (schedule_->steps().empty() ? "no steps" : "steps");
    calls_.compared(disagreement(algorithm_, *expected, result), where, on_gpu);
    if (dice_.chance(15)) check_reference(kernel, device, simulated, *expected);
  }

  /// Arrays that fit, and some that do not, to and from the device.
  void move_arrays(const BoundKernel& bound) {
    auto& [name, array] = *std::next(tensors_.begin(), dice_.between(0, std::ssize(tensors_) - 1));
    Array other = array;
    const bool is_copy = dice_.chance(40);
    if (!is_copy) {
      std::vector<std::int64_t> shape = array.shape();
      dice_.shuffle(shape);
      if (dice_.chance(50)) shape.back() += dice_.between(-1, 1);
      other = Array(dice_.chance(60) ? array.dtype() : static_cast<DType>(dice_.between(0, 12)), shape);
    }
    const std::string target = dice_.chance(80)   ? name
                               : dice_.chance(50) ? dice_.odd_name()
                                                  : dice_.wild_name();
    const bool same = target == name && other.dtype() == array.dtype() && other.shape() == array.shape();
    const std::string text =
        target.substr(0, 40) + " " + std::string(name_of(other.dtype())) + text_of_shape(other.shape());
    const bool up = calls_.accepted("upload " + text, [&] { bound.upload(target, other); });
    const bool down = calls_.accepted("download " + text, [&] { bound.download(target, other); });
    // A name out of the hat may be that of an operand.
    if (!same && (up || down) && target != name && !tensors_.contains(target))
      calls_.fail("an operand that there is not was moved");
    if (!same && (up || down) && target == name) calls_.fail("an array of another shape or type was moved");
    calls_.accepted("address", [&] { (void)bound.address(target); });
    moved_ = up && !(is_copy && target == name);
  }

  void check_reference(const Kernel& kernel, const Device& device, bool simulated,
                       const NaiveResult& expected) {
    std::optional<Reference> found;
    Arguments arguments = arguments_;
    calls_.accepted("reference", [&] { found = reference(algorithm_, weights_.get(), arguments); });
    if (found) {
      for (std::size_t i = 0; i < expected.value.size(); ++i) {
        const double value = found->value.get(static_cast<std::int64_t>(i));
        if (std::abs(value - expected.value[i]) <= 1e-9 * expected.magnitude[i] || value == expected.value[i])
          continue;
        if (std::isnan(value) && std::isnan(expected.value[i])) continue;
        calls_.note("  element " + std::to_string(i) + ": " + std::to_string(value) + " for " +
                    std::to_string(expected.value[i]));
        calls_.fail("the reference is wrong");
        break;
      }
    }
    calls_.accepted(
        "verify",
        [&] {
          launching(device, simulated, [&] {
            const Verification result = verify(kernel, device, arguments);
            if (!result.passed) calls_.note("  " + result.text());
            if (!result.passed) calls_.fail("verify finds wrong what is right");
          });
        },
        Outside::is_weft);
  }

  static bool reads(const Term& term, std::size_t operand) {
    return (term.kind == Term::Kind::access && term.access.operand == operand) ||
           std::ranges::any_of(term.arguments, [&](const Term& t) { return reads(t, operand); });
  }

  void export_kernel(const Kernel& kernel) {
    ExportOptions options;
    if (dice_.chance(40)) options.name = dice_.chance(50) ? dice_.wild_name() : dice_.odd_name();
    if (dice_.chance(20)) options.spdx = dice_.chance(50) ? dice_.wild_text() : "*/ evil\nline";
    if (dice_.chance(20)) options.license_text = dice_.wild_text();
    if (dice_.chance(20)) options.measured = dice_.wild_text();
    if (dice_.chance(30)) options.embed_weights = dice_.chance(50);
    options.with_weights = dice_.chance(80);
    const std::string folder = dice_.chance(85)
                                   ? options_.folder + "/package" + std::to_string(dice_.between(0, 3))
                                   : dice_.any_of<std::string>({"", "/dev/null/x", "/proc/x"});
    PackageKernel one{kernel};
    if (dice_.chance(30)) one.least = dice_.chance(50) ? dice_.wild_number() : dice_.between(1, 9);
    if (dice_.chance(30)) one.most = dice_.chance(50) ? dice_.wild_number() : dice_.between(1, 90);
    std::vector<PackageKernel> kernels{one};
    if (dice_.chance(15)) kernels.push_back({kernel, 1, 7});
    if (dice_.chance(4)) kernels.clear();
    if (dice_.chance(4)) kernels.push_back({Kernel(), 1, 7});
    calls_.accepted("export_package " + options.name.substr(0, 60),
                    [&] { (void)export_package(folder, kernels, options); });
  }

  Dice& dice_;
  const ProgramOptions& options_;
  Calls& calls_;
  Algorithm algorithm_;
  std::map<std::string, std::int64_t> sizes_;
  bool spoiled_ = false;
  bool fits_ = true;  ///< the weights are those that the algorithm asks for
  bool comparable_ = true;
  bool moved_ = false;
  WeightMatrix matrix_;
  std::shared_ptr<const SparseTensor> weights_;
  std::optional<Schedule> schedule_;
  std::map<std::string, Array> tensors_;
  Arguments arguments_;
};

}  // namespace

void run_kernel_program(Dice& dice, const ProgramOptions& options, Calls& calls) {
  KernelProgram(dice, options, calls).run();
}

}  // namespace weft::test
