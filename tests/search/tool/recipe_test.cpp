// What --recipe accepts, and what it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/tool/recipe.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weft::tool {
namespace {

using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const SparseTensor> weights(const Format& format) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 16, .columns = 24, .sparsity = 0.8}), format));
}

Schedule of(std::string_view recipe, const char* target = "sm_80", const Format& format = formats::csr()) {
  return schedule_by_recipe(parse_recipe(recipe), spmm_algorithm(16, 24, 40, DType::f32), weights(format),
                            target_named(target));
}

/// Of f16 weights, which tensor cores multiply.
Schedule of_groups(std::string_view recipe, const char* target, const Format& format) {
  const WeightMatrix layer =
      synthetic_layer({.rows = 128, .columns = 96, .sparsity = 0.8, .dtype = DType::f16});
  return schedule_by_recipe(parse_recipe(recipe), spmm_algorithm(128, 96, 256, DType::f16),
                            std::make_shared<const SparseTensor>(pack(layer, format)), target_named(target));
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

/// Whoever names a recipe writes none of its steps.
TEST(Recipe, ABrokenLimitIsToldWithAKnobThatKeepsToIt) {
  const std::array<std::array<const char*, 2>, 2> all{
      {{"shfl_bw:tile_n=512,stages=8", "stages = 8 left out, or stages = "},
       {"shfl_bw:tile_n=1024", "tile_n = 1024 left out, or tile_n = "}}};
  for (const auto& [recipe, says] : all) {
    try {
      of_groups(recipe, "sm_80", formats::shfl_bw({.rows = 64}));
      FAIL() << recipe;
    } catch (const UserError& error) {
      EXPECT_THAT(error.report().where, HasSubstr("--recipe " + std::string(recipe)));
      EXPECT_THAT(error.report().accepted, HasSubstr("tried, and legal: " + std::string(says)));
      EXPECT_THAT(error.report().accepted, Not(HasSubstr("in place of ."))) << recipe;
    }
  }
}

TEST(Recipe, NamesWithoutKnobs) {
  EXPECT_EQ(parse_recipe("default").recipe->name, "default");
  const RecipeChoice plain = parse_recipe("sparsert");
  EXPECT_EQ(plain.recipe->name, "sparsert");
  EXPECT_TRUE(plain.point.empty());
  EXPECT_FALSE(bakes(of("default")));
  EXPECT_TRUE(bakes(of("sparsert")));
  EXPECT_THROW(of("sparsert", "cpu"), UserError) << "what is named is followed or refused";
}

TEST(Recipe, EveryKnob) {
  const SparseRtKnobs knobs = knobs_of(
      sparsert_knobs(), parse_recipe("sparsert:form=row_per_warp,rows=2,threads=3,groups=4,columns=5,lines=6,"
                                     "image=clamped,chunk=7,depth=8")
                            .point);
  EXPECT_EQ(knobs.form, SparseRtForm::row_per_warp);
  EXPECT_EQ(knobs.image, SparseRtImage::clamped);
  EXPECT_THAT((std::array{knobs.rows, knobs.threads, knobs.groups, knobs.columns, knobs.lines, knobs.chunk,
                          knobs.depth}),
              testing::ElementsAre(2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(parse_recipe("sparsert:form=baked").point.at("form"), number_of(SparseRtForm::baked));
  EXPECT_EQ(parse_recipe("sparsert:form=streaming").point.at("form"), number_of(SparseRtForm::streaming));
  EXPECT_EQ(parse_recipe("sparsert:image=staged").point.at("image"), number_of(SparseRtImage::staged));
}

TEST(Recipe, KnobsReachTheSchedule) {
  EXPECT_FALSE(bakes(of("sparsert:form=streaming")));
  const Schedule grouped = of("sparsert:form=baked,groups=3");
  EXPECT_THAT(grouped.cpp(), HasSubstr("groups = 3"));
}

TEST(Recipe, RefusesWhatItCannotFollow) {
  EXPECT_THROW(of("sparsert:rows=8", "cpu"), UserError);
  EXPECT_THROW(of("sparsert:rows=8", "sm_80", formats::ell()), UserError);
  EXPECT_THROW(of("sparsert", "sm_80", formats::ell()), UserError);
}

TEST(Recipe, RefusalsSayWhatThereIs) {
  EXPECT_THAT(message_of("sparsrt"), HasSubstr("did you mean sparsert?"));
  EXPECT_THAT(message_of("default:rows=3"), HasSubstr("no knobs"));
  EXPECT_THAT(message_of("sparsert:colums=2"), HasSubstr("form, rows, threads, groups"));
  EXPECT_THAT(message_of("sparsert:colums=2"), HasSubstr("did you mean columns?"));
  EXPECT_THAT(message_of("sparsert:form=cooked"), HasSubstr("baked, streaming, row_per_warp, pieces"));
  EXPECT_THAT(message_of("sparsert:image=none"), HasSubstr("staged, clamped"));
  EXPECT_THAT(message_of("sparsert:rows=2,rows=4"), HasSubstr("twice"));
  for (const char* wrong : {"0", "-1", "4x", "", "1e3", "1000001", "99999999999999999999"})
    EXPECT_THAT(message_of(std::string("sparsert:rows=") + wrong),
                HasSubstr("a whole number from 1 to 1000000"));
  for (const char* wrong : {"sparsert:", "sparsert:rows", "sparsert:rows=2,", "sparsert:,rows=2"})
    EXPECT_THAT(message_of(wrong), HasSubstr("no value")) << wrong;
  EXPECT_THAT(message_of("sparsert:=2"), HasSubstr("no such knob"));
}

TEST(Recipe, KnobsThatAFormLacksAreRefused) {
  for (const char* wrong :
       {"form=baked,columns=2", "form=baked,lanes=32", "form=baked,places=4", "form=baked,parts=2",
        "form=baked,chunk=16,groups=2", "form=baked,depth=2", "form=streaming,chunk=16",
        "form=streaming,order=dealt", "form=streaming,rows=2,parts=2", "form=row_per_warp,parts=2",
        "form=pieces,rows=2", "form=pieces,groups=2", "form=pieces,lanes=8", "form=baked,lines=2",
        "image=staged"})
    EXPECT_THROW(of(std::string("sparsert:") + wrong), UserError) << wrong;
  EXPECT_NO_THROW(of("sparsert:form=streaming,parts=2,threads=64"));
}

TEST(Recipe, EveryKnobOfRowGroups) {
  const RecipeChoice plain = parse_recipe("shfl_bw");
  EXPECT_EQ(plain.recipe->name, "shfl_bw");
  EXPECT_TRUE(plain.point.empty());
  const RecipeChoice choice = parse_recipe(
      "shfl_bw:tile_m=1,tile_n=2,tile_k=3,stages=4,instruction=wgmma,warp_m=5,warp_n=6,groups=7,line=8,"
      "producers=0,producer_registers=9,consumer_registers=10,blocks=0,cluster=11");
  EXPECT_FALSE(choice.point.empty());
  const ShflBwKnobs k = knobs_of(shfl_bw_knobs(), choice.point);
  EXPECT_EQ(k.instruction, ShflBwInstruction::wgmma);
  EXPECT_THAT((std::array{k.tile_m, k.tile_n, k.tile_k, k.stages, k.warp_m, k.warp_n, k.groups, k.line,
                          k.producers, k.producer_registers, k.consumer_registers, k.blocks, k.cluster}),
              testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 10, 0, 11));
  const ShflBwKnobs left = knobs_of(shfl_bw_knobs(), plain.point);
  EXPECT_EQ(left.instruction, ShflBwInstruction::chosen);
  EXPECT_FALSE(left.tile_n || left.stages || left.producers || left.blocks);
}

TEST(Recipe, KnobsOfRowGroupsReachTheSchedule) {
  const Schedule chosen = of_groups("shfl_bw:tile_n=128,stages=3,blocks=7", "sm_90a", formats::shfl_bw());
  for (const char* step : {".split(n = 128)", "depth = 3", "blocks = 7", ".tensorize("})
    EXPECT_THAT(chosen.cpp(), HasSubstr(step));
  EXPECT_THAT(of_groups("shfl_bw:stages=2", "sm_80", formats::vector_wise()).cpp(), HasSubstr("depth = 2"));
}

TEST(Recipe, RowGroupsRefuseWhatTheyCannotFollow) {
  const std::array<std::pair<const char*, Format>, 4> others{{{"sm_80", formats::csr()},
                                                              {"sm_90a", formats::bcsr()},
                                                              {"sm_90a", formats::shfl_bw({.rows = 8})},
                                                              {"cpu", formats::shfl_bw()}}};
  for (const auto& [target, format] : others) {
    for (const char* recipe : {"shfl_bw", "shfl_bw:tile_n=128"}) {
      try {
        of_groups(recipe, target, format);
        ADD_FAILURE() << "accepted for " << format.text() << " on " << target;
      } catch (const UserError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the recipe shfl_bw does not fit"));
        EXPECT_THAT(error.what(),
                    testing::AnyOf(HasSubstr("or --recipe default"), HasSubstr("or default_schedule(")));
      }
    }
  }
  EXPECT_THROW(of("shfl_bw:tile_n=128", "sm_80", formats::shfl_bw()), UserError);  // f32
  EXPECT_THROW(of("shfl_bw", "sm_80", formats::shfl_bw()), UserError);
}

TEST(Recipe, KnobsOfRowGroupsThatATargetCannotFollowAreRefused) {
  const Format format = formats::shfl_bw();
  EXPECT_NO_THROW(of_groups("shfl_bw:blocks=5", "sm_90a", format));
  EXPECT_THAT(of_groups("shfl_bw:blocks=5", "sm_80", format).cpp(), HasSubstr("blocks = 5"));
  EXPECT_THAT(of_groups("shfl_bw:blocks=0", "sm_90a", format).cpp(), Not(HasSubstr("persist")));
  EXPECT_THAT(of_groups("shfl_bw:producers=0", "sm_90a", format).cpp(), Not(HasSubstr("specialize_warps")));
  EXPECT_THAT(of_groups("shfl_bw:tile_m=32,tile_k=16", "sm_80", format).weights()->format().text(),
              HasSubstr("V=32,k=16"));
  EXPECT_THAT(of_groups("shfl_bw:groups=2", "sm_90a", format).cpp(), HasSubstr("split_k"));
  for (const char* wrong : {"producers=4", "instruction=wgmma", "producers=0,producer_registers=40"})
    EXPECT_THROW(of_groups(std::string("shfl_bw:") + wrong, "sm_80", format), UserError) << wrong;
  for (const char* wrong :
       {"tile_m=128", "tile_m=24", "tile_k=48", "warp_m=48", "warp_n=24", "line=256",
        "groups=2,producers=4,blocks=132", "stages=1,producers=4", "instruction=mma_m16n8k32"})
    EXPECT_THROW(of_groups(std::string("shfl_bw:") + wrong, "sm_90a", format), UserError) << wrong;
  EXPECT_NO_THROW(of_groups("shfl_bw:stages=2", "sm_80", format));
  EXPECT_THROW(of_groups("shfl_bw:stages=2", "sm_75", format), UserError);
}

TEST(Recipe, RefusalsOfRowGroupsSayWhatThereIs) {
  EXPECT_THAT(message_of("shfl_bx"), HasSubstr("did you mean shfl_bw?"));
  EXPECT_THAT(message_of("shfl_bw:rows=2"), HasSubstr("tile_m, tile_n, tile_k, stages"));
  EXPECT_THAT(message_of("shfl_bw:stagse=2"), HasSubstr("did you mean stages?"));
  EXPECT_THAT(message_of("shfl_bw:stages=2,tile_n=64,stages=4"), HasSubstr("twice"));
  EXPECT_THAT(message_of("shfl_bw:stages=two"), HasSubstr("a whole number from 1 to 1000000"));
  EXPECT_THAT(message_of("shfl_bw:stages"), HasSubstr("shfl_bw:tile_n=256,stages=3"));
}

}  // namespace
}  // namespace weft::tool
