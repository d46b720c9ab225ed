#include "contestants.h"

#include <weft/dsl/errors.h>

#include <limits>
#include <memory>
#include <thread>
#include <vector>

#ifdef WEFT_HAVE_XNNPACK
#include <pthreadpool.h>
#include <xnnpack.h>
#endif

namespace weft::bench {
namespace {

struct Csr {
  std::vector<std::int32_t> row_begin;
  std::vector<std::int32_t> column;
  std::vector<float> values;
};

std::shared_ptr<Csr> csr_of(const WeightMatrix& weights) {
  auto csr = std::make_shared<Csr>();
  csr->row_begin.assign(weights.row_begin.begin(), weights.row_begin.end());
  csr->column = weights.column;
  const auto values = weights.values.as<float>();
  csr->values.assign(values.begin(), values.end());
  return csr;
}

}  // namespace

Contestant hand_written(const WeightMatrix& weights, const float* b, float* c, std::int64_t n, int threads) {
  const auto csr = csr_of(weights);
  const std::int64_t rows = weights.rows;
  return {"hand-written", [=] {
            const auto part = [&](std::int64_t begin, std::int64_t end) {
              hand_written_rows(csr->row_begin.data(), csr->column.data(), csr->values.data(), b, c, n, begin,
                                end);
            };
            std::vector<std::thread> others;
            for (int t = 1; t < threads; ++t)
              others.emplace_back(part, rows * t / threads, rows * (t + 1) / threads);
            part(0, rows / threads);
            for (std::thread& other : others) other.join();
          }};
}

Contestant xnnpack(const WeightMatrix& weights, const float* b, float* c, std::int64_t n, int threads) {
#ifdef WEFT_HAVE_XNNPACK
  if (xnn_initialize(nullptr) != xnn_status_success) return {"xnnpack", {}};
  const Array kernel = to_dense(weights);
  xnn_operator_t raw = nullptr;
  const auto infinity = std::numeric_limits<float>::infinity();
  const auto inputs = static_cast<std::size_t>(weights.columns);
  const auto outputs = static_cast<std::size_t>(weights.rows);
  if (xnn_create_convolution2d_nchw_f32(0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, inputs, outputs, inputs, outputs,
                                        kernel.as<float>().data(), nullptr, -infinity, infinity, 0,
                                        &raw) != xnn_status_success) {
    return {"xnnpack", {}};
  }
  const std::shared_ptr<xnn_operator> op(raw, xnn_delete_operator);
  const std::shared_ptr<::pthreadpool> pool(
      threads > 1 ? pthreadpool_create(static_cast<std::size_t>(threads)) : nullptr, pthreadpool_destroy);
  if (xnn_setup_convolution2d_nchw_f32(op.get(), 1, 1, static_cast<std::size_t>(n), b, c, pool.get()) !=
      xnn_status_success) {
    return {"xnnpack", {}};
  }
  return {"xnnpack", [=] {
            internal_check(xnn_run_operator(op.get(), pool.get()) == xnn_status_success, "xnnpack failed");
          }};
#else
  (void)weights, (void)b, (void)c, (void)n, (void)threads;
  return {"xnnpack", {}};
#endif
}

}  // namespace weft::bench
