// Packages and tensors whose names stand in the package's own files: every file compiles, in every language.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/export/export.h>
#include <weft/backends/runtime/process.h>
#include <weft/weft.h>

#include <filesystem>

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

struct Names {
  std::string sparse = "A", dense = "B", output = "C", bias = "bias", scalar = "alpha", size = "N";
};

/// A kernel with an operand of each kind under these names.
Kernel kernel_of(const Names& names) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A(names.sparse, {12, 20});
  const Tensor<f32, 2> B(names.dense, {20, Extent::any(names.size)}),
      C(names.output, {12, Extent::any(names.size)});
  const Tensor<f32, 1> bias(names.bias, {12});
  const Scalar alpha(names.scalar);
  const Algorithm product = algorithm("product", C(m, n) = relu(alpha * sum(k, A(m, k) * B(k, n)) + bias(m)));
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.7, .seed = 2}), formats::csr()));
  return compile(default_schedule(product, weights, target_named("sm_80")), {.assemble = false});
}

class Exported : public testing::Test {
 public:
  fs::path package(const std::string& name, const Kernel& kernel) const {
    const fs::path folder = folder_.path() / name;
    ExportOptions options;
    options.name = name;
    kernel.export_to(folder.string(), options);
    return folder;
  }
  /// What a compiler says of the files; empty where it accepts them.
  static std::string complaints(std::vector<std::string> command, const fs::path& package,
                                const std::vector<fs::path>& files) {
    for (const char* word : {"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-isystem"})
      command.emplace_back(word);
    command.push_back(std::string(WEFT_TESTS_DIR) + "/package/torch_stub");
    for (const char* part : {"include", "src"}) command.push_back("-I" + (package / part).string());
    for (const fs::path& file : files) command.push_back(file.string());
    const ProcessResult result = run_process(command);
    return result.succeeded() ? "" : result.error.substr(0, 2000);
  }
  static std::vector<fs::path> sources_of(const fs::path& package) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(package / "src")) {
      if (entry.path().extension() == ".c") files.push_back(entry.path());
    }
    return files;
  }
  /// Every file of the package by the compiler of its language; the header beside those of C that programs
  /// use.
  void expect_compiles(const fs::path& package, const std::string& name) const {
    SCOPED_TRACE(name);
    std::vector<fs::path> sources{package / "tests/smoke.c"};
    for (const fs::path& source : sources_of(package)) {
      const std::string file = source.filename().string();  // some are bytes or general, and long
      if (!file.ends_with("_image.c") && !file.ends_with("_sha256.c")) sources.push_back(source);
    }
    EXPECT_THAT(complaints({"cc", "-std=c11", "-fsyntax-only"}, package, sources), IsEmpty());
    const std::string headers =
        "#include <assert.h>\n#include <errno.h>\n#include <math.h>\n#include <signal.h>\n#include "
        "<stdio.h>\n"
        "#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n";
    write_bytes(package / "use.c", headers + "#include \"" + name + ".h\"\n" + name + " *use(void);\n");
    EXPECT_THAT(complaints({"cc", "-std=c99", "-fsyntax-only"}, package, {package / "use.c"}), IsEmpty());
    EXPECT_THAT(
        complaints({"cc", "-std=gnu17", "-fsyntax-only", "-Wno-pedantic"}, package, {package / "use.c"}),
        IsEmpty());
    write_bytes(package / "use.cpp", headers + "#include \"" + name + ".hpp\"\n::" + name + " *use();\n");
    EXPECT_THAT(complaints({"c++", "-std=c++20", "-fsyntax-only"}, package,
                           {package / "use.cpp", package / "torch" / (name + "_torch.cpp")}),
                IsEmpty());
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Exported, PackagesNamedAsTheirOwnFilesNameThings) {
  const Kernel kernel = kernel_of({});
  for (const char* name : {"plan", "weights", "golden", "Tensor"})
    expect_compiles(package(name, kernel), name);
}

TEST_F(Exported, TensorsNamedAsLanguagesAndFilesNameThings) {
  const std::vector<Names> all{{"EOF", "errno", "NULL", "stdin", "signal", "stream"},
                               {"torch", "N", "call", "checked", "prepare", "handle"},
                               {"lambda", "weights", "struct_size", "flat", "async", "flags"}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string name = "layer" + std::to_string(i);
    const fs::path folder = package(name, kernel_of(all[i]));
    expect_compiles(folder, name);
    const ProcessResult python =
        run_process({"sh", "-c", "python3 -m py_compile $0", (folder / "torch" / (name + ".py")).string()});
    EXPECT_TRUE(python.succeeded() || python.exit_code == 127 /* there is none */) << python.error;
  }
}

TEST_F(Exported, TheOperatorLoadsWherePyTorchHasNoCuda) {
  const fs::path folder = package("ffn", kernel_of({}));
  const fs::path library = folder / "ffn_torch.so";
  std::vector<std::string> objects{"cc", "-std=c11", "-fPIC", "-c"};
  for (const fs::path& source : sources_of(folder)) objects.push_back(source.string());
  objects.push_back("-I" + (folder / "include").string());
  const ProcessResult compiled = run_process(objects, {.folder = folder});
  ASSERT_TRUE(compiled.succeeded()) << compiled.error;
  std::vector<fs::path> linked{folder / "torch/ffn_torch.cpp"};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".o") linked.push_back(entry.path());
  }
  ASSERT_THAT(
      complaints({"c++", "-std=c++20", "-shared", "-fPIC", "-o", library.string(), "-ldl"}, folder, linked),
      IsEmpty());
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loaded, nullptr) << dlerror();
  dlclose(loaded);
}

}  // namespace
}  // namespace weft
