// The reference of a package is the library's: beside Inf and NaN too.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <weft/backends/export/export.h>
#include <weft/backends/reference.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/spaces/problems.h>
#include <weft/weft.h>

#include <cmath>
#include <filesystem>
#include <limits>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t rows = 24, inner = 32, width = 5;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The arguments of a package of C[m, n] = sum(k, A[m, k] * B[k, n]), as its header has them.
struct ReferenceArguments {
  std::uint32_t struct_size = sizeof(ReferenceArguments);
  std::uint32_t flags = 0;
  std::int64_t n = width;
  const void* b = nullptr;
  void* c = nullptr;
};
using ReferenceFunction = std::int32_t (*)(const void* weights, std::size_t bytes,
                                           const ReferenceArguments* arguments);
using PackFunction = std::int32_t (*)(const void* dense, const void* packed, std::size_t packed_bytes,
                                      void* out, std::size_t out_bytes, char* why, std::size_t why_bytes);

/// A package's code on the host.
class Built {
 public:
  explicit Built(const Kernel& kernel) {
    const fs::path package = folder_.path() / "layer";
    ExportOptions options;
    options.name = "layer";
    kernel.export_to(package.string(), options);
    weights_ = read_bytes(package / "weights/layer.safetensors");
    const fs::path library = folder_.path() / "liblayer.so";
    std::vector<std::string> command{
        "cc", "-std=gnu11",    "-shared", "-fPIC", "-I" + (package / "include").string(),
        "-o", library.string()};
    for (const auto& entry : fs::directory_iterator(package / "src")) {
      if (entry.path().extension() == ".c") command.push_back(entry.path().string());
    }
    command.insert(command.end(), {"-lm", "-ldl"});
    const ProcessResult result = run_process(command);
    EXPECT_TRUE(result.succeeded()) << result.error;
    library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  ~Built() {
    if (library_ != nullptr) dlclose(library_);
  }
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;

  std::int32_t reference(const ReferenceArguments& arguments) const {
    void* found = library_ == nullptr ? nullptr : dlsym(library_, "layer_reference");
    if (found == nullptr) return -1;
    return reinterpret_cast<ReferenceFunction>(found)(weights_.data(), weights_.size(), &arguments);
  }
  /// The packed file, and the one that the package makes of a matrix with entries in its places.
  const std::string& weights() const { return weights_; }
  std::string packed(const Array& dense) const {
    void* found = library_ == nullptr ? nullptr : dlsym(library_, "layer_pack_dense");
    if (found == nullptr) return {};
    std::vector<std::uint64_t> out(weights_.size() / 8 + 1);  // aligned
    std::string why(200, '\0');
    const auto status = reinterpret_cast<PackFunction>(found)(
        dense.data(), weights_.data(), weights_.size(), out.data(), weights_.size(), why.data(), why.size());
    if (status != 0) return why;
    return {reinterpret_cast<const char*>(out.data()), weights_.size()};
  }

 private:
  TemporaryFolder folder_;
  std::string weights_;
  void* library_ = nullptr;
};

/// Formats that store no zeros, and those that fill up rows, blocks and groups with them.
TEST(ExportedReference, LeavesZerosBesideInfinityOutAsTheLibraryDoes) {
  const WeightMatrix matrix = synthetic_layer({.rows = rows, .columns = inner, .sparsity = 0.8, .seed = 5});
  Array b = random_array(DType::f32, {inner, width}, 3);
  b.set(0, infinity);
  b.set(7 * width + 2, -infinity);
  b.set(inner * width - 1, std::nan(""));
  for (const char* format :
       {"csr", "ell", "bcsr:b=8", "vector_wise:V=8", "hb_ell:b=4", "bitmap", "column_windows",
        "lane_streams:columns=64", "pair_words:columns=64", "mixed:V=16"}) {
    const auto weights = std::make_shared<const SparseTensor>(pack(matrix, parse_format(format)));
    const Algorithm product = spmm_algorithm(rows, inner, Extent::any("N"), DType::f32);
    const Built built(
        compile(default_schedule(product, weights, target_named("sm_80")), {.assemble = false}));
    Array c(DType::f32, {rows, width});
    ASSERT_EQ(built.reference({.b = b.data(), .c = c.data()}), 0) << format;
    const Reference expected = reference(product, weights.get(), {{{"B", &b}, {"C", &c}}, {}});
    for (std::int64_t i = 0; i < c.size(); ++i) {
      const auto wanted = static_cast<float>(expected.value.get(i));
      const auto found = static_cast<float>(c.get(i));
      const bool same = std::isnan(wanted)   ? std::isnan(found)
                        : std::isinf(wanted) ? found == wanted
                                             : std::abs(found - wanted) <= 1e-6F;
      EXPECT_TRUE(same) << format << ", element " << i << ": " << found << ", in the library " << wanted;
    }
  }
}

/// A block that keeps all columns, and one that keeps two of each four.
TEST(ExportedReference, ReadsBlocksOfBothKinds) {
  Array dense(DType::f32, {rows, inner});
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    const std::int64_t row = i / inner, column = i % inner;
    if (row < 16 || (row + column) % 4 < 2) dense.set(i, static_cast<double>(1 + i % 7));
  }
  const auto weights =
      std::make_shared<const SparseTensor>(pack(from_dense(dense, "tiles"), formats::mixed({.rows = 16})));
  const Algorithm product = spmm_algorithm(rows, inner, Extent::any("N"), DType::f32);
  const Built built(compile(default_schedule(product, weights, target_named("sm_80")), {.assemble = false}));
  Array b = random_array(DType::f32, {inner, width}, 3, RandomValues::small_integers);
  Array c(DType::f32, {rows, width});
  ASSERT_EQ(built.reference({.b = b.data(), .c = c.data()}), 0);
  const Reference expected = reference(product, weights.get(), {{{"B", &b}, {"C", &c}}, {}});
  for (std::int64_t i = 0; i < c.size(); ++i) EXPECT_EQ(c.get(i), expected.value.get(i)) << i;
  EXPECT_TRUE(built.packed(dense) == built.weights());
  Array full(DType::f32, {rows, inner});
  for (std::int64_t i = 0; i < full.size(); ++i) full.set(i, 1);
  EXPECT_NE(built.packed(full).find("has no place"), std::string::npos) << built.packed(full);
}

/// Where places hold +0 for padding, and where a bit says whether there is one.
TEST(ExportedReference, PacksValuesIntoTheirPlaces) {
  const WeightMatrix matrix = synthetic_layer({.rows = rows, .columns = inner, .sparsity = 0.6, .seed = 6});
  for (const char* format : {"hb_ell:b=4", "bitmap", "lane_streams:columns=64", "pair_words:columns=64"}) {
    SCOPED_TRACE(format);
    const auto weights = std::make_shared<const SparseTensor>(pack(matrix, parse_format(format)));
    const Algorithm product = spmm_algorithm(rows, inner, Extent::any("N"), DType::f32);
    const Built built(
        compile(default_schedule(product, weights, target_named("sm_80")), {.assemble = false}));
    EXPECT_TRUE(built.packed(weights->to_dense()) == built.weights());
    Array full(DType::f32, {rows, inner});
    for (std::int64_t i = 0; i < full.size(); ++i) full.set(i, 1);
    EXPECT_NE(built.packed(full).find("has no place"), std::string::npos) << built.packed(full);
  }
}

}  // namespace
}  // namespace weft
