// The predictor that ships, beside the times that it was made from.
#include <gtest/gtest.h>
#include <weft/search/model/recorded_times.h>
#include <weft/search/model/shipped_predictor.h>
#include <weft/search/model/validation.h>
#include <weft/search/records/record_file.h>

#include <cstdlib>
#include <filesystem>

namespace weft {
namespace {

TEST(ShippedPredictor, reads_and_knows_three_groups_of_rows) {
  const Predictor& shipped = shipped_predictor();
  EXPECT_EQ(shipped.training.targets, std::vector<std::string>{"sm_90a"});
  EXPECT_EQ(shipped.times.kinds().size(), 3U);
  EXPECT_GT(shipped.training.mean, 0.98);
  EXPECT_GT(shipped.training.worst, 0.8);
}

TEST(ShippedPredictor, is_what_the_committed_times_make) {
  if (std::system("xz --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no xz";
  const std::string packed = std::string(WEFT_TESTS_DIR) + "/../docs/data/h200_shfl_bw_study.jsonl.xz";
  std::string folder = testing::TempDir() + "weft_study_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string plain = folder + "/study.jsonl";
  ASSERT_EQ(std::system(("xz -dkc " + packed + " > " + plain).c_str()), 0);
  std::vector<Record> records;
  {
    const RecordFile file(plain, RecordFile::Mode::read);
    for (const StoredRecord& stored : file.records()) records.push_back(stored.record);
  }
  std::filesystem::remove_all(folder);
  const TimingTable table = timing_table(records, "gpu");
  const Predictor& shipped = shipped_predictor();
  Predictor made = make_predictor(table, Labelling()(table), shipped.training.options);
  // How it did was judged by what takes a minute.
  made.training.accuracy = shipped.training.accuracy;
  made.training.mean = shipped.training.mean;
  made.training.worst = shipped.training.worst;
  EXPECT_EQ(json_of(made), json_of(shipped));
}

}  // namespace
}  // namespace weft
