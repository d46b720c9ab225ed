// The rules that types decide, asked both ways. Their sentences are tested in tests/errors/compile.
#include <gtest/gtest.h>
#include <weft/dsl/assignment.h>

namespace weft {
namespace {

using m = Index<"m">;
using n = Index<"n">;
using k = Index<"k">;
using z = Index<"z">;
using m_plus = IndexSum<m>;

template <class... Uses>
using Dense = Access<f16, Storage::dense, Uses...>;
template <class... Uses>
using Pruned = Access<f16, Storage::sparse, Uses...>;
template <class... Parts>
using List = detail::Types<Parts...>;
/// sum over k of left * right, beside the accesses.
template <class Left, class Right, class... Accesses>
using SumOver_k = Expression<List<detail::SumOf<List<k>, Left, Right>>, List<Accesses...>>;

using A = Pruned<m, k>;
using B = Dense<k, n>;
using C = Dense<m, n>;
using Product = SumOver_k<A, B>;

static_assert(Assignable<C, Product>);
static_assert(Assignable<Access<f32, Storage::dense, m, n>, Product>);
static_assert(Assignable<C, SumOver_k<A, B, Dense<m>, C, Access<f32, Storage::dense, n>>>);
static_assert(Assignable<Dense<n, m>, Product>);
static_assert(Assignable<Dense<m>, SumOver_k<A, Dense<k>>>);
static_assert(Assignable<C, SumOver_k<A, Dense<k, IndexSum<m, n>>>>);

static_assert(!Assignable<C, double>);
static_assert(!Assignable<C, Scalar>);
static_assert(!Assignable<C, A>);
static_assert(!Assignable<C, weft::Product<A, B>>);
static_assert(!Assignable<C, Expression<List<>, List<C>>>);
static_assert(!Assignable<C, Expression<List<detail::BrokenSum>, List<>>>);
static_assert(
    !Assignable<C, Expression<List<detail::SumOf<List<k>, A, B>, detail::SumOf<List<k>, A, B>>, List<>>>);
static_assert(!Assignable<m, Product>);

template <class Output, class Right>
using Rules = detail::RulesOf<Output, Right>;

static_assert(!Rules<Dense<m_plus, n>, Product>::output_is_plain);
static_assert(!Rules<Dense<m, m>, SumOver_k<A, Dense<k>>>::output_indices_differ);
static_assert(!Rules<Dense<m, n, z>, Product>::output_indices_are_in_factors);
static_assert(Rules<C, Product>::output_indices_are_in_factors);
static_assert(!Rules<Dense<m, n, k>, Product>::output_has_no_reduction);
static_assert(!Rules<C, Expression<List<detail::SumOf<List<k, k>, A, B>>, List<>>>::reductions_differ);
static_assert(
    !Rules<C, Expression<List<detail::SumOf<List<k, z>, A, B>>, List<>>>::reductions_are_in_factors);
static_assert(!Rules<C, SumOver_k<A, Dense<k, n, z>>>::factor_indices_are_known);
static_assert(!Rules<C, SumOver_k<A, B, Dense<k>>>::epilogue_has_no_reduction);
static_assert(!Rules<C, SumOver_k<A, B, Dense<z>>>::epilogue_indices_are_known);
static_assert(!Rules<C, SumOver_k<A, Pruned<k, n>>>::one_factor_is_dense);
static_assert(!Rules<Pruned<m, n>, Product>::output_is_dense);
static_assert(!Rules<C, SumOver_k<A, B, Pruned<m>>>::epilogue_is_dense);
static_assert(!Rules<C, SumOver_k<Pruned<m, IndexSum<k>>, B>>::sparse_is_plain);
static_assert(!Rules<C, SumOver_k<Pruned<k, m>, B>>::sparse_is_matrix);
static_assert(!Rules<C, SumOver_k<Pruned<m, m>, B>>::sparse_is_matrix);
static_assert(!Rules<C, SumOver_k<Pruned<m>, B>>::sparse_is_matrix);
static_assert(!Rules<C, SumOver_k<Pruned<k>, Dense<m, n, k>>>::sparse_is_matrix);
static_assert(Rules<Dense<m, n, z>, SumOver_k<Pruned<m, z, k>, B>>::sparse_is_matrix);
static_assert(!Rules<C, SumOver_k<A, Access<f32, Storage::dense, k, n>>>::factors_have_one_type);
static_assert(!Rules<C, SumOver_k<A, Access<bf16, Storage::dense, k, n>>>::factors_have_one_type);
static_assert(!Rules<Access<bf16, Storage::dense, m, n>, Product>::output_has_a_fitting_type);
static_assert(!Rules<Access<f64, Storage::dense, m, n>, Product>::output_has_a_fitting_type);
static_assert(!Rules<C, SumOver_k<A, B, Access<f64, Storage::dense, m>>>::epilogue_fits_accumulator);

// What breaks a rule is named: the compiler shows it beside the rule's sentence.
template <class Output, class Right>
using Found = decltype(Rules<Output, Right>::found());
static_assert(std::is_same_v<Found<Dense<m, n, z>, Product>, List<z>>);
static_assert(std::is_same_v<Found<Dense<m, m>, SumOver_k<A, Dense<k>>>, List<m>>);
static_assert(std::is_same_v<Found<Dense<m, n, k>, Product>, List<k>>);
static_assert(
    std::is_same_v<Found<C, Expression<List<detail::SumOf<List<k, k, k>, A, B>>, List<>>>, List<k, k>>);
static_assert(std::is_same_v<Found<C, Expression<List<detail::SumOf<List<k, z>, A, B>>, List<>>>, List<z>>);
static_assert(std::is_same_v<Found<C, SumOver_k<A, Dense<k, IndexSum<n, z, z>>>>, List<z>>);
static_assert(std::is_same_v<Found<C, SumOver_k<A, B, Dense<m>, Dense<k, n>>>, List<k>>);
static_assert(std::is_same_v<Found<C, SumOver_k<A, B, Dense<z>>>, List<z>>);
static_assert(std::is_same_v<Found<C, SumOver_k<Pruned<k, m>, B>>, List<Pruned<k, m>>>);
static_assert(std::is_same_v<Found<Pruned<m, n>, Product>, List<Pruned<m, n>>>);
static_assert(std::is_same_v<Found<C, SumOver_k<A, Pruned<k, n>>>, List<A, Pruned<k, n>>>);

static_assert(ComputableElement<f16> && ComputableElement<bf16> && ComputableElement<f32> &&
              ComputableElement<f64> && ComputableElement<e4m3> && ComputableElement<e5m2> &&
              ComputableElement<i8>);
static_assert(!ComputableElement<std::uint8_t> && !ComputableElement<bool> &&
              !ComputableElement<long double>);

TEST(AssignableTest, AnAssignmentOfThisKindBecomesAnAlgorithm) {
  const Tensor<f16, 2, sparse> weights("A", {4, 5});
  const Tensor<f16, 2> dense("B", {5, 6}), output("C", {4, 6});
  static_assert(std::is_same_v<decltype(weights(m{}, k{})), A>);
  static_assert(std::is_same_v<decltype(sum(k{}, weights(m{}, k{}) * dense(k{}, n{}))), Product>);
  EXPECT_EQ(algorithm("product", output(m{}, n{}) = sum(k{}, weights(m{}, k{}) * dense(k{}, n{}))).text(),
            "C[m, n] = sum(k, A[m, k] * B[k, n])");
}

}  // namespace
}  // namespace weft
