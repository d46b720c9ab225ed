#include <fmt/format.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/runtime/shared_library.h>
#include <weft/backends/runtime/thread_pool.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/processors.h>
#include <weft/search/measure/checker.h>
#include <weft/search/measure/package_contestant.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t workspace_alignment = 256;

/// The beginning of a package's <name>_open_desc; fields that this file leaves zero follow from its C header.
struct OpenDescription {
  std::uint32_t struct_size = sizeof(OpenDescription);
  std::uint32_t abi = 1;
  std::int32_t device = -1;
  std::uint32_t flags = 0;
  const void* weights = nullptr;
  std::size_t weights_bytes = 0;
  void* allocator[3] = {};
  StreamHandle stream = nullptr;
  char* why = nullptr;
  std::size_t why_bytes = 0;
  const char* structure = nullptr;
};

/// A package's <name>_args where its operands are B and C.
struct Arguments2 {
  std::uint32_t struct_size = sizeof(Arguments2);
  std::uint32_t flags = 0;
  std::int64_t n = 0;
  const void* b = nullptr;
  void* c = nullptr;
};

constexpr std::int32_t processor = -2;  ///< as OpenDescription::device: <NAME>_HOST

using LoopTask = void(void* context, std::int64_t begin, std::int64_t end);
using LoopRunner = void(void* runner_context, std::int64_t count, LoopTask* task, void* context);

std::int32_t processor_threads() {
  return static_cast<std::int32_t>(processors());
}

/// Lends a package the threads that weft's own kernels have.
void run_in_pool(void*, std::int64_t count, LoopTask* task, void* context) {
  struct Piece {
    LoopTask* task;
    void* context;
  } piece{task, context};
  const auto run = [](std::int64_t begin, std::int64_t end, int, void* of) noexcept {
    const auto& each = *static_cast<const Piece*>(of);
    each.task(each.context, begin, end);
  };
  ThreadPool::shared().run(0, count, processor_threads(), ThreadPool::Sharing::on_demand, run, &piece);
}

/// A built package.
struct Package {
  Json manifest;
  std::string name;
  std::string weights;  ///< the packed file
  TemporaryFolder built;
  SharedLibrary library;
  std::int32_t (*open)(const OpenDescription*, void**) = nullptr;
  void (*close)(void*) = nullptr;
  std::int32_t (*workspace)(const void*, const Arguments2*, std::size_t*, std::size_t*) = nullptr;
  std::int32_t (*launch)(const void*, const Arguments2*, void*, std::size_t, StreamHandle) = nullptr;
  std::int32_t (*reference)(const void*, std::size_t, const Arguments2*) = nullptr;
  std::int32_t (*pack_size)(std::int64_t, std::size_t*) = nullptr;
  std::int32_t (*pack_csr)(const std::int64_t*, const std::int32_t*, const void*, const void*, std::size_t,
                           void*, std::size_t, char*, std::size_t) = nullptr;
  const char* (*status)(std::int32_t) = nullptr;
  std::int32_t (*use_threads)(void*, LoopRunner*, void* runner_context, std::int32_t threads) = nullptr;

  std::string text_of(std::int32_t code) const { return name + ": " + status(code); }
};

template <class F>
void resolve(const Package& package, F*& target, const char* entry, bool needed = true) {
  if (!package.library.resolve(target, (package.name + "_" + entry).c_str()) && needed)
    throw RuntimeError("the package " + package.name + " has no " + entry);
}

void build(Package& package, const std::string& folder) {
  std::vector<std::string> sources;
  const std::filesystem::path place = std::filesystem::path(folder) / "src";
  std::error_code error;
  for (std::filesystem::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path kind = entry->path().extension();
    if (kind == ".c" || kind == ".S") sources.push_back(entry->path().string());
  }
  if (error)
    throw UserError("the package has no sources that can be read", "--package " + folder,
                    place.string() + ": " + error.message(), "a folder as weft export wrote it");
  const char* const variable = std::getenv("CC");
  const std::string compiler = variable != nullptr ? variable : "cc";
  const std::filesystem::path made = package.built.path() / ("lib" + package.name + ".so");
  std::vector<std::string> command{
      compiler, "-std=gnu11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-I" + folder + "/include",
      "-o",     made.string()};
  command.insert(command.end(), sources.begin(), sources.end());
  command.insert(command.end(), {"-lm", "-ldl"});
  const ProcessResult result = [&] {
    try {
      return run_process(command);
    } catch (const RuntimeError& refused) {
      throw UserError("the package cannot be built: its compiler does not start",
                      "--package " + folder + (variable != nullptr ? ", the environment's CC" : ""),
                      refused.what(), "a C compiler that is installed, in CC=gcc or as cc");
    }
  }();
  if (!result.succeeded())
    throw RuntimeError("the package " + package.name + " cannot be built:\n" + result.error);
  package.library = SharedLibrary::open({made.string()}, {});
  if (!package.library) throw RuntimeError(package.library.reason());
}

std::shared_ptr<Package> load(const std::string& folder) {
  auto package = std::make_shared<Package>();
  try {
    package->manifest = Json::parse(read_bytes(std::filesystem::path(folder) / "manifest.json"));
    package->name = package->manifest.at("name").get<std::string>();
    if (package->manifest.at("abi") != 1) throw RuntimeError("another ABI");
  } catch (const std::exception& error) {
    throw UserError("the folder holds no exported package", "--package " + folder, error.what(),
                    "a folder that weft export wrote");
  }
  const std::filesystem::path weights =
      std::filesystem::path(folder) / "weights" / (package->name + ".safetensors");
  std::error_code error;
  if (std::filesystem::exists(weights, error)) package->weights = read_bytes(weights);
  if (error) throw RuntimeError(fmt::format("cannot read {}: {}", weights.string(), error.message()));
  build(*package, folder);
  resolve(*package, package->open, "open");
  resolve(*package, package->close, "close");
  resolve(*package, package->workspace, "workspace");
  resolve(*package, package->launch, "launch");
  resolve(*package, package->reference, "reference");
  resolve(*package, package->status, "status");
  resolve(*package, package->pack_size, "pack_size", false);
  resolve(*package, package->pack_csr, "pack_csr", false);
  resolve(*package, package->use_threads, "use_threads", false);
  return package;
}

[[noreturn]] void refuse(const Package& package, const std::string& found, const std::string& accepted) {
  throw UserError("the package is not for this problem", package.name, found, accepted);
}

void check_fits(const Package& package, const Workload& workload) {
  const Json& manifest = package.manifest;
  const Json& weights = manifest.at("weights");
  const auto& problem = workload.problem;
  if (manifest.at("operands").size() != 2 || !manifest.at("scalars").empty() || !manifest.contains("sizes"))
    refuse(package, manifest.at("computes"), "C = A B with the number of columns given at launch");
  if (weights.at("rows") != workload.matrix.rows || weights.at("columns") != workload.matrix.columns ||
      weights.at("dtype") != name_of(workload.dtype))
    refuse(package,
           fmt::format("{} x {} {}", workload.matrix.rows, workload.matrix.columns, name_of(workload.dtype)),
           fmt::format("{} x {} {}", weights.at("rows").get<std::int64_t>(),
                       weights.at("columns").get<std::int64_t>(), weights.at("dtype").get<std::string>()));
  for (const Json& range : manifest.at("sizes").at("ranges")) {
    if (range.at("least") <= problem.n && range.at("most") >= problem.n &&
        problem.n % range.at("multiple_of").get<std::int64_t>() == 0)
      return;
  }
  refuse(package, std::to_string(problem.n), manifest.at("sizes").at("ranges").dump());
}

bool packs_any(const Package& package) {
  return package.manifest.at("weights").at("pack") == "any entries" && package.pack_csr != nullptr;
}

/// A string's bytes at a multiple of 8.
std::vector<std::uint64_t> aligned(const std::string& bytes) {
  std::vector<std::uint64_t> words((bytes.size() + 7) / 8);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

std::string packed_for(const Package& package, const WeightMatrix& matrix) {
  if (!packs_any(package)) return package.weights;
  std::size_t bytes = 0;
  package.pack_size(matrix.stored(), &bytes);
  std::vector<std::uint64_t> words((bytes + 7) / 8);
  char why[256] = "";
  const std::int32_t code =
      package.pack_csr(matrix.row_begin.data(), matrix.column.data(), matrix.values.data(), nullptr, 0,
                       words.data(), bytes, why, sizeof why);
  if (code != 0) throw RuntimeError(package.text_of(code) + ": " + why);
  return {reinterpret_cast<const char*>(words.data()), bytes};
}

/// An opened package with what its launches need.
struct Opened {
  std::shared_ptr<Package> package;
  std::shared_ptr<const Operands> operands;
  void* handle = nullptr;
  DeviceMemory workspace;
  std::size_t workspace_bytes = 0;
  Arguments2 arguments;

  Opened() = default;
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { package->close(handle); }
};

Run prepare(const std::shared_ptr<Package>& package, const std::shared_ptr<const Operands>& operands) {
  const Workload& workload = operands->workload();
  check_fits(*package, workload);
  const bool on_cpu = operands->device().kind() == DeviceKind::cpu && package->use_threads != nullptr;
  if (!operands->device().is_cuda() && !on_cpu)
    refuse(*package, operands->device().name(),
           package->use_threads != nullptr ? "cpu or a CUDA device" : "a CUDA device");
  auto opened = std::make_shared<Opened>();
  opened->package = package;
  opened->operands = operands;
  const std::string file = packed_for(*package, workload.matrix);
  const std::vector<std::uint64_t> words = aligned(file);
  char why[256] = "";
  OpenDescription description;
  description.device = on_cpu ? processor : operands->device().description().ordinal;
  description.weights = file.empty() ? nullptr : words.data();
  description.weights_bytes = file.size();
  description.why = why;
  description.why_bytes = sizeof why;
  if (package->open(&description, &opened->handle) != 0) throw RuntimeError(package->name + ": " + why);
  if (on_cpu) package->use_threads(opened->handle, run_in_pool, nullptr, processor_threads());
  opened->arguments.n = workload.problem.n;
  opened->arguments.b = reinterpret_cast<const void*>(operands->b());
  opened->arguments.c = reinterpret_cast<void*>(operands->c());
  package->workspace(opened->handle, &opened->arguments, &opened->workspace_bytes, nullptr);
  if (opened->workspace_bytes > 0)
    opened->workspace = DeviceMemory(operands->device(), opened->workspace_bytes + workspace_alignment);
  const auto launch = [opened](StreamHandle stream) {
    const std::uint64_t first =
        ceil_divide(opened->workspace.address(), workspace_alignment) * workspace_alignment;
    void* lent = opened->workspace_bytes > 0 ? reinterpret_cast<void*>(first) : nullptr;
    const std::int32_t code =
        opened->package->launch(opened->handle, &opened->arguments, lent, opened->workspace_bytes, stream);
    if (code != 0) throw RuntimeError(opened->package->text_of(code));
  };
  return {launch, [opened] { opened->operands->poison_c(); },
          [opened] { return opened->operands->download_c(); }};
}

/// The package's own weights: what its reference makes of unit vectors, as many at a time as it takes.
Workload with_own_weights(const Package& package, const Workload& workload) {
  check_fits(package, workload);
  const std::int64_t columns = workload.matrix.columns;
  const std::int64_t rows = workload.matrix.rows;
  const std::int64_t n = workload.problem.n;
  const std::vector<std::uint64_t> words = aligned(package.weights);
  Array dense(workload.dtype, {rows, columns});
  for (std::int64_t first = 0; first < columns; first += n) {
    Array unit(workload.dtype, {columns, n});
    Array product(workload.dtype, {rows, n});
    const std::int64_t count = std::min(n, columns - first);
    for (std::int64_t i = 0; i < count; ++i) unit.set((first + i) * n + i, 1);
    Arguments2 arguments;
    arguments.n = n;
    arguments.b = unit.data();
    arguments.c = product.data();
    const std::int32_t code = package.reference(package.weights.empty() ? nullptr : words.data(),
                                                package.weights.size(), &arguments);
    if (code != 0) throw RuntimeError(package.text_of(code));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < count; ++i)
        dense.copy_element(row * columns + first + i, product, row * n + i);
    }
  }
  return with_weights(workload, from_dense(dense, "the weights of the package " + package.name),
                      "package " + package.name);
}

}  // namespace

Contestant package_contestant(const std::string& folder) {
  const std::shared_ptr<Package> package = load(folder);
  Contestant contestant;
  contestant.name = "package " + package->name;
  contestant.kind = ContestantKind::sparse;
  if (const auto dtype = dtype_named(package->manifest.at("weights").at("dtype").get<std::string>()))
    contestant.arithmetic = dense_type_of(*dtype).value_or(DenseType::f16);
  contestant.variants.push_back(
      {"as exported", {}, [package](const std::shared_ptr<const Operands>& operands) {
         return prepare(package, operands);
       }});
  if (!packs_any(*package)) {
    contestant.own_weights = [package](const SuiteCase&, const Workload& workload) {
      return with_own_weights(*package, workload);
    };
  }
  return contestant;
}

}  // namespace weft
