#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/report.h>
#include <weft/search/measure/vendor_contestants.h>

#include "definition_contestant.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

const char* const halves_products = R"({"suite": "s", "dtype": "f16", "sparsity": [0.5, 0.75], "V": [16],
                                 "problems": [{"M": 64, "K": 96, "N": 24}]})";
const char* const halves_convolutions =
    R"({"suite": "c", "dtype": "f16", "sparsity": [0.5], "V": [8], "batch": [2],
                                     "problems": [{"C": 4, "F": 16, "H": 9, "W": 7, "R": 3, "S": 3}]})";

std::vector<std::string> names_of(const std::vector<Contestant>& contestants) {
  std::vector<std::string> names;
  for (const Contestant& contestant : contestants) names.push_back(contestant.name);
  return names;
}

TEST(VendorContestants, OfWeightsInGroups) {
  const Libraries libraries(Device::cpu());
  const auto all = vendor_contestants(parse_suite(halves_products, "s.json"), libraries, DenseType::f16);
  EXPECT_THAT(names_of(all), ElementsAre("cuBLAS f16", "cuBLAS f16, pruned weights", "cuSPARSE blocked ELL",
                                         "cuSPARSELt 2:4"));
  EXPECT_TRUE(all[0].own_weights);
  EXPECT_FALSE(all[1].own_weights);
  EXPECT_EQ(all[1].kind, ContestantKind::pruned);
  EXPECT_THAT(
      names_of(vendor_contestants(parse_suite(halves_convolutions, "c.json"), libraries, DenseType::f16)),
      ElementsAre("cuDNN f16", "cuDNN f16, pruned weights"));
}

TEST(VendorContestants, OfPatterns) {
  const Suite suite = parse_suite(R"({"suite": "p", "dtype": "f16", "patterns": ["16:2:8"],
                                      "problems": [{"M": 64, "K": 96, "N": 24}]})",
                                  "p.json");
  const auto all = vendor_contestants(suite, Libraries(Device::cpu()), DenseType::f16);
  EXPECT_THAT(names_of(all), ElementsAre("cuBLAS f16", "cuBLAS f16, pruned weights", "cuSPARSELt 2:4"));
  // 2:4 has weights of its own whatever the pattern is.
  const SuiteCase chosen = cases_of(suite).front();
  const Workload workload = make_workload(chosen, DType::f16, {});
  EXPECT_EQ(workload.matrix.stored(), 64 * 24);
  EXPECT_EQ(all[2].own_weights(chosen, workload).matrix.stored(), 64 * 48);
}

TEST(VendorContestants, OfUnstructuredWeights) {
  const Libraries libraries(Device::cpu());
  const auto suite = parse_suite(R"({"suite": "s", "dtype": "f32", "sparsity": [0.5],
                                     "problems": [{"M": 64, "K": 96, "N": 24}]})",
                                 "s.json");
  const auto all = vendor_contestants(suite, libraries, DenseType::f32);
  EXPECT_THAT(names_of(all), ElementsAre("cuBLAS f32", "cuBLAS tf32", "cuSPARSE csr"));
  for (const Contestant& contestant : all) EXPECT_FALSE(contestant.own_weights) << contestant.name;
}

TEST(VendorContestants, WithoutLibrariesSayWhy) {
  const Suite suite = parse_suite(halves_products, "s.json");
  const Libraries libraries(Device::cpu());
  EXPECT_FALSE(libraries.cusparselt);
  const CaseResult result = measure(suite, cases_of(suite).front(), {}, Device::cpu(),
                                    vendor_contestants(suite, libraries, DenseType::f16), {3, 1});
  ASSERT_EQ(result.entries.size(), 4U);
  for (const Entry& entry : result.entries) {
    EXPECT_FALSE(entry.timed());
    EXPECT_THAT(entry.reason, HasSubstr("needs a CUDA device")) << entry.name;
  }
}

/// A contestant with weights of its own that computes the right result of those that `of` chooses.
Contestant honest(const std::string& name, std::function<Workload(const SuiteCase&, const Workload&)> own,
                  const WeightsOf& of = own_matrix) {
  Contestant contestant{name, ContestantKind::sparse, DenseType::f16};
  contestant.own_weights = std::move(own);
  contestant.variants.push_back(by_definition({}, of));
  return contestant;
}

TEST(VendorContestants, AreComparedWithTheReferenceOfTheirOwnWeights) {
  const Suite suite = parse_suite(halves_products, "s.json");
  const SuiteCase half = cases_of(suite)[0];
  const Workload of_the_case = make_workload(half, suite.dtype, {});
  const auto of_case = [&](const Workload&) -> const WeightMatrix& { return of_the_case.matrix; };
  const std::vector<Contestant> contestants{honest("dense", with_dense_weights),
                                            honest("blocks", with_block_weights),
                                            honest("2:4", with_two_of_four_weights), honest("the case's", {}),
                                            honest("confused", with_dense_weights, of_case)};
  const CaseResult result = measure(suite, half, {}, Device::cpu(), contestants, {3, 2});
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(result.entries[i].timed()) << result.entries[i].name << ": " << result.entries[i].reason;
  EXPECT_THAT(result.entries[0].weights, HasSubstr("dense"));
  EXPECT_THAT(result.entries[1].weights, HasSubstr("blocks of 16"));
  EXPECT_THAT(result.entries[2].weights, HasSubstr("2:4"));
  EXPECT_EQ(result.entries[3].weights, "");
  EXPECT_TRUE(result.entries[4].wrong);
  EXPECT_THAT(result.entries[4].reason, HasSubstr("relative error"));
}

TEST(VendorContestants, OwnWeights) {
  const Suite suite = parse_suite(halves_products, "s.json");
  SuiteCase chosen = cases_of(suite)[1];
  const Workload workload = make_workload(chosen, suite.dtype, {});
  const Workload dense = with_dense_weights(chosen, workload);
  EXPECT_EQ(dense.matrix.sparsity(), 0);
  EXPECT_EQ(dense.b, workload.b);
  const Workload blocks = with_block_weights(chosen, workload);
  EXPECT_EQ(blocks.block, 16);
  EXPECT_NEAR(blocks.matrix.sparsity(), 0.75, 0.1) << "two of six blocks";
  EXPECT_FALSE(blocks.groups.has_value());
  EXPECT_THROW(with_two_of_four_weights(chosen, workload), UserError);
  chosen.sparsity = 0.5;
  EXPECT_EQ(with_two_of_four_weights(chosen, workload).matrix.sparsity(), 0.5);
  chosen.group_rows = 48;
  EXPECT_THROW(with_block_weights(chosen, workload), UserError) << "64 rows are no multiple";
}

TEST(VendorContestants, ACaseThatCannotHaveTheirWeightsSaysWhy) {
  const Suite suite = parse_suite(halves_products, "s.json");
  const CaseResult result = measure(suite, cases_of(suite)[1], {}, Device::cpu(),
                                    {honest("2:4", with_two_of_four_weights)}, {3, 1});
  EXPECT_FALSE(result.entries[0].timed());
  EXPECT_FALSE(result.entries[0].wrong);
  EXPECT_THAT(result.entries[0].reason, HasSubstr("weights of 50 % alone can be 2:4"));
}

TEST(VendorContestants, RecipesEnterByTheirElementType) {
  const auto enters = [](const std::string& dtype) {
    const Suite suite = parse_suite(R"({"suite": "s", "dtype": ")" + dtype +
                                        R"(", "sparsity": [0.9], "problems": [{"M": 8, "K": 8, "N": 8}]})",
                                    "s.json");
    std::vector<std::string> names;
    for (const MeasuredRecipe& recipe : measured_recipes())
      if (recipe.is_for(suite)) names.push_back(recipe.name);
    return names;
  };
  EXPECT_THAT(enters("f16"), IsSupersetOf({"default", "hb_ell"}));
  EXPECT_THAT(enters("f32"), AllOf(Contains("default"), Not(Contains("hb_ell"))));
}

TEST(VendorContestants, RecipesEnterByTheirWeights) {
  const Suite grouped = parse_suite(halves_products, "s.json");
  for (const MeasuredRecipe& recipe : measured_recipes()) {
    const bool expected = recipe.weights == RecipeWeights::any || recipe.weights == RecipeWeights::grouped;
    EXPECT_EQ(recipe.is_for(grouped), expected) << recipe.name;
    if (recipe.name == "sparsert") {
      EXPECT_FALSE(recipe.is_for(grouped)) << "it is for unstructured weights";
    }
  }
  const Libraries libraries(Device::cpu());
  const auto contestants =
      contestants_of(grouped, Device::cpu(), target_named("cpu"), libraries, measured_recipes());
  ASSERT_FALSE(contestants.empty()) << "weft enters with something";
  const CaseResult result =
      measure(grouped, cases_of(grouped).front(), {}, Device::cpu(), contestants, {3, 1});
  EXPECT_NE(best_of_weft(result), nullptr);
}

}  // namespace
}  // namespace weft
