// A cuSPARSE for the fake driver, whose device memory is the host's: it multiplies row-major f32 and f16
// weights in Blocked-ELL the way the vendor's documentation lays them out, and refuses everything else.
#include <cstddef>
#include <cstdint>

namespace {

constexpr int success = 0, not_supported = 10;

struct Sparse {
  std::int64_t rows, columns, block, ell_columns;
  const std::int32_t* block_column;
  const void* values;
  int type;
};
struct Dense {
  std::int64_t rows, columns, leading;
  void* values;
  int type;
};
constexpr int type_f32 = 0, type_f16 = 2;
int alive = 0;

template <class T>
void multiply(const Sparse& a, const Dense& b, const Dense& c) {
  const auto* values = static_cast<const T*>(a.values);
  const auto* right = static_cast<const T*>(b.values);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t n = 0; n < c.columns; ++n) {
      float sum = 0;
      for (std::int64_t i = 0; i < a.ell_columns; ++i) {
        const std::int32_t number = a.block_column[row / a.block * (a.ell_columns / a.block) + i / a.block];
        if (number < 0) continue;
        sum += static_cast<float>(values[row * a.ell_columns + i]) *
               static_cast<float>(right[(number * a.block + i % a.block) * b.leading + n]);
      }
      static_cast<T*>(c.values)[row * c.leading + n] = static_cast<T>(sum);
    }
  }
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// Handles and descriptors that were not destroyed.
EXPORT int weft_fake_cusparse_alive() {
  return alive;
}

EXPORT int cusparseCreate(void** handle) {
  static int dummy = 0;
  *handle = &dummy;
  ++alive;
  return success;
}
EXPORT int cusparseDestroy(void*) {
  --alive;
  return success;
}
EXPORT int cusparseGetVersion(void*, int* version) {
  *version = 12603;
  return success;
}
EXPORT int cusparseSetStream(void*, void*) {
  return success;
}
EXPORT int cusparseCreateCsr(void**, std::int64_t, std::int64_t, std::int64_t, void*, void*, void*, int, int,
                             int, int) {
  return not_supported;
}
EXPORT int cusparseCreateBlockedEll(Sparse** matrix, std::int64_t rows, std::int64_t columns,
                                    std::int64_t block, std::int64_t ell_columns, void* block_column,
                                    void* values, int index_type, int index_base, int value_type) {
  if (index_type != 2 || index_base != 0) return not_supported;
  if (value_type != type_f32 && value_type != type_f16) return not_supported;
  *matrix = new Sparse{rows,   columns,   block, ell_columns, static_cast<const std::int32_t*>(block_column),
                       values, value_type};
  ++alive;
  return success;
}
EXPORT int cusparseCreateDnMat(Dense** matrix, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                               void* values, int value_type, int order) {
  if (order != 2) return not_supported;
  *matrix = new Dense{rows, columns, leading, values, value_type};
  ++alive;
  return success;
}
EXPORT int cusparseDestroySpMat(Sparse* matrix) {
  delete matrix;
  --alive;
  return success;
}
EXPORT int cusparseDestroyDnMat(Dense* matrix) {
  delete matrix;
  --alive;
  return success;
}
EXPORT int cusparseSpMM_bufferSize(void*, int, int, const void*, Sparse*, Dense*, const void*, Dense*, int,
                                   int, std::size_t* bytes) {
  *bytes = 16;
  return success;
}
EXPORT int cusparseSpMM_preprocess(void*, int, int, const void*, Sparse*, Dense*, const void*, Dense*, int,
                                   int, void*) {
  return not_supported;
}
EXPORT int cusparseSpMM(void*, int op_a, int op_b, const void* alpha, Sparse* a, Dense* b, const void* beta,
                        Dense* c, int compute, int, void* buffer) {
  if (op_a != 0 || op_b != 0 || compute != 0 || buffer == nullptr) return not_supported;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) return not_supported;
  if (a->columns != b->rows || a->rows != c->rows || b->columns != c->columns) return not_supported;
  if (a->type != b->type || a->type != c->type) return not_supported;
  if (a->type == type_f32) multiply<float>(*a, *b, *c);
  if (a->type == type_f16) multiply<_Float16>(*a, *b, *c);
  return success;
}
