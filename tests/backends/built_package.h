// Packages as their users build them, by a C compiler alone.
#pragma once

#include <gtest/gtest.h>
#include <weft/backends/export/export.h>
#include <weft/backends/runtime/process.h>
#include <weft/formats/synthetic.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace weft::exported {

inline std::vector<std::filesystem::path> with_extension(const std::filesystem::path& folder,
                                                         const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (std::ranges::find(extensions, entry.path().extension().string()) != extensions.end())
      files.push_back(entry.path());
  }
  return files;
}

/// What builds programs, and what stands in front of a program where this machine does not run it itself.
struct Toolchain {
  std::vector<std::string> compiler{"cc"};
  std::vector<std::string> runner;
};

/// A package "layer" of these kernels, and what is built of it.
class Built {
 public:
  explicit Built(const std::vector<PackageKernel>& kernels) {
    ExportOptions options;
    options.name = "layer";
    export_package(folder().string(), kernels, options);
  }
  std::filesystem::path folder() const { return folder_.path() / "layer"; }
  std::string text(const std::string& name) const { return read_bytes(folder() / name); }

  /// All sources and these, by the compiler.
  void build(const std::string& what, const std::vector<std::string>& more,
             const Toolchain& tools = {}) const {
    std::vector<std::string> words = tools.compiler;
    words.insert(words.end(), {"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", path(what),
                               "-I" + (folder() / "include").string(), "-I" + (folder() / "src").string()});
    words.insert(words.end(), more.begin(), more.end());
    for (const std::filesystem::path& file : with_extension(folder() / "src", {".c", ".S"}))
      words.push_back(file.string());
    words.insert(words.end(), {"-lm", "-ldl"});
    const ProcessResult result = run_process(words);
    ASSERT_TRUE(result.succeeded()) << result.error.substr(0, 4000);
  }
  /// What the smoke test says.
  std::string smoke(std::vector<std::string> flags = {}, const Toolchain& tools = {}) const {
    flags.push_back((folder() / "tests/smoke.c").string());
    build("smoke", flags, tools);
    std::vector<std::string> words = tools.runner;
    words.insert(words.end(), {path("smoke"), (folder() / "weights/layer.safetensors").string()});
    const ProcessResult result = run_process(words);
    EXPECT_TRUE(result.succeeded()) << result.output << result.error;
    return result.output;
  }
  /// What a tool says of a shared library, whose code has to do at any address.
  std::string of_library(const std::vector<std::string>& tool, const Toolchain& tools = {}) const {
    build("layer.so", {"-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,text", "-Wl,--fatal-warnings"},
          tools);
    std::vector<std::string> words = tool;
    words.push_back(path("layer.so"));
    const ProcessResult result = run_process(words);
    EXPECT_TRUE(result.succeeded()) << result.error;
    return result.output;
  }

 private:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  TemporaryFolder folder_;
};

/// Filters of 3 x 3, with zeros around the image.
inline Algorithm small_convolution() {
  Convolution convolution;
  convolution.channels = 4;
  convolution.filters = 6;
  convolution.image = {17, 19};
  convolution.filter = {3, 3};
  convolution.pad = {1, 1};
  return convolution_algorithm(convolution, DType::f32);
}

inline std::shared_ptr<const SparseTensor> small_filters() {
  WeightMatrix filter = synthetic_layer({.rows = 6, .columns = 36, .sparsity = 0.7, .seed = 5});
  filter.shape = {6, 4, 3, 3};
  return std::make_shared<const SparseTensor>(pack(filter, formats::csr()));
}

}  // namespace weft::exported
