// Kernels that verbs choose by trials.
#include <gmock/gmock.h>
#include <weft/search/records/record_file.h>
#include <weft/search/tool/tuning.h>

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

}  // namespace
}  // namespace weft
