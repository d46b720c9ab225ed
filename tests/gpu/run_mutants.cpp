// Runs a kernel of the mutation test, or one of its mutants, on a CUDA device with the inputs that the
// simulator gives it, and says whether the result is right; for compute-sanitizer to look at.
#include <mutants/kernels.h>
#include <mutants/mutants.h>
#include <unistd.h>
#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/driver.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/runtime/shared_library.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>

namespace weft::mutants {
namespace {

constexpr unsigned seconds_to_run = 60;
enum Status { right = 0, wrong = 1, failed = 2 };

const Mutant& mutant_named(const std::string& kernel, const std::string& name) {
  const auto found = std::ranges::find_if(
      mutants(), [&](const Mutant& mutant) { return mutant.kernel == kernel && mutant.name == name; });
  if (found == mutants().end())
    throw UserError("choosing a mutant of " + kernel, "no '" + name + "'", "a name that --list prints");
  return *found;
}

struct alignas(64) TensorMap {
  std::array<std::uint64_t, 16> words{};
};

/// The driver's cuTensorMapEncodeTiled, which weft's table of its functions does not have.
TensorMap encode(const Device& device, const MapOfMatrix& map, std::uint64_t address) {
  const ContextScope scope(*cuda_device_of(device, "encoding a tensor map"));
  using Encode = int(TensorMap*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*,
                     const std::uint32_t*, const std::uint32_t*, int, int, int, int);
  constexpr int type_f16 = 6, no_interleave = 0, swizzle_128 = 3, no_promotion = 0, fill_zeros = 0;
  Encode* function = nullptr;
  if (!SharedLibrary::open({"libcuda.so.1"}, {}).resolve(function, "cuTensorMapEncodeTiled"))
    throw RuntimeError("the driver has no cuTensorMapEncodeTiled");
  const std::array<std::uint64_t, 2> dimensions{map.columns, map.rows};
  const std::array<std::uint64_t, 1> strides{map.columns * 2};
  const std::array<std::uint32_t, 2> box{64, 64}, element_strides{1, 1};
  TensorMap encoded;
  driver::check(
      function(&encoded, type_f16, 2, reinterpret_cast<void*>(address), dimensions.data(), strides.data(),
               box.data(), element_strides.data(), no_interleave, swizzle_128, no_promotion, fill_zeros),
      "encoding a tensor map");
  return encoded;
}

int list() {
  for (const Kernel& kernel : kernels()) std::printf("%s\n", kernel.name);
  for (const Mutant& mutant : mutants())
    if (!mutant.may_hang)
      std::printf("%s\t%s\t%s\n", mutant.kernel, mutant.name,
                  mutant.is_equivalent ? "equivalent" : mutant.expected);
  return right;
}

int run(const Kernel& kernel, const std::string& ptx, std::uint64_t seed) {
  const Device device = Device::cuda(0);
  const Problem problem = kernel.make(seed);
  std::vector<DeviceMemory> buffers;
  for (const Words& input : problem.inputs) buffers.emplace_back(device, input);
  buffers.emplace_back(device, problem.expected.size() * sizeof(std::uint32_t)).poison();
  for (const std::size_t words : problem.scratch) buffers.emplace_back(device, words * sizeof(std::uint32_t));
  std::vector<std::uint64_t> addresses;
  for (const DeviceMemory& buffer : buffers) addresses.push_back(buffer.address());
  std::vector<void*> arguments;
  for (std::uint64_t& address : addresses) arguments.push_back(&address);
  std::deque<TensorMap> maps;
  for (const MapOfMatrix& map : problem.maps)
    arguments.push_back(&maps.emplace_back(encode(device, map, addresses[map.input])));
  const Module module = Module::load(device, ptx);
  module.function("kernel").launch(kernel.shape, arguments, nullptr);
  const Words result = buffers[problem.inputs.size()].to_vector<std::uint32_t>();
  const bool is_right = result == problem.expected;
  std::printf("%s\n", is_right ? "right" : "wrong");
  return is_right ? right : wrong;
}

int run_command(std::vector<std::string> words) {
  if (words.size() == 1 && words[0] == "--list") return list();
  const bool only_prints = !words.empty() && words[0] == "--ptx";
  if (only_prints) words.erase(words.begin());
  if (words.size() < 2 || words.size() > 4) {
    std::fprintf(
        stderr,
        "usage: gpu_mutants --list\n"
        "       gpu_mutants [--ptx] FOLDER KERNEL [MUTANT [SEED]]   MUTANT '-' for the kernel itself;\n"
        "                                                     --ptx prints its text instead\n"
        "0: right, 1: wrong, 2: an error; ends itself after %u seconds\n",
        seconds_to_run);
    return failed;
  }
  const Kernel& kernel = kernel_named(words[1]);
  std::string ptx = read_ptx(words[0], words[1]);
  if (words.size() > 2 && words[2] != "-") ptx = mutate(ptx, mutant_named(words[1], words[2]));
  if (only_prints) {
    std::fputs(ptx.c_str(), stdout);
    return right;
  }
  const std::uint64_t seed = words.size() > 3 ? std::strtoull(words[3].c_str(), nullptr, 10) : 0;
  alarm(seconds_to_run);
  return run(kernel, ptx, seed);
}

}  // namespace
}  // namespace weft::mutants

int main(int count, char** arguments) {
  try {
    return weft::mutants::run_command({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return weft::mutants::failed;
  }
}
