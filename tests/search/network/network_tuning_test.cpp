// One budget for a network, and what is exported of it.
#include <gmock/gmock.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/search/network/network_export.h>
#include <weft/search/network/network_tuning.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "a_network.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

NetworkTuneOptions options_for(Measure measure) {
  NetworkTuneOptions options;
  options.tune.measure.measure = measure;
  options.tune.measure.rounds = 3;
  options.most_trials = 3;
  options.seconds = 60;
  return options;
}

Network inspected(const ANetwork& files) {
  files.write_model();
  files.write_network_file(all_layers);
  Network network = Network::read(files.path());
  network.inspect();
  return network;
}

TEST_F(ANetwork, EveryClassIsSearchedAndEveryLayerChecked) {
  Network network = inspected(*this);
  RecordFile file(path("trials.jsonl"), RecordFile::Mode::append);
  const NetworkTimes times = tune_network(network, target_named("cpu"), file, options_for(Measure::cpu));
  EXPECT_FALSE(times.interrupted);
  // A layer with a bias and one without are no class.
  ASSERT_THAT(times.classes, SizeIs(3));
  for (const ClassTimes& one : times.classes) {
    ASSERT_TRUE(one.verdict) << one.failure;
    EXPECT_GT(one.verdict->microseconds, 0);
    EXPECT_TRUE(one.verdict->dense) << "a dense product is measured beside it";
  }
  EXPECT_TRUE(std::ranges::all_of(file.records(), [](const StoredRecord& stored) {
    return stored.record.source.contains("layer") && stored.record.source.contains("tensor");
  }));
  // The records say of what network they are, and what is alike.
  const auto source_of = [&](const std::string& layer) {
    const auto found = std::ranges::find_if(file.records(), [&](const StoredRecord& stored) {
      return stored.record.source.at("layer") == layer;
    });
    return found == file.records().end() ? std::map<std::string, std::string>() : found->record.source;
  };
  EXPECT_EQ(source_of("a.fc1")["network"], path());
  EXPECT_FALSE(source_of("a.fc1").contains("layers")) << "one alone, which runs once";
  // Nothing is measured twice.
  const std::size_t trials = file.records().size();
  const NetworkTimes again = tune_network(network, target_named("cpu"), file, options_for(Measure::cpu));
  EXPECT_EQ(file.records().size(), trials);
  EXPECT_EQ(again.classes.size(), times.classes.size());
}

TEST_F(ANetwork, EveryClassHasAVerdictWhateverTheTime) {
  Network network = inspected(*this);
  RecordFile file(path("trials.jsonl"), RecordFile::Mode::append);
  NetworkTuneOptions options = options_for(Measure::cpu);
  options.seconds = 0;
  for (const ClassTimes& one : tune_network(network, target_named("cpu"), file, options).classes) {
    EXPECT_TRUE(one.verdict) << one.failure;
    EXPECT_EQ(one.trials, 1);
  }
}

TEST_F(ANetwork, ColumnsThatNobodySaysAreAskedFor) {
  write_model();
  Network network = Network::read(path());
  network.inspect();
  RecordFile file(path("trials.jsonl"), RecordFile::Mode::append);
  try {
    tune_network(network, target_named("cpu"), file, options_for(Measure::cpu));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--n 1,8,512"));
  }
  NetworkTuneOptions options = options_for(Measure::model);
  options.columns = {1, 64};
  const NetworkTimes times = tune_network(network, target_named("sm_90a"), file, options);
  // The two linear layers are a class; of the convolution nobody knows the images.
  EXPECT_THAT(times.classes, SizeIs(2));
  const auto& source = file.records().front().record.source;
  EXPECT_EQ(source.at("columns"), "1,64");
  EXPECT_EQ(source.at("layers"), "2");
  const auto conv = std::ranges::find(network.layers(), "conv", &NetworkLayer::name);
  EXPECT_THAT(conv->left_out, HasSubstr("the size of its images"));
}

TEST_F(ANetwork, IsExportedAsOneLibraryWithATable) {
  Network network = inspected(*this);
  NetworkExportOptions options;
  options.package.name = "net";
  options.targets = {"x86-64-v3"};
  const std::string folder = path("package");
  std::size_t kept = 0;
  const NetworkExportHooks hooks{.progress = [&](std::size_t, std::size_t, const NetworkLayer&,
                                                 bool was_there) { kept += was_there ? 1 : 0; }};
  const ExportedNetwork done = export_network(folder, network, options, hooks);
  EXPECT_THAT(done.layers, SizeIs(3)) << (done.refused.empty() ? "" : done.refused.front().second);
  EXPECT_EQ(kept, 0U);
  const auto table = nlohmann::json::parse(read_bytes(std::filesystem::path(folder) / "layers.json"));
  ASSERT_EQ(table["layers"].size(), 3U);
  const std::string manifest = read_bytes(std::filesystem::path(folder) / "manifest.json");
  // The same again: nothing is made anew, and every byte is what it was.
  Network same = Network::read(path());
  same.inspect();
  const ExportedNetwork again = export_network(folder, same, options, hooks);
  EXPECT_EQ(kept, 3U);
  EXPECT_EQ(again.layers, done.layers);
  EXPECT_EQ(read_bytes(std::filesystem::path(folder) / "manifest.json"), manifest);
}

/// On a GPU a linear layer has its operands as frameworks do; kernels of a processor have features outermost.
TEST_F(ANetwork, HasAPackageForEachKindOfDevice) {
  Network network = inspected(*this);
  NetworkExportOptions options;
  options.package.name = "net";
  options.targets = {"x86-64-v3", "sm_80"};
  options.columns = {4};
  export_network(path("both"), network, options);
  const auto table =
      nlohmann::json::parse(read_bytes(std::filesystem::path(path("both")) / "layers.json"))["layers"];
  EXPECT_THAT(table, SizeIs(6));
  for (const auto& row : table) {
    if (row["op"] != "linear") continue;
    const nlohmann::json features = row["columns"];
    const bool gpu = row["device"] == "gpu";
    EXPECT_EQ(row["input"], gpu ? nlohmann::json({"n", features}) : nlohmann::json({features, "n"})) << row;
  }
}

/// With features outermost rows of columns lie in memory: those of whole runs have a kernel of their own.
TEST_F(ANetwork, FeaturesOutermostHaveKernelsOfWholeRunsOfColumns) {
  Network network = inspected(*this);
  for (NetworkLayer& layer : network.layers()) layer.layout = ProductLayout::nk_mn;
  NetworkExportOptions options;
  options.package.name = "net";
  options.targets = {"sm_80"};
  options.columns = {8};
  export_network(path("outermost"), network, options);
  const std::filesystem::path folder = path("outermost");
  for (const auto& row : nlohmann::json::parse(read_bytes(folder / "layers.json"))["layers"]) {
    if (row["op"] != "linear") continue;
    EXPECT_EQ(row["layout"], "nk_mn");
    EXPECT_EQ(row["input"], nlohmann::json({"n", row["columns"]}));
    EXPECT_EQ(row["output"], nlohmann::json({row["rows"], "n"}));
    const std::string symbol = row["symbol"];
    EXPECT_THAT(read_bytes(folder / "src" / (symbol + "_row.c")), HasSubstr("\"nk_mn\""));
    EXPECT_THAT(read_bytes(folder / "layers" / symbol / "src" / (symbol + "_tables.c")),
                HasSubstr("n % 4 == 0"));
  }
}

}  // namespace
}  // namespace weft
