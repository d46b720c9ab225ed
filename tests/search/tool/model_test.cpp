// weft model: a network from its folder to a verdict and a package.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "../network/a_network.h"
#include "call_weft.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ModelVerb : public ANetwork {
 public:
  ModelVerb() {
    write_model();
    write_network_file(all_layers);
  }
};

TEST_F(ModelVerb, InspectsAFolder) {
  const VerbAnswer answer = call_weft({"model", "inspect", path("model.safetensors")});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.out,
              AllOf(HasSubstr("a.fc1"), HasSubstr("48 x 32"), HasSubstr("3 layers to look for kernels for"),
                    HasSubstr("an embedding: its rows are looked up\n    wte"), HasSubstr("fc2 (")));
  const VerbAnswer json = call_weft({"model", "inspect", path(), "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["layers"].size(), 3U);
  write("cut.safetensors", "12345678");
  std::filesystem::remove(path("network.json"));
  const VerbAnswer broken = call_weft({"model", "inspect", path()});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.out, AllOf(HasSubstr("a.fc1"), HasSubstr("cut")));
  EXPECT_THAT(broken.errors, HasSubstr("1 layer could not be read"));
}

TEST_F(ModelVerb, TunesANetworkAndExportsIt) {
  const std::vector<std::string> tune{"model",         "tune",       path(),     "--measure", "cpu",
                                      "--budget",      "20s",        "--trials", "2",         "--db",
                                      path("t.jsonl"), "--progress", "none"};
  const VerbAnswer answer = call_weft(tune);
  EXPECT_TRUE(answer.code == 0 || answer.code == 6) << answer.errors;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("a.fc1"), HasSubstr("conv"), HasSubstr("pruned layers dense")));
  const VerbAnswer report = call_weft({"report", "--db", path("t.jsonl"), "-o", path("report.html")});
  EXPECT_EQ(report.code, 0) << report.errors;
  std::ifstream page(path("report.html"));
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  EXPECT_THAT(text, AllOf(HasSubstr("<h2>The network</h2>"), HasSubstr("weft model tune " + path() + " --"),
                          Not(HasSubstr("could not be made again"))));
  const VerbAnswer exported = call_weft({"model", "export", path(), "--db", path("t.jsonl"), "--all",
                                         "--name", "net", "-o", path("package"), "--archs", "x86-64-v3"});
  EXPECT_EQ(exported.code, 0) << exported.errors;
  EXPECT_THAT(exported.out, HasSubstr("3 layers"));
  EXPECT_TRUE(std::filesystem::exists(path("package/net/__init__.py")));
}

/// Shards are measured by themselves, come back in any order, twice too, and the search goes on with what
/// they brought.
TEST_F(ModelVerb, SharesASearchOut) {
  const VerbAnswer plan = call_weft({"model", "tune", path(), "--measure", "cpu", "--target", "cpu",
                                     "--trials", "2", "--plan", path("plan")});
  ASSERT_EQ(plan.code, 0) << plan.errors;
  EXPECT_THAT(plan.out, HasSubstr("3 shards are in"));
  std::vector<std::string> shards;
  std::ifstream list(path("plan/shards.txt"));
  for (std::string name; std::getline(list, name);) shards.push_back(path("plan/" + name));
  ASSERT_EQ(shards.size(), 3U);
  const VerbAnswer whole = call_weft({"measure", path("plan"), "--measure", "cpu", "--progress", "none"});
  EXPECT_EQ(whole.code, 2);
  EXPECT_THAT(whole.errors, AllOf(HasSubstr("the folder of a whole plan, with 3 shards"),
                                  HasSubstr("one of the shards in that folder: weft measure " + shards[0])));
  const auto absorb = [&] {
    const VerbAnswer answer =
        call_weft({"model", "tune", path(), "--absorb", path("plan"), "--db", path("t.jsonl"), "--json"});
    EXPECT_EQ(answer.code, 0) << answer.errors;
    return nlohmann::json::parse(answer.out);
  };
  const auto measure = [&](std::size_t shard) {
    return call_weft({"measure", shards[shard], "--measure", "cpu", "--progress", "none"}).code;
  };
  ASSERT_EQ(measure(2), 0);
  EXPECT_EQ(absorb().at("without_results").size(), 2U);
  ASSERT_EQ(measure(0), 0);
  ASSERT_EQ(measure(1), 0);
  const nlohmann::json rest = absorb();
  EXPECT_EQ(rest.at("added"), 4);
  EXPECT_EQ(rest.at("trials"), 6);
  EXPECT_EQ(absorb().at("added"), 0);
  const VerbAnswer tune = call_weft({"model", "tune", path(), "--measure", "cpu", "--trials", "2", "--db",
                                     path("t.jsonl"), "--progress", "none", "--json"});
  EXPECT_TRUE(tune.code == 0 || tune.code == 6) << tune.errors;
  for (const auto& one : nlohmann::json::parse(tune.out).at("classes")) EXPECT_EQ(one.at("trials"), 2);
  EXPECT_THAT(call_weft({"model", "tune", path(), "--target", "cpu", "--plan", path("plan")}).errors,
              HasSubstr("a plan is there already"));
  EXPECT_EQ(call_weft({"model", "tune", path(), "--absorb", path("nosuch")}).code, 2);
}

TEST_F(ModelVerb, AnOperandMayBeATensorOfAFile) {
  const auto with_bias = [&](const std::string& bias) {
    return call_weft({"verify", "--weights", path("model.safetensors"), "--tensor", "a.fc1.weight", "--op",
                      "linear", "--n", "8", "--bias", bias});
  };
  const VerbAnswer right = with_bias(path("model.safetensors:a.fc1.bias"));
  EXPECT_EQ(right.code, 0) << right.errors;
  EXPECT_EQ(with_bias(path("model.safetensors")).code, 2) << "which tensor is not said";
  EXPECT_THAT(with_bias(path("model.safetensors:fc9.bias")).errors,
              AllOf(HasSubstr("fc9.bias"), HasSubstr("--bias")));
}

TEST_F(ModelVerb, WhatIsWrongIsToldInASentence) {
  const struct {
    std::vector<std::string> words;
    const char* says;
  } all[] = {
      {{"model", "inspect", path("nosuch")}, "nosuch"},
      {{"model", "tune", path("model.safetensors"), "--measure", "model"}, "--n 1,8,512"},
      {{"model", "tune", path(), "--measure", "model", "--budget", "soon"}, "90, 90s, 10m or 1h30m"},
      {{"model", "export", path(), "--archs", "cpu"}, "--archs"},
      {{"model", "export", path(), "--archs", "x86-64-v5"}, "accepted: sm_75"},
      {{"model", "export", path(), "--name", "signal"}, "signal"},
      {{"verify", "--weights", path("network.json"), "--n", "8"}, "weft model inspect"},
  };
  for (const auto& [words, says] : all) {
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 2) << words[1];
    EXPECT_THAT(answer.errors,
                AllOf(HasSubstr(says), HasSubstr("accepted:"), Not(HasSubstr("internal error"))));
  }
}

}  // namespace
}  // namespace weft
