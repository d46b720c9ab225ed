// What a kernel is launched with: every array and number belongs to the algorithm, and fits it.
#include <gmock/gmock.h>
#include <weft/backends/kernel.h>
#include <weft/backends/llvm/launch_limits.h>
#include <weft/backends/reference.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <functional>

#include "support/examples.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

/// The message of the UserError, which names this file.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("arguments_test.cpp:"));
    return error.what();
  }
  return "accepted";
}

/// C[m, n] = A[m, k] B[k, n], 12 x 20 by 20 x 100, bound.
struct Bound {
  explicit Bound(const char* target = "cpu", const Device& device = Device::cpu())
      : kernel(compile(test::spmm_schedule(target), {.assemble = false})),
        bound(kernel.bind(device, {{{"B", &b}, {"C", &c}}, {}})) {}

  Array b = random_array(DType::f32, {20, 100}, 1, RandomValues::small_integers);
  Array c{DType::f32, {12, 100}};
  Kernel kernel;
  BoundKernel bound;
};

TEST(Arguments, ArraysThatAreCopiedFitTheirOperand) {
  for (Bound one : {Bound(), Bound("sm_80", Device::simulator("sm_80"))}) {
    for (Array& wrong : std::vector<Array>{Array(DType::f16, {20, 100}), Array(DType::f32, {100, 20}),
                                           Array(DType::f32, {10}), Array(DType::f32, {2000}),
                                           Array(DType::f32, {20, 101}), Array()}) {
      const std::string found = std::string(name_of(wrong.dtype())) + " " + text_of_shape(wrong.shape());
      const auto says = AllOf(HasSubstr("does not fit operand B"), HasSubstr("found:    " + found),
                              HasSubstr("accepted: f32 [20, 100]"));
      EXPECT_THAT(refusal([&] { one.bound.upload("B", wrong); }), says);
      EXPECT_THAT(refusal([&] { one.bound.download("B", wrong); }), says);
    }
    Array back(DType::f32, {20, 100});
    one.bound.download("B", back);
    EXPECT_EQ(back.get(7), one.b.get(7));
  }
}

TEST(Arguments, OperandsOfABoundKernelGoByTheirNames) {
  Bound one;
  const auto says = AllOf(HasSubstr("no operand of that name"), HasSubstr("found:    b"),
                          HasSubstr("A.values"), HasSubstr("did you mean B?"));
  EXPECT_THAT(refusal([&] { one.bound.upload("b", one.b); }), says);
  EXPECT_THAT(refusal([&] { one.bound.download("b", one.b); }), says);
  EXPECT_THAT(refusal([&] { one.bound.address("b"); }), says);
  EXPECT_NE(one.bound.address("A.values"), 0U);
}

TEST(Arguments, AWorkspaceIsNoOperand) {
  // Formats that store by column sum up in memory of the kernel's own.
  const Kernel kernel = compile(test::spmm_schedule("cpu", formats::csc()));
  ASSERT_FALSE(kernel.lowered().program.workspaces.empty());
  const std::string workspace = kernel.lowered().program.workspaces.front()->name;
  Array b(DType::f32, {20, 100}), c(DType::f32, {12, 100});
  const BoundKernel bound = kernel.bind(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
  EXPECT_THAT(refusal([&] { bound.upload(workspace, c); }), AllOf(HasSubstr("workspace"), HasSubstr("B, C")));
  EXPECT_THAT(refusal([&] { bound.download(workspace, c); }), HasSubstr("workspace"));
}

TEST(Arguments, OperandsMayLieInMemoryOfTheCallers) {
  for (const char* target : {"cpu", "sm_80"}) {
    const bool is_cpu = target == std::string("cpu");
    const Device device = is_cpu ? Device::cpu() : Device::simulator("sm_80");
    Bound one(target, device);
    Array other = random_array(DType::f32, {20, 100}, 2, RandomValues::small_integers),
          result(DType::f32, {12, 100});
    DeviceMemory images(device, other.bytes()), results(device, result.bytes());
    images.upload(other.data(), other.bytes());
    results.poison();
    one.bound.use_memory("B", images.address());
    one.bound.use_memory("C", results.address());
    EXPECT_EQ(one.bound.address("C"), results.address());
    one.bound.launch(nullptr);
    results.download(result.data(), result.bytes());
    const Arguments arguments{{{"B", &other}, {"C", &one.c}}, {}};
    const Algorithm& algorithm = one.kernel.schedule().algorithm();
    const Reference expected = reference(algorithm, one.kernel.schedule().weights(), arguments);
    EXPECT_TRUE(verify(algorithm, result, expected).passed) << target;
    Array back(DType::f32, {12, 100});
    one.bound.download("C", back);
    EXPECT_EQ(back.get(5), result.get(5));
    EXPECT_THAT(refusal([&] { one.bound.use_memory("B", 0); }), HasSubstr("an operand cannot lie there"));
    EXPECT_THAT(refusal([&] { one.bound.use_memory("B", images.address() + 4); }), HasSubstr("16 bytes"));
    EXPECT_THAT(refusal([&] { one.bound.use_memory("A.column", images.address()); }),
                HasSubstr("the places of the weights' entries cannot be replaced"));
  }
}

TEST(Arguments, ValuesOfTheWeightsCanBeReplacedAndTheirPlacesCannot) {
  Bound one;
  const SparseTensor& weights = *one.kernel.schedule().weights();
  Array twice = weights.array("values");
  for (std::int64_t i = 0; i < twice.size(); ++i) twice.set(i, 2 * twice.get(i));
  one.bound.launch(nullptr);
  Array once(DType::f32, {12, 100});
  one.bound.download("C", once);
  one.bound.upload("A.values", twice);
  one.bound.launch(nullptr);
  one.bound.download("C", one.c);
  for (std::int64_t i = 0; i < once.size(); ++i) EXPECT_EQ(one.c.get(i), 2 * once.get(i)) << i;
  for (const char* places : {"A.begin", "A.column"}) {
    const std::string array = std::string(places).substr(2);
    EXPECT_THAT(refusal([&] { one.bound.upload(places, weights.array(array)); }),
                HasSubstr("the places of the weights' entries cannot be replaced"));
  }
}

TEST(Arguments, NamesThatTheAlgorithmDoesNotHaveAreRefused) {
  Bound one;
  Array a(DType::f32, {12, 20});
  const auto launched = [&](Arguments arguments) {
    arguments.tensors.insert({{"B", &one.b}, {"C", &one.c}});
    return refusal([&] { one.kernel(Device::cpu(), arguments); });
  };
  EXPECT_EQ(launched({}), "accepted");
  EXPECT_THAT(launched({{{"A", &a}}, {}}), HasSubstr("the sparse operand is given as an array"));
  EXPECT_THAT(launched({{{"Cc", &one.c}}, {}}), HasSubstr("no dense operand of that name"));
  EXPECT_THAT(launched({{{"c", &one.c}}, {}}), HasSubstr("did you mean C?"));
  EXPECT_THAT(launched({{{"D", nullptr}}, {}}), HasSubstr("found:    D"));
  EXPECT_THAT(launched({{}, {{"alpha", 1}}}), AllOf(HasSubstr("no scalar of that name"), HasSubstr("none")));
  EXPECT_THAT(refusal([&] { one.kernel(Device::cpu(), {{{"B", nullptr}, {"C", &one.c}}, {}}); }),
              AllOf(HasSubstr("operand B is not given"), HasSubstr("a null pointer")));
  const Algorithm scaled = spmm_algorithm(12, 20, 100, DType::f32, {.alpha = true});
  const Kernel with_alpha =
      compile(Schedule(scaled, one.kernel.schedule().shared_weights(), target_named("cpu")));
  EXPECT_THAT(refusal([&] { with_alpha(Device::cpu(), {{{"B", &one.b}, {"C", &one.c}}, {{"alhpa", 1}}}); }),
              AllOf(HasSubstr("accepted: alpha"), Not(HasSubstr("did you mean"))));
}

TEST(Arguments, SizesOfStridedOperandsAreThoseOfOthers) {
  const Tensor<f32, 2> A("A", {4, 5}), C("C", {4, Extent::any("N")});
  const Tensor<f32, 2> B = Tensor<f32, 2>("B", {5, Extent::any("N")}).strided({16, 1});
  const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  Array a = random_array(DType::f32, {4, 5}, 1), b = random_array(DType::f32, {80}, 2), c(DType::f32, {4, 9});
  const Arguments arguments{{{"A", &a}, {"B", &b}, {"C", &c}}, {}};
  const Kernel kernel = compile(Schedule(product, nullptr, target_named("cpu")));
  EXPECT_TRUE(verify(kernel, Device::cpu(), arguments).passed);
  Array wide(DType::f32, {4, 17});
  EXPECT_THAT(refusal([&] { kernel(Device::cpu(), {{{"A", &a}, {"B", &b}, {"C", &wide}}, {}}); }),
              AllOf(HasSubstr("too small for its strides"), HasSubstr("at least 81")));
}

TEST(Arguments, SizesOfStridedOperandsMayBeThoseOfTheWeights) {
  const Tensor<f32, 2, sparse> A("A", {4, Extent::any("K")});
  const Tensor<f32, 2> C("C", {4, 6});
  const Tensor<f32, 2> B = Tensor<f32, 2>("B", {Extent::any("K"), 6}).strided({8, 1});
  const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  const WeightMatrix matrix =
      from_dense(random_array(DType::f32, {4, 7}, 3, RandomValues::small_integers), "weights");
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  Array b = random_array(DType::f32, {54}, 2), c(DType::f32, {4, 6});
  const Kernel kernel = compile(Schedule(product, weights, target_named("cpu")));
  EXPECT_TRUE(verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}}).passed);
  Array small(DType::f32, {53});
  EXPECT_THAT(refusal([&] { kernel(Device::cpu(), {{{"B", &small}, {"C", &c}}, {}}); }),
              HasSubstr("too small for its strides"));
}

TEST(Arguments, ASizeThatNoLaunchCanTellIsRefusedWhenTheKernelIsMade) {
  const Tensor<f32, 2> A("A", {4, 5});
  const Tensor<f32, 2> B = Tensor<f32, 2>("B", {5, Extent::any("N")}).strided({16, 1});
  const Tensor<f32, 2> C = Tensor<f32, 2>("C", {4, Extent::any("N")}).strided({16, 1});
  const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  const auto says = AllOf(HasSubstr("no launch can tell the size N"), HasSubstr("(B, C)"),
                          HasSubstr("N in an operand without strides"));
  EXPECT_THAT(refusal([&] { compile(Schedule(product, nullptr, target_named("cpu"))); }), says);
  Array a(DType::f32, {4, 5}), b(DType::f32, {80}), c(DType::f32, {64});
  EXPECT_THAT(refusal([&] { reference(product, nullptr, {{{"A", &a}, {"B", &b}, {"C", &c}}, {}}); }), says);
}

TEST(Arguments, StridesWhoseProductWithASizeOverflowsAreTooLarge) {
  constexpr std::int64_t far = std::int64_t{1} << 47;
  const Tensor<f32, 2> A("A", {4, 5});
  const Tensor<f32, 2> C("C", {4, Extent::any("N")});
  const Tensor<f32, 2> B = Tensor<f32, 2>("B", {5, Extent::any("N")}).strided({1, far});
  const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  Array a(DType::f32, {4, 5}), b(DType::f32, {80}), c(DType::f32, {4, 100'000});
  EXPECT_THAT(refusal([&] { reference(product, nullptr, {{{"A", &a}, {"B", &b}, {"C", &c}}, {}}); }),
              HasSubstr("too small for its strides"));
  const Kernel kernel = compile(Schedule(product, nullptr, target_named("cpu")));
  EXPECT_THAT(refusal([&] { kernel(Device::cpu(), {{{"A", &a}, {"B", &b}, {"C", &c}}, {}}); }),
              HasSubstr("too small for its strides"));
}

TEST(Arguments, AnOperandOf2To31ElementsIsNotIndexedWith32Bits) {
  const std::int64_t many = std::int64_t{1} << 31;
  const Kernel of_any =
      compile(test::spmm_schedule("sm_80", formats::csr(), Extent::any("N")), {.assemble = false});
  EXPECT_EQ(of_any.lowered().program.index_bits, 32);
  EXPECT_EQ(compile(test::spmm_schedule("sm_80", formats::csr(), many / 16), {.assemble = false})
                .lowered()
                .program.index_bits,
            64);
  // The least N for which B, 20 x N, has as many.
  const std::int64_t least = (many + 19) / 20;
  std::vector<std::max_align_t> lent(1);
  const ir::Program& program = of_any.lowered().program;
  const std::vector<void*> buffers(program.buffers.size() + program.workspaces.size(), lent.data());
  const auto launch = [&](std::int64_t size) {
    const std::vector<std::int64_t> extents{size};
    llvm_backend::check_launch(program, buffers, 0, extents);
  };
  EXPECT_NO_THROW(launch(1000));
  try {
    launch(least);
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("32-bit indices"), HasSubstr("found:"), HasSubstr("accepted:")));
  }
}

TEST(Arguments, ASizeWhoseMultipleDoesNotFit32BitsIsRefused) {
  const Extent M = Extent::any("M");
  const Tensor<f32, 2> A("A", {M, 5}), B("B", {8, 3}), C("C", {M, 3});
  const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(100 * m + k, n)));
  const Kernel kernel = compile(Schedule(product, nullptr, target_named("cpu")));
  std::vector<std::max_align_t> lent(1);
  const std::vector<void*> buffers(3, lent.data());
  const auto launch = [&](std::int64_t size) {
    const std::vector<std::int64_t> extents{size};
    llvm_backend::check_launch(kernel.lowered().program, buffers, 0, extents);
  };
  EXPECT_NO_THROW(launch(21'000'000));
  try {
    launch(22'000'000);
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the size M of product is out of range"), HasSubstr("22000000"),
                                    HasSubstr("at most 214")));
  }
}

TEST(Arguments, NumbersOfThreadsThatThereAreNot) {
  for (const int threads : {-1, -4, 1025, INT32_MAX})
    EXPECT_THAT(refusal([&] { compile(test::spmm_schedule("cpu"), {.threads = threads}); }),
                HasSubstr("1 to 1024 threads, or 0 for one a core"));
  EXPECT_NO_THROW(compile(test::spmm_schedule("cpu"), {.threads = 1024}));
}

TEST(Arguments, ErrorsOfACallNameItsLine) {
  Bound one;
  const int line = __LINE__ + 1;
  EXPECT_THAT(refusal([&] { one.kernel.bind(Device::simulator("sm_80"), {}); }),
              HasSubstr("arguments_test.cpp:" + std::to_string(line)));
}

}  // namespace
}  // namespace weft
