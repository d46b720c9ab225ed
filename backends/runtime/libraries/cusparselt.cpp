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

struct EntryPoints {
  Status (*create)(Handle* handle);
  Status (*destroy)(const Handle* handle);
  Status (*get_version)(const Handle* handle, int* version);
  Status (*describe_dense)(const Handle* handle, Matrix* matrix, std::int64_t rows, std::int64_t columns,
                           std::int64_t leading, std::uint32_t alignment, int type, int order);
  Status (*describe_structured)(const Handle* handle, Matrix* matrix, std::int64_t rows, std::int64_t columns,
                                std::int64_t leading, std::uint32_t alignment, int type, int order,
                                int sparsity);
  Status (*destroy_matrix)(const Matrix* matrix);
  Status (*describe_matmul)(const Handle* handle, Matmul* matmul, int op_a, int op_b, const Matrix* a,
                            const Matrix* b, const Matrix* c, const Matrix* d, int compute);
  Status (*select)(const Handle* handle, Selection* selection, const Matmul* matmul, int algorithm);
  Status (*destroy_selection)(const Selection* selection);  ///< null before version 0.8, which needs none
  Status (*make_plan)(const Handle* handle, Plan* plan, const Matmul* matmul, const Selection* selection);
  Status (*destroy_plan)(const Plan* plan);
  Status (*workspace_size)(const Handle* handle, const Plan* plan, std::size_t* bytes);
  Status (*check_pruning)(const Handle* handle, const Matmul* matmul, const void* weights, int* wrong,
                          StreamHandle stream);
  Status (*compressed_size)(const Handle* handle, const Plan* plan, std::size_t* bytes,
                            std::size_t* buffer_bytes);
  Status (*compress)(const Handle* handle, const Plan* plan, const void* weights, void* compressed,
                     void* buffer, StreamHandle stream);
  Status (*multiply)(const Handle* handle, const Plan* plan, const void* alpha, const void* a, const void* b,
                     const void* beta, const void* c, void* d, void* workspace, StreamHandle* streams,
                     std::int32_t stream_count);
  Status (*search)(const Handle* handle, Plan* plan, const void* alpha, const void* a, const void* b,
                   const void* beta, const void* c, void* d, void* workspace, StreamHandle* streams,
                   std::int32_t stream_count);
  const char* (*status_text)(Status status);

  bool resolve(const SharedLibrary& library) {
    library.resolve(status_text, "cusparseLtGetErrorString");
    library.resolve(destroy_selection, "cusparseLtMatmulAlgSelectionDestroy");
    return library.resolve(create, "cusparseLtInit") && library.resolve(destroy, "cusparseLtDestroy") &&
           library.resolve(get_version, "cusparseLtGetVersion") &&
           library.resolve(describe_dense, "cusparseLtDenseDescriptorInit") &&
           library.resolve(describe_structured, "cusparseLtStructuredDescriptorInit") &&
           library.resolve(destroy_matrix, "cusparseLtMatDescriptorDestroy") &&
           library.resolve(describe_matmul, "cusparseLtMatmulDescriptorInit") &&
           library.resolve(select, "cusparseLtMatmulAlgSelectionInit") &&
           library.resolve(make_plan, "cusparseLtMatmulPlanInit") &&
           library.resolve(destroy_plan, "cusparseLtMatmulPlanDestroy") &&
           library.resolve(workspace_size, "cusparseLtMatmulGetWorkspace") &&
           library.resolve(check_pruning, "cusparseLtSpMMAPruneCheck") &&
           library.resolve(compressed_size, "cusparseLtSpMMACompressedSize") &&
           library.resolve(compress, "cusparseLtSpMMACompress") &&
           library.resolve(multiply, "cusparseLtMatmul") && library.resolve(search, "cusparseLtMatmulSearch");
  }
  Status open(Handle& handle) const { return create(&handle); }
  void close(Handle& handle) const { destroy(&handle); }
  void check(Status status, const std::string& doing) const {
    check_status(status, status_text, "cuSPARSELt", doing);
  }
};

constexpr std::array<std::string_view, 2> algorithm_names{"chosen", "searched"};

constexpr float alpha = 1;
constexpr float beta = 0;

/// cudaDataType_t.
int data_code(DenseType type) {
  if (type == DenseType::f16) return 2;
  if (type == DenseType::bf16) return 14;
  throw UserError({"multiplying 2:4 weights with cuSPARSELt", {}, "another type", "f16 or bf16"});
}

/// 800 is 0.8.0 and 1000 is 0.10.0; since version 1 the major number stands before four digits.
std::string text_of_cusparselt_version(int version) {
  return dotted_version(version / 1000000, version / 100 % 10000, version % 100);
}

}  // namespace

struct Cusparselt::State : OpenedLibrary<EntryPoints, Handle> {};

struct Cusparselt::Product::State {
  std::shared_ptr<Cusparselt::State> library;
  TwoOfFourProduct problem;
  // A plan may point at what it was made from, so all of it lives as long as the plan.
  Matrix a{}, b{}, c{};
  Matmul matmul{};
  Selection selection{};
  Plan plan{};
  int matrices = 0;  ///< how many of a, b, c have been described
  bool selected = false;
  bool planned = false;
  DeviceMemory compressed;
  DeviceMemory workspace;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    release_in_context(*library->device, [this] {
      const EntryPoints& api = library->api;
      if (planned) api.destroy_plan(&plan);
      if (selected && api.destroy_selection != nullptr) api.destroy_selection(&selection);
      const std::array<const Matrix*, 3> all{&a, &b, &c};
      for (int i = 0; i < matrices; ++i) api.destroy_matrix(all[static_cast<std::size_t>(i)]);
    });
  }

  void describe(const std::string& doing) {
    constexpr std::uint32_t alignment = 16;
    constexpr int row_major = 2, half_kept = 0, plain = 0, compute_f32 = 2, default_algorithm = 0;
    const EntryPoints& api = library->api;
    const Handle* handle = &library->handle;
    const int type = data_code(problem.type);
    const auto [m, n, k] = std::array{problem.m, problem.n, problem.k};
    api.check(api.describe_structured(handle, &a, m, k, k, alignment, type, row_major, half_kept), doing);
    matrices = 1;
    api.check(api.describe_dense(handle, &b, k, n, n, alignment, type, row_major), doing);
    matrices = 2;
    api.check(api.describe_dense(handle, &c, m, n, n, alignment, type, row_major), doing);
    matrices = 3;
    api.check(api.describe_matmul(handle, &matmul, plain, plain, &a, &b, &c, &c, compute_f32), doing);
    api.check(api.select(handle, &selection, &matmul, default_algorithm), doing);
    selected = true;
    api.check(api.make_plan(handle, &plan, &matmul, &selection), doing);
    planned = true;
  }

  void compress(const std::string& doing) {
    const EntryPoints& api = library->api;
    const Handle* handle = &library->handle;
    DeviceMemory wrong(*library->owner, sizeof(int));
    wrong.fill(0);
    api.check(api.check_pruning(handle, &matmul, device_pointer(problem.a), static_cast<int*>(wrong.data()),
                                nullptr),
              doing);
    wait_for(*library->owner, nullptr);
    if (wrong.to_vector<int>().front() != 0)
      throw UserError({doing, {}, "weights with more than two of four elements", "2:4 weights"});
    std::size_t bytes = 0;
    std::size_t buffer_bytes = 0;
    api.check(api.compressed_size(handle, &plan, &bytes, &buffer_bytes), doing);
    compressed = DeviceMemory(*library->owner, bytes);
    DeviceMemory buffer(*library->owner, buffer_bytes);
    api.check(
        api.compress(handle, &plan, device_pointer(problem.a), compressed.data(), buffer.data(), nullptr),
        doing);
    wait_for(*library->owner, nullptr);
  }

  void allocate_workspace(const std::string& doing) {
    std::size_t bytes = 0;
    library->api.check(library->api.workspace_size(&library->handle, &plan, &bytes), doing);
    if (bytes > workspace.bytes()) workspace = DeviceMemory(*library->owner, bytes);
  }

  /// `function` is `multiply` or `search`, which differ in whether the plan may change.
  template <class F, class P>
  Status call(F* function, P* of_plan, StreamHandle stream) const {
    return function(&library->handle, of_plan, &alpha, compressed.data(), device_pointer(problem.b), &beta,
                    device_pointer(problem.c), device_pointer(problem.c), workspace.data(), &stream, 1);
  }
};

std::optional<Cusparselt> Cusparselt::open(const Device& device, std::string* reason) {
  const VendorLibrary names{
      "cuSPARSELt", {"libcusparseLt.so.0"}, {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvrtc.so.13"}};
  auto state = opened_library<State>(names, device, reason, [&](State& opened) -> std::string {
    const ContextScope scope(*opened.device);
    int version = 0;
    opened.api.check(opened.api.get_version(&opened.handle, &version),
                     "asking for the version of cuSPARSELt");
    constexpr int oldest = 800;  // before, the numbers of the compute types were others
    if (version < oldest)
      return "no cuSPARSELt: " + text_of_cusparselt_version(version) + " is older than " +
             text_of_cusparselt_version(oldest);
    opened.set_version(names.name, text_of_cusparselt_version(version));
    return {};
  });
  if (state == nullptr) return std::nullopt;
  Cusparselt cusparselt;
  cusparselt.state_ = std::move(state);
  return cusparselt;
}

std::span<const std::string_view> Cusparselt::algorithms() {
  return algorithm_names;
}

Cusparselt::Product Cusparselt::prepare(const TwoOfFourProduct& product, std::string_view algorithm) const {
  if (std::find(algorithm_names.begin(), algorithm_names.end(), algorithm) == algorithm_names.end())
    throw UserError(
        {"cuSPARSELt has no such way to choose a kernel", {}, std::string(algorithm), "chosen or searched"});
  const ContextScope scope(*state_->device);
  const std::string doing = "preparing a product with cuSPARSELt (" + std::string(algorithm) + ")";
  auto state = std::make_shared<Product::State>();
  state->library = state_;
  state->problem = product;
  state->describe(doing);
  state->compress(doing);
  state->allocate_workspace(doing);
  if (algorithm == "searched") {
    state_->api.check(state->call(state_->api.search, &state->plan, nullptr), doing);
    wait_for(*state_->owner, nullptr);
    state->allocate_workspace(doing);
  }
  Product prepared;
  prepared.state_ = std::move(state);
  return prepared;
}

void Cusparselt::Product::launch(StreamHandle stream) const {
  const Cusparselt::State& library = *state_->library;
  const ContextScope scope(*library.device);
  library.api.check(state_->call(library.api.multiply, static_cast<const Plan*>(&state_->plan), stream),
                    "multiplying 2:4 weights with cuSPARSELt");
}

const std::string& Cusparselt::version() const {
  return state_->version;
}

}  // namespace weft
