// A cuSPARSELt for the fake driver, whose device memory is the host's. It checks that calls come in the order
// and with the numbers that the vendor documents, and multiplies what was compressed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int success = 0, invalid_value = 3, not_supported = 10;

/// What stands in the 512 bytes of an opaque struct; `kind` tells which one it is.
struct Object {
  char kind;
  std::int64_t rows, columns;
  const Object* a;  ///< first operand of a product
  const Object* b;
  int searches;
};
int alive = 0;

Object* begin(void* opaque, char kind) {
  std::memset(opaque, 0, 512);
  auto* object = static_cast<Object*>(opaque);
  object->kind = kind;
  ++alive;
  return object;
}
const Object* as(const void* opaque, char kind) {
  const auto* object = static_cast<const Object*>(opaque);
  return object != nullptr && object->kind == kind ? object : nullptr;
}
int end(const void* opaque, char kind) {
  if (as(opaque, kind) == nullptr) return invalid_value;
  --alive;
  return success;
}
bool is_row_major_f16(std::int64_t columns, std::int64_t leading, std::uint32_t alignment, int type,
                      int order) {
  return leading == columns && alignment == 16 && type == 2 && order == 2;
}
std::size_t compressed_bytes(const Object& plan) {
  return static_cast<std::size_t>(plan.a->rows * plan.a->columns) * sizeof(_Float16);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// Handles, matrices and plans that were not destroyed.
EXPORT int weft_fake_cusparselt_alive() {
  return alive;
}

EXPORT int cusparseLtInit(void* handle) {
  begin(handle, 'h');
  return success;
}
EXPORT int cusparseLtDestroy(const void* handle) {
  return end(handle, 'h');
}
EXPORT int cusparseLtGetVersion(const void*, int* version) {
  const char* told = std::getenv("WEFT_FAKE_CUSPARSELT");
  *version = told != nullptr ? std::stoi(told) : 1002;
  return success;
}
EXPORT int cusparseLtDenseDescriptorInit(const void* handle, void* matrix, std::int64_t rows,
                                         std::int64_t columns, std::int64_t leading, std::uint32_t alignment,
                                         int type, int order) {
  if (as(handle, 'h') == nullptr || !is_row_major_f16(columns, leading, alignment, type, order))
    return invalid_value;
  Object* object = begin(matrix, 'm');
  object->rows = rows;
  object->columns = columns;
  return success;
}
EXPORT int cusparseLtStructuredDescriptorInit(const void* handle, void* matrix, std::int64_t rows,
                                              std::int64_t columns, std::int64_t leading,
                                              std::uint32_t alignment, int type, int order, int sparsity) {
  if (sparsity != 0 || columns % 4 != 0) return not_supported;
  return cusparseLtDenseDescriptorInit(handle, matrix, rows, columns, leading, alignment, type, order);
}
EXPORT int cusparseLtMatDescriptorDestroy(const void* matrix) {
  return end(matrix, 'm');
}
EXPORT int cusparseLtMatmulDescriptorInit(const void* handle, void* product, int op_a, int op_b,
                                          const void* a, const void* b, const void* c, const void* d,
                                          int compute) {
  if (as(handle, 'h') == nullptr || op_a != 0 || op_b != 0 || compute != 2 || c != d) return invalid_value;
  if (as(a, 'm') == nullptr || as(b, 'm') == nullptr || as(c, 'm') == nullptr) return invalid_value;
  Object* object = begin(product, 'p');
  --alive;  // the library has no function that ends one
  object->a = as(a, 'm');
  object->b = as(b, 'm');
  if (object->a->columns != object->b->rows || as(c, 'm')->columns != object->b->columns)
    return invalid_value;
  return success;
}
EXPORT int cusparseLtMatmulAlgSelectionInit(const void* handle, void* selection, const void* product,
                                            int algorithm) {
  if (as(handle, 'h') == nullptr || as(product, 'p') == nullptr || algorithm != 0) return invalid_value;
  begin(selection, 's');
  return success;
}
EXPORT int cusparseLtMatmulAlgSelectionDestroy(const void* selection) {
  return end(selection, 's');
}
EXPORT int cusparseLtMatmulPlanInit(const void* handle, void* plan, const void* product,
                                    const void* selection) {
  if (as(handle, 'h') == nullptr || as(product, 'p') == nullptr || as(selection, 's') == nullptr)
    return invalid_value;
  Object* object = begin(plan, 'l');
  object->a = as(product, 'p')->a;
  object->b = as(product, 'p')->b;
  return success;
}
EXPORT int cusparseLtMatmulPlanDestroy(const void* plan) {
  return end(plan, 'l');
}
/// A search finds a kernel that wants more.
EXPORT int cusparseLtMatmulGetWorkspace(const void* handle, const void* plan, std::size_t* bytes) {
  if (as(handle, 'h') == nullptr || as(plan, 'l') == nullptr) return invalid_value;
  *bytes = as(plan, 'l')->searches > 0 ? 64 : 0;
  return success;
}
EXPORT int cusparseLtSpMMAPruneCheck(const void* handle, const void* product, const void* weights, int* wrong,
                                     void*) {
  if (as(handle, 'h') == nullptr || as(product, 'p') == nullptr) return invalid_value;
  const Object& a = *as(product, 'p')->a;
  const auto* values = static_cast<const _Float16*>(weights);
  *wrong = 0;
  for (std::int64_t four = 0; four < a.rows * a.columns; four += 4) {
    int stored = 0;
    for (std::int64_t i = four; i < four + 4; ++i) stored += static_cast<float>(values[i]) != 0 ? 1 : 0;
    if (stored > 2) *wrong = 1;
  }
  return success;
}
EXPORT int cusparseLtSpMMACompressedSize(const void* handle, const void* plan, std::size_t* bytes,
                                         std::size_t* buffer_bytes) {
  if (as(handle, 'h') == nullptr || as(plan, 'l') == nullptr) return invalid_value;
  *bytes = compressed_bytes(*as(plan, 'l'));
  *buffer_bytes = 32;
  return success;
}
EXPORT int cusparseLtSpMMACompress(const void* handle, const void* plan, const void* weights,
                                   void* compressed, void* buffer, void*) {
  if (as(handle, 'h') == nullptr || as(plan, 'l') == nullptr || buffer == nullptr) return invalid_value;
  std::memcpy(compressed, weights, compressed_bytes(*as(plan, 'l')));
  return success;
}
EXPORT int cusparseLtMatmul(const void* handle, const void* plan, const void* alpha, const void* a,
                            const void* b, const void* beta, const void* c, void* d, void* workspace,
                            void** streams, std::int32_t stream_count) {
  if (as(handle, 'h') == nullptr || as(plan, 'l') == nullptr || c != d) return invalid_value;
  if (streams == nullptr || stream_count != 1) return invalid_value;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) return invalid_value;
  const Object& of = *as(plan, 'l');
  if (of.searches > 0 && workspace == nullptr) return invalid_value;
  const auto* left = static_cast<const _Float16*>(a);
  const auto* right = static_cast<const _Float16*>(b);
  const std::int64_t n = of.b->columns;
  for (std::int64_t row = 0; row < of.a->rows; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (std::int64_t k = 0; k < of.a->columns; ++k)
        sum += static_cast<float>(left[row * of.a->columns + k]) * static_cast<float>(right[k * n + column]);
      static_cast<_Float16*>(d)[row * n + column] = static_cast<_Float16>(sum);
    }
  }
  return success;
}
EXPORT int cusparseLtMatmulSearch(const void* handle, void* plan, const void* alpha, const void* a,
                                  const void* b, const void* beta, const void* c, void* d, void* workspace,
                                  void** streams, std::int32_t stream_count) {
  const int status =
      cusparseLtMatmul(handle, plan, alpha, a, b, beta, c, d, workspace, streams, stream_count);
  ++static_cast<Object*>(plan)->searches;
  return status;
}
