// Runs a kernel of the mutation test, or one of its mutants, on a CUDA device with the inputs that the
// simulator gives it, and says whether the result is right; for compute-sanitizer to look at.
#include <mutants/kernels.h>
#include <mutants/mutants.h>
#include <unistd.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

using namespace weft;
using namespace weft::mutants;

constexpr unsigned seconds_to_run = 60;
enum Status { right = 0, wrong = 1, failed = 2 };

const Mutant& mutant_named(const std::string& kernel, const std::string& name) {
  const auto found = std::ranges::find_if(weft::mutants::mutants(), [&](const Mutant& mutant) {
    return mutant.kernel == kernel && mutant.name == name;
  });
  if (found == weft::mutants::mutants().end())
    throw UserError({"choosing a mutant of " + kernel, {}, "no '" + name + "'", "a name that --list prints"});
  return *found;
}

/// Tensor maps of the driver are not made here.
bool can_run(const std::string& kernel) {
  return kernel_named(kernel).make(0).maps.empty();
}

int list() {
  for (const Kernel& kernel : kernels())
    if (can_run(kernel.name)) std::printf("%s\n", kernel.name);
  for (const Mutant& mutant : weft::mutants::mutants())
    if (can_run(mutant.kernel) && !mutant.may_hang)
      std::printf("%s\t%s\t%s\n", mutant.kernel, mutant.name,
                  mutant.is_equivalent ? "equivalent" : mutant.expected);
  return right;
}

int run(const Kernel& kernel, const std::string& ptx, std::uint64_t seed) {
  const Device device = Device::cuda(0);
  const Problem problem = kernel.make(seed);
  std::vector<DeviceMemory> buffers;
  for (const Words& input : problem.inputs) buffers.emplace_back(device, input);
  buffers.emplace_back(device, problem.expected.size() * sizeof(std::uint32_t));
  for (const std::size_t words : problem.scratch) buffers.emplace_back(device, words * sizeof(std::uint32_t));
  std::vector<std::uint64_t> addresses;
  for (const DeviceMemory& buffer : buffers) addresses.push_back(buffer.address());
  std::vector<void*> arguments;
  for (std::uint64_t& address : addresses) arguments.push_back(&address);
  const Module module = Module::load(device, ptx);
  module.function("kernel").launch(kernel.shape, arguments, nullptr);
  const Words result = buffers[problem.inputs.size()].to_vector<std::uint32_t>();
  const bool is_right = result == problem.expected;
  std::printf("%s\n", is_right ? "right" : "wrong");
  return is_right ? right : wrong;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.size() == 1 && words[0] == "--list") return list();
    if (words.size() < 2 || words.size() > 4) {
      std::fprintf(stderr,
                   "usage: gpu_mutants --list\n"
                   "       gpu_mutants FOLDER KERNEL [MUTANT [SEED]]   MUTANT '-' for the kernel itself\n"
                   "0: right, 1: wrong, 2: an error; ends itself after %u seconds\n",
                   seconds_to_run);
      return failed;
    }
    const Kernel& kernel = kernel_named(words[1]);
    if (!can_run(kernel.name))
      throw UserError({"running " + words[1], {}, "it takes tensor maps", "another"});
    std::string ptx = read_ptx(words[0], words[1]);
    if (words.size() > 2 && words[2] != "-") ptx = mutate(ptx, mutant_named(words[1], words[2]));
    const std::uint64_t seed = words.size() > 3 ? std::strtoull(words[3].c_str(), nullptr, 10) : 0;
    alarm(seconds_to_run);
    return run(kernel, ptx, seed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return failed;
  }
}
