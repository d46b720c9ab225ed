// Flags that verbs share, and what they stand for.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/search/choice/choice.h>
#include <weft/search/records/record_file.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/spaces/space.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::tool {

/// The error with the option before what it says of where, unless it begins with it.
UserError with_option(const std::string& option, UserError::Report report);

/// What is read from an option's words, by parts of weft that know no options: their errors name it.
///     const Device device = of_option("--device", [&] { return parse_device(options.device); });
template <class Read>
decltype(auto) of_option(const std::string& option, const Read& read) {
  try {
    return read();
  } catch (const InfeasibleError&) {
    throw;
  } catch (const UserError& error) {
    throw with_option(option, error.report());
  }
}

/// What opens a CUDA device; where there is none, the error ends with what goes here all the same.
///     return or_without_gpu("--device cpu", [&] { return Device::cuda(); });
template <class Open>
decltype(auto) or_without_gpu(const std::string& instead, const Open& open) {
  try {
    return open();
  } catch (const RuntimeError& error) {
    const std::string text = error.what();
    if (!text.starts_with("no CUDA device")) throw;
    throw RuntimeError(text + "; here " + instead);
  }
}

/// The format, or recipe, that is left to weft.
inline constexpr std::string_view automatic = "auto";

/// Everything that names a problem on the command line.
struct ProblemOptions {
  std::string op = "spmm";
  std::string weights;
  std::string_view weights_word = "--weights";  ///< what names them
  std::string tensor;
  std::string dtype;
  std::string format = std::string(automatic);
  std::int64_t n = 0;
  std::string filter;
  std::string image;
  std::int64_t batch = 1;
  std::string pad = "0";
  std::string stride = "1";
  std::string dilation = "1";
  std::int64_t groups = 1;  ///< groups of a convolution's channels
  std::string layout;       ///< empty: nchw of images, kn of products
  std::string activation = "none";
  std::string scale;  ///< empty: those that the weights' file has, if any
  std::string token_scale;
  std::string bias;
  std::optional<double> alpha;
  std::optional<double> beta;
  std::string b = "random:1";
  std::string c;
  std::string c_type;  ///< empty: as results_of() says
  std::optional<double> c_scale;
  std::uint64_t seed = 1;
  std::string schedule;
  std::string recipe = std::string(automatic);
  std::vector<std::string> databases;  ///< files of trials, which say what was fast
  std::string tree;                    ///< a predictor's file; empty: the one that ships
  bool overlap_launches = false;       ///< where the target can
  std::vector<std::string> given;      ///< flags on the command line that belong to some operations alone
};

/// Adds the flags of a problem to a verb. Options live at least as long as the verb.
void add_problem_flags(CLI::App& app, ProblemOptions& options);
/// Adds --db and --tree, which kernels are chosen by, and --overlap-launches.
void add_choice_flags(CLI::App& app, ProblemOptions& options);
/// Adds --emitter.
void add_emitter_flag(CLI::App& app, std::string& emitter);

/// A problem read and made: the algorithm, its packed weights, its arguments on the host.
struct Problem {
  Algorithm algorithm;
  WeightMatrix matrix;
  std::shared_ptr<const SparseTensor> weights;
  std::map<std::string, Array> tensors;
  Arguments arguments;             ///< borrows `tensors`
  std::vector<std::string> notes;  ///< what the reader should know: values drawn, values rounded
  std::int64_t columns = 0;        ///< columns of the equivalent dense product: n, or batch * output pixels
  std::optional<Convolution> convolution;

  Problem() = default;
  Problem(const Problem&) = delete;  // arguments point into tensors
  Problem& operator=(const Problem&) = delete;
  Problem(Problem&&) = default;
  Problem& operator=(Problem&&) = default;
};

/// What a format is chosen for where none is named. Without targets weights are csr, and dense where little
/// was pruned.
struct ChosenFor {
  std::vector<const Target*> targets = {};
  std::int64_t columns = 0;  ///< those of a product; 0: the problem's own
};

/// Reads the weights and makes the problem. UserError as reading, packing and check() throw it, for flags
/// that do not fit together or that the operation has no use for, and for operands that are larger than this
/// machine's memory.
Problem make_problem(const ProblemOptions& options, const ChosenFor& chosen_for = {});

/// The same problem before its weights are packed and its operands drawn: what spaces are made for. Weights
/// in the format "auto" are csr.
SpaceProblem make_space_problem(const ProblemOptions& options);

/// What --tree names, else the predictor that ships.
Predictor named_predictor(const ProblemOptions& options);
/// Says on stderr where it has not seen the target.
void warn_of_target(const Predictor& predictor, const Target& target);

/// The ways for a target, of the formats and recipes that are named or worth trying; `points` as
/// ChoiceOptions has it. UserError where there is none.
Choice choice_of(const Algorithm& algorithm, const WeightMatrix& matrix, const ProblemOptions& options,
                 const Target& target, std::size_t points = 1);

/// The format that suits all of the targets best, of those that are named or worth trying.
Format chosen_format(const Algorithm& algorithm, const WeightMatrix& matrix, const ProblemOptions& options,
                     const ChosenFor& chosen_for);

/// The schedule of a problem for a target: from --schedule, else that of --recipe, else what is chosen, which
/// is told on stderr for a GPU, as is what --schedule leaves undone. Weights are packed again where the
/// choice asks for that. UserError as parse_recipe() and schedule_by_recipe() throw it.
Schedule schedule_of(const Problem& problem, const ProblemOptions& options, const Target& target);

/// The kernel of a problem's weights by such a schedule, with the problem's algorithm or another one, such as
/// one of a size that is open. A choice whose code is refused gives way to the next. `taken` is told the way;
/// nothing where --schedule makes it.
Kernel kernel_of(const Algorithm& algorithm, const Problem& problem, const ProblemOptions& options,
                 const Target& target, const KernelOptions& kernel_options = {},
                 std::optional<Way>* taken = nullptr);

/// The same for the problem's weights with another algorithm, such as one of a size that is open.
Schedule schedule_of(const Algorithm& algorithm, const Problem& problem, const ProblemOptions& options,
                     const Target& target, std::optional<Way>* taken = nullptr);

/// What a call of the kernel of such a way takes by its size n: the time of a trial of --db where there is
/// one of that size, else what is expected.
std::function<double(std::int64_t n)> time_by_size(const Problem& problem, const ProblemOptions& options,
                                                   const Target& target, const Way& way);

/// The schedule with what is asked for beside it: launches that overlap.
Schedule as_asked(Schedule schedule, const ProblemOptions& options);

/// The schedule that --schedule names.
Schedule read_schedule(const Algorithm& algorithm, const Problem& problem, const ProblemOptions& options,
                       const Target& target);

/// The text of a file that an option names. UserError when it cannot be opened.
std::string text_of_file(const std::string& path);

/// The records of several databases; what could not be read is told on stderr.
std::vector<StoredRecord> records_of_files(const std::vector<std::string>& paths);

/// Throws UserError for a number of CPU threads that there is not, and where no device is a CPU.
void check_threads(const std::optional<int>& threads, bool on_cpu);

/// The compiler that --emitter names. UserError for that of CUDA where no target is a GPU.
Emitter emitter_named(const std::string& name, bool on_gpu = true);

/// The device of --device, and the target of --target or the option given.
Device named_device(const std::string& text);
const Target& named_target(const std::string& name, const std::string& option = "--target");
/// One of --archs, which a package has kernels for.
const Target& packaged_target(const std::string& name);

/// The target for a device: "cpu", or the newest that the device runs.
const Target& target_of(const Device& device);

}  // namespace weft::tool
