#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/libraries/vendor_library.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/errors.h>

#include <limits>

namespace weft {
namespace {

using Handle = struct cublasContext*;
using Status = VendorStatus;

struct EntryPoints : LibraryFunctions {
  Imported<Status(Handle* handle)> create{*this, "cublasCreate_v2"};
  Imported<Status(Handle handle)> destroy{*this, "cublasDestroy_v2"};
  Imported<Status(Handle handle, int* version)> get_version{*this, "cublasGetVersion_v2"};
  Imported<Status(Handle handle, StreamHandle stream)> set_stream{*this, "cublasSetStream_v2"};
  Imported<Status(Handle handle, void* workspace, std::size_t bytes)> set_workspace{*this,
                                                                                    "cublasSetWorkspace_v2"};
  Imported<Status(Handle handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                  int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c,
                  int type_c, int ldc, int compute, int algorithm)>
      gemm{*this, "cublasGemmEx"};
  Imported<const char*(Status status)> status_text{*this, "cublasGetStatusString", false};
};

/// cublasComputeType_t.
int compute_code(DenseType type) {
  constexpr int compute_f32 = 68, compute_f32_pedantic = 69, compute_f32_fast_tf32 = 77;
  if (type == DenseType::f32) return compute_f32_pedantic;
  return type == DenseType::tf32 ? compute_f32_fast_tf32 : compute_f32;
}

void check_extents(const DenseProblem& problem) {
  if (problem.type == DenseType::e4m3)
    throw UserError("multiplying dense matrices with cuBLAS", "e4m3",
                    "f32, f16 or bf16; cuBLASLt takes e4m3");
  for (const std::int64_t extent : {problem.m, problem.n, problem.k}) {
    if (extent >= 1 && extent <= std::numeric_limits<int>::max()) continue;
    throw UserError("multiplying dense matrices with cuBLAS",
                    "M = " + std::to_string(problem.m) + ", K = " + std::to_string(problem.k) +
                        ", N = " + std::to_string(problem.n),
                    "each from 1 to " + std::to_string(std::numeric_limits<int>::max()));
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
  return opened_library<Dense, State>(names, device, reason, [&](State& opened) {
    const ContextScope scope(*opened.device);
    opened.workspace = DeviceMemory(device, workspace_bytes);
    int version = 0;
    opened.check(opened.api.get_version(opened.handle, &version), "asking for the version of cuBLAS");
    // 130100 is 13.1.0 since version 10; the thousands are the minor version.
    opened.set_version(dotted_version(version / 10000, version / 100 % 100, version % 100));
    return std::string();
  });
}

void Dense::multiply(const DenseProblem& problem, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                     StreamHandle stream) const {
  check_extents(problem);
  const EntryPoints& api = state_->api;
  const ContextScope scope(*state_->device);
  state_->check(api.set_stream(state_->handle, stream), "giving cuBLAS a stream");
  // A new stream takes the workspace away again.
  state_->check(api.set_workspace(state_->handle, state_->workspace.data(), workspace_bytes),
                "giving cuBLAS a workspace");
  const int data = data_code(problem.type);
  const int m = static_cast<int>(problem.m);
  const int n = static_cast<int>(problem.n);
  const int k = static_cast<int>(problem.k);
  const float alpha = 1;
  const float beta = 0;
  constexpr int plain = 0, transposed = 1, default_algorithm = -1;
  const auto gemm = [&](int op, int rows, int columns, std::uint64_t left, int left_leading,
                        std::uint64_t right, int right_leading, int leading) {
    return api.gemm(state_->handle, op, plain, rows, columns, k, &alpha, device_pointer(left), data,
                    left_leading, device_pointer(right), data, right_leading, &beta, device_pointer(c), data,
                    leading, compute_code(problem.type), default_algorithm);
  };
  // cuBLAS is column-major: a row-major matrix is its own transpose there. Row-major C = A B is asked for as
  // C^T = B^T A^T; the linear layer's C, stored [N, M], is a column-major M x N already.
  state_->check(problem.layout == DenseLayout::row_major ? gemm(plain, n, m, b, n, a, k, n)
                                                         : gemm(transposed, m, n, a, k, b, k, m),
                "multiplying dense matrices with cuBLAS");
}

const std::string& Dense::version() const {
  return state_->version;
}

}  // namespace weft
