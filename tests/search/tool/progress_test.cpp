#include <gtest/gtest.h>
#include <weft/search/tool/progress.h>

namespace weft::tool {
namespace {

TuneStatus busy() {
  TuneStatus status;
  status.trials = 212;
  status.limit = 400;
  status.best = 41.31;
  status.dense = 88.4;
  status.failures = {{TrialStatus::compile, 6}, {TrialStatus::timeout, 3}};
  status.seconds_left = 190;
  return status;
}

TEST(Progress, says_everything_where_there_is_room) {
  EXPECT_EQ(
      text_of_progress("tune spmm", busy()),
      "tune spmm  [=====>    ] 212/400  best 41.31 us (2.14x dense)  fail 9 (compile 6, timeout 3)  eta "
      "3m10s");
}

TEST(Progress, names_the_format_of_the_best) {
  TuneStatus status = busy();
  status.best_format = "shfl_bw:V=64";
  EXPECT_EQ(text_of_progress("tune spmm", status, 110),
            "tune spmm  212/400  best 41.31 us in shfl_bw:V=64 (2.14x dense)  fail 9 (compile 6, timeout 3)  "
            "eta 3m10s");
  EXPECT_EQ(text_of_progress("tune spmm", status, 60),
            "212/400  best 41.31 us (2.14x dense)  fail 9  eta 3m10s");
}

TEST(Progress, leaves_out_what_matters_least_where_there_is_none) {
  EXPECT_EQ(text_of_progress("tune spmm", busy(), 100),
            "tune spmm  212/400  best 41.31 us (2.14x dense)  fail 9 (compile 6, timeout 3)  eta 3m10s");
  EXPECT_EQ(text_of_progress("tune spmm", busy(), 80),
            "212/400  best 41.31 us (2.14x dense)  fail 9 (compile 6, timeout 3)  eta 3m10s");
  EXPECT_EQ(text_of_progress("tune spmm", busy(), 60),
            "212/400  best 41.31 us (2.14x dense)  fail 9  eta 3m10s");
}

TEST(Progress, says_little_before_anything_was_measured) {
  TuneStatus status;
  status.limit = 40;
  EXPECT_EQ(text_of_progress("tune conv2d", status, 79), "tune conv2d  [>         ] 0/40  fail 0");
}

}  // namespace
}  // namespace weft::tool
