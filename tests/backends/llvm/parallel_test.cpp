// Parallel loops: the pool by itself, and loops of compiled programs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/backends/runtime/thread_pool.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "backends/llvm/programs.h"
#include "support/memory_limit.h"
#include "support/sanitizers.h"

namespace weft::testing {
namespace {

struct Counts {
  explicit Counts(std::int64_t size) : counts(static_cast<std::size_t>(size)) {}
  std::vector<std::atomic<int>> counts;
  std::atomic<int> highest_worker{0};
};

void count(std::int64_t begin, std::int64_t end, int worker, void* context) noexcept {
  auto& counts = *static_cast<Counts*>(context);
  for (std::int64_t i = begin; i < end; ++i) ++counts.counts[static_cast<std::size_t>(i)];
  int seen = counts.highest_worker;
  while (seen < worker && !counts.highest_worker.compare_exchange_weak(seen, worker)) {
  }
}

TEST(ThreadPool, EveryIterationOnce) {
  ThreadPool pool;
  for (const auto sharing : {ThreadPool::Sharing::even, ThreadPool::Sharing::on_demand}) {
    for (const std::int64_t extent : {0, 1, 2, 3, 17, 1000}) {
      for (const int threads : {1, 2, 3, 8}) {
        Counts counts(extent + 5);
        pool.run(5, extent, threads, sharing, count, &counts);
        for (std::int64_t i = 0; i < extent + 5; ++i) {
          ASSERT_EQ(counts.counts[static_cast<std::size_t>(i)], i < 5 ? 0 : 1);
        }
        ASSERT_LT(counts.highest_worker, threads);
      }
    }
  }
}

/// Runs a loop where there is no memory for the stack of a thread more, and ends with 0 where all of it was
/// done.
template <class Run>
[[noreturn]] void run_without_threads(const Run& run) {
  Counts counts(100);
  leave_memory(std::uint64_t{1} << 20U);
  run(counts);
  const bool all =
      std::ranges::all_of(counts.counts, [](const std::atomic<int>& count) { return count == 1; });
  _exit(all ? 0 : 1);
}

TEST(ThreadPool, ThreadsThatTheSystemRefusesAreDoneWithout) {
  if (under_sanitizer) GTEST_SKIP() << "a sanitizer's own memory is beyond every limit";
  const auto by_a_pool = [](Counts& counts) {
    ThreadPool().run(0, 100, 8, ThreadPool::Sharing::on_demand, count, &counts);
  };
  const auto by_threads = [](Counts& counts) {
    parallel_for_on(8, 100, [&](std::int64_t i) { count(i, i + 1, 0, &counts); });
  };
  EXPECT_EXIT(run_without_threads(by_a_pool), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_without_threads(by_threads), ::testing::ExitedWithCode(0), "");
}

TEST(ThreadPool, ManyLoopsFromSeveralCallers) {
  ThreadPool pool;
  std::vector<std::thread> callers;
  std::vector<std::unique_ptr<Counts>> counts;
  for (int c = 0; c < 3; ++c) counts.push_back(std::make_unique<Counts>(64));
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&pool, mine = counts[static_cast<std::size_t>(c)].get()] {
      for (int i = 0; i < 200; ++i) pool.run(0, 64, 3, ThreadPool::Sharing::on_demand, count, mine);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const auto& each : counts) {
    for (const auto& n : each->counts) EXPECT_EQ(n, 200);
  }
}

// Each thread has a stack, and memory is not without end.
TEST(ThreadPool, KeepsNoMoreThreadsThanAreOfUse) {
  ThreadPool pool;
  Counts counts(2000);
  pool.run(0, 2000, ThreadPool::most_threads, ThreadPool::Sharing::even, count, &counts);
  for (const auto& each : counts.counts) EXPECT_EQ(each, 1);
  EXPECT_LT(counts.highest_worker, std::max(64U, std::thread::hardware_concurrency()));
}

struct Nested {
  ThreadPool* pool;
  Counts* counts;
};

TEST(ThreadPool, LoopsInsideLoopsRunToo) {
  ThreadPool pool;
  Counts counts(16);
  Nested nested{&pool, &counts};
  pool.run(
      0, 4, 4, ThreadPool::Sharing::on_demand,
      [](std::int64_t begin, std::int64_t end, int, void* context) noexcept {
        auto& inner = *static_cast<Nested*>(context);
        for (std::int64_t i = begin; i < end; ++i) {
          inner.pool->run(4 * i, 4, 4, ThreadPool::Sharing::even, count, inner.counts);
        }
      },
      &nested);
  for (const auto& n : counts.counts) EXPECT_EQ(n, 1);
}

TEST(ThreadPool, WorksInAForkedChild) {
  if (under_thread_sanitizer) GTEST_SKIP() << "[SKIP] its runtime starts no threads in a forked child";
  Counts counts(100);
  ThreadPool::shared().run(0, 100, 2, ThreadPool::Sharing::on_demand, count, &counts);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a child that waits for threads it does not have must not hang the test
    ThreadPool::shared().run(0, 100, 2, ThreadPool::Sharing::on_demand, count, &counts);
    _exit(counts.counts[99] == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

/// Row by row in plain C++, with the same order of additions.
std::vector<float> expected_spmm(const Csr& csr, const Array& b, std::int64_t rows, std::int64_t n) {
  std::vector<float> c(static_cast<std::size_t>(rows * n));
  for (std::int64_t m = 0; m < rows; ++m) {
    for (std::int64_t p = csr.begin.get_integer(m); p < csr.begin.get_integer(m + 1); ++p) {
      for (std::int64_t i = 0; i < n; ++i) {
        float& sum = c[static_cast<std::size_t>(m * n + i)];
        sum = __builtin_fmaf(static_cast<float>(csr.values.get(p)),
                             static_cast<float>(b.get(csr.column.get_integer(p) * n + i)), sum);
      }
    }
  }
  return c;
}

TEST(Parallel, SparseTimesDense) {
  const std::int64_t rows = 37;
  const std::int64_t inner = 29;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Csr csr = random_csr(rows, inner, 9, dtype);
    for (const auto kind : {ir::LoopKind::serial, ir::LoopKind::parallel}) {
      for (const int bits : {32, 64}) {
        const CodeOfEveryProcessor code(spmm(rows, inner, csr.column.size(), 16, kind, bits, dtype));
        for (const std::int64_t n : {1, 15, 16, 17, 40}) {
          const Array b = numbers(dtype, {inner, n}, 7);
          const auto out =
              code.run({csr.begin, csr.column, csr.values, b, numbers(dtype, {rows, n})}, {n}, {}, true);
          const auto expected = expected_spmm(csr, b, rows, n);
          for (std::int64_t i = 0; i < rows * n; ++i) {
            Array rounded(dtype, {1});
            rounded.set(0, expected[static_cast<std::size_t>(i)]);
            // On a processor without fma "native" rounds twice.
            ASSERT_NEAR(out[4].get(i), rounded.get(0), std::abs(rounded.get(0)) * 1e-2 + 1e-4);
            if (llvm_backend::processors_of_this_machine().size() >= 4) {
              ASSERT_EQ(out[4].get(i), rounded.get(0));
            }
          }
        }
      }
    }
  }
}

TEST(Parallel, VariablesAndArraysFromOutside) {
  // A Let, a serial loop's counter and a local array are used inside the parallel loop.
  const auto a = input("a", DType::f32, {v("N")});
  const auto b = output("b", DType::f32, {3, v("N")});
  const auto t = local("t", DType::f32, {4}, ir::Scope::shared);
  const ir::Expr e = ir::load(a, {v("i")}) + ir::load(t, {v("k")}) + ir::variable("x", DType::f32);
  const ir::Stmt inner = loop("i", 0, v("N"), ir::LoopKind::parallel, ir::store(b, {v("k"), v("i")}, e));
  const ir::Stmt body = ir::allocate(
      t, ir::block({unrolled("j", 4, ir::store(t, {v("j")}, ir::cast(DType::f32, v("j") * 10))),
                    ir::let("x", ir::constant(DType::f32, 0.5) + ir::variable("alpha", DType::f32),
                            serial("k", 3, inner))}));
  ThreadProgram p = program("outside", {a, b}, body, {"N"});
  p.program.scalars = {{"alpha", DType::f32}};
  const Array in = numbers(DType::f32, {100});
  const auto out = run(p, {in, Array(DType::f32, {3, 100})}, {100}, {0.25});
  for (std::int64_t k = 0; k < 3; ++k) {
    for (std::int64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(out[1].get(k * 100 + i), static_cast<float>(in.get(i)) + static_cast<float>(10 * k) + 0.75F);
    }
  }
}

TEST(Parallel, LargeLocalArraysOfEachThread) {
  // 400 KB outside, 200 KB for each thread inside: neither belongs on a stack.
  const auto out = output("out", DType::f64, {64});
  const auto big = local("big", DType::f64, {50'000});
  const auto own = local("own", DType::f64, {25'000}, ir::Scope::shared);
  const auto real = [](const ir::Expr& e) { return ir::cast(DType::f64, e); };
  const ir::Stmt inner = ir::allocate(
      own, ir::block({serial("j", 25'000, ir::store(own, {v("j")}, real(v("i")) + ir::load(big, {v("j")}))),
                      ir::store(out, {v("i")}, ir::load(own, {24'999}))}));
  const ir::Stmt body =
      ir::allocate(big, ir::block({serial("s", 50'000, ir::store(big, {v("s")}, real(v("s")))),
                                   loop("i", 0, 64, ir::LoopKind::parallel, inner)}));
  const auto result = run(program("large", {out}, body), {Array(DType::f64, {64})});
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(result[0].get(i), static_cast<double>(24'999 + i));
}

TEST(Parallel, NestedParallelLoops) {
  const auto out = output("out", DType::i32, {8, 8});
  const ir::Stmt body =
      loop("i", 0, 8, ir::LoopKind::parallel,
           loop("j", 0, 8, ir::LoopKind::parallel, ir::store(out, {v("i"), v("j")}, v("i") * 8 + v("j"))));
  const auto result = run(program("nested", {out}, body), {Array(DType::i32, {8, 8})});
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(result[0].get_integer(i), i);
}

TEST(Parallel, OneCodeFromSeveralThreads) {
  const auto out = output("out", DType::f64, {64});
  const auto own = local("own", DType::f64, {25'000}, ir::Scope::shared);
  const ir::Expr x = ir::variable("x", DType::f64);
  const ir::Stmt inner = ir::allocate(own, ir::block({serial("j", 25'000, ir::store(own, {v("j")}, x)),
                                                      ir::store(out, {v("i")}, ir::load(own, {777}))}));
  ThreadProgram p = program("together", {out}, loop("i", 0, 64, ir::LoopKind::parallel, inner));
  p.program.scalars = {{"x", DType::f64}};
  const auto code = llvm_backend::compile_for_cpu(p);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 5; ++round) {
        Array array(DType::f64, {64});
        code.run(std::vector<void*>{array.data()}, std::vector<double>{static_cast<double>(c)}, {}, 2);
        for (const double d : array.as<double>()) wrong += d == c ? 0 : 1;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace weft::testing
