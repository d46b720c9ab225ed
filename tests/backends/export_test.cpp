// What a package refuses to be made of, and what its files say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/backends/export/export.h>
#include <weft/backends/export/program.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/io/read.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/spaces/problems.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "backends/exported.h"

namespace weft {
namespace {

using namespace exported;
using testing::HasSubstr;

nlohmann::json manifest_of(const std::filesystem::path& folder) {
  return nlohmann::json::parse(read_bytes(folder / "manifest.json"));
}

TEST(Export, KernelsHaveTheSameWeights) {
  const auto kernel = [](const std::shared_ptr<const SparseTensor>& weights, std::int64_t least,
                         std::int64_t most) {
    return PackageKernel{kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32), weights), least,
                         most};
  };
  const auto of = [](std::uint64_t seed, const Format& format = formats::csr()) {
    return std::make_shared<const SparseTensor>(
        pack(synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.7, .seed = seed}), format));
  };
  const std::string other = refusal({kernel(of(2), 1, 10), kernel(of(3), 11, 64)});
  for (const char* part :
       {"different weights", "kernel 2 (spmm for sm_80)", "in row 0, column", "kernel 1", "csr"})
    EXPECT_THAT(other, HasSubstr(part));
  EXPECT_THAT(refusal({kernel(of(2), 1, 10), kernel(of(3, formats::ell()), 11, 64)}),
              HasSubstr("different weights"));
  // One element's last bit.
  WeightMatrix nearly = synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.7, .seed = 2});
  nearly.values.set(0, std::nextafter(static_cast<float>(nearly.values.get(0)), 10.0F));
  EXPECT_THAT(refusal({kernel(of(2), 1, 10),
                       kernel(std::make_shared<const SparseTensor>(pack(nearly, formats::csr())), 11, 64)}),
              HasSubstr("different weights"));
  EXPECT_THAT(refusal({kernel(layer(12), 1, 10),
                       {kernel_of(spmm_algorithm(24, 20, Extent::any("N"), DType::f32), layer(24))}}),
              HasSubstr("24 x 20"));
  // Equal weights that were packed twice, and in another format, are the same.
  const TemporaryFolder folder;
  export_package(folder.path().string(),
                 {kernel(of(2), 1, 10), kernel(of(2), 11, 64), kernel(of(2, formats::ell()), 65, 70)},
                 named("layer"));
  EXPECT_EQ(manifest_of(folder.path())["kernels"].size(), 3U);
}

TEST(Export, KernelsComputeTheSame) {
  const Kernel plain = product(Extent::any("N"));
  Epilogue scaled;
  scaled.alpha = true;
  EXPECT_THAT(
      refusal({{plain, 1, 8},
               {kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32, scaled), layer()), 9, 64}}),
      HasSubstr("alpha"));
}

/// Products of sizes are tried up to those whose number of elements 64 bits do not hold.
TEST(Export, OfElementsByThePowerOfASize) {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(q);
  WEFT_INDEX(k);
  const Extent size = Extent::any("N");
  const Tensor<f32, 2, sparse> A("A", {12, 20});
  const Tensor<f32, 4> B("B", {20, size, size, size});
  const Tensor<f32, 4> C("C", {12, size, size, size});
  WEFT_INDEX(p);
  const Algorithm power = algorithm("power", C(m, n, q, p) = sum(k, A(m, k) * B(k, n, q, p)));
  const TemporaryFolder folder;
  export_package(folder.path().string(), {{kernel_of(power, layer())}}, named("layer"));
  EXPECT_EQ(manifest_of(folder.path())["kernels"].size(), 1U);
}

TEST(Export, WhatItCannotExport) {
  const Kernel open = product(Extent::any("N"));
  EXPECT_THAT(refusal({}), HasSubstr("no kernel"));
  EXPECT_THAT(
      refusal(
          {{compile(default_schedule(spmm_algorithm(12, 20, 4, DType::f32), layer(), target_named("cpu")))}}),
      testing::AllOf(HasSubstr("not exported"), HasSubstr("x86-64-v3, x86-64-v4")));
  EXPECT_THAT(refusal({{kernel_of(spmm_algorithm(Extent::any("M"), 20, 8, DType::f32), layer())}}),
              HasSubstr("weights of any size"));
  Epilogue epilogue;
  epilogue.bias = true;
  EXPECT_THAT(
      refusal({{open}, {kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32, epilogue), layer())}}),
      HasSubstr("different things"));
  EXPECT_THAT(refusal({{open}, {product(Extent::any("N"), "sm_90"), 1, 64}}), HasSubstr("different sizes"));
  EXPECT_THAT(refusal({{open, 1, std::int64_t{1} << 33}}), HasSubstr("cannot index"));
  EXPECT_THAT(refusal({{product(Extent::any("N", 8)), 3, 7}}), HasSubstr("for no size"));
  ExportOptions measured = named("layer");
  measured.measured = "{";
  EXPECT_THAT(refusal({{open}}, measured),
              testing::AllOf(HasSubstr("no JSON"), HasSubstr("measured, byte 1"),
                             HasSubstr("the end of the text"), testing::Not(HasSubstr("json.exception"))));
  EXPECT_THAT(refusal({{open}, {kernel_of(spmm_algorithm(12, 20, 4, DType::f32), layer(), "sm_90")}}),
              testing::AllOf(HasSubstr("different sizes"), HasSubstr("target sm_90"), HasSubstr("4")));
}

TEST(Export, AWorkingFolderThatIsGoneIsAFailureOfThePlace) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path(), gone = folder.path() / "gone";
  std::filesystem::create_directory(gone);
  std::filesystem::current_path(gone);
  std::filesystem::remove(gone);
  std::string text;
  try {
    export_package("ffn", {{product(Extent::any("N"))}}, named("ffn"));
  } catch (const UserError& error) {
    text = error.what();
  }
  std::filesystem::current_path(before);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("cannot write ffn"), HasSubstr("No such file or directory"),
                                   HasSubstr("export_test.cpp:")));
}

TEST(Export, ErrorsNameTheLineOfTheCall) {
  const TemporaryFolder folder;
  const Kernel kernel = product(Extent::any("N"));
  const auto where_of = [](const auto& call) {
    try {
      call();
    } catch (const UserError& error) {
      return error.report().where;
    }
    return std::string("no error");
  };
  const std::string line = "export_test.cpp:" + std::to_string(__LINE__ + 1);
  EXPECT_THAT(where_of([&] { kernel.export_to(folder.path(), named("EOF")); }), testing::StartsWith(line));
  EXPECT_THAT(where_of([&] { export_package(folder.path(), {{kernel}}, named("EOF")); }),
              HasSubstr("export_test.cpp:"));
  EXPECT_THAT(where_of([&] { check_export_options(named("EOF")); }), HasSubstr("export_test.cpp:"));
}

class ExportFolder : public testing::Test {
 public:
  std::filesystem::path path() const { return folder_.path() / "ffn"; }
  std::filesystem::path parent() const { return folder_.path(); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    write_bytes(path() / name, text);
  }
  std::string text(const std::string& name) const { return read_bytes(path() / name); }
  void make(const std::string& target = "sm_80") const {
    product(Extent::any("N"), target).export_to(path().string(), named("layer"));
  }
  std::string refusal_of(const std::string& target = "sm_80") const {
    try {
      make(target);
    } catch (const UserError& error) {
      return error.what();
    }
    return "nothing";
  }
  /// Nothing of an export's own work stays beside the folder.
  ~ExportFolder() override {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(parent()))
      EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr(".weft-")));
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ExportFolder, AProjectOfOnesOwnIsNotWrittenOver) {
  write("CMakeLists.txt", "project(mine)\n");
  write("README.md", "mine\n");
  write("main.c", "int main;\n");
  const std::string message = refusal_of();
  for (const char* part : {"not written over", "/ffn", "CMakeLists.txt, README.md", "another folder"})
    EXPECT_THAT(message, HasSubstr(part));
  EXPECT_EQ(text("CMakeLists.txt"), "project(mine)\n");
  EXPECT_FALSE(std::filesystem::exists(path() / "include"));
  // Moved elsewhere, as the message says, the package goes beside what is left.
  std::filesystem::remove(path() / "CMakeLists.txt");
  std::filesystem::remove(path() / "README.md");
  make();
  EXPECT_EQ(text("main.c"), "int main;\n");
  EXPECT_THAT(text("README.md"), HasSubstr("# layer"));
}

TEST_F(ExportFolder, FilesInTheWayOfItsFoldersAreKept) {
  write("src", "a file\n");
  EXPECT_THAT(refusal_of(), HasSubstr("src"));
  EXPECT_EQ(text("src"), "a file\n");
}

TEST_F(ExportFolder, AnEarlierExportIsReplacedAndOthersFilesAreKept) {
  make("sm_80");
  write("build/made.o", "made");
  write("src/mine.c", "mine");
  std::filesystem::create_symlink("mine.c", path() / "src/link.c");
  std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  make("sm_90");
  EXPECT_TRUE(std::filesystem::exists(path() / "src/layer_sm_90_0.cu"));
  EXPECT_FALSE(std::filesystem::exists(path() / "src/layer_sm_80_0.cu")) << "no file of this package";
  EXPECT_EQ(text("build/made.o"), "made");
  EXPECT_EQ(text("src/mine.c"), "mine");
  EXPECT_EQ(std::filesystem::read_symlink(path() / "src/link.c"), "mine.c");
  EXPECT_EQ(std::filesystem::status(path()).permissions(), std::filesystem::perms::owner_all);
  const auto manifest = manifest_of(path());
  for (const auto& [name, hash] : manifest.at("sha256").items())
    EXPECT_TRUE(std::filesystem::exists(path() / name)) << name;
}

TEST_F(ExportFolder, WhatWasEditedSinceIsKept) {
  make("sm_80");
  write("README.md", "edited\n");
  write("src/layer_sm_80_0.cu", "edited\n");
  EXPECT_THAT(refusal_of("sm_90"), HasSubstr("README.md (edited since it was exported)"));
  EXPECT_EQ(text("README.md"), "edited\n");
  EXPECT_FALSE(std::filesystem::exists(path() / "src/layer_sm_90_0.cu"));
  std::filesystem::remove(path() / "README.md");
  make("sm_90");
  EXPECT_EQ(text("src/layer_sm_80_0.cu"), "edited\n") << "in nobody's way";
}

TEST_F(ExportFolder, AFullDiskLeavesTheFolderAsItWas) {
  make("sm_80");
  const std::string before = text("manifest.json");
  const Kernel kernel = product(Extent::any("N"), "sm_90");
  const auto message_with_limit = [&](const std::filesystem::path& to) {
    rlimit former{};
    getrlimit(RLIMIT_FSIZE, &former);
    const rlimit small{4096, former.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    std::string message = "no error";
    try {
      kernel.export_to(to.string(), named("layer"));
    } catch (const RuntimeError& error) {
      message = error.what();
    }
    setrlimit(RLIMIT_FSIZE, &former);
    return message;
  };
  EXPECT_THAT(message_with_limit(path()), testing::AllOf(HasSubstr("cannot write " + (path() / "").string()),
                                                         HasSubstr("File too large")));
  EXPECT_EQ(text("manifest.json"), before);
  EXPECT_THAT(message_with_limit(parent() / "new"), HasSubstr("File too large"));
  EXPECT_FALSE(std::filesystem::exists(parent() / "new")) << "half a package";
}

TEST_F(ExportFolder, AnInterruptedExportLeavesTheFolderAsItWas) {
  make("sm_80");
  const std::string before = text("manifest.json");
  const Kernel kernel = product(Extent::any("N"), "sm_90");
  std::string last;
  for (const int microseconds : {200, 1000, 3000, 8000, 20000}) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) kernel.export_to(path().string(), named("layer"));
    }
    usleep(static_cast<useconds_t>(microseconds));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto manifest = manifest_of(path());
    for (const auto& [name, hash] : manifest.at("sha256").items())
      ASSERT_TRUE(std::filesystem::exists(path() / name)) << name;
    EXPECT_EQ(refusal_of("sm_90"), "nothing") << "a file was not as its manifest says";
  }
  for (const auto& entry : std::filesystem::directory_iterator(parent())) {
    if (entry.path() != path()) std::filesystem::remove_all(entry.path());
  }
}

TEST_F(ExportFolder, TheFolderThatOneWorksInStaysTheSame) {
  make("sm_80");
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(path());
  product(Extent::any("N"), "sm_90").export_to(".", named("layer"));
  EXPECT_TRUE(std::filesystem::exists("src/layer_sm_90_0.cu"));
  EXPECT_FALSE(std::filesystem::exists("src/layer_sm_80_0.cu"));
  std::filesystem::current_path(here);
}

TEST_F(ExportFolder, WhatCannotBeAFolderIsRefused) {
  write_bytes(path(), "a file");
  EXPECT_THAT(refusal_of(), HasSubstr("a package is a folder"));
  const Kernel kernel = product(Extent::any("N"));
  EXPECT_THROW(kernel.export_to("", named("layer")), UserError);
  EXPECT_THROW(kernel.export_to("/proc/nowhere/ffn", named("layer")), UserError);
}

TEST(Export, SizesAreFoundByTheirPlaceNotByTheirNumber) {
  // Rows and columns of the same number: the columns alone are a size of the launch.
  const TemporaryFolder folder;
  const auto square = layer(12);
  export_package(folder.path().string(),
                 {{kernel_of(spmm_algorithm(12, 20, 12, DType::f32), square)},
                  {kernel_of(spmm_algorithm(12, 20, 40, DType::f32), square)}},
                 named("layer"));
  const auto manifest = manifest_of(folder.path());
  EXPECT_EQ(manifest["sizes"]["field"], "n");
  EXPECT_EQ(manifest["operands"][0]["shape"], nlohmann::json({20, "n"}));
  EXPECT_EQ(manifest["operands"][1]["shape"], nlohmann::json({12, "n"}));
  EXPECT_THAT(read_bytes(folder.path() / "src/layer_tables.c"),
              HasSubstr("if (n == 12) return 0;\n  if (n == 40) return 1;"));
}

TEST(Export, ThePackedFileIsSafetensors) {
  const TemporaryFolder folder;
  const auto weights = layer(12);
  kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32), weights)
      .export_to(folder.path().string(), named("layer"));
  const std::string file = (folder.path() / "weights/layer.safetensors").string();
  const Array values = read_array(file, "A.values");
  EXPECT_EQ(values.size(), weights->array("values").size());
  EXPECT_EQ(manifest_of(folder.path())["weights"]["pack"], "any entries");
}

TEST(Export, WhetherOtherEntriesFitIsFoundByTrying) {
  const TemporaryFolder folder;
  kernel_of(spmm_algorithm(12, 20, Extent::any("N"), DType::f32), layer(12, formats::ell()))
      .export_to(folder.path().string(), named("layer"));
  EXPECT_EQ(manifest_of(folder.path())["weights"]["pack"], "new values");
}

TEST(Export, WhereAKernelHasTheValuesInItsCodeNoOthersArePacked) {
  const auto weights = layer();
  const Algorithm algorithm = spmm_algorithm(12, 20, Extent::any("N"), DType::f32);
  const Kernel baked = compile(sparsert(algorithm, weights, target_named("sm_80")), {.assemble = false});
  const TemporaryFolder folder;
  export_package(folder.path().string(), {{baked, 1, 10}, {kernel_of(algorithm, weights), 11, 64}},
                 named("layer"));
  EXPECT_EQ(manifest_of(folder.path())["weights"]["pack"], "none");
  EXPECT_THAT(read_bytes(folder.path() / "include/layer.h"), testing::Not(HasSubstr("pack_csr")));
}

TEST(Export, TheSameKernelsMakeTheSameFiles) {
  const TemporaryFolder first, second;
  const Kernel kernel = product(Extent::any("N"));
  kernel.export_to(first.path().string(), named("layer"));
  kernel.export_to(second.path().string(), named("layer"));
  EXPECT_EQ(manifest_of(first.path()), manifest_of(second.path()));
}

/// The function of C that chooses among kernels for sm_80, up to its end.
std::string choice_in(const std::vector<PackageKernel>& kernels) {
  const TemporaryFolder folder;
  export_package(folder.path().string() + "/out", kernels, named("layer"));
  const std::string text = read_bytes(folder.path() / "out/src/layer_tables.c");
  const std::size_t begin = text.find("choose_sm_80");
  return text.substr(begin, text.find("\n}\n", begin) - begin);
}

TEST(Export, TheFastestKernelOfASizeRuns) {
  const Kernel any = product(Extent::any("N")), aligned = product(Extent::any("N", 8));
  const auto steady = [](std::int64_t) { return 10.0; };
  const auto growing = [](std::int64_t n) { return static_cast<double>(n) / 6; };
  const std::string of_any = "if (n >= 1 && n <= 512) return 1;";
  const std::string of_aligned = "if (n >= 8 && n <= 512 && n % 8 == 0) return 0;";
  // Kernel 0 takes 10 us and kernel 1 n / 6: the first is faster from 64 on, where a span begins.
  EXPECT_EQ(choice_in({{aligned, 8, 512, steady}, {any, 1, 512, growing}}),
            "choose_sm_80(int64_t n) {\n  if (n <= 7) {\n    " + of_any +
                "\n    return -1;\n  }\n  if (n <= 63) {\n    " + of_any + "\n    " + of_aligned +
                "\n    return -1;\n  }\n  " + of_aligned + "\n  " + of_any + "\n  return -1;");
  EXPECT_THAT(refusal({{aligned, 8, 512, steady}, {any, 1, 512, [](std::int64_t) { return NAN; }}}),
              HasSubstr("export, kernel 2"));
  // A kernel of which nothing is known leaves them as they were given.
  EXPECT_EQ(choice_in({{aligned, 8, 512}, {any, 1, 512, growing}}),
            "choose_sm_80(int64_t n) {\n  " + of_aligned + "\n  " + of_any + "\n  return -1;");
}

TEST(Export, ProgramsSayWhatIsMissing) {
  const auto run = [](std::vector<std::string> words, const auto& make) {
    words.insert(words.begin(), "program");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return export_program(static_cast<int>(arguments.size()), arguments.data(), make);
  };
  const auto make = [](const ExportRequest& request) {
    std::vector<PackageKernel> kernels;
    for (const Target& target : request.targets)
      kernels.push_back({product(Extent::any("N"), target.name), 1, std::stoll(request.parameter("most"))});
    return kernels;
  };
  const TemporaryFolder folder;
  const std::string out = folder.path().string();
  EXPECT_EQ(run({"--out", out, "--name", "layer", "--targets", "sm_80,sm_90", "--param", "most=64"}, make),
            0);
  EXPECT_EQ(manifest_of(folder.path())["sizes"]["ranges"][0]["most"], 64);
  EXPECT_EQ(run({"--out", out, "--name", "layer", "--targets", "sm_80"}, make), 2);
  EXPECT_EQ(run({"--out", out, "--targets", "sm_7"}, make), 2);
  EXPECT_EQ(run({"--out"}, make), 2);
  EXPECT_EQ(run({"--mystery", "x"}, make), 2);
}

}  // namespace
}  // namespace weft
