#include "backends/llvm/programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace weft::testing {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1DU >> 16;
  }

 private:
  std::uint64_t state_;
};

ir::BufferRef global(const std::string& name, DType dtype, ir::Access access, std::vector<ir::Expr> shape) {
  return ir::make_buffer(name, dtype, ir::Scope::global, access, std::move(shape));
}

ir::Expr as_f32(const ir::Expr& e) {
  return ir::cast(DType::f32, e);
}

}  // namespace

ir::Stmt loop(const std::string& name, const ir::Expr& begin, const ir::Expr& extent, ir::LoopKind kind,
              const ir::Stmt& body) {
  return ir::for_loop({name, begin, extent, kind, -1, body});
}
ir::Stmt serial(const std::string& name, const ir::Expr& extent, const ir::Stmt& body) {
  return loop(name, 0, extent, ir::LoopKind::serial, body);
}
ir::Stmt vectorized(const std::string& name, const ir::Expr& extent, const ir::Stmt& body) {
  return loop(name, 0, extent, ir::LoopKind::vectorized, body);
}
ir::Stmt unrolled(const std::string& name, const ir::Expr& extent, const ir::Stmt& body) {
  return loop(name, 0, extent, ir::LoopKind::unrolled, body);
}

ir::BufferRef input(const std::string& name, DType dtype, std::vector<ir::Expr> shape) {
  return global(name, dtype, ir::Access::read, std::move(shape));
}
ir::BufferRef output(const std::string& name, DType dtype, std::vector<ir::Expr> shape) {
  return global(name, dtype, ir::Access::write, std::move(shape));
}
ir::BufferRef both(const std::string& name, DType dtype, std::vector<ir::Expr> shape) {
  return global(name, dtype, ir::Access::read_write, std::move(shape));
}
ir::BufferRef local(const std::string& name, DType dtype, std::vector<ir::Expr> shape, ir::Scope scope) {
  return ir::make_buffer(name, dtype, scope, ir::Access::read_write, std::move(shape));
}

ThreadProgram program(const std::string& name, std::vector<ir::BufferRef> buffers, ir::Stmt body,
                      std::vector<std::string> extents, int index_bits) {
  ThreadProgram result;
  result.program.name = name;
  result.program.buffers = std::move(buffers);
  result.program.body = std::move(body);
  for (std::string& extent : extents) result.program.extents.push_back({std::move(extent), DType::i64});
  result.program.index_bits = index_bits;
  return result;
}

CodeOfEveryProcessor::CodeOfEveryProcessor(const ThreadProgram& program) {
  for (const std::string& processor : llvm_backend::processors_of_this_machine())
    codes_.emplace_back(processor, llvm_backend::compile_for_cpu(program, {.processor = processor}));
}

std::vector<Array> CodeOfEveryProcessor::run(const std::vector<Array>& arrays,
                                             const std::vector<std::int64_t>& extents,
                                             const std::vector<double>& scalars, bool fuses) const {
  std::vector<Array> native;
  std::vector<Array> unfused;
  for (const auto& [processor, code] : codes_) {
    std::vector<Array> copy = arrays;
    std::vector<void*> pointers;
    for (Array& array : copy) pointers.push_back(array.data());
    code.run(pointers, scalars, extents, 2);
    const bool low = processor == "x86-64" || processor == "x86-64-v2";
    std::vector<Array>& expected = fuses && low ? unfused : native;
    if (expected.empty()) expected = copy;
    for (std::size_t i = 0; i < copy.size(); ++i) {
      EXPECT_EQ(0, std::memcmp(copy[i].data(), expected[i].data(), copy[i].bytes()))
          << processor << " gives other bits in argument " << i << " of " << code.program().program.name;
    }
  }
  return native;
}

std::vector<Array> run(const ThreadProgram& thread_program, const std::vector<Array>& arrays,
                       const std::vector<std::int64_t>& extents, const std::vector<double>& scalars,
                       bool fuses) {
  return CodeOfEveryProcessor(thread_program).run(arrays, extents, scalars, fuses);
}

Array numbers(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  Array array(dtype, std::move(shape));
  Random random(seed);
  for (std::int64_t i = 0; i < array.size(); ++i) {
    array.set(i, static_cast<double>(static_cast<std::int64_t>(random.next() % 4001) - 2000) / 512.0);
  }
  return array;
}

Array indices(DType dtype, std::vector<std::int64_t> shape, std::int64_t limit, std::uint64_t seed) {
  Array array(dtype, std::move(shape));
  Random random(seed);
  for (std::int64_t i = 0; i < array.size(); ++i) {
    array.set(i, static_cast<double>(random.next() % static_cast<std::uint64_t>(limit)));
  }
  return array;
}

ThreadProgram spmm(std::int64_t rows, std::int64_t inner, std::int64_t nonzeros, std::int64_t width,
                   ir::LoopKind rows_kind, int index_bits, DType dtype) {
  const ir::Expr n = v("N");
  const auto begin = input("begin", DType::i32, {rows + 1});
  const auto column = input("column", DType::i32, {nonzeros});
  const auto values = input("values", dtype, {nonzeros});
  const auto b = input("B", dtype, {inner, n});
  const auto c = output("C", dtype, {rows, n});
  const auto sum = local("sum", DType::f32, {width});
  const ir::Expr at = v("n_outer") * width + v("lane");
  const auto guarded = [&](const ir::Stmt& s) { return vectorized("lane", width, ir::if_then(at < n, s)); };
  const ir::Expr product =
      ir::call("fma_f32", DType::f32,
               {as_f32(ir::load(values, {v("p")})), as_f32(ir::load(b, {ir::load(column, {v("p")}), at})),
                ir::load(sum, {v("lane")})});
  const ir::Expr first = ir::load(begin, {v("m")});
  const ir::Stmt body = ir::allocate(
      sum, ir::block({vectorized("lane", width, ir::store(sum, {v("lane")}, ir::constant(DType::f32, 0))),
                      loop("p", first, ir::load(begin, {v("m") + 1}) - first, ir::LoopKind::serial,
                           guarded(ir::store(sum, {v("lane")}, product))),
                      guarded(ir::store(c, {v("m"), at}, ir::cast(dtype, ir::load(sum, {v("lane")}))))}));
  return program("spmm", {begin, column, values, b, c},
                 loop("m", 0, rows, rows_kind, serial("n_outer", ir::ceil_divide(n, width), body)), {"N"},
                 index_bits);
}

ThreadProgram spmm_for_gpu(std::int64_t rows, std::int64_t inner, std::int64_t nonzeros, std::int64_t width,
                           int index_bits, DType dtype) {
  ThreadProgram result = spmm(rows, inner, nonzeros, width, ir::LoopKind::serial, index_bits, dtype);
  ir::Stmt body = result.program.body.as<ir::For>()->body.as<ir::For>()->body;
  body = ir::let("n_outer", ir::call("block_y", DType::i64, {}) * 128 + ir::call("thread", DType::i64, {}),
                 ir::let("m", ir::call("block_x", DType::i64, {}), body));
  result.program.body = body;
  result.launch.threads = 128;
  return result;
}

Csr random_csr(std::int64_t rows, std::int64_t inner, std::int64_t per_row, DType dtype) {
  Csr csr{Array(DType::i32, {rows + 1}), Array(DType::i32, {rows * per_row}),
          numbers(dtype, {rows * per_row}, 5)};
  Random random(9);
  std::vector<std::int32_t> columns;
  for (std::int64_t m = 0; m < rows; ++m) {
    // Rows of different length; every fourth is empty.
    const std::int64_t length =
        m % 4 == 3 ? 0 : static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(per_row + 1));
    std::set<std::int32_t> row;
    while (static_cast<std::int64_t>(row.size()) < std::min(length, inner)) {
      row.insert(static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(inner)));
    }
    columns.insert(columns.end(), row.begin(), row.end());
    csr.begin.as<std::int32_t>()[static_cast<std::size_t>(m + 1)] = static_cast<std::int32_t>(columns.size());
  }
  std::copy(columns.begin(), columns.end(), csr.column.as<std::int32_t>().begin());
  return csr;
}

}  // namespace weft::testing
