// The verbs prune and inspect, as they are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/io/read.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/pruned_for.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "call_weft.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

class PruneVerb : public ::testing::Test {
 protected:
  PruneVerb() : folder_(fs::temp_directory_path() / ("weft_prune_" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
    Random random(5);
    Array filter(DType::f16, {96, 8, 3, 3});
    for (std::int64_t i = 0; i < filter.size(); ++i) {
      const std::int64_t kind = (i / 72) % 3;  // rows of three kinds take turns, each with columns of its own
      filter.set(i, ((i % 72) % 3 == kind ? 4 : 1) * (0.5 + random.uniform()));
    }
    write_safetensors(path("net.safetensors"),
                      {{"conv.weight", filter}, {"conv.bias", Array(DType::f16, {96})}});
    write_npy(path("filter.npy"), filter);
  }
  ~PruneVerb() override { fs::remove_all(folder_); }
  PruneVerb(const PruneVerb&) = delete;
  PruneVerb& operator=(const PruneVerb&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

/// The metadata of a .safetensors file.
nlohmann::json metadata_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::uint64_t length = 0;
  std::copy_n(bytes.data(), sizeof length, reinterpret_cast<char*>(&length));
  return nlohmann::json::parse(bytes.substr(8, length)).at("__metadata__");
}

TEST_F(PruneVerb, WritesWhatTheLibraryChooses) {
  const VerbAnswer answer = call_weft({"prune", path("net.safetensors"), "--format", "shfl_bw:V=32",
                                       "--sparsity", "0.75", "-o", path("pruned.safetensors")});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("shfl_bw:V=32"), HasSubstr("vector_wise:V=32"),
                                HasSubstr("bcsr:b=32"), HasSubstr("csr"), HasSubstr("75.00 %")));
  EXPECT_THAT(answer.errors, testing::Not(HasSubstr("k-means")))
      << "of a tenth of a second there is no progress";
  const WeightMatrix before = read(path("net.safetensors"));
  const WeightMatrix after = read(path("pruned.safetensors"), {"conv.weight", {}});
  const Format format = parse_format("shfl_bw:V=32");
  const Pruning chosen = choose_weights(before, format, {.sparsity = 0.75});
  EXPECT_EQ(after.column, chosen.column);
  EXPECT_EQ(after.shape, (std::vector<std::int64_t>{96, 8, 3, 3}));
  EXPECT_EQ(after.values.dtype(), DType::f16);
  const nlohmann::json metadata = metadata_of(path("pruned.safetensors"));
  EXPECT_EQ(metadata.at("weft.format"), "shfl_bw:V=32");
  EXPECT_EQ(metadata.at("weft.sparsity"), "0.750000");
  std::string order;
  for (const std::int32_t row : chosen.row_order) order += (order.empty() ? "" : ",") + std::to_string(row);
  EXPECT_EQ(metadata.at("weft.row_order"), order);
  // What was written is what the format stores: no padding beyond its own.
  const SparseTensor packed = pack(after, format);
  EXPECT_EQ(packed.to_dense().size(), 96 * 72);
}

TEST_F(PruneVerb, InspectFindsWhatPruneMade) {
  ASSERT_EQ(call_weft({"prune", path("filter.npy"), "--format", "shfl_bw:V=16", "--sparsity", "0.7", "-o",
                       path("p.npy")})
                .code,
            0);
  const VerbAnswer text = call_weft({"inspect", path("p.npy")});
  EXPECT_THAT(text.out, AllOf(HasSubstr("shfl_bw:V="), HasSubstr("100.0 % filled")));
  const auto json = nlohmann::json::parse(call_weft({"inspect", path("p.npy"), "--json"}).out);
  ASSERT_EQ(json.at("structures").size(), 1U);
  EXPECT_GE(json.at("structures").at(0).at("density").get<double>(), 0.29);
  EXPECT_EQ(json.at("shape").size(), 4U);
  EXPECT_THAT(call_weft({"inspect", path("filter.npy")}).out, HasSubstr("none found"));
}

TEST_F(PruneVerb, WhatItWritesIsReadAgain) {
  ASSERT_EQ(call_weft({"prune", path("net.safetensors"), "--format", "shfl_bw:V=32", "--sparsity", "0.75",
                       "-o", path("p.safetensors")})
                .code,
            0);
  EXPECT_THAT(
      call_weft({"inspect", path("p.safetensors")}).out,
      HasSubstr("pruned for            shfl_bw:V=32, as the file says, in the row order that it has"));
  const auto json = nlohmann::json::parse(call_weft({"inspect", path("p.safetensors"), "--json"}).out);
  EXPECT_EQ(json.at("pruned_for").at("format"), "shfl_bw:V=32");
  EXPECT_EQ(json.at("pruned_for").at("row_order").size(), 96U);
  const auto of_model =
      nlohmann::json::parse(call_weft({"model", "inspect", path("p.safetensors"), "--json"}).out);
  EXPECT_EQ(of_model.at("layers").at(0).at("format"), "shfl_bw:V=32");
  // Of other weights than these nothing of it is true.
  write_safetensors(path("other.safetensors"), {{"w", read_array(path("p.safetensors")).reshaped({72, 96})}},
                    {{"weft.format", "shfl_bw:V=32"},
                     {"weft.row_order", metadata_of(path("p.safetensors")).at("weft.row_order")}});
  const std::string note =
      "other.safetensors:w says that it was pruned for \"shfl_bw:V=32\", which does not "
      "fit and is passed over: weft.row_order: 96 numbers";
  EXPECT_THAT(call_weft({"inspect", path("other.safetensors")}).out, HasSubstr(note));
  const VerbAnswer verified = call_weft({"verify", "--weights", path("other.safetensors"), "--n", "8"});
  EXPECT_EQ(verified.code, 0) << verified.errors;
  EXPECT_THAT(verified.errors, AllOf(HasSubstr("note: "), HasSubstr(note)));
  EXPECT_THAT(call_weft({"model", "inspect", path("other.safetensors")}).errors, HasSubstr(note));
}

TEST_F(PruneVerb, JsonNamesEveryMethodTheAskedOneFirst) {
  for (const std::string format : {"vector_wise:V=16", "bcsr:b=16", "blocked_ell:b=16", "shfl_bw:V=16"}) {
    const VerbAnswer answer =
        call_weft({"prune", path("filter.npy"), "--format", format, "--sparsity", "0.5", "--json"});
    ASSERT_EQ(answer.code, 0) << answer.errors;
    const auto json = nlohmann::json::parse(answer.out);
    ASSERT_EQ(json.at("methods").size(), 4U);
    EXPECT_EQ(json.at("methods").at(0).at("format"), format);
    EXPECT_TRUE(json.at("written").is_null());
    EXPECT_EQ(json.at("row_order").size(), format.starts_with("shfl") ? 96U : 0U);
  }
  const auto single = nlohmann::json::parse(
      call_weft({"prune", path("filter.npy"), "--format", "csr", "--sparsity", "0.5", "--json"}).out);
  ASSERT_EQ(single.at("methods").size(), 1U);
  EXPECT_EQ(single.at("methods").at(0).at("kept"), 96 * 36);
}

TEST_F(PruneVerb, PatternsHaveASparsityOfTheirOwn) {
  for (const std::string format : {"n_m", "v_n_m:M=8,V=32", "v_n_m:M=10,V=16"}) {
    SCOPED_TRACE(format);
    const VerbAnswer answer = call_weft(
        {"prune", path("net.safetensors"), "--format", format, "--json", "-o", path("pruned.safetensors")});
    ASSERT_EQ(answer.code, 0) << answer.errors;
    const auto methods = nlohmann::json::parse(answer.out).at("methods");
    ASSERT_EQ(methods.size(), 5U);
    EXPECT_EQ(methods.at(0).at("format"), format);
    const std::int64_t kept = 96 * (format == "n_m" ? 36 : format == "v_n_m:M=8,V=32" ? 18 : 16);
    EXPECT_EQ(methods.at(0).at("kept"), kept);
    EXPECT_EQ(methods.at(1).at("format"), "csr");
    EXPECT_EQ(methods.at(1).at("kept"), kept);
    for (std::size_t other = 2; other < 5; ++other) EXPECT_LE(methods.at(other).at("kept"), kept);
    EXPECT_GE(methods.at(1).at("kept_score"), methods.at(0).at("kept_score"));
    // A filter of four dimensions, and the format holds what was written.
    const WeightMatrix after = read(path("pruned.safetensors"));
    EXPECT_EQ(after.shape, (std::vector<std::int64_t>{96, 8, 3, 3}));
    EXPECT_EQ(after.stored(), kept);
    EXPECT_NO_THROW(pack(after, parse_format(format)));
    EXPECT_THAT(
        call_weft({"inspect", path("pruned.safetensors")}).out,
        HasSubstr(format == "n_m" ? "structure             n_m: 50.0 %" : "structure             v_n_m:M="));
  }
  const auto refusal = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"prune", path("filter.npy"), "--format"});
    const VerbAnswer answer = call_weft(options);
    EXPECT_EQ(answer.code, 2);
    return answer.errors;
  };
  EXPECT_EQ(call_weft({"prune", path("filter.npy"), "--format", "n_m", "--sparsity", "0.5"}).code, 0);
  EXPECT_THAT(refusal({"n_m", "--sparsity", "0.75"}),
              AllOf(HasSubstr("0.75"), HasSubstr("0.5, which follows")));
  EXPECT_THAT(refusal({"shfl_bw:V=16"}), AllOf(HasSubstr("--sparsity"), HasSubstr("shfl_bw:V=16")));
  EXPECT_THAT(refusal({"v_n_m:M=9"}), HasSubstr("M=9"));
}

TEST_F(PruneVerb, SomeTilesKeepTwoOfFour) {
  const auto prune = [&](const std::string& sparsity) {
    return call_weft({"prune", path("net.safetensors"), "--format", "mixed:V=16", "--sparsity", sparsity,
                      "--json", "-o", path("mixed.safetensors")});
  };
  const VerbAnswer answer = prune("0.25");
  ASSERT_EQ(answer.code, 0) << answer.errors;
  // Of 72 columns a group has a tile of 64 and one of 8, which leave 32 and 4 places of a row.
  const WeightMatrix after = read(path("mixed.safetensors"));
  EXPECT_LE(after.stored(), 96 * 54);
  EXPECT_GE(after.stored(), 96 * 54 - 16 * 32);
  EXPECT_NO_THROW(pack(after, formats::mixed({.rows = 16})));
  const VerbAnswer refused = prune("0.6");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("0.6 of mixed:V=16"), HasSubstr("at most 0.5")));
}

TEST_F(PruneVerb, ScoresDecide) {
  Array scores(DType::f32, {96, 8, 3, 3});
  for (std::int64_t i = 0; i < scores.size(); ++i) scores.set(i, i % 72 < 18 ? 1 : 0);
  write_npy(path("scores.npy"), scores);
  const VerbAnswer answer =
      call_weft({"prune", path("net.safetensors"), "--tensor", "conv.weight", "--scores", path("scores.npy"),
                 "--format", "vector_wise:V=32", "--sparsity", "0.75", "-o", path("p.safetensors")});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.out, HasSubstr("100.00 %"));
  for (const std::int32_t column : read(path("p.safetensors")).column) EXPECT_LT(column, 18);
}

TEST_F(PruneVerb, RefusesBeforeItSearches) {
  const auto refusal = [&](const std::string& format, const std::string& sparsity, const std::string& out) {
    const VerbAnswer answer =
        call_weft({"prune", path("filter.npy"), "--format", format, "--sparsity", sparsity, "-o", out});
    EXPECT_EQ(answer.code, 2);
    EXPECT_EQ(answer.out, "");
    return answer.errors;
  };
  EXPECT_THAT(refusal("shfl_bw:V=32", "1", path("p.npy")), HasSubstr("below 1"));
  EXPECT_THAT(refusal("shfl_bw:V=48", "0.5", path("p.npy")), HasSubstr("48"));
  EXPECT_THAT(refusal("shfl", "0.5", path("p.npy")), HasSubstr("shfl_bw"));
  EXPECT_THAT(refusal("dense", "0.5", path("p.npy")), HasSubstr("bcsr:b=32"));
  EXPECT_THAT(refusal("csr", "0.5", path("p.mtx")), HasSubstr(".safetensors"));
  EXPECT_FALSE(fs::exists(path("p.npy")));
}

TEST_F(PruneVerb, SaysWhenNothingIsLeft) {
  const VerbAnswer answer =
      call_weft({"prune", path("filter.npy"), "--format", "bcsr:b=64", "--sparsity", "0.99"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.errors, HasSubstr("everything was pruned"));
}

TEST_F(PruneVerb, HelpHasAnExample) {
  EXPECT_THAT(call_weft({"prune", "--help"}).out, HasSubstr("Example: weft prune"));
}

TEST_F(PruneVerb, SeveralTensorsLeaveAWholeFile) {
  Random random(6);
  const auto drawn = [&](std::vector<std::int64_t> shape) {
    Array array(DType::f32, std::move(shape));
    for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, random.uniform() - 0.5);
    return array;
  };
  write_safetensors(path("several.safetensors"), {{"a.weight", drawn({32, 64})},
                                                  {"b.weight", drawn({16, 4, 3, 3})},
                                                  {"wte.weight", drawn({40, 8})},
                                                  {"old.weight_orig", drawn({8, 8})},
                                                  {"old.weight_mask", Array(DType::f32, {8, 8})},
                                                  {"a.bias", drawn({32})}});
  const VerbAnswer all = call_weft({"prune", path("several.safetensors"), "--all", "--format", "csr",
                                    "--sparsity", "0.75", "-o", path("all.safetensors"), "--json"});
  ASSERT_EQ(all.code, 0) << all.errors;
  EXPECT_EQ(nlohmann::json::parse(all.out).at("tensors").size(), 3U);
  EXPECT_EQ(read(path("all.safetensors"), {.tensor = "a.weight"}).stored(), 32 * 64 / 4);
  EXPECT_EQ(read(path("all.safetensors"), {.tensor = "b.weight"}).shape,
            (std::vector<std::int64_t>{16, 4, 3, 3}));
  EXPECT_EQ(read(path("all.safetensors"), {.tensor = "wte.weight"}).stored(), 320) << "an embedding";
  EXPECT_EQ(read_array(path("all.safetensors"), "a.bias").get(3),
            read_array(path("several.safetensors"), "a.bias").get(3));
  const VerbAnswer named =
      call_weft({"prune", path("several.safetensors"), "--tensor", "a.weight,wte.weight", "--format",
                 "shfl_bw:V=8", "--sparsity", "0.5", "-o", path("named.safetensors")});
  ASSERT_EQ(named.code, 0) << named.errors;
  EXPECT_TRUE(metadata_of(path("named.safetensors")).contains("weft.row_order.wte.weight"));
  const WeightMatrix named_one = read(path("named.safetensors"), {.tensor = "wte.weight"});
  ASSERT_NE(named_one.pruned_for, nullptr);
  EXPECT_EQ(named_one.pruned_for->row_order.size(), 40U);
  EXPECT_EQ(read(path("named.safetensors"), {.tensor = "b.weight"}).pruned_for, nullptr) << "was not pruned";
  EXPECT_EQ(read(path("named.safetensors"), {.tensor = "old.weight"}).stored(), 0) << "as its mask leaves it";
  EXPECT_EQ(read(path("named.safetensors"), {.tensor = "b.weight"}).stored(), 16 * 36);
  const VerbAnswer both = call_weft({"prune", path("several.safetensors"), "--all", "--tensor", "a.weight",
                                     "--format", "csr", "--sparsity", "0.5"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.errors, HasSubstr("one of them"));
  EXPECT_EQ(call_weft({"prune", path("several.safetensors"), "--tensor", "a.weight,nosuch", "--format", "csr",
                       "--sparsity", "0.5"})
                .code,
            2);
}

}  // namespace
}  // namespace weft
