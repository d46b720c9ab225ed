#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/suite.h>
#include <weft/search/measure/workload.h>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string whole_suite = R"({
 "suite": "small",
 "what": "ignored",
 "dtype": "f32",
 "sparsity": [0.9, 0.95],
 "n_scale": [1, 32],
 "problems": [
  {"id": 1, "net": "rn50", "M": 64, "K": 256, "N": 49, "h200_us": {"cublas": 7.8}},
  {"id": 7, "net": "rn50", "M": 512, "K": 2048, "N": 50}
 ]
})";

std::string error_of(const std::string& text) {
  try {
    parse_suite(text, "s.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Suite, Products) {
  const Suite suite = parse_suite(whole_suite, "s.json");
  EXPECT_EQ(suite.name, "small");
  EXPECT_EQ(suite.dtype, DType::f32);
  EXPECT_THAT(suite.sparsity, ElementsAre(0.9, 0.95));
  EXPECT_THAT(suite.batch, ElementsAre(1, 32));
  ASSERT_EQ(suite.problems.size(), 2U);
  EXPECT_EQ(suite.problems[1].id, "7");
  EXPECT_EQ(suite.problems[1].label, "rn50");
  EXPECT_EQ(suite.problems[1].k, 2048);
  EXPECT_FALSE(suite.is_convolution());
}

TEST(Suite, ConvolutionsWithAndWithoutStrideAndPad) {
  const Suite suite =
      parse_suite(R"({"suite": "c", "dtype": "f16", "sparsity": [0.75], "batch": [4], "problems": [
    {"layer": "a", "C": 64, "F": 32, "H": 56, "W": 28, "R": 3, "S": 1},
    {"layer": "b", "C": 8, "F": 16, "H": 56, "W": 56, "R": 3, "S": 3, "stride": 2, "pad": 0}]})",
                  "c.json");
  const Convolution& first = *suite.problems[0].convolution;
  EXPECT_THAT(first.pad, ElementsAre(1, 0));
  EXPECT_THAT(first.stride, ElementsAre(1, 1));
  EXPECT_EQ(suite.problems[0].id, "1");
  EXPECT_EQ(suite.problems[0].k, 64 * 3);
  EXPECT_EQ(suite.problems[0].n, 56 * 28);
  EXPECT_THAT(suite.problems[1].convolution->output(), ElementsAre(27, 27));
  const auto cases = cases_of(suite);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].problem.convolution->batch, 4);
  EXPECT_EQ(cases[0].problem.n, 4 * 56 * 28);
}

TEST(Suite, CasesAreEveryCombination) {
  const Suite suite = parse_suite(whole_suite, "s.json");
  const auto all = cases_of(suite);
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all.back().problem.n, 1600);
  EXPECT_EQ(all.back().batch, 32);
  EXPECT_EQ(all.back().sparsity, 0.95);
  const auto some = cases_of(suite, {{"7"}, {0.8}, {2}, {}});
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0].problem.n, 100);
  EXPECT_EQ(some[0].sparsity, 0.8);
  EXPECT_THROW(cases_of(suite, {{"2"}, {}, {}, {}}), UserError);
  EXPECT_THROW(cases_of(suite, {{}, {1.0}, {}, {}}), UserError);
  EXPECT_THROW(cases_of(suite, {{}, {}, {0}, {}}), UserError);
}

TEST(Suite, DensitiesAreForTheSimulator) {
  const std::string simulated = replaced(whole_suite, "\"sparsity\": [0.9, 0.95]", "\"density\": [0.1, 1]");
  const Suite suite = parse_suite(simulated, "s.json");
  EXPECT_TRUE(suite.simulated);
  EXPECT_THAT(suite.sparsity, ElementsAre(0.9, 0));
  EXPECT_FALSE(parse_suite(whole_suite, "s.json").simulated);
  EXPECT_THAT(error_of(replaced(simulated, "[0.1, 1]", "[0.1, 0]")), HasSubstr("above 0, up to 1"));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"sparsity\"", "\"density\": [0.1], \"sparsity\"")),
              HasSubstr("stands beside"));
}

TEST(Suite, GroupsOfRows) {
  const std::string grouped = replaced(whole_suite, "\"n_scale\": [1, 32]", "\"V\": [32, 64, 128]");
  const Suite suite = parse_suite(grouped, "s.json");
  EXPECT_TRUE(suite.is_grouped());
  EXPECT_THAT(suite.group_rows, ElementsAre(32, 64, 128));
  const auto all = cases_of(suite);
  ASSERT_EQ(all.size(), 12U);
  EXPECT_EQ(all[0].group_rows, 32);
  EXPECT_EQ(all[2].group_rows, 64) << "V changes after the problem, before the sparsity";
  EXPECT_EQ(all[2].sparsity, 0.9);
  EXPECT_EQ(all.back().group_rows, 128);
  const auto some = cases_of(suite, {{"64x256x49"}, {0.5}, {}, {8}});
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0].problem.id, "1");
  EXPECT_EQ(some[0].group_rows, 8);
  EXPECT_THROW(cases_of(suite, {{}, {}, {}, {0}}), UserError);
  EXPECT_THAT(error_of(replaced(grouped, "[32, 64, 128]", "[32, 0]")),
              AllOf(HasSubstr("line 6"), HasSubstr("field \"V\": 0")));
}

TEST(Suite, GroupsOfASuiteWithoutAreRefused) {
  const Suite suite = parse_suite(whole_suite, "s.json");
  EXPECT_FALSE(suite.is_grouped());
  EXPECT_EQ(cases_of(suite).front().group_rows, 0);
  EXPECT_THROW(cases_of(suite, {{}, {}, {}, {64}}), UserError);
}

const std::string patterned = R"({"suite": "pairs", "dtype": "f16", "patterns": ["2:4", "64:2:16"],
 "problems": [{"M": 128, "K": 96, "N": 8}]})";

TEST(Suite, Patterns) {
  const Suite suite = parse_suite(patterned, "p.json");
  EXPECT_TRUE(suite.is_patterned());
  EXPECT_FALSE(suite.is_grouped());
  const std::vector<SuiteCase> cases = cases_of(suite);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].pattern->text(), "2:4");
  EXPECT_EQ(cases[0].pattern->format(), Format({"n_m", {}}));
  EXPECT_EQ(cases[0].sparsity, 0.5);
  EXPECT_EQ(cases[1].pattern->format(), Format({"v_n_m", {{"V", 64}, {"M", 16}}}));
  EXPECT_EQ(cases[1].sparsity, 0.875);
  EXPECT_EQ(cases[1].group_rows, 0);
  SuiteSelection selection;
  selection.patterns = {"128:2:8"};
  EXPECT_EQ(cases_of(suite, selection).front().pattern->text(), "128:2:8");
}

TEST(Suite, PatternsThatCannotBeAreRefused) {
  for (const std::string wrong : {"2:8", "64:2", "64:1:8", "0:2:8", "64:2:3", "64:2:8x", "x", ""}) {
    EXPECT_THAT(error_of(replaced(patterned, "64:2:16", wrong)),
                testing::AllOf(HasSubstr("line 1"), HasSubstr("patterns"), HasSubstr("64:2:16")))
        << wrong;
  }
  EXPECT_THAT(error_of(replaced(patterned, "\"problems\"", "\"sparsity\": [0.5], \"problems\"")),
              HasSubstr("beside \"patterns\""));
  const auto refusal = [](const std::string& text, const SuiteSelection& selection) -> std::string {
    try {
      cases_of(parse_suite(text, "s.json"), selection);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  SuiteSelection selection;
  selection.patterns = {"2:4"};
  EXPECT_THAT(refusal(whole_suite, selection), HasSubstr("a suite with the field \"patterns\""));
  selection.patterns = {"2:5"};
  EXPECT_THAT(refusal(patterned, selection), HasSubstr("no such pattern"));
  selection = {};
  selection.sparsity = {0.75};
  EXPECT_THAT(refusal(patterned, selection), HasSubstr("a sparsity cannot be chosen"));
  selection = {};
  selection.group_rows = {64};
  EXPECT_THAT(refusal(patterned, selection), HasSubstr("groups of rows cannot be chosen"));
}

TEST(Suite, ProblemsAreChosenByIdLabelAndSize) {
  const Suite suite = parse_suite(whole_suite, "s.json");
  EXPECT_EQ(cases_of(suite, {{"7"}, {0.9}, {1}, {}}).size(), 1U);
  EXPECT_EQ(cases_of(suite, {{"rn50"}, {0.9}, {1}, {}}).size(), 2U);
  const auto by_size = cases_of(suite, {{"512x2048x50"}, {0.9}, {32}, {}});
  ASSERT_EQ(by_size.size(), 1U) << "the size is that at batch 1";
  EXPECT_EQ(by_size[0].problem.n, 1600);
}

TEST(Suite, ErrorsNameFieldAndLine) {
  EXPECT_THAT(error_of(replaced(whole_suite, "\"M\": 512", "\"M\": -512")),
              AllOf(HasSubstr("s.json, line 9"), HasSubstr("field \"M\": -512"), HasSubstr("from 1 to")));
  EXPECT_THAT(error_of(replaced(whole_suite, ", \"N\": 50", "")),
              AllOf(HasSubstr("s.json, line 9, problem 2"), HasSubstr("field \"N\": it is missing")));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"M\": 512", "\"m\": 512")),
              AllOf(HasSubstr("field \"m\": no field of a suite, and \"M\" is missing"),
                    HasSubstr("\"M\" in its place")));
  EXPECT_THAT(error_of(replaced(whole_suite, "[0.9, 0.95]", "[0.9,\n 1.5]")),
              AllOf(HasSubstr("line 6"), HasSubstr("field \"sparsity\": 1.5")));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"f32\"", "\"f8\"")),
              AllOf(HasSubstr("line 4"), HasSubstr("\"f8\""), HasSubstr("bf16")));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"id\": 7", "\"id\": 1")),
              AllOf(HasSubstr("line 9"), HasSubstr("a second time")));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"id\": 7", "\"M\": 3")),
              AllOf(HasSubstr("line 9"), HasSubstr("field \"M\" twice")));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"M\": 512", "\"C\": 512")),
              AllOf(HasSubstr("line 9"), HasSubstr("field \"F\"")));
  EXPECT_THAT(error_of(replaced(whole_suite, "[1, 32]", "[]")),
              AllOf(HasSubstr("line 6"), HasSubstr("n_scale")));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"sparsity\"", "\"zeros\"")),
              HasSubstr("field \"sparsity\": it is missing"));
  EXPECT_THAT(error_of(R"({"problems": [{"M": 64, "K": 96, "N": 32}]})"),
              HasSubstr("field \"suite\": it is missing, as are dtype, sparsity"));
  EXPECT_THAT(error_of(replaced(whole_suite, "64, \"K\"", "64.5, \"K\"")), HasSubstr("field \"M\": 64.5"));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"M\": 64", "\"M\": 18446744073709551615")),
              HasSubstr("field \"M\""));
}

TEST(Suite, WhatHoldsForAllProblemsStandsBesideThem) {
  EXPECT_THAT(error_of(replaced(whole_suite, "\"M\": 512", "\"V\": 64, \"M\": 512")),
              AllOf(HasSubstr("s.json, line 9, problem 2"), HasSubstr("field \"V\": 64"),
                    HasSubstr("the field beside \"problems\"")));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"M\": 512", "\"sparsity\": 0.5, \"M\": 512")),
              HasSubstr("the field beside \"problems\""));
}

/// Each would measure another problem than was written down.
TEST(Suite, FieldsThatNobodyWouldReadAreRefused) {
  EXPECT_THAT(error_of(replaced(whole_suite, "n_scale", "n_scales")),
              AllOf(HasSubstr("field \"n_scales\""), HasSubstr("accepted: \"n_scale\"")));
  EXPECT_THAT(
      error_of(replaced(whole_suite, "\"M\": 512", "\"stride\": 2, \"M\": 512")),
      AllOf(HasSubstr("problem 2"), HasSubstr("field \"stride\": 2"), HasSubstr("a convolution, with C")));
  EXPECT_THAT(error_of(replaced(whole_suite, "\"M\": 512", "\"op\": \"spmn\", \"M\": 512")),
              AllOf(HasSubstr("field \"op\": \"spmn\""), HasSubstr("\"spmm\", \"spmv\" or \"linear\"")));
  const std::string image = R"({"suite": "c", "dtype": "f32", "sparsity": [0.5], "problems": [
    {"C": 1, "F": 1, "H": 9, "W": 9, "R": 3, "S": 3, "stride": 2, "note": "kept"}]})";
  EXPECT_EQ(error_of(image), "no error");
  EXPECT_THAT(error_of(replaced(image, "stride", "strides")),
              AllOf(HasSubstr("field \"strides\": 2"), HasSubstr("accepted: \"stride\"")));
  EXPECT_THAT(error_of(replaced(image, "\"note\"", "\"M\"")), HasSubstr("field \"M\": \"kept\""));
}

TEST(Suite, OtherTextsAreRefused) {
  EXPECT_THAT(error_of(""), HasSubstr("no JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("no object"));
  EXPECT_THAT(error_of("{\n\n]"), HasSubstr("line 3"));
  EXPECT_THAT(error_of(whole_suite.substr(0, whole_suite.size() / 2)), HasSubstr("no JSON"));
  EXPECT_THAT(error_of(std::string(100000, '[')), HasSubstr("at most 16 levels"));
  EXPECT_THROW(read_suite("no such file"), UserError);
}

TEST(Suite, AFilterLargerThanItsImageIsRefused) {
  EXPECT_THAT(error_of(R"({"suite": "c", "dtype": "f32", "sparsity": [0.5], "problems": [
    {"C": 1, "F": 1, "H": 2, "W": 9, "R": 3, "S": 3, "pad": 0}]})"),
              AllOf(HasSubstr("line 2"), HasSubstr("a filter of 3"), HasSubstr("padded image, 2")));
}

const std::string mixed = R"({"suite": "mixed", "problems": [
  {"id": 1, "op": "spmm", "M": 64, "K": 32, "N": 7, "dtype": "f32", "sparsity": 0.5, "pattern": "unstructured"},
  {"id": 2, "op": "linear", "M": 64, "K": 32, "N": 8, "dtype": "f16", "sparsity": 0.75,
   "pattern": "shuffled_rows", "V": 16},
  {"id": 3, "op": "spmm", "M": 64, "K": 32, "N": 9, "dtype": "bf16", "pattern": "32:2:8"},
  {"id": 4, "op": "spmv", "M": 64, "K": 32, "dtype": "f16", "sparsity": 0.5, "pattern": "blocks", "block": 16},
  {"id": 5, "op": "conv2d", "C": 8, "F": 16, "H": 9, "W": 9, "R": 3, "S": 3, "pad": 2, "dilation": 2, "groups": 4,
   "batch": 3, "dtype": "f32", "layout": "nhwc", "sparsity": 0.5, "pattern": "unstructured"}]})";

TEST(Suite, ProblemsMayHaveTypesAndPatternsOfTheirOwn) {
  const std::vector<Suite> suites = parse_suites(mixed, "s.json");
  ASSERT_EQ(suites.size(), 5U);
  std::vector<SuiteCase> cases;
  for (const Suite& suite : suites) {
    EXPECT_EQ(suite.name, "mixed");
    ASSERT_EQ(cases_of(suite).size(), 1U);
    cases.push_back(cases_of(suite).front());
  }
  EXPECT_EQ(suites[2].dtype, DType::bf16);
  EXPECT_EQ(cases[0].sparsity, 0.5);
  EXPECT_EQ(cases[1].group_rows, 16);
  EXPECT_EQ(cases[2].pattern->text(), "32:2:8");
  EXPECT_EQ(cases[3].problem.n, 1);
  EXPECT_EQ(cases[3].block, 16);
  EXPECT_EQ(make_workload(cases[3], DType::f16, RealWeights()).block, 16);
  const SuiteProblem& image = cases[4].problem;
  EXPECT_EQ(image.convolution->batch, 3);
  EXPECT_EQ(image.layout, ImageLayout::nhwc);
  EXPECT_EQ(image.convolution->dilation, (std::array<std::int64_t, 2>{2, 2}));
  EXPECT_EQ(image.image_groups, 4);
  EXPECT_EQ(image.k, 2 * 9) << "channels of one group";
  EXPECT_EQ(image.n, 3 * 9 * 9) << "the dilated filter reaches five pixels";
}

TEST(Suite, SeedsOfCasesDrawTheWeights) {
  SuiteCase chosen = cases_of(parse_suites(mixed, "s.json").front()).front();
  chosen.seed = 7;
  const Workload seventh = make_workload(chosen, DType::f32, RealWeights());
  EXPECT_EQ(seventh.seed, 7U);
  chosen.seed = 8;
  EXPECT_NE(make_workload(chosen, DType::f32, RealWeights()).matrix.column, seventh.matrix.column);
}

TEST(Suite, FiltersInGroupsSeeTheChannelsOfTheirGroup) {
  const SuiteCase chosen = cases_of(parse_suites(mixed, "s.json")[4]).front();
  const Workload workload = make_workload(chosen, DType::f32, RealWeights());
  const WeightMatrix& all = workload.matrix;
  EXPECT_EQ(all.shape, (std::vector<std::int64_t>{16, 8, 3, 3}));
  EXPECT_GT(all.stored(), 16 * 18 / 3);
  for (std::int64_t filter = 0; filter < all.rows; ++filter) {
    for (const std::int32_t column : all.columns_of(filter)) EXPECT_EQ(column / 18, filter / 4) << filter;
  }
  const WeightMatrix own = within_groups(all, 4);
  EXPECT_EQ(own.columns, 18);
  own.check();
  EXPECT_EQ(across_groups(own, 4).column, all.column);
}

TEST(Suite, MistakesOfMixedProblemsAreNamed) {
  const auto error_of_mixed = [](const std::string& text) -> std::string {
    try {
      parse_suites(text, "s.json");
    } catch (const UserError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"bf16\"", "\"f8\"")),
              AllOf(HasSubstr("line 5"), HasSubstr("f8")));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "32:2:8", "rows")),
              AllOf(HasSubstr("line 5"), HasSubstr("sparsity")));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"blocks\"", "\"boxes\"")), HasSubstr("shuffled_rows"));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "nhwc", "nwhc")), HasSubstr("layout"));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"problems\"", "\"n_scale\": [4], \"problems\"")),
              AllOf(HasSubstr("n_scale"), HasSubstr("the field in every problem")));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"id\": 1", "\"V\": 64")),
              HasSubstr("\"pattern\": \"shuffled_rows\", or no \"V\""));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"batch\"", "\"batches\"")), HasSubstr("accepted: \"batch\""));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"groups\": 4", "\"groups\": 3")),
              AllOf(HasSubstr("groups"), HasSubstr("a divisor of 8 channels and 16 filters")));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"unstructured\"}]", "\"32:2:8\"}]")),
              AllOf(HasSubstr("groups"), HasSubstr("1, or unstructured weights")));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"H\": 9", "\"H\": 0")), HasSubstr("H"));
  EXPECT_THAT(error_of_mixed(replaced(mixed, "\"dilation\": 2", "\"dilation\": 9")),
              HasSubstr("a filter of 3, which reaches 19"));
}

}  // namespace
}  // namespace weft
