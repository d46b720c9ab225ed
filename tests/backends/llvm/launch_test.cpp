// Calls that must be refused before compiled code sees them.
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>

#include "backends/llvm/programs.h"

namespace weft::testing {
namespace {

class Launch : public ::testing::Test {
 protected:
  Launch() {
    const auto a = input("a", DType::f32, {v("M"), v("N")});
    const auto b = output("b", DType::f32, {4});
    ThreadProgram p = program("p", {a, b}, ir::store(b, {0}, ir::variable("alpha", DType::f32)), {"M", "N"});
    p.program.scalars = {{"alpha", DType::f32}};
    code_ = llvm_backend::compile_for_cpu(p);
  }
  void run(std::vector<void*> buffers, std::vector<double> scalars, std::vector<std::int64_t> extents) const {
    code_.run(buffers, scalars, extents, 1);
  }

  llvm_backend::CpuCode code_;
  Array a_{DType::f32, {8}};
  Array b_{DType::f32, {4}};
};

TEST_F(Launch, RunsWhatIsRight) {
  run({a_.data(), b_.data()}, {2.5}, {2, 4});
  EXPECT_EQ(b_.get(0), 2.5);
}

TEST_F(Launch, RefusesWrongNumbersOfArguments) {
  EXPECT_THROW(run({a_.data()}, {2.5}, {2, 4}), UserError);
  EXPECT_THROW(run({a_.data(), b_.data()}, {}, {2, 4}), UserError);
  EXPECT_THROW(run({a_.data(), b_.data()}, {2.5}, {2}), UserError);
}

TEST_F(Launch, RefusesBadAddresses) {
  EXPECT_THROW(run({a_.data(), nullptr}, {2.5}, {2, 4}), UserError);
  EXPECT_THROW(run({a_.data() + 4, b_.data()}, {2.5}, {2, 4}), UserError);
}

TEST_F(Launch, RefusesSizesOutOfRange) {
  EXPECT_THROW(run({a_.data(), b_.data()}, {2.5}, {0, 4}), UserError);
  EXPECT_THROW(run({a_.data(), b_.data()}, {2.5}, {-1, 4}), UserError);
  EXPECT_THROW(run({a_.data(), b_.data()}, {2.5}, {std::int64_t{1} << 31, 1}), UserError);
  EXPECT_THROW(run({a_.data(), b_.data()}, {2.5}, {1 << 16, 1 << 15}), UserError);
  EXPECT_THROW(run({a_.data(), b_.data()}, {2.5}, {INT64_MAX, INT64_MAX}), UserError);
}

}  // namespace
}  // namespace weft::testing
