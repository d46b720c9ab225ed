#include <weft/backends/runtime/libraries/cusparse.h>
#include <weft/backends/runtime/libraries/vendor_library.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <array>
#include <limits>

namespace weft {
namespace {

using Handle = struct cusparseContext*;
using SparseMatrix = struct cusparseSpMatDescr*;
using DenseMatrix = struct cusparseDnMatDescr*;
using Status = VendorStatus;

/// The arguments that three entry points share, up to the algorithm.
#define WEFT_CUSPARSE_SPMM_ARGUMENTS                                                                     \
  Handle handle, int op_a, int op_b, const void *alpha, SparseMatrix a, DenseMatrix b, const void *beta, \
      DenseMatrix c, int compute, int algorithm

struct EntryPoints {
  Status (*create)(Handle* handle);
  Status (*destroy)(Handle handle);
  Status (*get_version)(Handle handle, int* version);
  Status (*set_stream)(Handle handle, StreamHandle stream);
  Status (*create_csr)(SparseMatrix* matrix, std::int64_t rows, std::int64_t columns, std::int64_t stored,
                       void* row_begin, void* column, void* values, int offset_type, int column_type,
                       int index_base, int value_type);
  Status (*create_blocked_ell)(SparseMatrix* matrix, std::int64_t rows, std::int64_t columns,
                               std::int64_t block, std::int64_t ell_columns, void* block_column, void* values,
                               int column_type, int index_base, int value_type);
  Status (*create_dense)(DenseMatrix* matrix, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                         void* values, int value_type, int order);
  Status (*destroy_sparse)(SparseMatrix matrix);
  Status (*destroy_dense)(DenseMatrix matrix);
  Status (*buffer_size)(WEFT_CUSPARSE_SPMM_ARGUMENTS, std::size_t* bytes);
  Status (*preprocess)(WEFT_CUSPARSE_SPMM_ARGUMENTS, void* buffer);
  Status (*multiply)(WEFT_CUSPARSE_SPMM_ARGUMENTS, void* buffer);
  const char* (*status_text)(Status status);

  bool resolve(const SharedLibrary& library) {
    library.resolve(status_text, "cusparseGetErrorString");
    return library.resolve(create, "cusparseCreate") && library.resolve(destroy, "cusparseDestroy") &&
           library.resolve(get_version, "cusparseGetVersion") &&
           library.resolve(set_stream, "cusparseSetStream") &&
           library.resolve(create_csr, "cusparseCreateCsr") &&
           library.resolve(create_blocked_ell, "cusparseCreateBlockedEll") &&
           library.resolve(create_dense, "cusparseCreateDnMat") &&
           library.resolve(destroy_sparse, "cusparseDestroySpMat") &&
           library.resolve(destroy_dense, "cusparseDestroyDnMat") &&
           library.resolve(buffer_size, "cusparseSpMM_bufferSize") &&
           library.resolve(preprocess, "cusparseSpMM_preprocess") &&
           library.resolve(multiply, "cusparseSpMM");
  }
  Status open(Handle& handle) const { return create(&handle); }
  void close(Handle& handle) const { destroy(handle); }
  void check(Status status, const std::string& doing) const {
    check_status(status, status_text, "cuSPARSE", doing);
  }
};

#undef WEFT_CUSPARSE_SPMM_ARGUMENTS

constexpr int data_f32 = 0;

/// cudaDataType_t.
int data_code(DenseType type) {
  switch (type) {
    case DenseType::f32:
      return data_f32;
    case DenseType::f16:
      return 2;
    case DenseType::bf16:
      return 14;
    case DenseType::tf32:
      break;
  }
  throw UserError({"multiplying sparse weights with cuSPARSE", {}, "the type tf32", "f32, f16 or bf16"});
}

constexpr std::array<std::string_view, 4> algorithm_names{"default", "csr 1", "csr 2", "csr 3"};
/// cusparseSpMMAlg_t.
constexpr std::array<int, 4> algorithm_codes{0, 4, 6, 12};

int algorithm_code(std::string_view name) {
  const auto* found = std::find(algorithm_names.begin(), algorithm_names.end(), name);
  if (found != algorithm_names.end())
    return algorithm_codes[static_cast<std::size_t>(found - algorithm_names.begin())];
  throw UserError(
      {"cuSPARSE has no such algorithm", {}, std::string(name), "default, csr 1, csr 2 or csr 3"});
}

void check_extents(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t stored) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  bool fits = stored >= 0 && stored <= most;
  for (const std::int64_t extent : {m, n, k}) fits = fits && extent >= 1 && extent <= most;
  if (fits) return;
  throw UserError({"multiplying sparse weights with cuSPARSE",
                   {},
                   "M = " + std::to_string(m) + ", K = " + std::to_string(k) + ", N = " + std::to_string(n) +
                       ", " + std::to_string(stored) + " entries",
                   "extents from 1 to " + std::to_string(most) + ", at most as many entries"});
}

void check_blocks(const BlockedEllProduct& product) {
  bool fits = product.block >= 1;
  for (const std::int64_t extent : {product.m, product.k, product.ell_columns})
    fits = fits && extent % product.block == 0;
  if (fits && product.ell_columns >= 1 && product.ell_columns <= product.k) return;
  throw UserError({"multiplying weights in blocks with cuSPARSE",
                   {},
                   "blocks of " + std::to_string(product.block) + " for M = " + std::to_string(product.m) +
                       ", K = " + std::to_string(product.k) + ", " + std::to_string(product.ell_columns) +
                       " columns of it kept",
                   "blocks that divide all three, and at least one of them kept"});
}

constexpr int index_32 = 2, base_zero = 0;

}  // namespace

struct Cusparse::State : OpenedLibrary<EntryPoints, Handle> {};

struct Cusparse::Product::State {
  std::shared_ptr<Cusparse::State> library;
  SparseMatrix a = nullptr;
  DenseMatrix b = nullptr;
  DenseMatrix c = nullptr;
  DeviceMemory workspace;
  int algorithm = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    release_in_context(*library->device, [this] {
      if (a != nullptr) library->api.destroy_sparse(a);
      if (b != nullptr) library->api.destroy_dense(b);
      if (c != nullptr) library->api.destroy_dense(c);
    });
  }

  template <class F, class Last>
  Status call(F* function, Last last) const {
    static constexpr float alpha = 1;
    static constexpr float beta = 0;
    constexpr int plain = 0;
    return function(library->handle, plain, plain, &alpha, a, b, &beta, c, data_f32, algorithm, last);
  }

  /// Row-major dense operands of the product, and its workspace.
  void describe_dense(std::int64_t m, std::int64_t n, std::int64_t k, int data, std::uint64_t b_address,
                      std::uint64_t c_address, const std::string& doing) {
    constexpr int row_major = 2;
    const EntryPoints& api = library->api;
    api.check(api.create_dense(&b, k, n, n, device_pointer(b_address), data, row_major), doing);
    api.check(api.create_dense(&c, m, n, n, device_pointer(c_address), data, row_major), doing);
    std::size_t bytes = 0;
    api.check(api.set_stream(library->handle, nullptr), doing);
    api.check(call(api.buffer_size, &bytes), doing);
    workspace = DeviceMemory(*library->owner, bytes);
  }
};

std::optional<Cusparse> Cusparse::open(const Device& device, std::string* reason) {
  // The number of cuSPARSE stayed behind the toolkit's: CUDA 12 and 13 both bring 12.
  const VendorLibrary names{
      "cuSPARSE", {"libcusparse.so.13", "libcusparse.so.12"}, {"libnvJitLink.so.13", "libnvJitLink.so.12"}};
  auto state = opened_library<State>(names, device, reason, [&](State& opened) {
    const ContextScope scope(*opened.device);
    int version = 0;
    opened.api.check(opened.api.get_version(opened.handle, &version), "asking for the version of cuSPARSE");
    opened.set_version(names.name, dotted_version(version / 1000, version / 100 % 10, version % 100));
    return std::string();
  });
  if (state == nullptr) return std::nullopt;
  Cusparse cusparse;
  cusparse.state_ = std::move(state);
  return cusparse;
}

std::span<const std::string_view> Cusparse::algorithms() {
  return algorithm_names;
}

Cusparse::Product Cusparse::prepare(const CsrProduct& product, std::string_view algorithm) const {
  check_extents(product.m, product.n, product.k, product.stored);
  const int data = data_code(product.type);
  const EntryPoints& api = state_->api;
  const ContextScope scope(*state_->device);
  auto state = std::make_shared<Product::State>();
  state->library = state_;
  state->algorithm = algorithm_code(algorithm);
  const std::string doing = "preparing a product with cuSPARSE (" + std::string(algorithm) + ")";
  api.check(api.create_csr(&state->a, product.m, product.k, product.stored, device_pointer(product.row_begin),
                           device_pointer(product.column), device_pointer(product.values), index_32, index_32,
                           base_zero, data),
            doing);
  state->describe_dense(product.m, product.n, product.k, data, product.b, product.c, doing);
  api.check(state->call(api.preprocess, state->workspace.data()), doing);
  wait_for(*state_->owner, nullptr);
  Product prepared;
  prepared.state_ = std::move(state);
  return prepared;
}

Cusparse::Product Cusparse::prepare(const BlockedEllProduct& product) const {
  check_blocks(product);
  check_extents(product.m, product.n, product.k, product.m * product.ell_columns);
  const int data = data_code(product.type);
  const EntryPoints& api = state_->api;
  const ContextScope scope(*state_->device);
  auto state = std::make_shared<Product::State>();
  state->library = state_;
  state->algorithm = algorithm_codes.front();
  const std::string doing = "preparing a product with cuSPARSE (Blocked-ELL)";
  api.check(api.create_blocked_ell(&state->a, product.m, product.k, product.block, product.ell_columns,
                                   device_pointer(product.block_column), device_pointer(product.values),
                                   index_32, base_zero, data),
            doing);
  // Nothing is learnt of the weights beforehand: the preprocessing step is for CSR alone.
  state->describe_dense(product.m, product.n, product.k, data, product.b, product.c, doing);
  Product prepared;
  prepared.state_ = std::move(state);
  return prepared;
}

void Cusparse::Product::launch(StreamHandle stream) const {
  const Cusparse::State& library = *state_->library;
  const ContextScope scope(*library.device);
  library.api.check(library.api.set_stream(library.handle, stream), "giving cuSPARSE a stream");
  library.api.check(state_->call(library.api.multiply, state_->workspace.data()),
                    "multiplying sparse weights with cuSPARSE");
}

const std::string& Cusparse::version() const {
  return state_->version;
}

}  // namespace weft
