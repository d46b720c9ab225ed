#include <weft/backends/runtime/libraries/blas.h>
#include <weft/backends/runtime/shared_library.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/processors.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

namespace weft {
namespace {

/// What cblas_sgemm calls its orders and transposes.
constexpr int row_major = 101, as_stored = 111, transposed = 112;

struct CblasFunctions : LibraryFunctions {
  Imported<void(int order, int of_a, int of_b, int m, int n, int k, float alpha, const float* a, int lda,
                const float* b, int ldb, float beta, float* c, int ldc)>
      sgemm{*this, "cblas_sgemm"};
  Imported<const char*()> openblas_config{*this, "openblas_get_config", false};
  Imported<const char*()> openblas_core{*this, "openblas_get_corename", false};
  Imported<const char*()> blis_version{*this, "bli_info_get_version_str", false};
  Imported<void(char* text, int length)> mkl_version{*this, "MKL_Get_Version_String", false};
  Imported<void(int threads)> openblas_threads{*this, "openblas_set_num_threads", false};
  Imported<void(int threads)> mkl_threads{*this, "MKL_Set_Num_Threads", false};
  Imported<void(std::int64_t threads)> blis_threads{*this, "bli_thread_set_num_threads", false};
};

struct OnednnFunctions : LibraryFunctions {
  Imported<int(char of_a, char of_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
               const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
               std::int64_t ldc)>
      sgemm{*this, "dnnl_sgemm"};
  Imported<const int*()> version{*this, "dnnl_version"};
  Imported<void(int threads)> use_threads{*this, "omp_set_num_threads", false};
};

std::string file_of(const SharedLibrary& library) {
  return library.path().filename().string();
}

std::string version_of(const std::string& name, const CblasFunctions& functions,
                       const SharedLibrary& library) {
  std::string number, core;
  if (functions.openblas_config != nullptr) {
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
    const std::string config = functions.openblas_config();
    const std::size_t begin = config.find(' ');
    if (begin != std::string::npos)
      number = config.substr(begin + 1, config.find(' ', begin + 1) - begin - 1);
    if (functions.openblas_core != nullptr) core = std::string(functions.openblas_core()) + ", ";
  } else if (functions.blis_version != nullptr) {
    number = functions.blis_version();
  } else if (functions.mkl_version != nullptr) {
    std::array<char, 200> text{};
    functions.mkl_version(text.data(), static_cast<int>(text.size() - 1));
    number = text.data();
  }
  return name + (number.empty() ? "" : " " + number) + " (" + core + file_of(library) + ")";
}

/// An OpenBLAS that is older than the processor takes kernels for one of 2004: while it is opened it is told
/// what vectors there are, unless the caller's environment says more.
class OpenblasCore {
 public:
  OpenblasCore() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const char* core = __builtin_cpu_supports("avx512f") != 0 ? "SkylakeX"
                       : __builtin_cpu_supports("avx2") != 0  ? "Haswell"
                                                              : nullptr;
    is_told_ = core != nullptr && std::getenv(variable) == nullptr && setenv(variable, core, 0) == 0;
#endif
  }
  ~OpenblasCore() {
    if (is_told_) unsetenv(variable);
  }
  OpenblasCore(const OpenblasCore&) = delete;
  OpenblasCore& operator=(const OpenblasCore&) = delete;

 private:
  static constexpr const char* variable = "OPENBLAS_CORETYPE";
  bool is_told_ = false;
};

/// A library, and the files that it may be.
struct Known {
  const char* name;
  std::vector<std::string> files;
};

const std::array<Known, 3>& known_cblas() {
  static const std::array<Known, 3> all{{{"MKL", {"libmkl_rt.so.2", "libmkl_rt.so.1"}},
                                         {"OpenBLAS", {"libopenblas.so.0"}},
                                         {"BLIS", {"libblis.so.4", "libblis.so.3"}}}};
  return all;
}

}  // namespace

std::vector<int> thread_counts_to_time() {
  const int all = static_cast<int>(processors());
  return all > 1 ? std::vector{all, 1} : std::vector{1};
}

struct Blas::State {
  std::string name;
  std::string version;
  SharedLibrary library;
  CblasFunctions cblas;
  OnednnFunctions onednn;

  void multiply(const DenseProblem& problem, const float* a, const float* b, float* c) const {
    const bool linear = problem.layout == DenseLayout::linear;
    // Stored [N, M], the result of a linear layer is the row-major product of B with A's transpose.
    const std::int64_t rows = linear ? problem.n : problem.m, columns = linear ? problem.m : problem.n;
    const float *left = linear ? b : a, *right = linear ? a : b;
    const std::int64_t row_of_right = linear ? problem.k : problem.n;
    if (onednn.sgemm != nullptr) {
      const int status = onednn.sgemm('N', linear ? 'T' : 'N', rows, columns, problem.k, 1, left, problem.k,
                                      right, row_of_right, 0, c, columns);
      if (status != 0)
        throw RuntimeError("multiplying dense matrices with oneDNN: status " + std::to_string(status));
      return;
    }
    const auto number = [](std::int64_t extent) { return static_cast<int>(extent); };
    cblas.sgemm(row_major, as_stored, linear ? transposed : as_stored, number(rows), number(columns),
                number(problem.k), 1, left, number(problem.k), right, number(row_of_right), 0, c,
                number(columns));
  }
};

std::vector<Blas> Blas::open_all(const Device& device, std::string* reason) {
  std::vector<Blas> all;
  if (device.kind() != DeviceKind::cpu) {
    if (reason != nullptr) *reason = "the libraries of a processor need the cpu, not " + device.name();
    return all;
  }
  const auto open = [](const std::string& name, const std::vector<std::string>& files) {
    auto state = std::make_shared<State>();
    state->name = name;
    state->library = SharedLibrary::open(files, processor_library_folders());
    return state;
  };
  const auto onednn = open("oneDNN", {"libdnnl.so.3", "libdnnl.so.2"});
  if (onednn->library && onednn->library.resolve(onednn->onednn).empty()) {
    const int* version = onednn->onednn.version();
    onednn->version = "oneDNN " + std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
                      std::to_string(version[2]) + " (" + file_of(onednn->library) + ")";
    all.emplace_back(onednn);
  }
  const OpenblasCore told;
  for (const Known& known : known_cblas()) {
    const auto state = open(known.name, known.files);
    if (!state->library || !state->library.resolve(state->cblas).empty()) continue;
    state->version = version_of(state->name, state->cblas, state->library);
    all.emplace_back(state);
  }
  if (all.empty() && reason != nullptr)
    *reason =
        "none of oneDNN, MKL, OpenBLAS and BLIS is on the loader's path or in the lib folder of a Python "
        "installation";
  return all;
}

void Blas::multiply(const DenseProblem& problem, const float* a, const float* b, float* c) const {
  if (problem.type != DenseType::f32)
    throw UserError("multiplying dense matrices with " + state_->name, "another type than f32", "f32");
  for (const std::int64_t extent : {problem.m, problem.n, problem.k}) {
    if (extent >= 1 && extent <= std::numeric_limits<int>::max()) continue;
    throw UserError("multiplying dense matrices with " + state_->name,
                    "M = " + std::to_string(problem.m) + ", K = " + std::to_string(problem.k) +
                        ", N = " + std::to_string(problem.n),
                    "each from 1 to " + std::to_string(std::numeric_limits<int>::max()));
  }
  state_->multiply(problem, a, b, c);
}

bool Blas::use_threads(int threads) const {
  const CblasFunctions& cblas = state_->cblas;
  if (state_->onednn.use_threads != nullptr)
    state_->onednn.use_threads(threads);
  else if (cblas.openblas_threads != nullptr)
    cblas.openblas_threads(threads);
  else if (cblas.mkl_threads != nullptr)
    cblas.mkl_threads(threads);
  else if (cblas.blis_threads != nullptr)
    cblas.blis_threads(threads);
  else
    return false;
  return true;
}

const std::string& Blas::name() const {
  return state_->name;
}

const std::string& Blas::version() const {
  return state_->version;
}

}  // namespace weft
