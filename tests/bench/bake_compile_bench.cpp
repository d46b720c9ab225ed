// Seconds of each stage between pruned weights and machine code when the weights are baked into the code:
//   bake_compile_bench [--sparsity 0.9] [--rows 32] [--threads 32] [--repeat 3] [--passes] [--cpu]
//                      [--ptx-only] [--whole] [--keep folder] [MxK …]
// The machine code is made where there is a ptxas. Best of the repeats, and what the PTX consists of. Long
// kernels are made in pieces, as a compile does: then all from "emit" on counts as ptxas; with --whole they
// are one function. With --cpu, the processor's time of all threads and processes in place of the clock's,
// for a busy machine. The folder receives PTX and cubin.
#include <fmt/format.h>
#include <sys/resource.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/llvm/nvptx.h>
#include <weft/backends/pieced_kernel.h>
#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>

namespace weft::bench {
namespace {

struct Shape {
  std::int64_t rows = 0;
  std::int64_t inner = 0;
};

struct Options {
  double sparsity = 0.9;
  std::vector<std::int64_t> rows;  ///< rows of a block, each number that is tried
  std::int64_t threads = 32;
  int repeat = 3;
  bool passes = false;  ///< each pass on its own line
  bool cpu = false;     ///< the processor's time
  bool ptx_only = false;
  bool whole = false;
  std::string folder;  ///< for PTX and cubin; empty for none
  std::vector<Shape> shapes;
};

double seconds_now(bool cpu) {
  if (!cpu) return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  }
  return seconds;
}

/// Seconds by stage, in the order in which they ran.
class Stages {
 public:
  explicit Stages(bool cpu) : cpu_(cpu), last_(seconds_now(cpu)) {}
  void end(const std::string& name) {
    const double now = seconds_now(cpu_);
    if (seconds_.count(name) == 0) order_.push_back(name);
    seconds_[name] += now - last_;
    last_ = now;
  }
  double operator[](const std::string& name) const {
    const auto found = seconds_.find(name);
    return found == seconds_.end() ? 0 : found->second;
  }
  double total() const {
    double sum = 0;
    for (const auto& [name, seconds] : seconds_) sum += seconds;
    return sum;
  }
  const std::vector<std::string>& order() const { return order_; }

 private:
  bool cpu_;
  double last_;
  std::map<std::string, double> seconds_;
  std::vector<std::string> order_;
};

struct Result {
  Stages stages;
  std::vector<std::string> passes;
  std::string ptx;
  cuda::Assembled assembled;
};

Result compile_once(const std::shared_ptr<const SparseTensor>& weights, const Shape& shape, std::int64_t rows,
                    const Options& options) {
  const Target& target = target_named("sm_90a");
  const Algorithm algorithm = spmm_algorithm(shape.rows, shape.inner, 256, DType::f32);
  Result result{Stages(options.cpu), {}, {}, {}};
  Stages& stages = result.stages;
  Schedule schedule(algorithm, weights, target);
  schedule.split(LoopFactor{LoopName("m"), rows}, LoopFactor{LoopName("n"), options.threads})
      .reorder(LoopName("m.outer"), LoopName("n.outer"), LoopName("n.inner"), LoopName("m.inner"))
      .bind(LoopName("m.outer"), block_y)
      .bind(LoopName("n.outer"), block_x)
      .bind(LoopName("n.inner"), thread);
  stages.end("other steps");
  schedule.bake_values(LoopName("m.inner"));
  stages.end("bake_values");
  const ThreadProgram lowered = lower(schedule.program(), target, [&](std::string_view pass, const auto&) {
    result.passes.emplace_back(pass);
    stages.end(result.passes.back());
  });
  stages.end("passes");
  if (!options.whole && !options.ptx_only && cuda::can_link()) {
    if (auto pieced = make_in_pieces(lowered, target, true)) {
      result.ptx = std::move(pieced->ptx);
      result.assembled = *std::move(pieced->assembled);
      stages.end("ptxas");
      return result;
    }
  }
  result.ptx = llvm_backend::emit_ptx(lowered, target,
                                      [&](std::string_view stage) { stages.end(std::string(stage)); });
  if (!options.ptx_only && cuda::can_assemble()) {
    cuda::AssembleOptions assemble;
    assemble.architecture = target.name;
    result.assembled = cuda::assemble(result.ptx, assemble);
    stages.end("ptxas");
  }
  return result;
}

/// How often each instruction, without its types, stands in the text.
std::map<std::string, std::int64_t> instructions_of(const std::string& ptx) {
  std::map<std::string, std::int64_t> counts;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '.' || line[begin] == '/' || line.back() != ';')
      continue;
    std::string word = line.substr(begin, line.find_first_of(" \t;", begin) - begin);
    if (word.front() == '@') {
      word = "bra";
    } else if (word.starts_with("ld.") || word.starts_with("st.")) {
      word = word.substr(0, word.find('.', 3));
    } else {
      word = word.substr(0, word.find('.'));
    }
    ++counts[word];
  }
  return counts;
}

void keep(const Result& result, const std::string& name) {
  std::ofstream(name + ".ptx") << result.ptx;
  std::ofstream(name + ".cubin", std::ios::binary) << result.assembled.cubin;
}

double passes_of(const Result& result) {
  double sum = result.stages["passes"];
  for (const std::string& pass : result.passes) sum += result.stages[pass];
  return sum;
}

void print_row(const Result& result, const Shape& shape, std::int64_t rows, double entries) {
  const Stages& s = result.stages;
  fmt::print("{:>10} {:>4} {:>7} | {:>6.3f} {:>6.3f} {:>6.3f} {:>6.3f} {:>6.3f} {:>6.3f} {:>7.3f} {:>7.3f} |",
             fmt::format("{}x{}", shape.rows, shape.inner), rows, entries, s["other steps"], s["bake_values"],
             passes_of(result), s["emit"], s["optimize"], s["generate"], s["ptxas"], s.total());
  const cuda::FunctionResources worst = result.assembled.report.worst();
  fmt::print(" {:>9} {:>9} {:>4} {:>6} |", result.ptx.size(), result.assembled.cubin.size(), worst.registers,
             worst.spill_store_bytes + worst.spill_load_bytes);
  std::int64_t others = 0;
  auto counts = instructions_of(result.ptx);
  for (const auto& [word, count] : counts) {
    if (word != "fma" && word != "ld.global") others += count;
  }
  fmt::print(" {:.3f} {:.3f} {:.3f}\n", static_cast<double>(counts["fma"]) / entries,
             static_cast<double>(counts["ld.global"]) / entries, static_cast<double>(others) / entries);
}

void measure(const Options& options) {
  fmt::print(
      "{:>10} {:>4} {:>7} | {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>7} | {:>9} {:>9} {:>4} {:>6} | {}\n",
      "shape", "rows", "entries", "steps", "bake", "passes", "emit", "LLVM", "codegen", "ptxas", "total s",
      "PTX", "cubin", "regs", "spills", "per entry: fma, ld.global, others");
  for (const Shape& shape : options.shapes) {
    const WeightMatrix matrix = synthetic_layer(
        {.rows = shape.rows, .columns = shape.inner, .sparsity = options.sparsity, .seed = 1});
    const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
    const auto entries = static_cast<double>(weights->array("values").size());
    for (const std::int64_t rows : options.rows) {
      Result best = compile_once(weights, shape, rows, options);
      for (int i = 1; i < options.repeat; ++i) {
        Result other = compile_once(weights, shape, rows, options);
        if (other.stages.total() < best.stages.total()) best = std::move(other);
      }
      print_row(best, shape, rows, entries);
      std::fflush(stdout);
      if (!options.folder.empty())
        keep(best, fmt::format("{}/{}x{}_{}", options.folder, shape.rows, shape.inner, rows));
      if (!options.passes) continue;
      for (const std::string& stage : best.stages.order())
        fmt::print("  {:<24} {:.3f}\n", stage, best.stages[stage]);
      for (const auto& [word, count] : instructions_of(best.ptx)) fmt::print("  {:<24} {}\n", word, count);
    }
  }
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    throw UserError("an argument of the benchmark", std::string(text), "a number of at least 1");
  return value;
}

Options options_of(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto next = [&] { return i + 1 < words.size() ? words[++i] : std::string(); };
    if (word == "--sparsity") {
      options.sparsity = std::stod(next());
    } else if (word == "--rows") {
      options.rows.push_back(number(next()));
    } else if (word == "--threads") {
      options.threads = number(next());
    } else if (word == "--repeat") {
      options.repeat = static_cast<int>(number(next()));
    } else if (word == "--passes") {
      options.passes = true;
    } else if (word == "--keep") {
      options.folder = next();
    } else if (word == "--ptx-only") {
      options.ptx_only = true;
    } else if (word == "--whole") {
      options.whole = true;
    } else if (word == "--cpu") {
      options.cpu = true;
    } else {
      const std::size_t cross = std::min(word.find('x'), word.size());
      options.shapes.push_back({number(word.substr(0, cross)),
                                number(std::string_view(word).substr(std::min(cross + 1, word.size())))});
    }
  }
  if (options.rows.empty()) options.rows = {64, 32, 16};
  if (options.shapes.empty()) options.shapes = {{64, 256}, {512, 512}, {2048, 512}};
  return options;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  try {
    weft::bench::measure(weft::bench::options_of({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
