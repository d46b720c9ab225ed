// weft export: kernels as a folder that any C, C++, CUDA or PyTorch project can add.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/export/export.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/sizes.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

struct ExportVerb {
  ProblemOptions problem;
  std::string columns;
  std::string images;
  std::vector<std::string> architectures{"sm_80", "sm_90"};
  std::string name;
  std::string out;
  std::string emitter = "llvm";
  std::string spdx = "0BSD";
  std::string license;
  std::string measured;
  bool embed = false;
  bool no_weights = false;
  bool ptx_only = false;
  bool json = false;
};

std::string content_of(const std::string& flag, const std::string& path) {
  if (path.empty()) return {};
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw UserError("cannot read " + path, flag + " " + path,
                    std::filesystem::exists(path, error) ? "no file but a folder or device" : "no such file",
                    "the path of a file");
  return read_bytes(path);
}

/// The size that kernels may leave to the launch: columns of a product, images of a convolution.
struct OpenSize {
  std::string index;   ///< its name in the algorithm
  std::string extent;  ///< what it is called where it is open
  std::string flag;
};

OpenSize open_size_of(const ProblemOptions& options) {
  if (options.op == "conv2d") return {"b", "batch", "--batch"};
  return {"n", "N", "--n"};
}

/// A kernel for every size of a range: by the steps that the recipe takes for the largest one, and where
/// these need to know the size, by those that it takes where it knows none.
Kernel open_kernel(const Problem& problem, const ProblemOptions& options, const SizeRange& range,
                   const Target& target, const KernelOptions& kernel_options, std::optional<Way>& taken) {
  const OpenSize size = open_size_of(options);
  const Algorithm open = with_size(problem.algorithm, size.index, Extent::any(size.extent, range.multiple));
  if (options.schedule.empty()) {
    try {
      const Schedule chosen =
          schedule_of(with_size(problem.algorithm, size.index, range.most), problem, options, target, &taken);
      Schedule replayed(open, chosen.shared_weights(), target);
      for (const Step& step : chosen.steps()) replayed.apply(step);
      return compile(replayed, kernel_options);
    } catch (const UserError& error) {
      fmt::print(stderr, "note: the schedule for {} {} is for that size alone ({})\n", size.flag, range.most,
                 error.report().what);
    }
  }
  return kernel_of(open, problem, options, target, kernel_options, &taken);
}

Kernel kernel_of(const Problem& problem, const ProblemOptions& options, const SizeRange& range,
                 const Target& target, const KernelOptions& kernel_options, std::optional<Way>& taken) {
  if (!range.is_exact()) return open_kernel(problem, options, range, target, kernel_options, taken);
  return kernel_of(with_size(problem.algorithm, open_size_of(options).index, range.most), problem, options,
                   target, kernel_options, &taken);
}

const Target& exported_target(const ExportVerb& options, const std::string& name) {
  const Target& target = packaged_target(name);
  if (std::ranges::count(options.architectures, name) > 1)
    throw UserError("an architecture is named twice", "--archs", name, "each of them once");
  return target;
}

std::vector<SizeRange> sizes_of(const ExportVerb& options) {
  const std::string& op = options.problem.op;
  const bool is_product = op == "spmm" || op == "linear";
  if (is_product && options.columns.empty())
    throw UserError("the sizes are missing", "--n", "nothing", "--n 1:512, or --n 4096 for that size alone");
  if (!is_product && !options.columns.empty())
    throw UserError("the operation has no number of columns", "--n " + options.columns, op,
                    "--n with spmm or linear; with " + op + ", no --n");
  if (op != "conv2d" && !options.images.empty())
    throw UserError("the operation has no images", "--batch " + options.images, op,
                    "--batch with conv2d; with " + op + ", no --batch");
  if (is_product) return parse_sizes(options.columns);
  return options.images.empty() ? std::vector<SizeRange>(1) : parse_sizes(options.images, "--batch");
}

std::vector<PackageKernel> kernels_of(const ExportVerb& options) {
  const std::vector<SizeRange> ranges = sizes_of(options);
  const bool is_product = options.problem.op == "spmm" || options.problem.op == "linear";
  const bool has_sizes = is_product || options.problem.op == "conv2d";
  const std::int64_t most = std::ranges::max(ranges, {}, &SizeRange::most).most;
  ProblemOptions problem_options = options.problem;
  problem_options.n = 1;
  problem_options.batch = is_product ? 1 : most;
  ChosenFor chosen_for;
  for (const std::string& name : options.architectures)
    chosen_for.targets.push_back(&exported_target(options, name));
  if (is_product) chosen_for.columns = most;
  const Problem problem = make_problem(problem_options, chosen_for);
  // One file of weights for all kernels.
  problem_options.format = problem.weights->format().text();
  for (const std::string& note : problem.notes) fmt::print(stderr, "note: {}\n", note);
  const bool for_gpus =
      std::ranges::any_of(chosen_for.targets, [](const Target* one) { return one->is_gpu(); });
  if (options.ptx_only && !for_gpus)
    throw UserError("PTX is of GPUs", "--ptx-only",
                    fmt::format("--archs {}", fmt::join(options.architectures, ",")),
                    "a GPU among them, such as sm_80, or no --ptx-only");
  const KernelOptions kernel_options{.emitter = emitter_named(options.emitter, for_gpus),
                                     .assemble = !options.ptx_only};
  std::vector<PackageKernel> kernels;
  const std::size_t all = options.architectures.size() * ranges.size();
  for (const Target* target : chosen_for.targets) {
    for (const SizeRange& range : ranges) {
      fmt::print(stderr, "[{}/{}] {}{}\n", kernels.size() + 1, all, target->name,
                 has_sizes
                     ? fmt::format(", {} {}", open_size_of(problem_options).flag.substr(2), range.text())
                     : std::string());
      std::optional<Way> way;
      const Kernel kernel = kernel_of(problem, problem_options, range, *target, kernel_options, way);
      kernels.push_back({kernel, range.least, range.most});
      if (way && is_product && ranges.size() > 1)
        kernels.back().microseconds = time_by_size(problem, problem_options, *target, *way);
    }
  }
  return kernels;
}

std::string name_of(const ExportVerb& options) {
  if (!options.name.empty()) return options.name;
  return std::filesystem::path(options.problem.weights).stem().string();
}

/// Bytes of the written files, without the weights.
std::uintmax_t bytes_of(const std::string& folder, const std::vector<std::string>& files) {
  std::uintmax_t bytes = 0;
  for (const std::string& file : files) {
    if (file.starts_with("weights/")) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / file;
    std::error_code error;
    bytes += std::filesystem::file_size(path, error);
    if (error)
      throw RuntimeError(
          fmt::format("cannot read {}, which the export wrote: {}", path.string(), error.message()));
  }
  return bytes;
}

/// Of GPUs' kernels, what the assembler said; of the others, whom they are for.
struct KernelList {
  Table table{{"target", "registers", "spilled bytes", "threads", "shared bytes"}};
  bool has_rows = false;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();

  void add(const Kernel& kernel) {
    if (!kernel.target().is_gpu()) {
      json.push_back({{"target", kernel.target().name}});
      return;
    }
    const auto& resources = kernel.resources();
    const Launch& launch = kernel.lowered().launch;
    has_rows = true;
    table.row({kernel.target().name, resources ? std::to_string(resources->registers) : "unknown",
               resources ? std::to_string(resources->spill_bytes) : "unknown", std::to_string(launch.threads),
               std::to_string(launch.shared_bytes)});
    json.push_back({{"target", kernel.target().name},
                    {"registers", resources ? nlohmann::ordered_json(resources->registers) : nullptr},
                    {"shared_bytes", launch.shared_bytes}});
  }
};

int run(const ExportVerb& options) {
  ExportOptions package;
  package.name = name_of(options);
  package.spdx = options.spdx;
  package.license_text = content_of("--license", options.license);
  refuse_own_file("--measured", options.measured, "JSON about times and their device");
  package.measured = content_of("--measured", options.measured);
  package.with_weights = !options.no_weights;
  if (options.embed) package.embed_weights = true;
  const std::string folder = options.out.empty() ? package.name : options.out;
  check_export_options(package);
  const std::vector<PackageKernel> kernels = kernels_of(options);
  const std::vector<std::string> files = export_package(folder, kernels, package);
  const std::uintmax_t bytes = bytes_of(folder, files);
  KernelList list;
  for (const PackageKernel& each : kernels) list.add(each.kernel);
  if (options.json) {
    const nlohmann::ordered_json document{{"folder", folder},
                                          {"name", package.name},
                                          {"files", files},
                                          {"bytes_without_weights", bytes},
                                          {"kernels", list.json}};
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print(
        "{}{}: {} files, {:.1f} KB without weights. Try it:\n"
        "  cmake -S {} -B build && cmake --build build && ctest --test-dir build\n",
        list.has_rows ? list.table.text() + "\n" : "", folder, files.size(),
        static_cast<double>(bytes) / 1000, folder);
  }
  return exit_ok;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<ExportVerb>(
      app, action, "export", "write kernels as a folder that other projects build and use",
      "It needs nothing of weft. Of kernels for one size, as in --n 8:4096:8,1:4096, the fastest runs.\n"
      "Example: weft export --weights W.npy --n 1:512 --dtype f32 --archs sm_80,sm_90 --name ffn -o DIR",
      run);
  add_problem_flags(verb, options.problem);
  for (const char* const flag : {"--n", "--batch"}) verb.remove_option(verb.get_option(flag));
  begin_group(verb, "Problem");
  add_option(verb, "--n", options.columns, "columns: 4096; 1:512; 8:4096:8", "N");
  begin_group(verb, "Convolution");
  add_option(verb, "--batch", options.images, "images, as --n");
  begin_group(verb, "Schedule");
  add_choice_flags(verb, options.problem);
  add_list(verb, "--archs", options.architectures,
           "GPUs, and x86-64-v3, x86-64-v4, aarch64 of CPUs: see weft targets");
  begin_group(verb, "Output");
  add_option(verb, "--name", options.name, "of library and symbols", "NAME");
  add_option(verb, "-o,--out", options.out, "folder; else the name", "DIR");
  add_emitter_flag(verb, options.emitter);
  add_option(verb, "--spdx", options.spdx, "its licence, your choice");
  add_option(verb, "--license", options.license, "a file of its text", "FILE");
  add_option(verb, "--measured", options.measured, "times for the manifest", "FILE");
  verb.add_flag("--embed", options.embed, "weights inside the code");
  verb.add_flag("--no-weights", options.no_weights, "no file of the weights");
  verb.add_flag("--ptx-only", options.ptx_only, "no machine code");
  add_json_flag(verb, options.json);
}

}  // namespace weft::tool
