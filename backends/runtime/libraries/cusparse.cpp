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

/// What three entry points have in common: all but their last argument.
template <class Last>
using Multiplication = Status(Handle handle, int op_a, int op_b, const void* alpha, SparseMatrix a,
                              DenseMatrix b, const void* beta, DenseMatrix c, int compute, int algorithm,
                              Last last);

struct EntryPoints : LibraryFunctions {
  Imported<Status(Handle* handle)> create{*this, "cusparseCreate"};
  Imported<Status(Handle handle)> destroy{*this, "cusparseDestroy"};
  Imported<Status(Handle handle, int* version)> get_version{*this, "cusparseGetVersion"};
  Imported<Status(Handle handle, StreamHandle stream)> set_stream{*this, "cusparseSetStream"};
  Imported<Status(SparseMatrix* matrix, std::int64_t rows, std::int64_t columns, std::int64_t stored,
                  void* row_begin, void* column, void* values, int offset_type, int column_type,
                  int index_base, int value_type)>
      create_csr{*this, "cusparseCreateCsr"};
  Imported<Status(SparseMatrix* matrix, std::int64_t rows, std::int64_t columns, std::int64_t block,
                  std::int64_t ell_columns, void* block_column, void* values, int column_type, int index_base,
                  int value_type)>
      create_blocked_ell{*this, "cusparseCreateBlockedEll"};
  Imported<Status(DenseMatrix* matrix, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                  void* values, int value_type, int order)>
      create_dense{*this, "cusparseCreateDnMat"};
  Imported<Status(SparseMatrix matrix)> destroy_sparse{*this, "cusparseDestroySpMat"};
  Imported<Status(DenseMatrix matrix)> destroy_dense{*this, "cusparseDestroyDnMat"};
  Imported<Multiplication<std::size_t*>> buffer_size{*this, "cusparseSpMM_bufferSize"};
  Imported<Multiplication<void*>> preprocess{*this, "cusparseSpMM_preprocess"};
  Imported<Multiplication<void*>> multiply{*this, "cusparseSpMM"};
  Imported<const char*(Status status)> status_text{*this, "cusparseGetErrorString", false};
};

void check_type(DenseType type) {
  if (type == DenseType::tf32)
    throw UserError("multiplying sparse weights with cuSPARSE", "the type tf32", "f32, f16 or bf16");
}

constexpr std::array<std::string_view, 4> algorithm_names{"default", "csr 1", "csr 2", "csr 3"};
/// cusparseSpMMAlg_t.
constexpr std::array<int, 4> algorithm_codes{0, 4, 6, 12};

int algorithm_code(std::string_view name) {
  const auto* found = std::ranges::find(algorithm_names, name);
  if (found != algorithm_names.end()) return algorithm_codes[found - algorithm_names.begin()];
  throw UserError("cuSPARSE has no such algorithm", std::string(name), "default, csr 1, csr 2 or csr 3");
}

void check_extents(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t stored) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  bool fits = stored >= 0 && stored <= most;
  for (const std::int64_t extent : {m, n, k}) fits = fits && extent >= 1 && extent <= most;
  if (fits) return;
  throw UserError("multiplying sparse weights with cuSPARSE",
                  "M = " + std::to_string(m) + ", K = " + std::to_string(k) + ", N = " + std::to_string(n) +
                      ", " + std::to_string(stored) + " entries",
                  "extents from 1 to " + std::to_string(most) + ", at most as many entries");
}

void check_blocks(const BlockedEllProduct& product) {
  bool fits = product.block >= 1;
  for (const std::int64_t extent : {product.m, product.k, product.ell_columns})
    fits = fits && extent % product.block == 0;
  if (fits && product.ell_columns >= 1 && product.ell_columns <= product.k) return;
  throw UserError("multiplying weights in blocks with cuSPARSE",
                  "blocks of " + std::to_string(product.block) + " for M = " + std::to_string(product.m) +
                      ", K = " + std::to_string(product.k) + ", " + std::to_string(product.ell_columns) +
                      " columns of it kept",
                  "blocks that divide all three, and at least one of them kept");
}

constexpr int index_32 = 2, base_zero = 0;

}  // namespace

struct Cusparse::State : OpenedLibrary<EntryPoints, Handle> {};

namespace {

/// A product with its descriptors and workspace.
struct PreparedProduct {
  std::shared_ptr<OpenedLibrary<EntryPoints, Handle>> library;
  int algorithm = 0;
  SparseMatrix a = nullptr;
  DenseMatrix b = nullptr;
  DenseMatrix c = nullptr;
  DeviceMemory workspace = {};

  ~PreparedProduct() {
    release_in_context(*library->device, [this] {
      if (a != nullptr) library->api.destroy_sparse(a);
      if (b != nullptr) library->api.destroy_dense(b);
      if (c != nullptr) library->api.destroy_dense(c);
    });
  }

  template <class Last>
  Status call(const Imported<Multiplication<Last>>& function, Last last) const {
    static constexpr float alpha = 1;
    static constexpr float beta = 0;
    constexpr int plain = 0, compute_f32 = 0;
    return function(library->handle, plain, plain, &alpha, a, b, &beta, c, compute_f32, algorithm, last);
  }

  /// Row-major dense operands of the product, and its workspace.
  template <class Product>
  void describe_dense(const Product& product, const std::string& doing) {
    constexpr int row_major = 2;
    const EntryPoints& api = library->api;
    const auto check = [&](Status status) { library->check(status, doing); };
    const auto [n, data] = std::pair(product.n, data_code(product.type));
    check(api.create_dense(&b, product.k, n, n, device_pointer(product.b), data, row_major));
    check(api.create_dense(&c, product.m, n, n, device_pointer(product.c), data, row_major));
    std::size_t bytes = 0;
    check(api.set_stream(library->handle, nullptr));
    check(call(api.buffer_size, &bytes));
    workspace = DeviceMemory(*library->owner, bytes);
  }

  void launch(StreamHandle stream) const {
    const ContextScope scope(*library->device);
    library->check(library->api.set_stream(library->handle, stream), "giving cuSPARSE a stream");
    library->check(call(library->api.multiply, workspace.data()), "multiplying sparse weights with cuSPARSE");
  }
};

}  // namespace

std::optional<Cusparse> Cusparse::open(const Device& device, std::string* reason) {
  // The number of cuSPARSE stayed behind the toolkit's: CUDA 12 and 13 both bring 12.
  const VendorLibrary names{
      "cuSPARSE", {"libcusparse.so.13", "libcusparse.so.12"}, {"libnvJitLink.so.13", "libnvJitLink.so.12"}};
  return opened_library<Cusparse, State>(names, device, reason, [&](State& opened) {
    const ContextScope scope(*opened.device);
    int version = 0;
    opened.check(opened.api.get_version(opened.handle, &version), "asking for the version of cuSPARSE");
    opened.set_version(dotted_version(version / 1000, version / 100 % 10, version % 100));
    return std::string();
  });
}

std::span<const std::string_view> Cusparse::algorithms() {
  return algorithm_names;
}

PreparedCall Cusparse::prepare(const CsrProduct& product, std::string_view algorithm) const {
  check_extents(product.m, product.n, product.k, product.stored);
  check_type(product.type);
  const ContextScope scope(*state_->device);
  const auto prepared = std::make_shared<PreparedProduct>(state_, algorithm_code(algorithm));
  const std::string doing = "preparing a product with cuSPARSE (" + std::string(algorithm) + ")";
  state_->check(state_->api.create_csr(&prepared->a, product.m, product.k, product.stored,
                                       device_pointer(product.row_begin), device_pointer(product.column),
                                       device_pointer(product.values), index_32, index_32, base_zero,
                                       data_code(product.type)),
                doing);
  prepared->describe_dense(product, doing);
  state_->check(prepared->call(state_->api.preprocess, prepared->workspace.data()), doing);
  wait_for(*state_->owner, nullptr);
  return PreparedCall([prepared](StreamHandle stream) { prepared->launch(stream); });
}

PreparedCall Cusparse::prepare(const BlockedEllProduct& product) const {
  check_blocks(product);
  check_extents(product.m, product.n, product.k, product.m * product.ell_columns);
  check_type(product.type);
  const ContextScope scope(*state_->device);
  const auto prepared = std::make_shared<PreparedProduct>(state_, algorithm_codes.front());
  const std::string doing = "preparing a product with cuSPARSE (Blocked-ELL)";
  state_->check(
      state_->api.create_blocked_ell(&prepared->a, product.m, product.k, product.block, product.ell_columns,
                                     device_pointer(product.block_column), device_pointer(product.values),
                                     index_32, base_zero, data_code(product.type)),
      doing);
  // Nothing is learnt of the weights beforehand: the preprocessing step is for CSR alone.
  prepared->describe_dense(product, doing);
  return PreparedCall([prepared](StreamHandle stream) { prepared->launch(stream); });
}

const std::string& Cusparse::version() const {
  return state_->version;
}

}  // namespace weft
