#include <weft/backends/runtime/libraries/cublaslt.h>
#include <weft/backends/runtime/libraries/vendor_library.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/errors.h>

#include <array>

namespace weft {
namespace {

using Handle = struct cublasLtContext*;
using Description = struct cublasLtMatmulDescription*;
using Matrix = struct cublasLtMatrixDescription*;
using Preference = struct cublasLtMatmulPreferenceDescription*;
using Status = VendorStatus;

/// cublasLtMatmulHeuristicResult_t.
struct Proposal {
  std::array<std::uint64_t, 8> algorithm{};
  std::size_t workspace_bytes = 0;
  Status state = 0;
  float waves = 0;
  std::array<int, 4> reserved{};
};

struct EntryPoints : LibraryFunctions {
  Imported<Status(Handle* handle)> create{*this, "cublasLtCreate"};
  Imported<Status(Handle handle)> destroy{*this, "cublasLtDestroy"};
  Imported<std::size_t()> get_version{*this, "cublasLtGetVersion"};
  Imported<Status(Description* description, int compute, int scale)> describe{*this,
                                                                              "cublasLtMatmulDescCreate"};
  Imported<Status(Description description, int attribute, const void* value, std::size_t bytes)>
      set_description{*this, "cublasLtMatmulDescSetAttribute"};
  Imported<Status(Description description)> destroy_description{*this, "cublasLtMatmulDescDestroy"};
  Imported<Status(Matrix* matrix, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading)>
      describe_matrix{*this, "cublasLtMatrixLayoutCreate"};
  Imported<Status(Matrix matrix)> destroy_matrix{*this, "cublasLtMatrixLayoutDestroy"};
  Imported<Status(Preference* preference)> prefer{*this, "cublasLtMatmulPreferenceCreate"};
  Imported<Status(Preference preference, int attribute, const void* value, std::size_t bytes)> set_preference{
      *this, "cublasLtMatmulPreferenceSetAttribute"};
  Imported<Status(Preference preference)> destroy_preference{*this, "cublasLtMatmulPreferenceDestroy"};
  Imported<Status(Handle handle, Description description, Matrix a, Matrix b, Matrix c, Matrix d,
                  Preference preference, int wanted, Proposal* proposals, int* found)>
      propose{*this, "cublasLtMatmulAlgoGetHeuristic"};
  Imported<Status(Handle handle, Description description, const void* alpha, const void* a, Matrix of_a,
                  const void* b, Matrix of_b, const void* beta, const void* c, Matrix of_c, void* d,
                  Matrix of_d, const void* algorithm, void* workspace, std::size_t workspace_bytes,
                  StreamHandle stream)>
      multiply{*this, "cublasLtMatmul"};
  Imported<const char*(Status status)> status_text{*this, "cublasLtGetStatusString", false};
};

constexpr std::size_t workspace_bytes = 32U << 20U;
constexpr int compute_f32 = 68, f32_code = 0, f16_code = 2, e4m3_code = 28;

}  // namespace

struct CublasLt::State : OpenedLibrary<EntryPoints, Handle> {};

namespace {

/// cuBLASLt is column-major: C [m, n] is asked for as its transpose, of B^T [k, n] transposed and A^T [k, m].
struct PreparedProduct {
  std::shared_ptr<OpenedLibrary<EntryPoints, Handle>> library;
  ByteProduct product;
  Description description = nullptr;
  Matrix a = nullptr, b = nullptr, c = nullptr;
  Proposal proposal = {};
  DeviceMemory workspace = {};

  ~PreparedProduct() {
    release_in_context(*library->device, [this] {
      for (const Matrix matrix : {a, b, c})
        if (matrix != nullptr) library->api.destroy_matrix(matrix);
      if (description != nullptr) library->api.destroy_description(description);
    });
  }

  void describe(const std::string& doing) {
    constexpr int transpose_of_a = 3, transposed = 1;
    const EntryPoints& api = library->api;
    const auto check = [&](Status status) { library->check(status, doing); };
    const auto rows = static_cast<std::uint64_t>(product.m), columns = static_cast<std::uint64_t>(product.n),
               depth = static_cast<std::uint64_t>(product.k);
    check(api.describe(&description, compute_f32, f32_code));
    check(api.set_description(description, transpose_of_a, &transposed, sizeof transposed));
    check(api.describe_matrix(&b, e4m3_code, depth, columns, product.k));
    check(api.describe_matrix(&a, e4m3_code, depth, rows, product.k));
    check(api.describe_matrix(&c, f16_code, columns, rows, product.n));
  }

  void choose(int kernel, const std::string& doing) {
    constexpr int most_workspace = 1;
    const EntryPoints& api = library->api;
    Preference preference = nullptr;
    library->check(api.prefer(&preference), doing);
    library->check(api.set_preference(preference, most_workspace, &workspace_bytes, sizeof workspace_bytes),
                   doing);
    std::array<Proposal, CublasLt::most_kernels> proposals{};
    int found = 0;
    // Where it has none it says so by its status.
    const Status status = api.propose(library->handle, description, b, a, c, c, preference,
                                      CublasLt::most_kernels, proposals.data(), &found);
    api.destroy_preference(preference);
    if (status != 0 || kernel >= found)
      throw UserError(doing, std::to_string(status == 0 ? found : 0) + " kernels",
                      "m, n and k that are "
                      "multiples of 16, and the number of a kernel that it proposes");
    proposal = proposals.at(static_cast<std::size_t>(kernel));
    workspace = DeviceMemory(*library->owner, workspace_bytes);
  }

  void launch(StreamHandle stream) const {
    constexpr float alpha = 1, beta = 0;
    const ContextScope scope(*library->device);
    library->check(library->api.multiply(library->handle, description, &alpha, device_pointer(product.b), b,
                                         device_pointer(product.a), a, &beta, device_pointer(product.c), c,
                                         device_pointer(product.c), c, proposal.algorithm.data(),
                                         workspace.data(), workspace_bytes, stream),
                   "multiplying dense matrices with cuBLASLt");
  }
};

}  // namespace

std::optional<CublasLt> CublasLt::open(const Device& device, std::string* reason) {
  const VendorLibrary names{"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, {}};
  return opened_library<CublasLt, State>(names, device, reason, [](State& opened) {
    // As cuBLAS counts since version 10.
    const auto version = static_cast<std::int64_t>(opened.api.get_version());
    opened.set_version(dotted_version(version / 10000, version / 100 % 100, version % 100));
    return std::string();
  });
}

PreparedCall CublasLt::prepare(const ByteProduct& product, int kernel) const {
  const std::string doing = "preparing a product with cuBLASLt";
  const ContextScope scope(*state_->device);
  const auto prepared = std::make_shared<PreparedProduct>(state_, product);
  prepared->describe(doing);
  prepared->choose(kernel, doing);
  return PreparedCall([prepared](StreamHandle stream) { prepared->launch(stream); });
}

const std::string& CublasLt::version() const {
  return state_->version;
}

}  // namespace weft
