#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/libraries/vendor_library.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/errors.h>

#include <limits>

namespace weft {
namespace {

using Handle = struct cublasContext*;
using Status = VendorStatus;

struct EntryPoints {
  Status (*create)(Handle* handle);
  Status (*destroy)(Handle handle);
  Status (*get_version)(Handle handle, int* version);
  Status (*set_stream)(Handle handle, StreamHandle stream);
  Status (*set_workspace)(Handle handle, void* workspace, std::size_t bytes);
  Status (*gemm)(Handle handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                 int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c,
                 int type_c, int ldc, int compute, int algorithm);
  const char* (*status_text)(Status status);

  bool resolve(const SharedLibrary& library) {
    library.resolve(status_text, "cublasGetStatusString");
    return library.resolve(create, "cublasCreate_v2") && library.resolve(destroy, "cublasDestroy_v2") &&
           library.resolve(get_version, "cublasGetVersion_v2") &&
           library.resolve(set_stream, "cublasSetStream_v2") &&
           library.resolve(set_workspace, "cublasSetWorkspace_v2") && library.resolve(gemm, "cublasGemmEx");
  }
  Status open(Handle& handle) const { return create(&handle); }
  void close(Handle& handle) const { destroy(handle); }
  void check(Status status, const std::string& doing) const {
    check_status(status, status_text, "cuBLAS", doing);
  }
};

/// cudaDataType_t and cublasComputeType_t of a type.
struct TypeCodes {
  int data;
  int compute;
};

TypeCodes codes_of(DenseType type) {
  constexpr int data_f32 = 0, data_f16 = 2, data_bf16 = 14;
  constexpr int compute_f32 = 68, compute_f32_pedantic = 69, compute_f32_fast_tf32 = 77;
  switch (type) {
    case DenseType::f32:
      return {data_f32, compute_f32_pedantic};
    case DenseType::tf32:
      return {data_f32, compute_f32_fast_tf32};
    case DenseType::f16:
      return {data_f16, compute_f32};
    case DenseType::bf16:
      return {data_bf16, compute_f32};
  }
  throw InternalError("a DenseType without codes");
}

void check_extents(const DenseProblem& problem) {
  for (const std::int64_t extent : {problem.m, problem.n, problem.k}) {
    if (extent >= 1 && extent <= std::numeric_limits<int>::max()) continue;
    throw UserError({"multiplying dense matrices with cuBLAS",
                     {},
                     "M = " + std::to_string(problem.m) + ", K = " + std::to_string(problem.k) +
                         ", N = " + std::to_string(problem.n),
                     "each from 1 to " + std::to_string(std::numeric_limits<int>::max())});
  }
}

// Enough for every product on sm_90; cuBLAS itself takes as much there.
constexpr std::size_t workspace_bytes = 32U << 20U;

}  // namespace

struct Dense::State : OpenedLibrary<EntryPoints, Handle> {
  DeviceMemory workspace;
};

std::optional<Dense> Dense::open(const Device& device, std::string* reason) {
  const VendorLibrary names{
      "cuBLAS", {"libcublas.so.13", "libcublas.so.12"}, {"libcublasLt.so.13", "libcublasLt.so.12"}};
  auto state = opened_library<State>(names, device, reason, [&](State& opened) {
    const ContextScope scope(*opened.device);
    opened.workspace = DeviceMemory(device, workspace_bytes);
    int version = 0;
    opened.api.check(opened.api.get_version(opened.handle, &version), "asking for the version of cuBLAS");
    // 130100 is 13.1.0 since version 10; the thousands are the minor version.
    opened.set_version(names.name, dotted_version(version / 10000, version / 100 % 100, version % 100));
    return std::string();
  });
  if (state == nullptr) return std::nullopt;
  Dense dense;
  dense.state_ = std::move(state);
  return dense;
}

void Dense::multiply(const DenseProblem& problem, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                     StreamHandle stream) const {
  check_extents(problem);
  const EntryPoints& api = state_->api;
  const ContextScope scope(*state_->device);
  api.check(api.set_stream(state_->handle, stream), "giving cuBLAS a stream");
  // A new stream takes the workspace away again.
  api.check(api.set_workspace(state_->handle, state_->workspace.data(), workspace_bytes),
            "giving cuBLAS a workspace");
  const TypeCodes codes = codes_of(problem.type);
  const int m = static_cast<int>(problem.m);
  const int n = static_cast<int>(problem.n);
  const int k = static_cast<int>(problem.k);
  const float alpha = 1;
  const float beta = 0;
  constexpr int plain = 0, transposed = 1, default_algorithm = -1;
  // cuBLAS is column-major: a row-major matrix is its own transpose there. Row-major C = A B is asked for as
  // C^T = B^T A^T; the linear layer's C, stored [N, M], is a column-major M x N already.
  const Status status = problem.layout == DenseLayout::row_major
                            ? api.gemm(state_->handle, plain, plain, n, m, k, &alpha, device_pointer(b),
                                       codes.data, n, device_pointer(a), codes.data, k, &beta,
                                       device_pointer(c), codes.data, n, codes.compute, default_algorithm)
                            : api.gemm(state_->handle, transposed, plain, m, n, k, &alpha, device_pointer(a),
                                       codes.data, k, device_pointer(b), codes.data, k, &beta,
                                       device_pointer(c), codes.data, m, codes.compute, default_algorithm);
  api.check(status, "multiplying dense matrices with cuBLAS");
}

const std::string& Dense::version() const {
  return state_->version;
}

}  // namespace weft
