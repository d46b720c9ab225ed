#include <weft/backends/runtime/libraries/cusparselt.h>
#include <weft/backends/runtime/libraries/vendor_library.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft {
namespace {

using Status = VendorStatus;

/// The library's structs are opaque and the caller's: 512 bytes since version 0.8, 11 KiB before.
struct alignas(16) Opaque {
  std::byte bytes[16384];
};
using Handle = Opaque;
using Matrix = Opaque;
using Matmul = Opaque;
using Selection = Opaque;
using Plan = Opaque;

/// By a plan that stays, or that a search changes.
template <class OfPlan>
using Multiplication = Status(const Handle* handle, OfPlan* plan, const void* alpha, const void* a,
                              const void* b, const void* beta, const void* c, void* d, void* workspace,
                              StreamHandle* streams, std::int32_t stream_count);

struct EntryPoints : LibraryFunctions {
  Imported<Status(Handle* handle)> create{*this, "cusparseLtInit"};
  Imported<Status(const Handle* handle)> destroy{*this, "cusparseLtDestroy"};
  Imported<Status(const Handle* handle, int* version)> get_version{*this, "cusparseLtGetVersion"};
  Imported<Status(const Handle* handle, Matrix* matrix, std::int64_t rows, std::int64_t columns,
                  std::int64_t leading, std::uint32_t alignment, int type, int order)>
      describe_dense{*this, "cusparseLtDenseDescriptorInit"};
  Imported<Status(const Handle* handle, Matrix* matrix, std::int64_t rows, std::int64_t columns,
                  std::int64_t leading, std::uint32_t alignment, int type, int order, int sparsity)>
      describe_structured{*this, "cusparseLtStructuredDescriptorInit"};
  Imported<Status(const Matrix* matrix)> destroy_matrix{*this, "cusparseLtMatDescriptorDestroy"};
  Imported<Status(const Handle* handle, Matmul* matmul, int op_a, int op_b, const Matrix* a, const Matrix* b,
                  const Matrix* c, const Matrix* d, int compute)>
      describe_matmul{*this, "cusparseLtMatmulDescriptorInit"};
  Imported<Status(const Handle* handle, Selection* selection, const Matmul* matmul, int algorithm)> select{
      *this, "cusparseLtMatmulAlgSelectionInit"};
  Imported<Status(const Selection* selection)> destroy_selection{
      *this, "cusparseLtMatmulAlgSelectionDestroy", false};  ///< null before version 0.8, which needs none
  Imported<Status(const Handle* handle, Plan* plan, const Matmul* matmul, const Selection* selection)>
      make_plan{*this, "cusparseLtMatmulPlanInit"};
  Imported<Status(const Plan* plan)> destroy_plan{*this, "cusparseLtMatmulPlanDestroy"};
  Imported<Status(const Handle* handle, const Plan* plan, std::size_t* bytes)> workspace_size{
      *this, "cusparseLtMatmulGetWorkspace"};
  Imported<Status(const Handle* handle, const Matmul* matmul, const void* weights, int* wrong,
                  StreamHandle stream)>
      check_pruning{*this, "cusparseLtSpMMAPruneCheck"};
  Imported<Status(const Handle* handle, const Plan* plan, std::size_t* bytes, std::size_t* buffer_bytes)>
      compressed_size{*this, "cusparseLtSpMMACompressedSize"};
  Imported<Status(const Handle* handle, const Plan* plan, const void* weights, void* compressed, void* buffer,
                  StreamHandle stream)>
      compress{*this, "cusparseLtSpMMACompress"};
  Imported<Multiplication<const Plan>> multiply{*this, "cusparseLtMatmul"};
  Imported<Multiplication<Plan>> search{*this, "cusparseLtMatmulSearch"};
  Imported<const char*(Status status)> status_text{*this, "cusparseLtGetErrorString", false};
};

constexpr std::array<std::string_view, 2> algorithm_names{"chosen", "searched"};

constexpr float alpha = 1;
constexpr float beta = 0;

void check_type(DenseType type) {
  if (type != DenseType::f16 && type != DenseType::bf16 && type != DenseType::e4m3)
    throw UserError("multiplying 2:4 weights with cuSPARSELt", "another type", "f16, bf16 or e4m3");
}

/// 800 is 0.8.0 and 1000 is 0.10.0; since version 1 the major number stands before four digits.
std::string text_of_cusparselt_version(int version) {
  return dotted_version(version / 1000000, version / 100 % 10000, version % 100);
}

}  // namespace

struct Cusparselt::State : OpenedLibrary<EntryPoints, Handle> {};

namespace {

/// A product with compressed weights and workspace.
struct PreparedProduct {
  std::shared_ptr<OpenedLibrary<EntryPoints, Handle>> library;
  TwoOfFourProduct problem;
  // A plan may point at what it was made from, so all of it lives as long as the plan.
  Matrix a{}, b{}, c{};
  Matmul matmul{};
  Selection selection{};
  Plan plan{};
  int matrices = 0;  ///< how many of a, b, c have been described
  bool selected = false;
  bool planned = false;
  DeviceMemory compressed = {};
  DeviceMemory workspace = {};

  ~PreparedProduct() {
    release_in_context(*library->device, [this] {
      const EntryPoints& api = library->api;
      if (planned) api.destroy_plan(&plan);
      if (selected && api.destroy_selection != nullptr) api.destroy_selection(&selection);
      const std::array<const Matrix*, 3> all{&a, &b, &c};
      for (int i = 0; i < matrices; ++i) api.destroy_matrix(all[i]);
    });
  }

  void describe(const std::string& doing) {
    constexpr std::uint32_t alignment = 16;
    constexpr int column_major = 1, row_major = 2, half_kept = 0, plain = 0, compute_f32 = 2,
                  default_algorithm = 0;
    const EntryPoints& api = library->api;
    const Handle* handle = &library->handle;
    const auto check = [&](Status status) { library->check(status, doing); };
    const int type = data_code(problem.type);
    const auto [m, n, k] = std::array{problem.m, problem.n, problem.k};
    check(api.describe_structured(handle, &a, m, k, k, alignment, type, row_major, half_kept));
    matrices = 1;
    const bool of_bytes = problem.type == DenseType::e4m3;
    const int result = of_bytes ? data_code(DenseType::f16) : type;
    check(api.describe_dense(handle, &b, k, n, of_bytes ? k : n, alignment, type,
                             of_bytes ? column_major : row_major));
    matrices = 2;
    check(api.describe_dense(handle, &c, m, n, n, alignment, result, row_major));
    matrices = 3;
    check(api.describe_matmul(handle, &matmul, plain, plain, &a, &b, &c, &c, compute_f32));
    check(api.select(handle, &selection, &matmul, default_algorithm));
    selected = true;
    check(api.make_plan(handle, &plan, &matmul, &selection));
    planned = true;
  }

  void compress(const std::string& doing) {
    const EntryPoints& api = library->api;
    const Handle* handle = &library->handle;
    const void* weights = device_pointer(problem.a);
    DeviceMemory wrong(*library->owner, sizeof(int));
    wrong.fill(0);
    library->check(api.check_pruning(handle, &matmul, weights, static_cast<int*>(wrong.data()), nullptr),
                   doing);
    wait_for(*library->owner, nullptr);
    if (wrong.to_vector<int>().front() != 0)
      throw UserError(doing, "weights with more than two of four elements", "2:4 weights");
    std::size_t bytes = 0;
    std::size_t buffer_bytes = 0;
    library->check(api.compressed_size(handle, &plan, &bytes, &buffer_bytes), doing);
    compressed = DeviceMemory(*library->owner, bytes);
    DeviceMemory buffer(*library->owner, buffer_bytes);
    library->check(api.compress(handle, &plan, weights, compressed.data(), buffer.data(), nullptr), doing);
    wait_for(*library->owner, nullptr);
  }

  void allocate_workspace(const std::string& doing) {
    std::size_t bytes = 0;
    library->check(library->api.workspace_size(&library->handle, &plan, &bytes), doing);
    if (bytes > workspace.bytes()) workspace = DeviceMemory(*library->owner, bytes);
  }

  /// `function` is `multiply` or `search`, which differ in whether the plan may change.
  template <class P>
  Status call(const Imported<Multiplication<P>>& function, P* of_plan, StreamHandle stream) const {
    return function(&library->handle, of_plan, &alpha, compressed.data(), device_pointer(problem.b), &beta,
                    device_pointer(problem.c), device_pointer(problem.c), workspace.data(), &stream, 1);
  }

  void launch(StreamHandle stream) const {
    const ContextScope scope(*library->device);
    library->check(call(library->api.multiply, &plan, stream), "multiplying 2:4 weights with cuSPARSELt");
  }
};

}  // namespace

std::optional<Cusparselt> Cusparselt::open(const Device& device, std::string* reason) {
  const VendorLibrary names{
      "cuSPARSELt", {"libcusparseLt.so.0"}, {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvrtc.so.13"}};
  return opened_library<Cusparselt, State>(names, device, reason, [&](State& opened) -> std::string {
    const ContextScope scope(*opened.device);
    int version = 0;
    opened.check(opened.api.get_version(&opened.handle, &version), "asking for the version of cuSPARSELt");
    constexpr int oldest = 800;  // before, the numbers of the compute types were others
    if (version < oldest)
      return "no cuSPARSELt: " + text_of_cusparselt_version(version) + " is older than " +
             text_of_cusparselt_version(oldest);
    opened.set_version(text_of_cusparselt_version(version));
    return {};
  });
}

std::span<const std::string_view> Cusparselt::algorithms() {
  return algorithm_names;
}

PreparedCall Cusparselt::prepare(const TwoOfFourProduct& product, std::string_view algorithm) const {
  if (std::ranges::find(algorithm_names, algorithm) == algorithm_names.end())
    throw UserError("cuSPARSELt has no such way to choose a kernel", std::string(algorithm),
                    "chosen or searched");
  check_type(product.type);
  const ContextScope scope(*state_->device);
  const std::string doing = "preparing a product with cuSPARSELt (" + std::string(algorithm) + ")";
  const auto prepared = std::make_shared<PreparedProduct>(state_, product);
  prepared->describe(doing);
  prepared->compress(doing);
  prepared->allocate_workspace(doing);
  if (algorithm == "searched") {
    state_->check(prepared->call(state_->api.search, &prepared->plan, nullptr), doing);
    wait_for(*state_->owner, nullptr);
    prepared->allocate_workspace(doing);
  }
  return PreparedCall([prepared](StreamHandle stream) { prepared->launch(stream); });
}

const std::string& Cusparselt::version() const {
  return state_->version;
}

}  // namespace weft
