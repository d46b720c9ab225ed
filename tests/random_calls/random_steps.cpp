#include "random_calls/random_steps.h"

#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/cpu/cpu_blocks.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/scheduler/recipes/cpu/cpu_groups.h>
#include <weft/scheduler/recipes/cpu/cpu_windows.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/lane_streams.h>
#include <weft/scheduler/recipes/unstructured/sliced_rows.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/search/choice/choice.h>

namespace weft::test {
namespace {

/// Makes the arguments of a step as its row declares them.
class Arguments {
 public:
  Arguments(const Schedule& schedule, Dice& dice)
      : schedule_(schedule), dice_(dice), loops_(ir::loop_names(schedule.program().body)) {}

  Step make() {
    Step step;
    static const std::vector<std::string> on_cpu{
        "split",     "split",     "split",    "tile",  "reorder", "reorder", "unroll",      "unroll", "fuse",
        "vectorize", "vectorize", "parallel", "stage", "split_k", "balance", "bake_values", "peel"};
    static const std::vector<std::string> on_gpu{
        "split",     "split",   "tile",    "reorder",     "reorder", "unroll",    "bind",
        "bind",      "bind",    "bind",    "bind",        "stage",   "stage",     "fuse",
        "vectorize", "split_k", "balance", "bake_values", "peel",    "transpose", "align"};
    if (dice_.chance(70)) {
      step.name = dice_.any_of(schedule_.target().is_gpu() ? on_gpu : on_cpu);
    } else {
      step.name = std::string(step_kinds()[static_cast<std::size_t>(dice_.between(
                                               0, static_cast<std::int64_t>(step_kinds().size()) - 1))]
                                  .name);
    }
    step.arguments = arguments_of(step.name);
    if (dice_.chance(18)) spoil(step);
    return step;
  }

 private:
  Argument loop() { return {{}, loop_name()}; }
  std::string loop_name() { return loops_.empty() ? "m" : dice_.any_of(loops_); }
  std::int64_t factor() {
    return dice_.any_of<std::int64_t>({1, 2, 2, 3, 4, 4, 5, 8, 8, 16, 16, 32, 32, 64, 128});
  }
  Argument number(const std::string& name) {
    if (dice_.chance(2)) return {name, KnobChoice{"knob_" + name, {2, 4}}};
    return {name, factor()};
  }
  Argument tensor() {
    const Algorithm& algorithm = schedule_.algorithm();
    std::string name = dice_.any_of(algorithm.operands).name;
    if (schedule_.weights() != nullptr && dice_.chance(25)) {
      name = algorithm.sparse_operand() == nullptr ? "A" : algorithm.sparse_operand()->name;
      name += "." + dice_.any_of(schedule_.weights()->arrays()).name;
    }
    return {{}, name};
  }
  Argument word(std::initializer_list<const char*> words) { return {{}, std::string(dice_.any_of(words))}; }

  std::vector<Argument> arguments_of(const std::string& name) {
    if (name == "fuse" && dice_.chance(60) && loops_.size() > 1) {
      // Those that follow one another are often directly inside one another.
      const auto outer =
          static_cast<std::size_t>(dice_.between(0, static_cast<std::int64_t>(loops_.size()) - 2));
      return {{{}, loops_[outer]}, {{}, loops_[outer + 1]}};
    }
    std::vector<Argument> result;
    for (const Parameter& parameter : step_kind(name).parameters) {
      // Compilers take seconds for code without a limit.
      const bool limits_code = parameter.name == "code_bytes";
      if (!parameter.required && !limits_code && dice_.chance(55)) continue;
      const std::int64_t times = parameter.repeated ? dice_.between(1, 3) : 1;
      for (std::int64_t i = 0; i < times; ++i) {
        result.push_back(limits_code ? Argument{{}, std::int64_t{8192}} : argument_for(parameter));
        if (parameter.named) result.back().name = parameter.name;
      }
    }
    return result;
  }

  Argument argument_for(const Parameter& parameter) {
    switch (parameter.kind) {
      case ParameterKind::factor: return number(loop_name());
      case ParameterKind::tensor: return tensor();
      case ParameterKind::word:
        return {{}, std::string(dice_.any_of(std::vector(parameter.words.begin(), parameter.words.end())))};
      case ParameterKind::number: return number(std::string(parameter.name));
      case ParameterKind::instruction:
        return word({"mma_m16n8k8", "mma_m16n8k16", "wgmma_m64n8k16", "wgmma_m64n64k16", "wgmma_m64n256k16",
                     "mma_sp_m16n8k32", "wgmma_sp_m64n64k32", "mma"});
      case ParameterKind::loop: break;
    }
    return loop();
  }

  void spoil(Step& step) {
    if (step.arguments.empty() || dice_.chance(10)) step.arguments.push_back(loop());
    const std::size_t place = dice_.place_in(step.arguments);
    Argument& argument = step.arguments[place];
    switch (dice_.between(0, 9)) {
      case 0: step.name = dice_.chance(50) ? dice_.wild_name() : dice_.odd_name(); break;
      case 1: step.arguments.erase(step.arguments.begin() + static_cast<std::ptrdiff_t>(place)); break;
      case 2: step.arguments.push_back(argument); break;
      case 3:
        argument.name = dice_.chance(50) ? dice_.wild_name()
                                         : dice_.any_of<std::string>({"", "at", "depth", "m", "groups"});
        break;
      case 4: argument.value = dice_.chance(50) ? dice_.wild_name() : dice_.odd_name(); break;
      case 5:
        argument.value = KnobChoice{dice_.chance(50) ? "tile" : dice_.wild_name(), {dice_.wild_number(), 2}};
        break;
      case 6: argument.value = KnobChoice{}; break;
      case 7: step.arguments.clear(); break;
      default:
        for (Argument& each : step.arguments) {
          if (std::holds_alternative<std::int64_t>(each.value)) each.value = dice_.wild_number();
        }
        if (dice_.chance(30)) argument.value = dice_.wild_number();
    }
  }

  const Schedule& schedule_;
  Dice& dice_;
  std::vector<std::string> loops_;
};

/// Chooses knobs, and says which.
class Knobs {
 public:
  Knobs(Dice& dice, std::string& text) : dice_(dice), text_(text), wild_(dice.chance(15)) {}

  std::int64_t number(const char* name, std::int64_t none, std::initializer_list<std::int64_t> usual) {
    if (!dice_.chance(22)) return none;
    const std::int64_t chosen = wild_ && dice_.chance(50) ? dice_.wild_number() : dice_.any_of(usual);
    text_ += " " + std::string(name) + "=" + std::to_string(chosen);
    return chosen;
  }
  template <class Word>
  Word word(const char* name, std::initializer_list<Word> words) {
    if (!dice_.chance(22)) return Word::chosen;
    const Word chosen = dice_.any_of(words);
    text_ += " " + std::string(name) + "=" + std::to_string(static_cast<int>(chosen));
    return chosen;
  }
  std::optional<std::int64_t> optional(const char* name, std::initializer_list<std::int64_t> usual) {
    const std::size_t before = text_.size();
    const std::int64_t chosen = number(name, 0, usual);
    return text_.size() == before ? std::nullopt : std::optional(chosen);
  }

 private:
  Dice& dice_;
  std::string& text_;
  bool wild_;
};

SparseRtKnobs sparsert_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  SparseRtKnobs k;
  k.form = knobs.word("form", {SparseRtForm::baked, SparseRtForm::streaming, SparseRtForm::row_per_warp,
                               SparseRtForm::pieces});
  k.rows = knobs.number("rows", 0, {1, 2, 4, 8, 16, 32});
  k.threads = knobs.number("threads", 0, {32, 64, 128, 256, 48});
  k.groups = knobs.number("groups", 0, {1, 2, 4, 8});
  k.columns = knobs.number("columns", 0, {1, 2, 4, 8});
  k.lanes = knobs.number("lanes", 0, {1, 4, 8, 16, 32});
  k.places = knobs.number("places", 0, {1, 2, 4, 8});
  k.parts = knobs.number("parts", 0, {1, 2, 16, 132});
  k.panel_rows = knobs.number("panel_rows", 0, {1, 8, 32, 128});
  k.lines = knobs.number("lines", 0, {1, 2, 4});
  k.image = knobs.word("image", {SparseRtImage::staged, SparseRtImage::clamped});
  k.order = knobs.word("order", {SparseRtOrder::given, SparseRtOrder::dealt});
  k.chunk = knobs.number("chunk", 0, {4, 8, 16, 32});
  k.depth = knobs.number("depth", 0, {1, 2, 3, 4});
  return k;
}

SlicedRows slices_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  SlicedRows k;
  k.columns = knobs.number("columns", 0, {1, 2, 4, 8, 16});
  k.groups = knobs.number("groups", 0, {1, 2, 4, 8, 32});
  k.slices = knobs.number("slices", 0, {1, 2, 3});
  k.turns = knobs.number("turns", 0, {1, 2, 4});
  k.places = knobs.number("places", 0, {1, 4, 8, 16});
  return k;
}

LaneStreamKnobs stream_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  LaneStreamKnobs k;
  k.columns = knobs.number("columns", 0, {8, 16, 32});
  k.warps = knobs.number("warps", 0, {1, 2, 3, 4});
  k.turns = knobs.number("turns", 0, {1, 2, 3});
  k.slice = knobs.number("slice", 0, {64, 128, 512, 1024});
  return k;
}

ShflBwKnobs grouped_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  ShflBwKnobs k;
  k.tile_m = knobs.optional("tile_m", {16, 32, 64, 128});
  k.tile_n = knobs.optional("tile_n", {8, 16, 32, 64, 128, 256});
  k.tile_k = knobs.optional("tile_k", {16, 32, 64, 128});
  k.stages = knobs.optional("stages", {1, 2, 3, 4, 8});
  k.instruction = knobs.word("instruction", {ShflBwInstruction::mma_m16n8k8, ShflBwInstruction::mma_m16n8k16,
                                             ShflBwInstruction::wgmma});
  k.warp_m = knobs.optional("warp_m", {16, 32, 64});
  k.warp_n = knobs.optional("warp_n", {8, 16, 32, 64, 128});
  k.groups = knobs.optional("groups", {1, 2, 4});
  k.line = knobs.optional("line", {8, 16, 32, 64});
  k.producers = knobs.optional("producers", {0, 1, 4});
  k.producer_registers = knobs.optional("producer_registers", {0, 24, 40});
  k.consumer_registers = knobs.optional("consumer_registers", {0, 160, 232});
  k.blocks = knobs.optional("blocks", {0, 1, 132});
  k.cluster = knobs.optional("cluster", {1, 2, 4});
  return k;
}

HbEllKnobs block_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  HbEllKnobs k;
  k.tile_m = knobs.optional("tile_m", {16, 32, 64});
  k.tile_n = knobs.optional("tile_n", {8, 16, 32, 64, 128});
  k.tile_k = knobs.optional("tile_k", {16, 32, 64});
  k.warp_m = knobs.optional("warp_m", {16, 32, 64});
  k.warp_n = knobs.optional("warp_n", {8, 16, 32, 64});
  k.stages = knobs.optional("stages", {1, 2, 3, 8});
  k.groups = knobs.optional("groups", {1, 2, 4});
  return k;
}

CpuCode code_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  CpuCode k;
  k.rows = knobs.number("rows", 0, {1, 2, 7, 14, 31});
  k.columns = knobs.number("columns", 0, {8, 16, 32, 48, 64, 128});
  k.copy = knobs.word("copy", {CpuCopy::none, CpuCopy::panel});
  k.threads = knobs.word("threads", {CpuThreads::panels, CpuThreads::rows});
  k.vectors = knobs.word("vectors", {CpuVectors::pixels, CpuVectors::images});
  return k;
}

CpuGroups group_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  CpuGroups k;
  k.panel = knobs.number("panel", 0, {1, 8, 16, 32, 48, 64});
  k.lines = knobs.number("lines", 0, {1, 2, 3});
  k.copy = knobs.word("copy", {CpuCopy::none, CpuCopy::panel, CpuCopy::image});
  k.threads = knobs.word("threads", {CpuThreads::panels, CpuThreads::rows});
  return k;
}

CpuBlocks column_block_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  CpuBlocks k;
  k.panel = knobs.number("panel", 0, {1, 8, 16, 48, 64, 128});
  k.copy = knobs.word("copy", {CpuBlockCopy::none, CpuBlockCopy::block});
  k.threads = knobs.word("threads", {CpuThreads::panels, CpuThreads::rows});
  return k;
}

CpuRows cpu_knobs(Dice& dice, std::string& text) {
  Knobs knobs(dice, text);
  CpuRows k;
  k.panel = knobs.number("panel", 0, {1, 8, 16, 24, 32, 48, 64});
  k.rows = knobs.number("rows", 0, {1, 2, 3, 4, 6});
  k.groups = knobs.number("groups", 0, {1, 2, 4, 8, 16});
  k.copy = knobs.word("copy", {CpuCopy::none, CpuCopy::panel, CpuCopy::image});
  k.order = knobs.word("order", {CpuOrder::panels, CpuOrder::rows});
  k.threads = knobs.word("threads", {CpuThreads::panels, CpuThreads::rows});
  return k;
}

}  // namespace

Step random_step(const Schedule& schedule, Dice& dice) {
  return Arguments(schedule, dice).make();
}

Schedule random_recipe(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                       const Target& target, Dice& dice, std::string& text) {
  static const std::vector<std::string> on_cpu{"default",     "cpu_rows",   "cpu_rows",
                                               "cpu_code",    "cpu_groups", "cpu_blocks",
                                               "cpu_windows", "auto",       "sparsert"};
  static const std::vector<std::string> on_gpu{
      "default", "sparsert", "sparsert", "sliced_rows", "lane_streams", "shfl_bw", "v_n_m", "hb_ell", "auto"};
  const std::string name = dice.chance(2) ? "cpu_rows" : dice.any_of(target.is_gpu() ? on_gpu : on_cpu);
  text = name;
  if (name == "auto") return auto_schedule(algorithm, weights, target);
  if (name == "cpu_code") return cpu_code(algorithm, weights, target, code_knobs(dice, text));
  if (name == "cpu_groups") return cpu_groups(algorithm, weights, target, group_knobs(dice, text));
  if (name == "cpu_blocks") return cpu_blocks(algorithm, weights, target, column_block_knobs(dice, text));
  if (name == "cpu_windows") return cpu_windows(algorithm, weights, target);
  if (name == "cpu_rows") return cpu_rows(algorithm, weights, target, cpu_knobs(dice, text));
  if (name == "sparsert") return sparsert(algorithm, weights, target, sparsert_knobs(dice, text));
  if (name == "sliced_rows") return sliced_rows(algorithm, weights, target, slices_knobs(dice, text));
  if (name == "lane_streams") return lane_streams(algorithm, weights, target, stream_knobs(dice, text));
  if (name == "shfl_bw") return shfl_bw(algorithm, weights, target, grouped_knobs(dice, text));
  if (name == "v_n_m") return v_n_m(algorithm, weights, target, grouped_knobs(dice, text));
  if (name == "hb_ell") return hb_ell(algorithm, weights, target, block_knobs(dice, text));
  return default_schedule(algorithm, weights, target);
}

KernelOptions random_options(Dice& dice, std::string& text) {
  KernelOptions options;
  options.assemble = dice.chance(5);
  if (dice.chance(10))
    options.processor =
        dice.any_of<std::string>({"x86-64-v3", "x86-64", "nosuch", "", "x86-64-v9", "skylake", "sm_80"});
  options.threads = static_cast<int>(dice.chance(10) ? dice.wild_number() : dice.between(0, 3));
  if (dice.chance(8)) options.emitter = Emitter::cuda;
  text = "processor \"" + options.processor + "\", threads " + std::to_string(options.threads) +
         (options.emitter == Emitter::cuda ? ", CUDA" : "") + (options.assemble ? ", assembled" : "");
  return options;
}

}  // namespace weft::test
