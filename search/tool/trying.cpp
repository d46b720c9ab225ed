#include <fmt/format.h>
#include <weft/backends/reference.h>
#include <weft/search/measure/verify.h>
#include <weft/search/tool/measure.h>
#include <weft/search/tool/trying.h>

#include <algorithm>
#include <cstdio>

namespace weft::tool {
namespace {

void require_ways(const ProblemOptions& options) {
  const bool has_knobs = options.recipe.find(':') != std::string::npos;
  if (options.schedule.empty() && !has_knobs) return;
  throw UserError("there is nothing to try", "--try",
                  has_knobs ? "--recipe " + options.recipe : "--schedule " + options.schedule,
                  "--recipe without knobs, or neither");
}

class Trying {
 public:
  Trying(const Problem& problem, const ProblemOptions& asked, const Device& device, const Target& target,
         const KernelOptions& options)
      : problem_(problem),
        asked_(asked),
        device_(device),
        target_(target),
        options_(options),
        output_(problem.algorithm.operands[problem.algorithm.output.operand].name),
        expected_(reference(problem.algorithm, problem.weights.get(), problem.arguments)) {}

  void operator()(const Way& way) {
    try {
      const Schedule schedule =
          schedule_of_way(way, problem_.algorithm, problem_.matrix, problem_.weights, target_);
      const Kernel kernel = compile(as_asked(schedule, asked_), options_);
      if (!is_right(kernel)) {
        wrong_ = true;
        fmt::print(stderr, "tried: {}: WRONG\n", way.text());
        return;
      }
      const double microseconds = time_kernel(device_, kernel.bind(device_, problem_.arguments)).median;
      fmt::print(stderr, "tried: {}: {:.2f} us\n", way.text(), microseconds);
      if (fastest_ && least_ <= microseconds) return;
      fastest_ = kernel;
      least_ = microseconds;
    } catch (const UserError& error) {
      fmt::print(stderr, "tried: {}: {}\n", way.text(), error.report().what);
    }
  }

  const std::optional<Kernel>& fastest() const { return fastest_; }
  bool was_wrong() const { return wrong_; }

 private:
  bool is_right(const Kernel& kernel) const {
    Arguments arguments = problem_.arguments;
    Array output = *arguments.tensors.at(output_);
    arguments.tensors[output_] = &output;
    return verify(kernel, device_, arguments, expected_).passed;
  }

  const Problem& problem_;
  const ProblemOptions& asked_;
  const Device& device_;
  const Target& target_;
  const KernelOptions& options_;
  std::string output_;
  Reference expected_;
  std::optional<Kernel> fastest_;
  double least_ = 0;
  bool wrong_ = false;
};

}  // namespace

Kernel fastest_kernel(const Problem& problem, const ProblemOptions& options, const Device& device,
                      const Target& target, const KernelOptions& kernel_options, std::size_t tries) {
  if (tries <= 1) return kernel_of(problem.algorithm, problem, options, target, kernel_options);
  require_ways(options);
  const Choice choice = choice_of(problem.algorithm, problem.matrix, options, target, tries);
  Trying trying(problem, options, device, target, kernel_options);
  for (std::size_t i = 0; i < std::min(tries, choice.ways.size()); ++i) trying(choice.ways[i]);
  if (trying.fastest()) return *trying.fastest();
  if (trying.was_wrong())
    throw RuntimeError(
        fmt::format("of {} kernels that were tried on {} none is right", tries, device.name()));
  return kernel_of(problem.algorithm, problem, options, target, kernel_options);
}

}  // namespace weft::tool
