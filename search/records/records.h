// One measured point with all that is needed to rebuild it: a line of a database of trials.
//
// A database is append-only JSON Lines: a header, then one self-contained line a trial. The words for how a
// trial ended are those of the T4 results schema of Kernel Tuner and its peers, so that others can read them.
#pragma once

#include <weft/scheduler/limits/constraint.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// How a trial ended.
enum class TrialStatus : std::uint8_t {
  correct,      ///< built, right, timed
  constraints,  ///< the schedule does not fit the target, or its kernel spills more than is allowed
  compile,      ///< no kernel came out
  timeout,      ///< a step took longer than its limit
  runtime,      ///< the kernel could not be launched, failed, or took its process along
  correctness,  ///< it computed something else
};
/// "correct", "constraints", …: the word in the file.
std::string_view name_of(TrialStatus status);
std::optional<TrialStatus> trial_status_named(std::string_view name);

/// The time of one launch, over `count` samples.
struct TrialTime {
  double median = 0;
  double minimum = 0;
  double percentile_95 = 0;
  int count = 0;
};

/// How far the output was from the reference.
struct TrialCheck {
  double relative = 0;           ///< norm of the difference over norm of the f64 reference
  double largest = 0;            ///< difference of an element to its magnitude
  std::int64_t rows = 0;         ///< compared with f64
  bool against_trusted = false;  ///< all other rows with the vendor's dense product
};

/// Whose kernel a baseline is: what a comparison with it can say.
enum class BaselineOf : std::uint8_t {
  library,  ///< what a user would call otherwise: cuBLAS, cuSPARSE, …
  weft,     ///< weft's own kernel for the weights with every element stored; no library's product
  model,    ///< a library's product by the analytic model; nothing was run
};
/// "library", "weft", "model"
std::string_view name_of(BaselineOf whose);

/// What else computes the same problem on the same device.
struct Baseline {
  std::string name;   ///< "cuBLAS f32", "weft, dense"
  bool dense = true;  ///< else one of the vendor's sparse products
  double microseconds = 0;
  BaselineOf whose = BaselineOf::library;
};

/// One trial. Fields that a trial does not have are empty, and left out of its line.
struct Record {
  std::string id;      ///< sorts by time; unique without asking anybody
  std::string time;    ///< "2026-11-21T04:30:00Z"
  std::string run;     ///< the tuner that measured it
  std::string kernel;  ///< the operation: "spmm", "conv2d"
  std::string recipe;  ///< whose knobs `config` are
  KnobValues config;
  std::string kernel_hash;  ///< hash of the schedule's steps; empty where no schedule was made

  struct Problem {
    std::map<std::string, std::int64_t> sizes;  ///< "M", "K", "N"; of a convolution its own
    std::map<std::string, std::string> words;   ///< "dtype", "acc", "algorithm"
    bool operator==(const Problem&) const = default;
    /// 0, or nothing, where the problem has none of that name.
    std::int64_t size(const std::string& name) const;
    std::string word(const std::string& name) const;
  } problem;
  struct Pattern {
    std::string kind;        ///< the format they are packed in: "csr", "shfl_bw:V=64"; a part of the key
    std::int64_t group = 0;  ///< rows that share their columns; 0 where that is not known
    std::int64_t stored = 0;
    std::string hash;  ///< hash of the positions, not of the values
    double row_mean = 0;
    double row_variation = 0;  ///< standard deviation / mean
  } pattern;
  struct Target {
    std::string name;  ///< "sm_90a"
    std::string gpu;   ///< the device that measured it; empty for a model
    int multiprocessors = 0;
    std::int64_t shared_bytes = 0;  ///< that a block can have
    int threads = 0;  ///< threads of a CPU; 0 where the record does not say, which is a machine of its own
    std::int64_t first_cache = 0, second_cache = 0;  ///< bytes, of a core; 0 where the record does not say
  } target;
  std::map<std::string, std::string> toolchain;  ///< "weft", "llvm", "ptxas", "driver": versions
  /// The flags that name the problem to `weft`, so that it can be made again: "weights" is a path. Of a layer
  /// of a network also what is_flag() says is none.
  std::map<std::string, std::string> source;

  TrialStatus status = TrialStatus::correct;
  std::string message;  ///< what a failure said
  std::string measure;  ///< "gpu", "sim", "model", "cpu"
  std::optional<TrialTime> microseconds;
  std::optional<TrialCheck> verified;
  std::optional<double> compile_milliseconds;
  std::optional<int> registers;
  std::optional<std::int64_t> shared_bytes;
  std::optional<std::int64_t> spill_bytes;
  std::optional<double> predicted_microseconds;
  std::vector<Baseline> baselines;  ///< the dense product to beat first; empty where none was measured
  std::string strategy;  ///< why this point: "recipe", "incumbent", "predicted", "ranked", "random", …
  std::uint64_t seed = 0;

  /// The median, where the trial was timed and right.
  std::optional<double> time_of_correct() const;
  /// Whether the instruction alone summed e4m3 or e5m2, with fewer bits than f32 has (the knob `promote` is
  /// 0): who wants that asks for it each time, and nobody else is given it for being faster.
  bool sums_roughly() const;
  /// What is computed, and where: two records with equal problem keys may be compared. Kernel, problem,
  /// positions of the weights, target, device, threads of a CPU, toolchain and measure. The format is none of
  /// it: how the weights are packed is a choice, as the recipe is.
  std::string problem_key() const;
  /// The problem key and the format: what the recipes of one format are chosen for.
  std::string packed_key() const;
  /// The packed key, the recipe and the configuration: measured once, it is not measured again.
  std::string key() const;
};

/// Whether a name in Record::source is that of a flag. The others say where in a network the layer stands:
/// "network", its path; "columns", what --n said for all of it; "layer"; "like", the layer that was searched
/// for in place of this one. That one's own records have "layers", how many are like it and itself, and
/// "calls", how often these run, all together, when the network runs once. Where they are 1, or as many as
/// the layers, they are left out.
bool is_flag(std::string_view name);

/// "1.23 us", "4.50 ms", "2.00 s"
std::string text_of_microseconds(double microseconds);
/// "sparsert rows=32 threads=64", for people.
std::string text_of_config(const Record& record);
/// The architecture of a target's name, which its records may not leave: "sm_90" for "sm_90a", "cpu".
std::string architecture_of(const std::string& target);

/// One line, without its end. Texts that are no UTF-8 lose the bytes that are none.
std::string json_of(const Record& record);
/// The record of a line; fields that it does not know are passed over, and those that older lines lack have
/// their defaults: whose a baseline is follows from its name. UserError that names the field and what is
/// wrong with it, as a time that is not above 0.
Record record_of(std::string_view line);

/// "xxh3:0123456789abcdef" of bytes.
std::string hash_of(std::string_view bytes);
/// A new id: the time in milliseconds, then chance, in Crockford's base 32, 26 characters.
std::string new_record_id();
/// The time now, in UTC, to the second.
std::string time_now();

}  // namespace weft
