// prune --quantize, and what verbs make of the scales that it leaves beside weights of a byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/read.h>
#include <weft/formats/quantized.h>
#include <weft/formats/random.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "call_weft.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t all_rows = 64, all_columns = 96, all_tokens = 32;
constexpr std::int64_t empty_row = 7;

class QuantizeTest : public ::testing::Test {
 protected:
  /// Rows of very different sizes, one of them all zero.
  QuantizeTest() {
    Random random(3);
    Array weight(DType::f32, {all_rows, all_columns});
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      const std::int64_t row = i / all_columns;
      const double size = row == empty_row ? 0 : std::ldexp(0.01, static_cast<int>(row % 6));
      weight.set(i, size * (2 * random.uniform() - 1));
    }
    write_npy(path("w.npy"), weight);
    write_safetensors(
        path("net.safetensors"),
        {{"a.weight", weight}, {"b.weight", weight}, {"a.bias", Array(DType::f32, {all_rows})}});
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// `weft prune` of w.npy into q.safetensors.
  VerbAnswer quantize(const std::string& type, const std::string& format = "csr") const {
    std::vector<std::string> words{"prune",  path("w.npy"), "--format",           format, "--quantize", type,
                                   "--json", "-o",          path("q.safetensors")};
    if (format != "n_m") words.insert(words.end(), {"--sparsity", "0.5"});
    VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 0) << answer.errors;
    return answer;
  }

  /// What `weft run` gives, [rows, tokens].
  Array product_of(std::vector<std::string> words) const {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--n", std::to_string(all_tokens), "--b", "ints:3", "--out", path("c.npy")});
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 0) << answer.errors;
    return read_array(path("c.npy"));
  }

 private:
  TemporaryFolder folder_;
};

/// Half of what lies between a number of the type and the next one.
double half_a_step(double number, DType type) {
  if (type == DType::i8) return 0.5;
  const int digits = type == DType::e4m3 ? 3 : 2;
  const int least = type == DType::e4m3 ? -6 : -14;
  const int exponent = number == 0 ? least : std::max(std::ilogb(number), least);
  return std::ldexp(0.5, exponent - digits);
}

TEST_F(QuantizeTest, ReadAgainIsWithinHalfAStep) {
  const WeightMatrix before = read(path("w.npy"));
  const Array dense = to_dense(before);
  for (const std::string how : {"e4m3", "e5m2:per_row", "i8", "e4m3:per_tensor"}) {
    SCOPED_TRACE(how);
    const auto told = nlohmann::json::parse(quantize(how).out).at("quantized");
    const WeightMatrix after = read(path("q.safetensors"));
    const DType type = *dtype_named(how.substr(0, how.find(':')));
    ASSERT_EQ(after.values.dtype(), type);
    ASSERT_EQ(std::ssize(after.row_scale), all_rows);
    double largest = 0, squares = 0, most = 0;
    for (std::int64_t row = 0; row < all_rows; ++row) {
      for (const std::int64_t i : after.entries(row)) {
        const double value = after.values.get(i), scale = after.row_scale[row];
        const double error = std::abs(value * scale - dense.get(row * all_columns + after.column_of(i)));
        EXPECT_LE(error, half_a_step(value, type) * scale * (1 + 1e-6)) << row;
        largest = std::max(largest, error);
        squares += error * error;
        most = std::max(most, std::abs(value));
      }
    }
    EXPECT_EQ(most, type == DType::e4m3   ? 448
                    : type == DType::e5m2 ? 57344
                                          : 127)
        << "the largest of a row is the largest number";
    EXPECT_DOUBLE_EQ(told.at("largest_error").get<double>(), largest);
    EXPECT_GT(told.at("root_mean_square_error").get<double>(), 0);
    EXPECT_LE(told.at("root_mean_square_error").get<double>(), largest);
    const Array scale = read_array(path("q.safetensors"), "weight_scale");
    EXPECT_EQ(scale.dtype(), DType::f32);
    if (how.ends_with("tensor")) {
      EXPECT_EQ(scale.shape(), std::vector<std::int64_t>{1});
      EXPECT_THAT(after.row_scale, Each(after.row_scale.front()));
    } else {
      EXPECT_EQ(scale.shape(), (std::vector<std::int64_t>{all_rows, 1}));
      EXPECT_EQ(after.row_scale[empty_row], 1);
      EXPECT_NE(after.row_scale[4], after.row_scale[5]);
    }
  }
}

TEST_F(QuantizeTest, VerbsTakeTheScalesOfTheFile) {
  for (const std::string format : {"csr", "n_m", "shfl_bw:V=16"}) {
    quantize("e4m3", format);
    for (const std::string device : {"cpu", "sim:sm_90a"}) {
      SCOPED_TRACE(format + " on " + device);
      const VerbAnswer answer =
          call_weft({"verify", path("q.safetensors"), "--n", "32", "--device", device, "--format", format,
                     "--bias", "random:4", "--token-scale", "random:5", "--activation", "relu"});
      EXPECT_EQ(answer.code, 0) << answer.out << answer.errors;
      EXPECT_THAT(answer.errors, HasSubstr("weight has scales beside its weights, which rows of the product "
                                           "are multiplied by"));
    }
    // The reference has the scales from where the kernel has them: here is a product of its own.
    const Array weight = to_dense(dequantized(read(path("q.safetensors"))));
    const Array b = random_array(DType::e4m3, {all_columns, all_tokens}, 3, RandomValues::small_integers);
    const Array c = product_of({path("q.safetensors"), "--format", format});
    for (std::int64_t m = 0; m < all_rows; ++m) {
      for (std::int64_t n = 0; n < all_tokens; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < all_columns; ++k)
          sum += weight.get(m * all_columns + k) * b.get(k * all_tokens + n);
        ASSERT_NEAR(c.get(m * all_tokens + n), sum, 1e-3 * std::abs(sum) + 1e-5) << m << ", " << n;
      }
    }
  }
}

TEST_F(QuantizeTest, ResultsOfAByteAreDividedByTheirScale) {
  const Array before = product_of({path("w.npy"), "--dtype", "f32"});
  for (const DType type : {DType::i8, DType::e4m3, DType::e5m2}) {
    SCOPED_TRACE(name_of(type));
    const VerbAnswer answer =
        call_weft({"run", path("w.npy"), "--dtype", "f32", "--n", "32", "--b", "ints:3", "--c-type",
                   std::string(name_of(type)), "--c-scale", "0.0625", "--out", path("c.npy")});
    ASSERT_EQ(answer.code, 0) << answer.errors;
    const Array after = read_array(path("c.npy"), "", type);
    Array divided = before;
    for (std::int64_t i = 0; i < before.size(); ++i) divided.set(i, 16 * before.get(i));
    const Array expected = divided.converted(type);
    for (std::int64_t i = 0; i < before.size(); ++i)
      ASSERT_EQ(after.get(i), expected.get(i)) << before.get(i);
  }
}

TEST_F(QuantizeTest, ScalesOfTheCommandLineMultiply) {
  const std::vector<std::string> plain{path("w.npy"), "--dtype", "f32"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), plain.begin(), plain.end());
    return product_of(more);
  };
  Array scale(DType::f32, {all_rows, 1}), token_scale(DType::f32, {all_tokens});
  for (std::int64_t m = 0; m < all_rows; ++m) scale.set(m, 0.5 + static_cast<double>(m));
  for (std::int64_t n = 0; n < all_tokens; ++n) token_scale.set(n, 4 - static_cast<double>(n));
  write_safetensors(path("s.safetensors"), {{"s", scale}, {"t", token_scale}});
  const Array before = with({});
  const Array after =
      with({"--scale", path("s.safetensors:s"), "--token-scale", path("s.safetensors:t"), "--alpha", "2"});
  for (std::int64_t i = 0; i < before.size(); ++i) {
    const double expected = 2 * before.get(i) * scale.get(i / all_tokens) * token_scale.get(i % all_tokens);
    ASSERT_NEAR(after.get(i), expected, 1e-4 * std::abs(expected) + 1e-6) << i;
  }
  // Those of the command line take the place of the file's.
  quantize("e4m3");
  write_safetensors(path("one.safetensors"), {{"s", Array::of(std::vector<float>{0.25F})}});
  const std::vector<std::string> quantized{path("q.safetensors"), "--scale", path("one.safetensors:s"), "--n",
                                           "8"};
  std::vector<std::string> verify = quantized;
  verify.insert(verify.begin(), "verify");
  const VerbAnswer answer = call_weft(verify);
  EXPECT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("which --scale takes the place of"));
}

TEST_F(QuantizeTest, AScheduleThatWasTunedForThemRuns) {
  quantize("e4m3");
  const std::string best = path("best.weft.json");
  const VerbAnswer tuned =
      call_weft({"tune", path("q.safetensors"), "--n", "32", "--target", "sm_90a", "--measure", "model",
                 "--trials", "1", "--db", path("d.jsonl"), "-o", best, "--token-scale", "random:3"});
  ASSERT_EQ(tuned.code, 0) << tuned.errors;
  const VerbAnswer verified = call_weft({"verify", path("q.safetensors"), "--n", "32", "--device",
                                         "sim:sm_90a", "--schedule", best, "--token-scale", "random:3"});
  EXPECT_EQ(verified.code, 0) << verified.errors;
}

TEST_F(QuantizeTest, ImagesHaveScalesToo) {
  const VerbAnswer answer =
      call_weft({"verify", path("w.npy"), "--op", "conv2d", "--filter", "2x2", "--image", "5x6", "--batch",
                 "3", "--scale", "random:3", "--token-scale", "random:4", "--dtype", "f32"});
  EXPECT_EQ(answer.code, 0) << answer.errors;
}

TEST_F(QuantizeTest, InspectNamesTheScales) {
  EXPECT_THAT(call_weft({"inspect", path("w.npy")}).out, Not(HasSubstr("scale")));
  quantize("e4m3");
  EXPECT_THAT(call_weft({"inspect", path("q.safetensors")}).out,
              HasSubstr("q.safetensors:weight_scale, which rows are to be multiplied by: "));
  const auto json = nlohmann::json::parse(call_weft({"inspect", path("q.safetensors"), "--json"}).out);
  EXPECT_EQ(json.at("row_scale").size(), static_cast<std::size_t>(all_rows));
}

TEST_F(QuantizeTest, PrunedAgainTheyKeepTheirScales) {
  quantize("e4m3");
  const WeightMatrix before = read(path("q.safetensors"));
  ASSERT_EQ(call_weft({"prune", path("q.safetensors"), "--format", "csr", "--sparsity", "0.9", "-o",
                       path("again.safetensors")})
                .code,
            0);
  const WeightMatrix after = read(path("again.safetensors"));
  EXPECT_EQ(after.row_scale, before.row_scale);
  EXPECT_EQ(after.values.dtype(), DType::e4m3);
  // By what they stand for, rows of small scales lose more than by their values alone.
  EXPECT_LT(after.length(0), after.length(5));
  EXPECT_THAT(call_weft({"prune", path("q.safetensors"), "--format", "csr", "--sparsity", "0.9", "-o",
                         path("again.npy")})
                  .errors,
              HasSubstr("scales, which a .npy file cannot hold"));
}

TEST_F(QuantizeTest, AllLayersOfAFile) {
  const auto prune = [&](const std::string& from, const std::string& to, std::vector<std::string> more) {
    std::vector<std::string> words{"prune",      path(from), "--format", "csr",
                                   "--sparsity", "0.5",      "-o",       path(to)};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 0) << answer.errors;
    return answer.out;
  };
  EXPECT_THAT(prune("net.safetensors", "q.safetensors", {"--all", "--quantize", "e4m3"}),
              AllOf(HasSubstr("root mean square"), HasSubstr("5 tensors written")));
  EXPECT_EQ(read_array(path("q.safetensors"), "a.bias").dtype(), DType::f32);
  const WeightMatrix first = read(path("q.safetensors"), {.tensor = "b.weight"});
  EXPECT_EQ(first.values.dtype(), DType::e4m3);
  EXPECT_EQ(std::ssize(first.row_scale), all_rows);
  // Scales are no layers, and stay with the weights that they are of.
  EXPECT_THAT(prune("q.safetensors", "again.safetensors", {"--all"}), HasSubstr("5 tensors written"));
  EXPECT_EQ(read(path("again.safetensors"), {.tensor = "b.weight"}).row_scale, first.row_scale);
  EXPECT_THAT(
      prune("q.safetensors", "two.safetensors", {"--tensor", "a.weight,b.weight", "--quantize", "e5m2"}),
      HasSubstr("5 tensors written"));
  EXPECT_EQ(read(path("two.safetensors"), {.tensor = "b.weight"}).values.dtype(), DType::e5m2);
}

TEST_F(QuantizeTest, GivenScalesDivide) {
  write_npy(path("s.npy"), Array::of(std::vector<float>{0.0078125F}));
  const std::vector<std::string> words{"prune",   path("w.npy"), "--format", "csr", "--sparsity",
                                       "0.5",     "--quantize",  "e4m3",     "-o",  path("q.safetensors"),
                                       "--scales"};
  const auto with = [&](const std::string& scales) {
    std::vector<std::string> call = words;
    call.push_back(path(scales));
    return call_weft(call);
  };
  EXPECT_EQ(with("s.npy").code, 0);
  EXPECT_THAT(read(path("q.safetensors")).row_scale, Each(0.0078125F));
  write_npy(path("small.npy"), Array::of(std::vector<float>{1e-6F}));
  EXPECT_THAT(with("small.npy").errors, HasSubstr("scales by which e4m3 holds it: at least"));
  write_npy(path("zero.npy"), Array::of(std::vector<float>{0}));
  EXPECT_THAT(with("zero.npy").errors, HasSubstr("a finite number above zero"));
  write_npy(path("three.npy"), Array(DType::f32, {3}));
  EXPECT_THAT(with("three.npy").errors, AllOf(HasSubstr("--scales"), HasSubstr("or [64] or [64, 1]")));
}

TEST_F(QuantizeTest, RefusesWhatItCannotDo) {
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"prune", path("w.npy"), "--format", "csr", "--sparsity", "0.5"};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 2);
    return answer.errors;
  };
  for (const char* type : {"f16", "i16", "e4m3:per_column", "e4m3:", ":per_row"})
    EXPECT_THAT(refused({"--quantize", type}),
                AllOf(HasSubstr("--quantize"), HasSubstr("such as e4m3:per_row")))
        << type;
  EXPECT_THAT(refused({"--quantize", "e4m3", "-o", path("q.npy")}), HasSubstr("ends with .safetensors"));
  EXPECT_THAT(refused({"--scales", path("w.npy")}), HasSubstr("--quantize e4m3"));
  EXPECT_THAT(refused({"--quantize", "e4m3:per_row", "--scales", path("w.npy")}),
              HasSubstr("its shape says how many"));
  const Array weight = read_array(path("w.npy")).converted(DType::e4m3);
  const auto scaled_by = [&](Array scale) {
    write_safetensors(path("bad.safetensors"), {{"w", weight}, {"w_scale", std::move(scale)}});
    const VerbAnswer answer = call_weft({"verify", path("bad.safetensors"), "--n", "8"});
    EXPECT_EQ(answer.code, 2);
    return answer.errors;
  };
  EXPECT_THAT(scaled_by(Array(DType::f32, {1, all_rows})),
              AllOf(HasSubstr("tensor \"w_scale\""), HasSubstr("a scale of [1, 64] for weights of 64 rows"),
                    HasSubstr("[1], one for all, or [64] or [64, 1]")));
  EXPECT_THAT(scaled_by(Array(DType::i32, {all_rows})), HasSubstr("a scale of I32"));
  // A tensor of such a name beside weights of another type has nothing to do with them.
  write_safetensors(path("f32.safetensors"),
                    {{"w", read_array(path("w.npy"))}, {"w_scale", Array(DType::f32, {3})}});
  EXPECT_EQ(call_weft({"verify", path("f32.safetensors"), "--n", "8"}).code, 0);
}

/// .npy has no name for such types: bytes without a type, and unsigned ones, are the bits of what --dtype
/// says; operands likewise. Signed ones are numbers.
TEST_F(QuantizeTest, BytesOfNumpyAreTheTypeThatIsAskedFor) {
  const Array weight = read_array(path("w.npy")).converted(DType::e4m3);
  Array bits(DType::u8, weight.shape());
  std::memcpy(bits.data(), weight.data(), weight.bytes());
  write_npy(path("e.npy"), weight);
  write_npy(path("u.npy"), bits);
  const Array expected = product_of({"--weights", path("w.npy"), "--dtype", "e4m3"});
  for (const char* file : {"e.npy", "u.npy"}) {
    const Array found = product_of({"--weights", path(file), "--dtype", "e4m3"});
    ASSERT_EQ(found.bytes(), expected.bytes());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.bytes()), 0) << file;
  }
  write_npy(path("x.npy"), Array(DType::e4m3, {all_columns, all_tokens}));
  const VerbAnswer answer = call_weft(
      {"verify", path("e.npy"), "--dtype", "e4m3", "--n", std::to_string(all_tokens), "--b", path("x.npy")});
  EXPECT_EQ(answer.code, 0) << answer.errors;
}

}  // namespace
}  // namespace weft
