// What --recipe accepts, and what it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/synthetic.h>
#include <weft/search/problems.h>
#include <weft/search/tool/recipe.h>

#include <algorithm>
#include <array>

namespace weft::tool {
namespace {

using testing::HasSubstr;

std::shared_ptr<const SparseTensor> weights(const Format& format) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 16, .columns = 24, .sparsity = 0.8}), format));
}

Schedule of(std::string_view recipe, const char* target = "sm_80", const Format& format = formats::csr()) {
  return schedule_by_recipe(parse_recipe(recipe), spmm_algorithm(16, 24, 40, DType::f32), weights(format),
                            target_named(target));
}

bool bakes(const Schedule& schedule) {
  return std::ranges::any_of(schedule.steps(), [](const Step& step) { return step.name == "bake_values"; });
}

std::string message_of(std::string_view recipe) {
  try {
    parse_recipe(recipe);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Recipe, NamesWithoutKnobs) {
  EXPECT_EQ(parse_recipe("default").name, "default");
  const RecipeChoice plain = parse_recipe("sparsert");
  EXPECT_EQ(plain.name, "sparsert");
  EXPECT_FALSE(plain.has_knobs);
  EXPECT_EQ(plain.knobs.form, SparseRtForm::chosen);
  EXPECT_FALSE(bakes(of("default")));
  EXPECT_TRUE(bakes(of("sparsert")));
  EXPECT_FALSE(bakes(of("sparsert", "cpu")));
}

TEST(Recipe, EveryKnob) {
  const SparseRtKnobs knobs =
      parse_recipe(
          "sparsert:form=row_per_warp,rows=2,threads=3,groups=4,columns=5,lines=6,image=clamped,"
          "chunk=7,depth=8")
          .knobs;
  EXPECT_EQ(knobs.form, SparseRtForm::row_per_warp);
  EXPECT_EQ(knobs.image, SparseRtImage::clamped);
  EXPECT_THAT((std::array{knobs.rows, knobs.threads, knobs.groups, knobs.columns, knobs.lines, knobs.chunk,
                          knobs.depth}),
              testing::ElementsAre(2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(parse_recipe("sparsert:form=baked").knobs.form, SparseRtForm::baked);
  EXPECT_EQ(parse_recipe("sparsert:form=streaming").knobs.form, SparseRtForm::streaming);
  EXPECT_EQ(parse_recipe("sparsert:image=staged").knobs.image, SparseRtImage::staged);
}

TEST(Recipe, KnobsReachTheSchedule) {
  EXPECT_FALSE(bakes(of("sparsert:form=streaming")));
  const Schedule grouped = of("sparsert:form=baked,groups=3");
  EXPECT_THAT(grouped.cpp(), HasSubstr("groups = 3"));
}

TEST(Recipe, RefusesWhatItCannotFollow) {
  EXPECT_THROW(of("sparsert:rows=8", "cpu"), UserError);
  EXPECT_THROW(of("sparsert:rows=8", "sm_80", formats::ell()), UserError);
  EXPECT_NO_THROW(of("sparsert", "sm_80", formats::ell()));
}

TEST(Recipe, RefusalsSayWhatThereIs) {
  EXPECT_THAT(message_of("sparsrt"), HasSubstr("did you mean sparsert?"));
  EXPECT_THAT(message_of("default:rows=3"), HasSubstr("no knobs"));
  EXPECT_THAT(message_of("sparsert:colums=2"), HasSubstr("form, image, order, rows, threads"));
  EXPECT_THAT(message_of("sparsert:colums=2"), HasSubstr("did you mean columns?"));
  EXPECT_THAT(message_of("sparsert:form=cooked"), HasSubstr("baked, streaming, row_per_warp"));
  EXPECT_THAT(message_of("sparsert:image=none"), HasSubstr("staged, clamped"));
  EXPECT_THAT(message_of("sparsert:rows=2,rows=4"), HasSubstr("twice"));
  for (const char* wrong : {"0", "-1", "4x", "", "1e3", "1000001", "99999999999999999999"})
    EXPECT_THAT(message_of(std::string("sparsert:rows=") + wrong),
                HasSubstr("a whole number from 1 to 1000000"));
  for (const char* wrong : {"sparsert:", "sparsert:rows", "sparsert:rows=2,", "sparsert:,rows=2"})
    EXPECT_THAT(message_of(wrong), HasSubstr("no value")) << wrong;
  EXPECT_THAT(message_of("sparsert:=2"), HasSubstr("no such knob"));
}

}  // namespace
}  // namespace weft::tool
