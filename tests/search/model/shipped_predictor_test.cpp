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

TEST(ShippedPredictor, reads_and_knows_groups_of_rows_and_patterns) {
  const Predictor& shipped = shipped_predictor();
  EXPECT_EQ(shipped.training.targets, std::vector<std::string>{"sm_90a"});
  EXPECT_EQ(shipped.times.kinds().size(), 7U);
  EXPECT_GT(shipped.training.mean, 0.98);
  EXPECT_GT(shipped.training.worst, 0.8);
}

TEST(ShippedPredictor, is_what_the_committed_times_make) {
  if (std::system("xz --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no xz";
  std::string folder = testing::TempDir() + "weft_study_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::vector<Record> records;
  for (const char* name : {"h200_shfl_bw_study", "h100_v_n_m_study"}) {
    const std::string packed = std::string(WEFT_TESTS_DIR) + "/../docs/data/" + name + ".jsonl.xz";
    const std::string plain = folder + "/" + name;
    ASSERT_EQ(std::system(("xz -dkc " + packed + " > " + plain).c_str()), 0);
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
