// Random loops: vectorized and unrolled must leave the bits that serial leaves, whatever the body does.
#include <gtest/gtest.h>
#include <weft/backends/llvm/analysis.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/llvm/programs.h"

namespace weft::testing {
namespace {

constexpr std::int64_t size = 96;

/// Makes bodies of a loop over `i` that stay inside arrays of `size` elements.
class Bodies {
 public:
  explicit Bodies(std::uint32_t seed) : random_(seed) {
    arrays_ = {both("x", DType::f32, {size}), both("y", DType::f32, {size}), both("h", DType::f16, {size}),
               both("c", DType::i32, {size})};
    index_ = input("index", DType::u8, {size});
    given_ = input("given", DType::f32, {size});
  }

  std::vector<ir::BufferRef> buffers() const {
    std::vector<ir::BufferRef> all = arrays_;
    all.push_back(index_);
    all.push_back(given_);
    return all;
  }
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }

  ir::Stmt statements(int depth) {
    std::vector<ir::Stmt> list;
    for (int count = 1 + below(3); count > 0; --count) list.push_back(statement(depth));
    return ir::block(std::move(list));
  }

 private:
  ir::Stmt statement(int depth) {
    const int kind = depth == 0 ? 0 : below(7);
    if (kind == 1)
      return ir::if_then(condition(), statements(depth - 1),
                         below(2) == 0 ? statements(depth - 1) : ir::Stmt());
    if (kind == 2) {
      const std::string name = "let" + std::to_string(names_++);
      const ir::Expr bound = integer(2) % size;
      lets_.push_back(name);
      ir::Stmt body = statements(depth - 1);
      lets_.pop_back();
      return ir::let(name, bound, body);
    }
    if (kind == 3) {
      const std::string name = "loop" + std::to_string(names_++);
      lets_.push_back(name);
      ir::Stmt body = statements(depth - 1);
      lets_.pop_back();
      return loop(name, below(3), 1 + below(3), below(2) == 0 ? ir::LoopKind::serial : ir::LoopKind::unrolled,
                  body);
    }
    const ir::BufferRef& array = arrays_[static_cast<std::size_t>(below(4))];
    const bool accumulate = below(3) == 0;
    if (array->dtype == DType::i32) return ir::store(array, {place()}, integer(2) % 1000, accumulate);
    return ir::store(array, {place()}, ir::cast(array->dtype, real(2)), accumulate);
  }

  /// An index inside the arrays; plain i often enough that loops become vectors.
  ir::Expr place() {
    switch (below(12)) {
      case 0: return integer(2) % size;
      case 1: return ir::load(index_, {v("i")});
      case 2: return v("i") + below(4);
      case 3: return ir::integer(63) - v("i");
      default: return v("i");
    }
  }

  ir::Expr integer(int depth) {
    switch (depth == 0 ? below(3) : below(8)) {
      case 0: return v("i");
      case 1: return ir::integer(below(7) - 2);
      case 2:
        return lets_.empty() ? v("N")
                             : v(lets_[static_cast<std::size_t>(below(static_cast<int>(lets_.size())))]);
      case 3: return integer(depth - 1) / ir::integer(1 + below(5));
      case 4: return integer(depth - 1) % ir::integer(1 + below(9));
      case 5: return ir::load(below(6) != 0 ? index_ : arrays_[3], {place()}) % 100;
      case 6: return ir::minimum(integer(depth - 1), integer(depth - 1)) * below(4);
      default: return integer(depth - 1) + integer(depth - 1);
    }
  }

  ir::Expr real(int depth) {
    switch (depth == 0 ? below(3) : below(8)) {
      case 0: return ir::cast(DType::f32, integer(1));
      case 1:
      case 2:
        return ir::cast(
            DType::f32,
            ir::load(below(6) != 0 ? given_ : arrays_[static_cast<std::size_t>(below(3))], {place()}));
      case 3: return ir::select(condition(), real(depth - 1), real(depth - 1));
      case 4: return ir::maximum(real(depth - 1), real(depth - 1));
      case 5: return real(depth - 1) * ir::constant(DType::f32, 0.375);
      case 6: return real(depth - 1) - real(depth - 1);
      default: return real(depth - 1) + real(depth - 1);
    }
  }

  ir::Expr condition() {
    switch (below(4)) {
      case 0: return v("i") < v("N");
      case 1: return ir::equal(integer(1) % 3, ir::integer(1));
      case 2: return real(1) <= real(1);
      default: return (integer(1) < integer(1)) && (v("N") < ir::integer(9));
    }
  }

  std::mt19937 random_;
  std::vector<ir::BufferRef> arrays_;
  ir::BufferRef index_;
  ir::BufferRef given_;
  std::vector<std::string> lets_;
  int names_ = 0;
};

TEST(Random, VectorsAndUnrolledLoopsLeaveTheBitsOfSerialOnes) {
  int vectors = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    Bodies bodies(seed);
    const ir::Stmt body = bodies.statements(2);
    const std::int64_t extent =
        std::vector<std::int64_t>{4, 7, 16, 33, 64}[static_cast<std::size_t>(bodies.below(5))];
    const std::int64_t n = 1 + bodies.below(20);
    std::vector<Array> arrays{numbers(DType::f32, {size}, 1),      numbers(DType::f32, {size}, 2),
                              numbers(DType::f16, {size}, 3),      indices(DType::i32, {size}, 50, 4),
                              indices(DType::u8, {size}, size, 5), numbers(DType::f32, {size}, 6)};
    const ir::For vector{"i", 0, extent, ir::LoopKind::vectorized, -1, body};
    vectors += llvm_backend::can_run_together(vector, {}) ? 1 : 0;
    std::vector<Array> expected;
    for (const auto kind : {ir::LoopKind::serial, ir::LoopKind::vectorized, ir::LoopKind::unrolled}) {
      const auto p = program("random", bodies.buffers(), loop("i", 0, extent, kind, body), {"N"},
                             seed % 2 == 0 ? 32 : 64);
      for (const char* processor : {"native", "x86-64"}) {
        const auto known = llvm_backend::processors_of_this_machine();
        if (std::find(known.begin(), known.end(), processor) == known.end()) continue;
        llvm_backend::CpuOptions options;
        options.processor = processor;
        options.optimization = seed % 4 == 0 ? 0 : 2;
        std::vector<Array> copy = arrays;
        std::vector<void*> pointers;
        for (Array& array : copy) pointers.push_back(array.data());
        llvm_backend::compile_for_cpu(p, options).run(pointers, {}, std::vector<std::int64_t>{n}, 1);
        if (expected.empty()) expected = copy;
        for (std::size_t a = 0; a < copy.size(); ++a) {
          ASSERT_EQ(0, std::memcmp(copy[a].data(), expected[a].data(), copy[a].bytes()))
              << "seed " << seed << ", loop kind " << static_cast<int>(kind) << ", " << processor
              << ", array " << a;
        }
      }
    }
  }
  EXPECT_GE(vectors, 10) << "too few of the loops were vectors for this test to mean much";
}

}  // namespace
}  // namespace weft::testing
