// Whole files: which reader is taken, what the writers leave, and what the file system can do wrong.
#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/read.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace weft {
namespace {

using testing::bytes_of;
using testing::elements;
using ::testing::ElementsAre;
using testing::expect_refused;
using ::testing::HasSubstr;
using testing::npy;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft_files_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_;
};

WeightMatrix example(DType dtype = DType::f32) {
  Array dense(dtype, {3, 4});
  const double third = 1.0 / 3;
  for (const auto& [index, value] : {std::pair{1, third}, {4, -2.0}, {7, 1e-7}, {11, 65504.0}}) {
    dense.set(index, is_float(dtype) ? value : index);
  }
  return from_dense(dense, "example");
}

TEST_F(Files, TheReaderIsChosenByContentThenByExtension) {
  const std::string npy_file = npy("<f4", "(1, 2)", elements<float>({1, 2}));
  EXPECT_EQ(read(write("plain", npy_file)).stored(), 2);
  EXPECT_EQ(read(write("wrong.mtx", npy_file)).stored(), 2);
  EXPECT_EQ(read(write("a.npz", testing::zip({{"w.npy", npy_file}}))).stored(), 2);
  EXPECT_EQ(read(write("b", "2, 4, 3\n0 2 3\n0 3 1\n")).stored(), 3);
  EXPECT_EQ(read(write("c", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n")).stored(), 1);
  expect_refused([&] { read(write("cut.npy", npy_file.substr(0, 5))); }, {"cut.npy", "byte 0", "93 4E 55"});
  expect_refused([&] { read(write("cut.safetensors", "abc")); }, {"byte 0", "3 bytes"});
  expect_refused([&] { read(write("empty.npy", "")); }, {"empty.npy", "an empty file"});
  expect_refused([&] { read(write("text.npy", "1 2 3\n4 5 6\n")); },
                 {"a text that begins with \"1 2 3\"", "(\\x93NUMPY)"});
  expect_refused([&] { read(write("bytes.npz", "\x81\x82")); }, {"bytes that begin with \"\\x81\\x82\""});
  expect_refused([&] { read(write("text.safetensors", "1 2 3\n4 5 6\n")); },
                 {"a text that begins with", "the length of its header"});
  expect_refused([&] { read(write("text.onnx", "1 2 3\n4 5 6\n")); },
                 {"no field of a message", "in a text that begins with \"1 2 3\""});
  expect_refused([&] { read(write("text.smtx", "1 2 3\n4 5 6\n")); },
                 {"3 stored entries, in a text that begins with \"1 2 3\""});
  expect_refused([&] { read(write("x.txt", "hello")); },
                 {"x.txt", "neither a known extension", ".safetensors", "DLMC",
                  "              .pt .pth .bin .pkl .pickle .ckpt refused; the message says"});
}

TEST_F(Files, AFileOfAnotherNameIsToldWithWhatItIs) {
  const std::string npy_file = npy("<f4", "(1, 2)", elements<float>({1, 2}));
  expect_refused([&] { read(write("a.mtx", npy_file.substr(0, npy_file.size() - 1))); },
                 {"truncated", "the file begins as npy, not as its name says", "ends with .npy would be"});
  const std::string archive = testing::zip({{"w.npy", npy_file}});
  expect_refused([&] { read(write("a.safetensors", archive.substr(0, 60))); },
                 {"a ZIP archive", "the file begins as npz", "ends with .npz would be right"});
  const std::string tensors = testing::safetensors(
      R"({"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", elements<float>({1, 2}));
  expect_refused([&] { read_array(write("a.onnx", tensors), "nosuch"); },
                 {"the file begins as safetensors", "ends with .safetensors would be right"});
  EXPECT_EQ(read(write("b.onnx", tensors)).stored(), 2) << "the content counts";
}

TEST_F(Files, PicklesAreRefusedWithARecipe) {
  expect_refused([&] { read(write("m.pkl", "\x80\x04x")); }, {"m.pkl", "pickle", "save_file"});
  expect_refused([&] { read(write("m.dat", "\x80\x02x")); }, {"pickle", "weights_only=True"});
  expect_refused([&] { read(write("m.bin", "anything")); },
                 {"a text that begins with \"anything\", with the name of a Python pickle", "save_file"});
  expect_refused([&] { read(write("m.pt", testing::zip({{"m/data.pkl", "\x80\x02."}}))); },
                 {"pickle, which only Python can read, by running it\n", "IN.pt OUT.safetensors"});
  expect_refused([&] { read_array(write("m.pth", "\x80\x02.")); }, {"pickle"});
}

TEST_F(Files, OptionsThatAFormatCannotHonourAreRefused) {
  const std::string smtx = write("a.smtx", "2, 4, 3\n0 2 3\n0 3 1\n");
  expect_refused([&] { read(smtx, {.tensor = "w", .reinterpret_as = {}}); }, {"\"w\" was asked for"});
  expect_refused([&] { read(smtx, {.tensor = {}, .reinterpret_as = DType::bf16}); },
                 {"seen as bf16", ".npy"});
  expect_refused([&] { read_array(smtx); }, {"smtx file, which holds no dense array"});
}

TEST_F(Files, PathsThatCannotBeRead) {
  expect_refused([&] { read(path("absent.npy")); }, {"absent.npy", "no such file"});
  expect_refused([&] { read(folder_.string()); }, {"a folder"});
}

TEST_F(Files, PipesAreRead) {
  const std::string pipe = path("pipe.npy");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string file = npy("<f4", "(1, 2)", elements<float>({1, 2}));
  if (::fork() == 0) {
    std::ofstream(pipe, std::ios::binary) << file;
    std::_Exit(0);
  }
  EXPECT_EQ(read(pipe).stored(), 2);
}

TEST_F(Files, NpyRoundTrip) {
  for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::i8, DType::u8, DType::i16, DType::u16,
                            DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean, DType::bf16}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {0}, {3}, {2, 3}, {1, 2, 3, 4}}) {
      Array array(dtype, shape);
      for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, static_cast<double>(i % 2));
      write_npy(path("a.npy"), array);
      EXPECT_EQ(content("a.npy").size() % 64, array.bytes() % 64);
      const Array back =
          read_array(path("a.npy"), {}, dtype == DType::bf16 ? std::optional(dtype) : std::nullopt);
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.shape(), shape);
      EXPECT_TRUE(std::equal(array.data(), array.data() + array.bytes(), back.data()));
    }
  }
}

TEST_F(Files, MtxRoundTrip) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i32, DType::u64}) {
    const WeightMatrix matrix = example(dtype);
    write_mtx(path("a.mtx"), matrix);
    const WeightMatrix back = read(path("a.mtx"));
    EXPECT_EQ(back.row_begin, matrix.row_begin);
    EXPECT_EQ(back.column, matrix.column);
    ASSERT_EQ(back.stored(), matrix.stored());
    for (std::int64_t i = 0; i < back.stored(); ++i) EXPECT_EQ(back.values.get(i), matrix.values.get(i));
  }
  WeightMatrix pattern = example();
  pattern.pattern_only = true;
  write_mtx(path("p.mtx"), pattern);
  EXPECT_TRUE(read(path("p.mtx")).pattern_only);
  EXPECT_EQ(read(path("p.mtx")).column, pattern.column);
}

TEST_F(Files, SafetensorsRoundTrip) {
  const Array weight = to_dense(example());
  const Array bias = Array::of(std::vector<double>{1, 2});
  write_safetensors(path("a.safetensors"), {{"w", weight}, {"b", bias}, {"é\"", weight}}, {{"format", "pt"}});
  EXPECT_EQ(content("a.safetensors").find("\"b\""), 40U);  // the widest elements come first
  EXPECT_EQ(testing::number(0, 1).size() + io::little_endian(bytes_of(content("a.safetensors")), 0, 8) % 8,
            1U);
  EXPECT_EQ(read(path("a.safetensors"), {.tensor = "w", .reinterpret_as = {}}).column, example().column);
  EXPECT_THAT(read_array(path("a.safetensors"), "b").as<double>(), ElementsAre(1, 2));
  EXPECT_EQ(read_array(path("a.safetensors"), "é\"").shape(), weight.shape());
  expect_refused([&] { write_safetensors(path("b"), {{"w", weight}, {"w", bias}}); },
                 {"\"w\"", "every name once"});
  expect_refused([&] { write_safetensors(path("b"), {{"__metadata__", bias}}); }, {"__metadata__"});
  expect_refused([&] { write_safetensors(path("b"), {{"\xFF", bias}}); }, {"not UTF-8"});
  EXPECT_EQ(files(), 1U);
}

TEST_F(Files, Shards) {
  const Array weight = to_dense(example());
  write_safetensors(path("1.safetensors"), {{"a.weight", weight}});
  write_safetensors(path("2.safetensors"),
                    {{"b.weight", weight}, {"b.bias", Array::of(std::vector<float>{3})}});
  const std::string index =
      write("model.safetensors.index.json", R"({"metadata":{"total_size":100},"weight_map":
      {"a.weight":"1.safetensors","b.weight":"2.safetensors","b.bias":"2.safetensors"}})");
  EXPECT_EQ(read(index, {.tensor = "b.weight", .reinterpret_as = {}}).stored(), 4);
  EXPECT_THAT(read_array(index, "b.bias").as<float>(), ElementsAre(3));
  expect_refused([&] { read(index); },
                 {"2 tensors of two or more dimensions", "\"a.weight\"", "\"b.weight\""});
  expect_refused([&] { read(index, {.tensor = "c", .reinterpret_as = {}}); },
                 {"no tensor named \"c\"", "\"a.weight\""});
  std::filesystem::remove(path("2.safetensors"));
  EXPECT_EQ(read(index, {.tensor = "a.weight", .reinterpret_as = {}}).stored(), 4);
  expect_refused([&] { read(index); }, {"2.safetensors", "no such file"});
  write_safetensors(path("2.safetensors"), {{"other", weight}});
  expect_refused([&] { read(index, {.tensor = "b.weight", .reinterpret_as = {}}); },
                 {"tensor \"b.", "no such tensor in \"2.safetensors\""});
}

template <class Action>
void expect_runtime_error(Action&& action, const std::string& phrase) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown; expected: " << phrase;
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr(phrase));
  }
}

TEST_F(Files, WritingThatTheSystemRefuses) {
  const Array array = Array::of(std::vector<float>{1});
  EXPECT_THROW(write_npy(path("no/such/a.npy"), array), UserError);
  EXPECT_THROW(write_npy(folder_.string(), array), UserError);
  if (std::filesystem::exists("/dev/full")) {
    expect_runtime_error([&] { write_npy("/dev/full", array); }, "/dev/full: No space left");
    expect_runtime_error([&] { write_mtx("/dev/full", example()); }, "/dev/full: No space left");
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(Files, WritingReplacesAFileWholeAndKeepsLinks) {
  write("a.npy", "old");
  std::filesystem::create_symlink(path("a.npy"), path("link.npy"));
  write_npy(path("link.npy"), Array::of(std::vector<float>{7}));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.npy")));
  EXPECT_THAT(read_array(path("a.npy")).as<float>(), ElementsAre(7));
  EXPECT_EQ(files(), 2U);
  struct stat status{};
  ASSERT_EQ(::stat(path("a.npy").c_str(), &status), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(Files, DamagedFilesAreRefusedOrReadButNothingElse) {
  write_safetensors(path("a.safetensors"), {{"w", to_dense(example())}, {"b", to_dense(example(DType::i8))}});
  write_mtx(path("a.mtx"), example());
  write_npy(path("a.npy"), to_dense(example()));
  write("a.npz", testing::zip({{"w.npy", content("a.npy")}}));
  write("a.smtx", "2, 4, 3\n0 2 3\n0 3 1\n");
  std::mt19937 random(7);
  for (const char* name : {"a.safetensors", "a.mtx", "a.npy", "a.npz", "a.smtx"}) {
    const std::string good = content(name);
    const FileFormat& format = file_format_of(bytes_of(good), name);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
      std::string bad = good;
      for (int k = 0; k <= i % 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
      if (i % 4 == 0) bad.resize(random() % bad.size());
      try {
        format
            .read(bytes_of(bad), name,
                  {.tensor = name[2] == 's' && name[3] == 'a' ? "w" : "", .reinterpret_as = {}})
            .check();
      } catch (const UserError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 200) << name;
  }
}

}  // namespace
}  // namespace weft
