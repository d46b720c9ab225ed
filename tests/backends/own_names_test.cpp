// A tensor, an index, a scalar or a size may be called like anything that a program makes itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

#include "support/naive.h"

namespace weft {
namespace {

using testing::HasSubstr;

WEFT_INDEX(p);
WEFT_INDEX(q);
WEFT_INDEX(k);
WEFT_INDEX(r);
WEFT_INDEX(n);

/// C[p, q, n] = alpha * relu(sum(k, r; A[p, q, k, r] * B[k, r, n])), whose rows and columns are two indices
/// each.
Algorithm joined() {
  const Tensor<f32, 4, sparse> A("A", {3, 4, 5, 4});
  const Tensor<f32, 3> B("B", {5, 4, Extent::any("N")}), C("C", {3, 4, Extent::any("N")});
  const Scalar alpha("alpha");
  return algorithm("named", C(p, q, n) = alpha * relu(relu(sum(k, r, A(p, q, k, r) * B(k, r, n)))));
}

void rename(Term& term, const std::function<void(TensorAccess&)>& of_access, const std::string& from,
            const std::string& to) {
  of_access(term.access);
  if (term.scalar == from) term.scalar = to;
  for (Term& argument : term.arguments) rename(argument, of_access, from, to);
}

/// The same algorithm with another name in place of `from`, whatever that names.
Algorithm renamed(Algorithm algorithm, const std::string& from, const std::string& to) {
  const auto change = [&](std::string& name) { name = name == from ? to : name; };
  const auto of_access = [&](TensorAccess& access) {
    for (AffineIndex& index : access.indices) {
      for (auto& [name, coefficient] : index.terms) change(name);
    }
  };
  for (Operand& operand : algorithm.operands) {
    change(operand.name);
    for (Extent& extent : operand.shape) change(extent.name);
  }
  for (IndexVariable& index : algorithm.indices) {
    change(index.name);
    change(index.extent.name);
  }
  for (std::string& scalar : algorithm.scalars) change(scalar);
  for (TensorAccess& factor : algorithm.factors) of_access(factor);
  of_access(algorithm.output);
  rename(algorithm.result, of_access, from, to);
  algorithm.check();
  return algorithm;
}

const std::vector<std::string> own{"sum", "value0", "value1", "thread_index", "producer", "number",
                                   "p_q", "k_r",    "q_n",    "sum_own",      "producer_"};

void expect_right(const Algorithm& algorithm, const Format& format, const char* target) {
  Array dense = random_array(DType::f32, {3, 4, 5, 4}, 3, RandomValues::small_integers);
  for (std::int64_t i = 0; i < dense.size(); i += 2) dense.set(i, 0);
  const WeightMatrix matrix = from_dense(dense, "made", 2);
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, format));
  std::map<std::string, Array> arrays;
  Arguments arguments;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.value : 7);
    arrays[operand.name] = random_array(DType::f32, shape, 5, RandomValues::small_integers);
    arguments.tensors[operand.name] = &arrays[operand.name];
  }
  arguments.scalars[algorithm.scalars.front()] = 2;
  const test::NaiveResult expected = test::naive(algorithm, &matrix, arguments);
  KernelOptions options;
  options.by_meaning = true;
  compile(default_schedule(algorithm, weights, target_named(target)), options)(Device::cpu(), arguments);
  const Array& output = arrays.at(algorithm.operands[algorithm.output.operand].name);
  EXPECT_EQ(test::disagreement(algorithm, expected, output), "");
}

TEST(OwnNames, AnythingMayBeCalledSo) {
  for (const std::string from : {"A", "B", "C", "p", "q", "k", "r", "n", "N", "alpha"}) {
    for (const std::string& to : own) {
      SCOPED_TRACE(from + " is called " + to);
      const Algorithm algorithm = renamed(joined(), from, to);
      expect_right(algorithm, formats::csr(), "cpu");
      if (from.size() == 1 && to.size() < 6) expect_right(algorithm, formats::csc(), "sm_80");
    }
  }
}

TEST(OwnNames, ALoopOverTwoIndicesIsNotTakenForOneThatIsSummedOver) {
  // The rows are p and q; what is summed over is called as both together.
  const Algorithm algorithm = renamed(joined(), "k", "p_q");
  const SparseTensor weights = pack(from_dense(Array(DType::f32, {3, 4, 5, 4}), "zeros", 2), formats::csr());
  const ir::Stmt body = schedule(algorithm, weights, target_named("cpu")).program().body;
  EXPECT_EQ(ir::loop_names(body), (std::vector<std::string>{"p__q", "n", "p_q__r"}));
  EXPECT_EQ(ir::role_of(body, "p__q"), ir::LoopRole::rows);
  EXPECT_EQ(ir::role_of(body, "n"), ir::LoopRole::output);
  EXPECT_EQ(ir::role_of(body, "p_q__r"), ir::LoopRole::sum);
}

TEST(OwnNames, CopiesOfThreadsHaveNumbersOfTheirOwn) {
  const Algorithm algorithm = renamed(joined(), "n", "thread_index");
  const SparseTensor weights =
      pack(from_dense(Array(DType::f32, {3, 4, 5, 4}), "zeros", 2), formats::dense());
  Schedule s = schedule(algorithm, weights, target_named("sm_80"));
  s.split(LoopFactor{LoopName("thread_index"), 32})
      .reorder("thread_index.outer", "p_q", "thread_index.inner");
  s.bind("thread_index.outer", block_x).stage("B", shared, at = LoopName("thread_index.outer"));
  s.bind("thread_index.inner", thread);
  EXPECT_THAT(compile(s, {.assemble = false}).ptx(), HasSubstr("tid.x"));
}

TEST(OwnNames, AKnobHasANameThatNothingElseHas) {
  const SparseTensor weights = pack(from_dense(Array(DType::f32, {3, 4, 5, 4}), "zeros", 2), formats::csr());
  const auto refusal = [&](const char* name) {
    Schedule s = schedule(joined(), weights, target_named("cpu"));
    const auto reason = s.try_apply({"split", {{"n", KnobChoice{name, {2, 4}}}}, {}});
    return reason ? reason->found + " / " + reason->accepted : std::string("nothing");
  };
  EXPECT_EQ(refusal("tile"), "nothing");
  EXPECT_THAT(refusal("n"), HasSubstr("a loop of the program is / another name"));
  EXPECT_THAT(refusal("alpha"), HasSubstr("a scalar of the program is"));
  EXPECT_THAT(refusal("N"), HasSubstr("a size of the program is"));
  EXPECT_THAT(refusal("value0"), HasSubstr("a value of the program is"));
  Schedule s = schedule(joined(), weights, target_named("cpu"));
  s.split(LoopFactor{LoopName("n"), KnobChoice{"tile", {2, 4}}});
  EXPECT_FALSE(s.try_apply({"split", {{"n.inner", KnobChoice{"tile", {2, 4}}}}, {}}).has_value());
  const auto other = s.try_apply({"split", {{"p_q", KnobChoice{"tile", {2, 8}}}}, {}});
  ASSERT_TRUE(other.has_value());
  EXPECT_THAT(other->found, HasSubstr("the knob tile of 2, 8, and before of 2, 4"));
}

}  // namespace
}  // namespace weft
