// Which weights a path holds: files of every kind, shards, folders, and what is wrong with some of them.
#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/read.h>
#include <weft/formats/io/weight_list.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::elements;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::FileTensor;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::npy;

class WeightList : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft_list_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string write(const std::string& name, const std::vector<FileTensor>& tensors) const {
    return write(name, testing::safetensors(tensors));
  }
  /// One of a path's weights, as "name dtype shape stored_as".
  static std::string text_of(const ListedWeight& weight) {
    return weight.tensor + " " + weight.dtype + " " + text_of_shape(weight.shape) + " " + weight.stored_as +
           (weight.fault.empty() ? "" : " !");
  }
  static std::vector<std::string> texts_of(const std::vector<ListedWeight>& weights) {
    std::vector<std::string> texts;
    for (const ListedWeight& weight : weights) texts.push_back(text_of(weight));
    return texts;
  }
  std::vector<std::string> names_in(const std::vector<ListedWeight>& weights) const {
    std::vector<std::string> names;
    for (const ListedWeight& weight : weights)
      names.push_back(fs::path(weight.path).lexically_relative(folder_).string() + ":" + weight.tensor);
    return names;
  }

  fs::path folder_;
};

const std::string four = elements<float>({1, 0, 0, 2});
const FileTensor dense{"a.weight", "F32", {2, 2}, four};
const FileTensor bias{"a.bias", "F32", {4}, four};

std::string index_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string map;
  for (const auto& [tensor, file] : files) {
    map += map.empty() ? "\"" : ",\"";
    map += tensor + "\":\"" + file + "\"";
  }
  return "{\"weight_map\":{" + map + "}}";
}

TEST_F(WeightList, EveryFormOfSafetensors) {
  const std::string file =
      write("a.safetensors", {dense,
                              bias,
                              {"p.compressed", "F32", {2}, elements<float>({1, 2})},
                              {"p.bitmask", "U8", {2, 1}, "\x01\x02"},
                              {"p.shape", "I64", {2}, elements<std::int64_t>({2, 3})},
                              {"p.row_offsets", "I64", {2}, elements<std::int64_t>({0, 1})},
                              {"q.packed", "F16", {32, 32}, std::string(2048, '\0')},
                              {"q.meta", "I16", {32, 4}, std::string(256, '\x44')},
                              {"m_orig", "F32", {2, 2}, four},
                              {"m_mask", "BOOL", {2, 2}, std::string(4, '\1')},
                              {"c.crow_indices", "I32", {3}, elements<std::int32_t>({0, 1, 1})},
                              {"c.col_indices", "I32", {1}, elements<std::int32_t>({6})},
                              {"c.values", "F32", {1}, elements<float>({6})},
                              {"steps", "I64", {}, elements<std::int64_t>({6})}});
  const std::vector<ListedWeight> weights = list_weights(file);
  EXPECT_THAT(texts_of(weights),
              ElementsAre("a.weight F32 [2, 2] dense", "a.bias F32 [4] dense",
                          "p.weight F32 [2, 3] sparse-bitmask", "q F16 [32, 64] 2:4 packed",
                          "m F32 [2, 2] masked", "c F32 [] csr parts", "steps I64 [] dense"));
  std::vector<bool> are_vectors;
  for (const ListedWeight& weight : weights) {
    EXPECT_EQ(weight.path, file);
    EXPECT_EQ(weight.fault, "");
    are_vectors.push_back(weight.is_vector());
    if (!weight.is_vector()) {
      EXPECT_NO_THROW(read(weight.path, {.tensor = weight.tensor})) << weight.tensor;
    }
  }
  EXPECT_THAT(are_vectors, ElementsAre(false, true, false, false, false, false, true));
  EXPECT_EQ(weights[0].bytes, 16U);
  EXPECT_EQ(weights[2].bytes, 8U + 2 + 16 + 16);
  EXPECT_EQ(weights[4].bytes, 20U);
}

TEST_F(WeightList, WhatHeadersShowToBeWrongIsAFault) {
  const std::vector<ListedWeight> weights =
      list_weights(write("a.safetensors", {{"f8", "F8_E8M0", {2, 2}, "1234"},
                                           {"none", "F32", {0, 3}, ""},
                                           {"p.compressed", "F32", {1}, elements<float>({1})},
                                           {"p.bitmask", "U8", {1, 1}, "\x01"},
                                           {"p.shape", "I64", {3}, elements<std::int64_t>({1, 1, 1})},
                                           {"m_orig", "F32", {2, 2}, four},
                                           {"m_mask", "F32", {4}, four},
                                           dense}));
  EXPECT_THAT(texts_of(weights), ElementsAre("f8 F8_E8M0 [2, 2] dense !", "none F32 [0, 3] dense !",
                                             "p.weight F32 [] sparse-24-bitmask !", "m F32 [2, 2] masked !",
                                             "a.weight F32 [2, 2] dense"));
  EXPECT_THAT(weights[0].fault, HasSubstr("tensor \"f8\": elements of F8_E8M0; accepted: F64"));
  EXPECT_THAT(weights[1].fault, HasSubstr("at least one row and one column"));
  EXPECT_THAT(weights[2].fault, HasSubstr("tensor \"p.shape\": I64 [3]; accepted: I64 [2]"));
  EXPECT_THAT(weights[3].fault, HasSubstr("tensor \"m_mask\": F32 [4]; accepted: F32 [2, 2]"));
}

TEST_F(WeightList, FilesOfOtherFormats) {
  const std::string array = npy("<f4", "(2, 2)", four);
  EXPECT_THAT(texts_of(list_weights(write("a.npy", array))), ElementsAre(" <f4 [2, 2] dense"));
  EXPECT_THAT(texts_of(list_weights(write("v.npy", npy("|V2", "(2, 4)", four)))),
              ElementsAre(" |V2 [2, 4] dense !"));
  EXPECT_THAT(texts_of(list_weights(write("cut.npy", array.substr(0, array.size() - 1)))),
              ElementsAre(" <f4 [2, 2] dense !"));
  const std::string archive =
      testing::zip({{"w.npy", array}, {"b.npy", npy("<f8", "(2,)", four)}, {"note.txt", "x"}});
  const std::vector<ListedWeight> members = list_weights(write("a.npz", archive));
  EXPECT_THAT(texts_of(members), ElementsAre("w <f4 [2, 2] dense", "b <f8 [2] dense"));
  EXPECT_EQ(members[0].bytes, array.size());
  const std::string csr = testing::zip({{"format.npy", npy("|S3", "()", "csr")},
                                        {"shape.npy", npy("<i8", "(2,)", elements<std::int64_t>({1, 9}))},
                                        {"data.npy", npy("<f4", "(1,)", elements<float>({5}))},
                                        {"indices.npy", npy("<i4", "(1,)", elements<std::int32_t>({8}))},
                                        {"indptr.npy", npy("<i4", "(2,)", elements<std::int32_t>({0, 1}))}});
  EXPECT_THAT(texts_of(list_weights(write("csr.npz", csr))), ElementsAre(" <f4 [1, 9] scipy csr"));
  EXPECT_THAT(texts_of(list_weights(write("a.smtx", "2, 4, 3\n0 2 3\n0 3 1\n"))),
              ElementsAre("  [2, 4] pattern"));
  const std::string banner = "%%MatrixMarket matrix ";
  EXPECT_THAT(texts_of(list_weights(write("a.mtx", banner + "coordinate Double general\n2 3 0\n"))),
              ElementsAre(" double [2, 3] coordinate"));
  EXPECT_THAT(texts_of(list_weights(write("p.mtx", banner + "coordinate pattern general\n2 3 0\n"))),
              ElementsAre("  [2, 3] pattern"));
  EXPECT_THAT(texts_of(list_weights(write("d.mtx", banner + "array real general\n1 1\n1\n"))),
              ElementsAre(" real [1, 1] dense"));
}

TEST_F(WeightList, ASingleFileThatCannotBeReadIsListedWithItsFault) {
  const std::string good = testing::safetensors({dense});
  const std::vector<ListedWeight> cut = list_weights(write("a.safetensors", good.substr(0, good.size() - 1)));
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].path, path("a.safetensors"));
  EXPECT_EQ(cut[0].bytes, good.size() - 1);
  EXPECT_THAT(cut[0].fault, HasSubstr("truncated"));
  EXPECT_THAT(cut[0].fault, ::testing::Not(HasSubstr("cannot read")));
  EXPECT_THAT(list_weights(write("m.bin", "x"))[0].fault, HasSubstr("save_file"));
  expect_refused([&] { list_weights(path("absent.npy")); }, {"absent.npy", "no such file"});
  expect_refused([&] { list_weights(write("x.txt", "hello")); }, {"x.txt", "neither a known extension"});
}

TEST_F(WeightList, AFolderIsWalkedByName) {
  write("config.json", "{}");
  write("tokenizer.json", "{}");
  write("network.json", "{}");
  write("trials.jsonl", "{}");
  write("README", "text");
  write("b.safetensors", {dense, bias});
  write("a/deep/c.npy", npy("<f4", "(2, 2)", four));
  write("a/cut.safetensors", "12345");
  write("a/empty.npy", "");
  write("c.pt", "anything");
  write(".cache/d.safetensors", {dense});
  fs::create_directory_symlink(folder_, folder_ / "a" / "again");
  const std::vector<ListedWeight> weights = list_weights(folder_.string());
  EXPECT_THAT(names_in(weights), ElementsAre("a/cut.safetensors:", "a/deep/c.npy:", "a/empty.npy:",
                                             "b.safetensors:a.weight", "b.safetensors:a.bias", "c.pt:"));
  EXPECT_THAT(weights[0].fault, HasSubstr("5 bytes"));
  EXPECT_EQ(weights[1].fault, "");
  EXPECT_EQ(weights[2].fault, "an empty file");
  EXPECT_THAT(weights[5].fault, HasSubstr("a Python pickle"));
  EXPECT_THAT(weights[5].fault, HasSubstr("save_file"));
  fs::create_directory(folder_ / "none");
  EXPECT_THAT(list_weights(path("none")), IsEmpty());
}

TEST_F(WeightList, ShardsThatAreMissingOrCutOff) {
  const std::string good = testing::safetensors({{"b.weight", "F32", {2, 2}, four}});
  write("m/1.safetensors", {dense, {"unnamed", "F32", {2, 2}, four}});
  write("m/2.safetensors", good.substr(0, good.size() - 1));
  write("m/other.safetensors", {dense});
  const std::string index =
      write("m/model.safetensors.index.json", index_of({{"a.weight", "1.safetensors"},
                                                        {"gone", "1.safetensors"},
                                                        {"b.weight", "2.safetensors"},
                                                        {"c.weight", "3.safetensors"}}));
  const std::vector<ListedWeight> weights = list_weights(index);
  EXPECT_THAT(texts_of(weights),
              ElementsAre("a.weight F32 [2, 2] dense", "b.weight  []  !", "c.weight  []  !", "gone  []  !"));
  for (const ListedWeight& weight : weights) EXPECT_EQ(weight.path, index);
  EXPECT_THAT(weights[1].fault, HasSubstr("2.safetensors"));
  EXPECT_THAT(weights[1].fault, HasSubstr("truncated"));
  EXPECT_THAT(weights[2].fault, HasSubstr("3.safetensors"));
  EXPECT_THAT(weights[2].fault, HasSubstr("no such file"));
  EXPECT_THAT(weights[3].fault, HasSubstr("no such tensor in \"1.safetensors\""));
  // The index tells of its whole folder, and of no other.
  write("z.safetensors", {dense});
  EXPECT_THAT(
      names_in(list_weights(folder_.string())),
      ElementsAre("m/model.safetensors.index.json:a.weight", "m/model.safetensors.index.json:b.weight",
                  "m/model.safetensors.index.json:c.weight", "m/model.safetensors.index.json:gone",
                  "z.safetensors:a.weight"));
}

TEST_F(WeightList, ABrokenIndexDoesNotHideItsFolder) {
  write("1.safetensors", {dense});
  const std::string index =
      write("model.safetensors.index.json", index_of({{"a.weight", "1.safetensors"}, {"a.weight", "2"}}));
  const std::vector<ListedWeight> weights = list_weights(folder_.string());
  EXPECT_THAT(names_in(weights), ElementsAre("model.safetensors.index.json:", "1.safetensors:a.weight"));
  EXPECT_THAT(weights[0].fault, HasSubstr("the tensor \"a.weight\" twice"));
  EXPECT_THAT(list_weights(index)[0].fault, HasSubstr("every tensor once"));
}

TEST_F(WeightList, PartsOfAWeightMayLieInDifferentShards) {
  write("1.safetensors", {{"weight_orig", "F32", {2, 2}, four},
                          {"fc.crow_indices", "I64", {2}, elements<std::int64_t>({0, 1})}});
  write("2.safetensors", {{"weight_mask", "U8", {2, 2}, std::string("\1\0\0\0", 4)},
                          {"fc.col_indices", "I64", {1}, elements<std::int64_t>({3})}});
  write("3.safetensors", {{"fc.values", "F32", {1}, elements<float>({7})}});
  const std::string index =
      write("model.safetensors.index.json", index_of({{"weight_orig", "1.safetensors"},
                                                      {"weight_mask", "2.safetensors"},
                                                      {"fc.crow_indices", "1.safetensors"},
                                                      {"fc.col_indices", "2.safetensors"},
                                                      {"fc.values", "3.safetensors"},
                                                      {"absent", "4.safetensors"}}));
  const std::vector<ListedWeight> weights = list_weights(index);
  EXPECT_THAT(texts_of(weights),
              ElementsAre("weight F32 [2, 2] masked", "fc F32 [] csr parts", "absent  []  !"));
  EXPECT_THAT(read(index, {.tensor = "weight"}).values.as<float>(), ElementsAre(1));
  const WeightMatrix sparse = read(index, {.tensor = "fc"});
  EXPECT_THAT(sparse.shape, ElementsAre(1, 4));
  EXPECT_THAT(sparse.values.as<float>(), ElementsAre(7));
}

TEST_F(WeightList, AHugeFileIsListedAtOnce) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[100000,30000],"data_offsets":[0,12000000000]}})";
  const std::string file = write("huge.safetensors", testing::safetensors(header, {}));
  std::error_code error;
  fs::resize_file(file, 8 + header.size() + 12'000'000'000, error);
  if (error) GTEST_SKIP() << "no file of 12 GB without content here: " << error.message();
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<ListedWeight> weights = list_weights(folder_.string());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_THAT(texts_of(weights), ElementsAre("w F32 [100000, 30000] dense"));
  EXPECT_EQ(weights[0].bytes, 12'000'000'000U);
}

TEST_F(WeightList, ASurveyCountsZerosAndFindsWhatIsNotFinite) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> many(1001, 0.5F);
  for (std::size_t i = 0; i < many.size(); i += 10) many[i] = i % 20 == 0 ? 0.0F : -0.0F;
  std::vector<float> wrong = many;
  wrong[997] = nan;
  wrong[998] = -std::numeric_limits<float>::infinity();
  const std::vector<FileTensor> tensors{
      {"many", "F32", {7, 143}, elements(many)},
      {"wrong", "F32", {7, 143}, elements(wrong)},
      {"f64", "F64", {1, 3}, elements<double>({-0.0, 1e-320, -std::numeric_limits<double>::infinity()})},
      {"f16", "F16", {1, 4}, elements<std::uint16_t>({0x8000, 0x0001, 0xFBFF, 0x7C00})},
      {"bf16", "BF16", {1, 4}, elements<std::uint16_t>({0x8000, 0x0001, 0xFF7F, 0x7F80})},
      {"i8", "I8", {1, 4}, std::string("\x80\x00\x7F\xFF", 4)},
      {"i64", "I64", {1, 2}, elements<std::int64_t>({0, INT64_MIN})},
      {"none", "F32", {0, 2}, ""},
      {"e5m2", "F8_E5M2", {1, 4}, std::string("\x80\x7C\x00\x31", 4)},
      {"e4m3", "F8_E4M3", {1, 4}, std::string("\x7E\x7C\xFF\x00", 4)},
      {"f8", "F8_E8M0", {1, 1}, "1"},
      {"m_orig", "F32", {2, 2}, four},
      {"m_mask", "F32", {2, 2}, four}};
  write("shard.safetensors", tensors);
  std::vector<std::pair<std::string, std::string>> files;
  for (const FileTensor& tensor : tensors) files.emplace_back(tensor.name, "shard.safetensors");
  const std::string index = write("model.safetensors.index.json", index_of(files));
  for (const std::string& file : {path("shard.safetensors"), index}) {
    std::map<std::string, ListedWeight> weights;
    for (const ListedWeight& weight : list_weights(file)) weights[weight.tensor] = weight;
    const auto expect = [&](const std::string& name, std::int64_t count, std::int64_t zeros,
                            std::optional<std::int64_t> first) {
      SCOPED_TRACE(name);
      const std::optional<WeightSurvey> found = survey(weights.at(name));
      ASSERT_TRUE(found);
      EXPECT_EQ(found->elements, count);
      EXPECT_EQ(found->zeros, zeros);
      EXPECT_EQ(found->first_not_finite, first);
    };
    expect("many", 1001, 101, std::nullopt);
    expect("wrong", 1001, 101, 997);
    expect("f64", 3, 1, 2);
    expect("f16", 4, 1, 3);
    expect("bf16", 4, 1, 3);
    expect("i8", 4, 1, std::nullopt);
    expect("i64", 2, 1, std::nullopt);
    expect("e5m2", 4, 2, 1);
    expect("e4m3", 4, 1, 2);
    expect("none", 0, 0, std::nullopt);
    EXPECT_FALSE(survey(weights.at("m")));
    expect_refused([&] { survey(weights.at("f8")); }, {"tensor \"f8\"", "F8_E8M0"});
  }
  EXPECT_FALSE(survey(list_weights(write("a.npy", npy("<f4", "(2, 2)", four)))[0]));
  expect_refused([&] { survey({.path = path("shard.safetensors"), .tensor = "x", .stored_as = "dense"}); },
                 {"no tensor named \"x\""});
  expect_refused([&] { survey({.path = index, .tensor = "x", .stored_as = "dense"}); },
                 {"no tensor named \"x\"", "the index"});
}

}  // namespace
}  // namespace weft
