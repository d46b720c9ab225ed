// Every knob of every recipe with numbers that make no sense.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/limits/compilable.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/parts/written.h>
#include <weft/scheduler/recipes/unstructured/sliced_rows.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/spaces/problems.h>

namespace weft {
namespace {

using testing::HasSubstr;

std::shared_ptr<const SparseTensor> weights_in(const char* format, DType dtype) {
  const WeightMatrix matrix =
      synthetic_layer({.rows = 64, .columns = 96, .sparsity = 0.8, .dtype = dtype, .seed = 5});
  return std::make_shared<const SparseTensor>(pack(matrix, parse_format(format)));
}

Algorithm product(DType dtype) {
  return spmm_algorithm(64, 96, 128, dtype);
}

/// Makes the schedule; where the recipe takes the number, whatever it comes to is lowered or told to be too
/// much. Returns the message of a refusal.
template <class Make>
std::string tried(const Make& make) {
  std::optional<Schedule> schedule;
  try {
    schedule = make();
  } catch (const UserError& error) {
    EXPECT_THAT(error.report().where, HasSubstr("recipe_knobs_test.cpp")) << error.what();
    EXPECT_FALSE(error.report().found.empty()) << error.what();
    return error.what();
  }
  try {
    require_compilable(*schedule, schedule->target());
    lower(schedule->program(), schedule->target());
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

template <class Knobs, class Make>
void expect_in_range_alone(std::span<const KnobField<Knobs>> known, const Knobs& usual, const Make& make) {
  for (const KnobField<Knobs>& knob : known) {
    const auto words = static_cast<std::int64_t>(knob.words.size());
    for (const std::int64_t value :
         {std::int64_t{-1}, std::int64_t{0}, std::int64_t{3}, std::int64_t{1} << 31}) {
      SCOPED_TRACE(fmt::format("{} = {}", knob.name, value));
      // A word is of eight bits.
      if (words > 0 && value > 127) continue;
      Knobs knobs = usual;
      knob.set(knobs, value);
      const std::string refused = tried([&] { return make(knobs); });
      const std::optional<std::int64_t> given = knob.get(knobs);
      const bool is_out = given && (*given < knob.least || *given > (words > 0 ? words : knob.most) ||
                                    *given % knob.multiple != 0);
      if (is_out || value == -1 || value > 3) {
        EXPECT_THAT(refused,
                    testing::AllOf(HasSubstr("out of its range"), HasSubstr(std::string(knob.name))));
      }
    }
  }
}

TEST(RecipeKnobs, SparseRt) {
  const auto weights = weights_in("csr", DType::f32);
  for (const SparseRtForm form : {SparseRtForm::chosen, SparseRtForm::baked, SparseRtForm::streaming,
                                  SparseRtForm::row_per_warp, SparseRtForm::pieces}) {
    SCOPED_TRACE(static_cast<int>(form));
    expect_in_range_alone(sparsert_knobs(), SparseRtKnobs{.form = form}, [&](const SparseRtKnobs& knobs) {
      return sparsert(product(DType::f32), weights, target_named("sm_80"), knobs);
    });
  }
}

TEST(RecipeKnobs, SlicedRows) {
  const auto weights = weights_in("csr", DType::f32);
  expect_in_range_alone(sliced_rows_knobs(), SlicedRows{}, [&](const SlicedRows& knobs) {
    return sliced_rows(product(DType::f32), weights, target_named("sm_80"), knobs);
  });
}

TEST(RecipeKnobs, ShflBw) {
  const auto weights = weights_in("shfl_bw:V=64", DType::f16);
  for (const char* target : {"sm_80", "sm_90a"}) {
    expect_in_range_alone(shfl_bw_knobs(), ShflBwKnobs{}, [&](const ShflBwKnobs& knobs) {
      return shfl_bw(product(DType::f16), weights, target_named(target), knobs);
    });
  }
}

TEST(RecipeKnobs, VNM) {
  for (const char* format : {"column_quads", "hb_ell:pairs=1"}) {
    const auto weights = weights_in(format, DType::f16);
    expect_in_range_alone(shfl_bw_knobs(), ShflBwKnobs{}, [&](const ShflBwKnobs& knobs) {
      return v_n_m(product(DType::f16), weights, target_named("sm_90a"), knobs);
    });
  }
}

TEST(RecipeKnobs, HbEll) {
  for (const char* format : {"hb_ell", "hb_ell:every=8", "hb_ell:pairs=1"}) {
    const auto weights = weights_in(format, DType::f16);
    for (const char* target : {"sm_80", "sm_90a"}) {
      expect_in_range_alone(hb_ell_knobs(), HbEllKnobs{}, [&](const HbEllKnobs& knobs) {
        return hb_ell(product(DType::f16), weights, target_named(target), knobs);
      });
    }
  }
}

TEST(RecipeKnobs, HbEllSwmma) {
  const auto weights = weights_in("hb_ell", DType::f16);
  expect_in_range_alone(hb_ell_swmma_knobs(), HbEllSwmmaKnobs{}, [&](const HbEllSwmmaKnobs& knobs) {
    return hb_ell_swmma(product(DType::f16), weights, target_named("sm_70_swmma"), knobs);
  });
}

TEST(AddRecipe, WhatIsNoneIsRefusedAndNotAdded) {
  const std::size_t before = recipes().size();
  const auto refusal = [](const Recipe& recipe) -> std::string {
    try {
      add_recipe(recipe);
    } catch (const UserError& error) {
      EXPECT_THAT(error.report().where, testing::HasSubstr("add_recipe"));
      return error.what();
    }
    return "added";
  };
  Recipe recipe = *recipe_named("default");
  EXPECT_THAT(refusal(recipe), testing::HasSubstr("there is a recipe of that name"));
  for (const char* name : {"", "auto", "schedule_1", "Rows", "a b", "a__b", "a_"}) {
    recipe.name = name;
    EXPECT_THAT(refusal(recipe), testing::HasSubstr("cannot have that name")) << name;
  }
  recipe.name = "of_mine";
  recipe.choices = nullptr;
  EXPECT_THAT(refusal(recipe), testing::HasSubstr("choices = nullptr"));
  EXPECT_EQ(recipes().size(), before);
}

TEST(AddRecipe, WhatItsFunctionThrowsIsToldAsItsOwn) {
  Recipe recipe = *recipe_named("default");
  recipe.name = "of_mine";
  recipe.write = [](Algorithm, std::shared_ptr<const SparseTensor>, const Target&, const KnobValues& point,
                    CallPlace) -> Schedule { throw std::out_of_range("no " + std::to_string(point.size())); };
  recipe.why_not = [](const SpaceProblem&, const Target&) -> std::string { throw std::bad_function_call(); };
  try {
    schedule_by(recipe, {}, nullptr, target_named("cpu"), {});
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.report().where, "recipe of_mine, write of the point {}");
    EXPECT_EQ(error.report().found, "an exception whose what() is \"no 0\"");
  }
  try {
    why_not(recipe, {{}, nullptr, formats::csr()}, target_named("cpu"));
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.report().where, "recipe of_mine, why_not");
  }
}

}  // namespace
}  // namespace weft
