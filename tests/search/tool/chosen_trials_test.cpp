// Kernels that verbs choose by trials.
#include <gmock/gmock.h>
#include <weft/search/records/record_file.h>
#include <weft/search/tool/tuning.h>

#include <fstream>

#include "tune_verb.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(TuneVerb, VerbsChooseByTrials) {
  const std::string path = TuneVerb::path("t.jsonl");
  tool::ProblemOptions options;
  options.weights = "made:M=256,K=512,sparsity=0.75,V=64";
  options.dtype = "f16";
  options.n = 64;
  Record record = record_for(tool::make_trial_problem(options), target_named("sm_90a"), "gpu", nullptr);
  record.recipe = "v_n_m";
  record.pattern.kind = "column_quads";
  record.config = {{"tile_n", 64}, {"stages", 3}};
  record.microseconds = TrialTime{3.25, 3, 4, 9};
  RecordFile(path, RecordFile::Mode::append).append(record);
  // What a point lacks is the recipe's.
  const auto verified = [&](const char* n) {
    return weft({"verify", "--weights", options.weights, "--n", n, "--dtype", "f16", "--device", "sim:sm_90a",
                 "--db", path});
  };
  const ProcessResult answer = verified("64");
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  record.config = {{"tile_m", 64},
                   {"tile_n", 64},
                   {"tile_k", 64},
                   {"instruction", 3},
                   {"warp_m", 64},
                   {"warp_n", 64},
                   {"stages", 3},
                   {"producers", 0},
                   {"groups", 1},
                   {"line", 64},
                   {"blocks", 0},
                   {"producer_registers", 0},
                   {"consumer_registers", 0}};
  record.microseconds = TrialTime{3.125, 3, 4, 9};
  RecordFile(path, RecordFile::Mode::append).append(record);
  const ProcessResult measured = verified("64");
  EXPECT_EQ(measured.exit_code, 0) << measured.error;
  EXPECT_THAT(measured.error, HasSubstr("in column_quads, 3.12 us;"));
  // Of another problem they say nothing.
  EXPECT_THAT(verified("48").error, Not(HasSubstr("3.12 us")));
}

TEST_F(TuneVerb, BenchOfMixedProblemsHasWhatIsChosenBesideTheBestFound) {
  const ProcessResult tuned =
      weft({"tune", "--weights", "made:M=64,K=96,sparsity=0.9,seed=1", "--n", "196", "--dtype", "f32",
            "--measure", "cpu", "--trials", "3", "--db", "t.jsonl"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.error;
  std::ofstream(path("s.json")) << R"({"suite": "mixed", "problems": [
    {"id": 1, "op": "spmm", "M": 64, "K": 96, "N": 196, "dtype": "f32", "sparsity": 0.9, "pattern": "unstructured"},
    {"id": 2, "op": "spmm", "M": 32, "K": 32, "N": 9, "dtype": "f16", "pattern": "2:4"},
    {"id": 3, "op": "conv2d", "C": 8, "F": 16, "H": 9, "W": 9, "R": 3, "S": 3, "groups": 4, "dtype": "f32",
     "sparsity": 0.5, "pattern": "unstructured"}]})";
  const ProcessResult all = weft({"bench", "--suite", "s.json", "--device", "cpu", "--rounds", "1", "--db",
                                  "t.jsonl", "--json", "times.jsonl"});
  EXPECT_EQ(all.exit_code, 0) << all.error;
  std::ifstream times(path("times.jsonl"));
  std::string first;
  std::getline(times, first);
  EXPECT_THAT(first, HasSubstr(R"("expected":{"way":"cpu_rows)"));
  EXPECT_THAT(all.output, HasSubstr("best found us"));
  EXPECT_THAT(all.output, HasSubstr("best found over auto: "));
  EXPECT_THAT(all.output, HasSubstr("f16, 50 % zero, 2:4"));
  EXPECT_THAT(all.output, HasSubstr(" in csr"));
  EXPECT_THAT(all.output, HasSubstr("conv2d"));
  EXPECT_THAT(all.output, Not(HasSubstr("no operation of weft's")));
  const ProcessResult one = weft({"bench", "--suite", "s.json", "--device", "cpu", "--only", "7"});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_THAT(one.error, HasSubstr("no such problem"));
}

}  // namespace
}  // namespace weft
