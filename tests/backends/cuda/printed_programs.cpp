#include "backends/cuda/printed_programs.h"

#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>

#include <functional>
#include <utility>

#include "formats/generated_matrices.h"

namespace weft::test {
namespace {

WEFT_INDEX(b);
WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);
WEFT_INDEX(f);
WEFT_INDEX(p);
WEFT_INDEX(q);
WEFT_INDEX(c);
WEFT_INDEX(r);
WEFT_INDEX(s);

const Extent any_n = Extent::any("N");

/// Three of ten places are kept; row 2 is empty.
SparseTensor weights(const Format& format, DType dtype, std::vector<std::int64_t> shape) {
  Array dense(dtype, std::move(shape));
  const std::int64_t columns = dense.size() / dense.shape()[0];
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    const std::int64_t row = i / columns;
    if (row != 2 && (7 * row + 3 * i) % 10 < 3) dense.set(i, static_cast<double>(i % 9 + 1) / 4);
  }
  return pack(fitted(from_dense(dense, "the test"), format), format);
}

PrintedProgram printed(std::string name, const Schedule& schedule) {
  return {std::move(name), schedule.algorithm().text(), lower(schedule.program(), schedule.target())};
}

template <class T>
Algorithm spmm(const char* name, std::int64_t rows, std::int64_t columns, const Extent& width) {
  const Tensor<T, 2, sparse> A("A", {rows, columns});
  const Tensor<T, 2> B("B", {columns, width}), C("C", {rows, width});
  return algorithm(name, C(m, n) = sum(k, A(m, k) * B(k, n)));
}

PrintedProgram csr(const Target& target) {
  auto plan =
      schedule(spmm<f32>("spmm_csr", 48, 64, any_n), weights(formats::csr(), DType::f32, {48, 64}), target);
  plan.tile(m = 4, n = 64)
      .split(n.inner = 32)
      .reorder(m.outer, n.outer, m.inner, n.inner.inner, k, n.inner.outer)
      .bind(m.outer, block_x)
      .bind(n.outer, block_y)
      .bind(m.inner, warp)
      .bind(n.inner.inner, lane)
      .unroll(n.inner.outer);
  return printed("spmm_csr", plan);
}

/// Rows of a constant length: neighbouring elements move together.
template <class T>
PrintedProgram vectors(const char* name, const Target& target, std::int64_t width) {
  auto plan = schedule(spmm<T>(name, 48, 64, 512), weights(formats::csr(), dtype_of<T>, {48, 64}), target);
  plan.tile(m = 4, n = 32 * width)
      .split(n.inner = width)
      .reorder(m.outer, n.outer, m.inner, n.inner.outer, k, n.inner.inner)
      .bind(m.outer, block_x)
      .bind(n.outer, block_y)
      .bind(m.inner, warp)
      .bind(n.inner.outer, lane)
      .vectorize(n.inner.inner);
  return printed(name, plan);
}

PrintedProgram staged(const char* name, const Target& target, std::int64_t columns) {
  auto plan = schedule(spmm<f32>(name, 48, columns, any_n),
                       weights(formats::csr(), DType::f32, {48, columns}), target);
  plan.tile(m = 4, n = 64)
      .split(n.inner = 32)
      .reorder(m.outer, n.outer, m.inner, n.inner.inner, k, n.inner.outer)
      .bind(m.outer, block_x)
      .bind(n.outer, block_y)
      .stage("B", shared, at = n.outer)
      .bind(m.inner, warp)
      .bind(n.inner.inner, lane)
      .unroll(n.inner.outer);
  return printed(name, plan);
}

PrintedProgram convolution(const Target& target) {
  const Tensor<f32, 4, sparse> W("W", {8, 4, 3, 3});
  const Tensor<f32, 4> I("I", {2, 4, 15, 17}), O("O", {2, 8, 8, 17});
  const Algorithm strided_convolution = algorithm(
      "convolution", O(b, f, p, q) = relu(sum(c, r, s, W(f, c, r, s) * I(b, c, 2 * p + r - 1, q + s - 1))));
  auto plan = schedule(strided_convolution, weights(formats::csr(), DType::f32, {8, 4, 3, 3}), target);
  plan.split(q = 32).bind(b, block_z).bind(f, block_y).bind(p, block_x).bind(q.inner, lane);
  return printed("convolution", plan);
}

/// bias, gelu: the meaning of an instruction.
PrintedProgram ell_gelu(const Target& target) {
  const Tensor<f32, 2, sparse> A("A", {48, 64});
  const Tensor<f32, 2> B("B", {64, any_n}), C("C", {48, any_n});
  const Tensor<f32, 1> bias("bias", {48});
  const Algorithm linear = algorithm("linear", C(m, n) = gelu(sum(k, A(m, k) * B(k, n)) + bias(m)));
  auto plan = schedule(linear, weights(formats::ell(), DType::f32, {48, 64}), target);
  plan.split(n = 128).bind(m, block_y).bind(n.outer, block_x).bind(n.inner, thread);
  return printed("ell_gelu", plan);
}

PrintedProgram csc(const Target& target) {
  auto plan =
      schedule(spmm<f32>("spmm_csc", 48, 64, any_n), weights(formats::csc(), DType::f32, {48, 64}), target);
  plan.split(n = 64).bind(n.outer, block_x).bind(n.inner, thread);
  return printed("csc_workspace", plan);
}

template <class T>
PrintedProgram scaled(const char* name, const Target& target) {
  const Tensor<T, 2, sparse> A("A", {48, 64});
  const Tensor<T, 2> B("B", {64, any_n}), C("C", {48, any_n});
  const Scalar alpha("alpha"), beta("beta");
  const Algorithm gemm = algorithm(name, C(m, n) = alpha * sum(k, A(m, k) * B(k, n)) + beta * C(m, n));
  auto plan = schedule(gemm, weights(formats::csr(), dtype_of<T>, {48, 64}), target);
  plan.split(n = 32).bind(m, block_x).bind(n.outer, block_y).bind(n.inner, lane);
  return printed(name, plan);
}

/// B holds more than 2^31 elements.
PrintedProgram wide(const Target& target) {
  const std::int64_t width = std::int64_t{1} << 26;
  auto plan =
      schedule(spmm<f16>("spmm_wide", 48, 64, width), weights(formats::csr(), DType::f16, {48, 64}), target);
  plan.split(n = 256).split(n.inner = 8).bind(n.outer, block_x).bind(m, block_y).bind(n.inner.outer, lane);
  plan.reorder(k, n.inner.inner).vectorize(n.inner.inner);
  return printed("wide_indices", plan);
}

PrintedProgram unscheduled(const Format& format, const Target& target) {
  const std::string name = format.name + "_unscheduled";
  return printed(
      name, schedule(spmm<f64>(name.c_str(), 48, 64, any_n), weights(format, DType::f64, {48, 64}), target));
}

/// Each program by name, made when it is asked for.
using Maker = std::function<PrintedProgram(const Target&)>;

std::vector<std::pair<std::string, Maker>> makers() {
  std::vector<std::pair<std::string, Maker>> result{
      {"spmm_csr", csr},
      {"spmm_staged", [](const Target& t) { return staged("spmm_staged", t, 64); }},
      {"spmm_dynamic", [](const Target& t) { return staged("spmm_dynamic", t, 224); }},
      {"convolution", convolution},
      {"ell_gelu", ell_gelu},
      {"csc_workspace", csc},
      {"vectors_f32", [](const Target& t) { return vectors<f32>("vectors_f32", t, 4); }},
      {"vectors_f32_8", [](const Target& t) { return vectors<f32>("vectors_f32_8", t, 8); }},
      {"vectors_f16", [](const Target& t) { return vectors<f16>("vectors_f16", t, 8); }},
      {"vectors_bf16", [](const Target& t) { return vectors<bf16>("vectors_bf16", t, 2); }},
      {"vectors_f64", [](const Target& t) { return vectors<f64>("vectors_f64", t, 2); }},
      {"scaled_f32", [](const Target& t) { return scaled<f32>("scaled_f32", t); }},
      {"scaled_f16", [](const Target& t) { return scaled<f16>("scaled_f16", t); }},
      {"scaled_bf16", [](const Target& t) { return scaled<bf16>("scaled_bf16", t); }},
      {"scaled_f64", [](const Target& t) { return scaled<f64>("scaled_f64", t); }},
      {"wide_indices", wide},
  };
  for (const NamedFormat& row : named_formats()) {
    const Format format = parse_format(row.name);
    result.emplace_back(format.name + "_unscheduled",
                        [format](const Target& t) { return unscheduled(format, t); });
  }
  return result;
}

}  // namespace

std::vector<PrintedProgram> printed_programs(const Target& target) {
  std::vector<PrintedProgram> programs;
  for (const auto& [name, make] : makers()) programs.push_back(make(target));
  return programs;
}

PrintedProgram printed_program(const std::string& name, const Target& target) {
  for (const auto& [each, make] : makers()) {
    if (each == name) return make(target);
  }
  throw InternalError("no printed program is called " + name);
}

}  // namespace weft::test
