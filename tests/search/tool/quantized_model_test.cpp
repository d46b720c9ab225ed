// Networks whose linear layers are of a byte: from weft prune --quantize to a package, and what is left out.
#include <gmock/gmock.h>
#include <weft/backends/runtime/process.h>
#include <weft/formats/quantized.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "../network/a_network.h"
#include "call_weft.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Json = nlohmann::json;
using Tensors = std::vector<std::pair<std::string, Array>>;

constexpr std::int64_t tokens = 150;  // more than are turned over at a time
constexpr const char* three_layers =
    R"({"name": "a", "op": "linear", "weight": "a.weight", "bias": "a.bias", "n": 150, "activation": "relu"},
       {"name": "b", "op": "linear", "weight": "b.weight", "bias": "b.bias", "n": 150, "activation": "relu"},
       {"name": "c", "op": "linear", "weight": "c.weight", "n": 150})";

/// A list of the document that a verb prints.
Json listed(const VerbAnswer& answer, const char* name) {
  return Json::parse(answer.out).at(name);
}

Array times(Array array, double factor) {
  for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, factor * array.get(i));
  return array;
}

/// Those that stand in a tensor's place are of a byte, with scales.
class QuantizedModel : public ANetwork {
 public:
  /// Two layers that differ in their scales, and one of another shape, as the command quantises them.
  void write_quantized(const std::string& format, const std::string& type) const {
    write_safetensors(path("float.safetensors"), {{"a.weight", pruned({48, 64}, 0, 1)},
                                                  {"b.weight", times(pruned({48, 64}, 0, 2), 16)},
                                                  {"c.weight", pruned({24, 48}, 0, 3)},
                                                  {"a.bias", random_array(DType::f32, {48}, 4)},
                                                  {"b.bias", random_array(DType::f32, {48}, 5)}});
    std::vector<std::string> words{
        "prune", path("float.safetensors"), "--all", "--format", format, "--quantize", type,
        "-o",    path("model.safetensors")};
    if (format == "csr") words.insert(words.end(), {"--sparsity", "0.8"});
    const VerbAnswer answer = call_weft(words);
    ASSERT_EQ(answer.code, 0) << answer.errors;
    write_network_file(three_layers);
  }

  Json inspected() const {
    const VerbAnswer answer = call_weft({"model", "inspect", path(), "--json"});
    Json layers = Json::object();
    for (const Json& layer : listed(answer, "layers")) layers[layer.at("name")] = layer;
    return layers;
  }

  VerbAnswer tuned() const {
    return call_weft({"model", "tune", path(), "--measure", "cpu", "--budget", "60s", "--trials", "2", "--db",
                      path("t.jsonl"), "--progress", "none", "--json"});
  }

  /// The layer's rows by the C program that takes them, against sums in f64.
  void compare(const std::string& layer) const {
    const WeightMatrix weights = read(path("model.safetensors"), {.tensor = layer + ".weight"});
    const DType type = weights.values.dtype();
    const Array x = read_bytes_of(layer + ".x", type, {tokens, weights.columns});
    const Array scale = read_bytes_of(layer + ".tokens", DType::f32, {tokens});
    const bool has_bias = layer != "c";
    const Array bias = has_bias ? read_bytes_of(layer + ".bias", DType::f16, {weights.rows}) : Array();
    const Array y = read_bytes_of(layer + ".y", DType::f16, {tokens, weights.rows});
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t row = 0; row < weights.rows; ++row) {
        double sum = 0, all = 0;
        for (const std::int64_t i : weights.entries(row)) {
          const double term = weights.values.get(i) * x.get(t * weights.columns + weights.column_of(i));
          sum += term, all += std::abs(term);
        }
        const double factor = weights.row_scale[static_cast<std::size_t>(row)] * scale.get(t);
        double expected = sum * factor;
        if (has_bias) expected = std::max(expected + bias.get(row), 0.0);
        const double half_a_step = std::ldexp(std::max(std::abs(expected), 0x1p-14), -11);
        ASSERT_NEAR(y.get(t * weights.rows + row), expected, half_a_step + 1e-5 * all * factor)
            << layer << ", token " << t << ", row " << row;
      }
    }
  }

  void write_inputs(const std::string& layer, std::int64_t rows, std::int64_t columns, DType type) const {
    Array scale(DType::f32, {tokens});
    for (std::int64_t t = 0; t < tokens; ++t) scale.set(t, std::ldexp(1.0, static_cast<int>(t % 9)) / 300);
    write_bytes_of(layer + ".x", random_array(type, {tokens, columns}, 7));
    write_bytes_of(layer + ".tokens", scale);
    write_bytes_of(layer + ".bias", random_array(DType::f16, {rows}, 8));
  }

  /// The package of these targets, its inputs written.
  void export_for(const std::string& targets) const {
    std::vector<std::string> words{"model", "export", path(),          "--all",   "--name",
                                   "net",   "-o",     path("package"), "--archs", targets};
    if (std::filesystem::exists(path("t.jsonl"))) words.insert(words.end(), {"--db", path("t.jsonl")});
    const VerbAnswer exported = call_weft(words);
    ASSERT_EQ(exported.code, 0) << exported.errors;
    EXPECT_THAT(exported.out, HasSubstr("3 layers"));
    for (const std::string layer : {"a", "b", "c"}) {
      const WeightMatrix weights = read(path("model.safetensors"), {.tensor = layer + ".weight"});
      write_inputs(layer, weights.rows, weights.columns, weights.values.dtype());
    }
  }

  /// Built by a C compiler alone, and run: on the processor, or with such a driver on a GPU.
  void run_package(const std::string& driver = "") const {
    const std::filesystem::path package = path("package");
    std::vector<std::string> words{"cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", path("run")};
    const auto add_sources = [&](const std::filesystem::path& folder) {
      words.push_back("-I" + (folder / "include").string());
      words.push_back("-I" + (folder / "src").string());
      for (const auto& entry : std::filesystem::directory_iterator(folder / "src")) {
        const std::string ending = entry.path().extension().string();
        if (ending == ".c" || ending == ".S") words.push_back(entry.path().string());
      }
    };
    add_sources(package);
    for (const auto& layer : std::filesystem::directory_iterator(package / "layers"))
      if (std::filesystem::exists(layer.path() / "src")) add_sources(layer.path());
    const std::string exported = std::string(WEFT_TESTS_DIR) + "/package/exported";
    words.insert(words.end(), {"-I" + exported, exported + "/quantized.c", "-lm", "-ldl"});
    const ProcessResult built = run_process(words);
    ASSERT_TRUE(built.succeeded()) << built.error.substr(0, 4000);
    words.clear();
    if (!driver.empty()) words = {"env", "LD_LIBRARY_PATH=" + driver};
    words.insert(words.end(), {path("run"), package.string(), path(), std::to_string(tokens),
                               driver.empty() ? "cpu" : "gpu", "a", "b", "c"});
    const ProcessResult ran = run_process(words);
    ASSERT_TRUE(ran.succeeded()) << ran.output << ran.error;
  }

 private:
  void write_bytes_of(const std::string& name, const Array& array) const {
    write(name, {reinterpret_cast<const char*>(array.data()), array.bytes()});
  }
  Array read_bytes_of(const std::string& name, DType type, std::vector<std::int64_t> shape) const {
    const std::string bytes = read_bytes(path(name));
    Array array(type, std::move(shape));
    if (bytes.size() != array.bytes()) throw std::runtime_error(name + " has another size");
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(array.data()));
    return array;
  }
};

TEST_F(QuantizedModel, GoesFromPruningToAPackage) {
  const struct {
    const char *format, *type, *name, *structure;
    double zeros;
  } all[] = {{"n_m", "e4m3:per_row", "e4m3", "n_m", 0.5}, {"csr", "i8:per_tensor", "i8", "csr", 0.8}};
  for (const auto& one : all) {
    SCOPED_TRACE(one.type);
    for (const char* old : {"t.jsonl", "package"}) std::filesystem::remove_all(path(old));
    write_quantized(one.format, one.type);
    const Json layers = inspected();
    for (const auto& [name, layer] : layers.items()) {
      EXPECT_EQ(layer.at("dtype"), one.name) << layer;
      EXPECT_THAT(layer.at("format").get<std::string>(), testing::StartsWith(one.structure));
      EXPECT_NEAR(layer.at("zeros").get<double>() / layer.at("elements").get<double>(), one.zeros, 0.01);
    }
    const bool one_scale = std::string(one.type).ends_with("tensor");
    EXPECT_EQ(layers.at("a").at("scale").at("least") == layers.at("a").at("scale").at("most"), one_scale);
    EXPECT_GT(layers.at("b").at("scale").at("least"), layers.at("a").at("scale").at("least"));

    const VerbAnswer tune = tuned();
    ASSERT_EQ(tune.code, 0) << tune.errors << tune.out;
    std::vector<std::vector<std::string>> classes;
    for (const Json& each : listed(tune, "classes")) {
      EXPECT_TRUE(each.contains("us")) << each;
      classes.push_back(each.at("layers"));
    }
    EXPECT_THAT(classes, testing::Contains(testing::UnorderedElementsAre("a", "b")))
        << "scales are their own";
    export_for("x86-64-v3");
    const Json package = Json::parse(read_bytes(path("package/layers.json")));
    for (const Json& row : package.at("layers")) {
      EXPECT_EQ(row.at("input_dtype"), one.name);
      EXPECT_EQ(row.at("dtype"), "f16");
      const WeightMatrix weights =
          read(path("model.safetensors"), {.tensor = row.at("layer").get<std::string>() + ".weight"});
      const std::string scales(reinterpret_cast<const char*>(weights.row_scale.data()),
                               weights.row_scale.size() * sizeof(float));
      EXPECT_EQ(read_bytes(path("package/" + row.at("scale").get<std::string>())), scales);
    }
    run_package();
    for (const char* layer : {"a", "b", "c"}) compare(layer);
  }
}

#ifdef WEFT_SIMULATED_DRIVER
/// With a driver in the place of NVIDIA's that runs the PTX: rows as frameworks have them go in.
TEST_F(QuantizedModel, PackagesForGpusTakeScales) {
  write_quantized("csr", "e4m3");
  export_for("sm_80");
  run_package(WEFT_SIMULATED_DRIVER);
  for (const char* layer : {"a", "b", "c"}) compare(layer);
}
#endif

/// What was measured of a layer is made again by the flags that its record names, on another machine too.
TEST_F(QuantizedModel, RecordsMakeItAgain) {
  write_quantized("csr", "i8");
  const VerbAnswer plan =
      call_weft({"model", "tune", path(), "--target", "cpu", "--trials", "1", "--plan", path("plan")});
  ASSERT_EQ(plan.code, 0) << plan.errors;
  std::ifstream list(path("plan/shards.txt"));
  for (std::string shard; std::getline(list, shard);) {
    EXPECT_EQ(std::ssize(read(path("plan/" + shard + "/weights.safetensors")).row_scale),
              shard.find("_c_") == std::string::npos ? 48 : 24);
    ASSERT_EQ(call_weft({"measure", path("plan/" + shard), "--measure", "cpu", "--progress", "none"}).code,
              0);
  }
  const VerbAnswer absorbed =
      call_weft({"model", "tune", path(), "--absorb", path("plan"), "--db", path("t.jsonl"), "--json"});
  EXPECT_EQ(Json::parse(absorbed.out).at("added"), 2);
  const VerbAnswer tune = tuned();
  ASSERT_EQ(tune.code, 0) << tune.errors;
  for (const Json& each : listed(tune, "classes")) EXPECT_EQ(each.at("trials"), 2);
  std::ifstream file(path("t.jsonl"));
  std::string last;
  int lines = 0;
  for (std::string line; std::getline(file, line);) last = line, ++lines;
  const Json source = Json::parse(last).at("source");
  EXPECT_EQ(source.at("dtype"), "i8");
  EXPECT_EQ(source.at("token-scale"), "random:1");
  const VerbAnswer replay =
      call_weft({"replay", path("t.jsonl:" + std::to_string(lines)), "--device", "cpu"});
  EXPECT_EQ(replay.code, 0) << replay.errors << replay.out;
  EXPECT_THAT(replay.out, HasSubstr("now: "));
  const VerbAnswer report = call_weft({"report", "--db", path("t.jsonl"), "-o", path("report.html")});
  EXPECT_EQ(report.code, 0) << report.errors;
  EXPECT_THAT(read_bytes(path("report.html")),
              AllOf(HasSubstr("--token-scale random:1"), Not(HasSubstr("could not be made again"))));
}

/// Two of four is tried unasked, as every format that its weights show; what is named is tried first.
TEST_F(QuantizedModel, FormatsOfTwoOfFour) {
  write_quantized("n_m", "e4m3");
  write_network_file(R"({"name": "c", "op": "linear", "weight": "c.weight", "n": 16})");
  const auto formats = [&](std::vector<std::string> more) {
    std::filesystem::remove(path("t.jsonl"));
    std::vector<std::string> words{"model",         "tune",       path(),     "--measure", "model",
                                   "--target",      "sm_90a",     "--trials", "6",         "--db",
                                   path("t.jsonl"), "--progress", "none",     "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 0) << answer.errors;
    return listed(answer, "classes").at(0).at("format").get<std::string>();
  };
  EXPECT_THAT(formats({}), testing::StartsWith("n_m"));
  EXPECT_THAT(formats({"--format", "n_m"}), testing::StartsWith("n_m"));
  const auto exported = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"model",  "export", path(), "--all", "--archs",
                                   "sm_90a", "--name", "net",  "-o",    path("package")};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 0) << answer.errors;
    const Json layers = Json::parse(read_bytes(path("package/layers.json"))).at("layers");
    const std::string symbol = layers.at(0).at("symbol");
    return read_bytes(path("package/layers/" + symbol + "/manifest.json"));
  };
  EXPECT_THAT(exported({}), HasSubstr(R"("format": "n_m)"));
  EXPECT_THAT(exported({"--format", "n_m"}), HasSubstr(R"("format": "n_m)"));
  EXPECT_THAT(call_weft({"model", "export", path(), "--format", "n_n"}).errors, HasSubstr("--format"));
}

/// As llm-compressor saves it: scales in another type and shard, layers that stay as they were.
TEST_F(QuantizedModel, CheckpointsOfOtherPackages) {
  const Array dense = to_dense(synthetic_layer({.rows = 16, .columns = 32, .sparsity = 0.6, .seed = 3}));
  const Quantized rows = quantized(from_dense(dense), DType::e4m3, ScaledTogether::row);
  const Array values = to_dense(rows.weights);
  std::filesystem::create_directories(path("hf"));
  // 2:4 of [4, 8]: each group of four keeps its first and its last.
  Array mask(DType::u8, {4, 1}), extents(DType::i64, {2}), kept(DType::e4m3, {4, 4});
  for (std::int64_t i = 0; i < 4; ++i) mask.set(i, 0x99);
  extents.set(0, 4), extents.set(1, 8);
  for (std::int64_t i = 0; i < kept.size(); ++i) kept.set(i, static_cast<double>(i + 1));
  write_safetensors(path("hf/1.safetensors"), {{"up.weight", values},
                                               {"down.weight", values},
                                               {"gate.compressed", kept},
                                               {"gate.bitmask", mask},
                                               {"gate.shape", extents},
                                               {"down.weight_zero_point", Array(DType::e4m3, {16, 1})},
                                               {"lm_head.weight", values},
                                               {"lm_head.weight_scale", rows.scale}});
  write_safetensors(path("hf/2.safetensors"), {{"up.weight_scale", rows.scale.converted(DType::bf16)},
                                               {"up.input_scale", random_array(DType::f32, {1}, 1)},
                                               {"gate.weight_scale", random_array(DType::f32, {4, 1}, 1)},
                                               {"down.weight_scale", random_array(DType::f32, {1}, 1)}});
  Json map;
  for (const char* name : {"up.weight", "down.weight", "gate.compressed", "gate.bitmask", "gate.shape",
                           "down.weight_zero_point", "lm_head.weight", "lm_head.weight_scale"})
    map[name] = "1.safetensors";
  for (const char* name : {"up.weight_scale", "up.input_scale", "gate.weight_scale", "down.weight_scale"})
    map[name] = "2.safetensors";
  write("hf/model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  write("hf/config.json",
        R"({"model_type": "llama", "quantization_config": {"quant_method": "compressed-tensors",
    "format": "float-quantized", "ignore": ["lm_head"], "sparsity_config": {"format": "sparse-24-bitmask"}}})");
  const VerbAnswer answer = call_weft({"model", "inspect", path("hf"), "--json"});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  std::vector<std::string> found;
  for (const Json& layer : listed(answer, "layers")) {
    if (layer.contains("left_out")) {
      EXPECT_EQ(layer.at("name"), "lm_head");
      continue;
    }
    found.push_back(layer.at("name"));
    EXPECT_EQ(layer.at("dtype"), "e4m3");
    EXPECT_TRUE(layer.contains("scale")) << layer;
    if (found.back() == "gate") {
      EXPECT_EQ(layer.at("zeros"), 16);
      EXPECT_THAT(layer.at("format").get<std::string>(), testing::StartsWith("n_m"));
    }
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre("up", "down", "gate"));
  const VerbAnswer table = call_weft({"model", "inspect", path("hf")});
  EXPECT_THAT(table.out, AllOf(HasSubstr("scale"), HasSubstr("3 layers to look for kernels for")));
}

/// What is wrong with one layer is said of it, and no other layer is lost by it.
TEST_F(QuantizedModel, WhatIsWrongIsSaidOfItsLayer) {
  const Array dense = to_dense(synthetic_layer({.rows = 16, .columns = 32, .sparsity = 0.8, .seed = 3}));
  const Array values = to_dense(quantized(from_dense(dense), DType::e4m3, ScaledTogether::row).weights);
  const Array right = random_array(DType::f32, {16, 1}, 1);
  Array with_nan = right, shifted(DType::i8, {16, 1});
  with_nan.set(3, std::numeric_limits<double>::quiet_NaN());
  shifted.set(2, 5);
  write_safetensors(path("net.safetensors"), {{"right.weight", values},
                                              {"right.weight_scale", right},
                                              {"shape.weight", values},
                                              {"shape.weight_scale", random_array(DType::f32, {4, 4}, 1)},
                                              {"nan.weight", values},
                                              {"nan.weight_scale", with_nan},
                                              {"none.weight", values},
                                              {"whole.weight", values},
                                              {"whole.weight_scale", Array(DType::i32, {16, 1})},
                                              {"zero.weight", values.converted(DType::i8)},
                                              {"zero.weight_scale", right},
                                              {"zero.weight_zero_point", shifted},
                                              {"conv.weight", Array(values).reshaped({16, 8, 2, 2})},
                                              {"conv.weight_scale", right},
                                              {"long.weight", Array(DType::i32, {16, 32})}});
  const VerbAnswer answer = call_weft({"model", "inspect", path("net.safetensors"), "--json"});
  EXPECT_EQ(answer.code, 2) << "some could not be read";
  std::map<std::string, std::string> why;
  std::vector<std::string> kept;
  for (const Json& layer : listed(answer, "layers")) {
    if (layer.contains("left_out"))
      why[layer.at("name")] = layer.at("left_out");
    else
      kept.push_back(layer.at("name"));
  }
  EXPECT_THAT(kept, ElementsAre("right"));
  EXPECT_THAT(why["shape"],
              AllOf(HasSubstr("a scale of [4, 4] for weights of 16 rows"), HasSubstr("[16, 1]")));
  EXPECT_THAT(why["nan"], AllOf(HasSubstr("nan.weight_scale"), HasSubstr("element [3, 0]")));
  EXPECT_THAT(why["none"], HasSubstr("elements of e4m3 without a scale: a tensor none.weight_scale"));
  EXPECT_THAT(why["whole"], HasSubstr("a scale of I32"));
  EXPECT_THAT(why["zero"], AllOf(HasSubstr("zero.weight_zero_point"), HasSubstr("a zero point of 5")));
  EXPECT_THAT(why["conv"], HasSubstr("a convolution of e4m3"));
  EXPECT_THAT(why["long"],
              AllOf(HasSubstr("elements of I32"), HasSubstr("F8_E4M3, F8_E5M2, I8 with a scale")));
}

}  // namespace
}  // namespace weft
