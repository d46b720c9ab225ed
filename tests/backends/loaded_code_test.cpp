// Which code of a kernel a device is given: machine code of its own generation, else PTX.
#include <gtest/gtest.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/spaces/problems.h>

#include <cstring>
#include <vector>

namespace weft {
namespace {

/// A CUDA device that keeps what it is to load, and loads nothing.
class Collector : public DeviceInterface {
 public:
  explicit Collector(int sm) {
    description_.kind = DeviceKind::cuda;
    description_.name = "cuda:0";
    description_.sm = sm;
  }
  const DeviceDescription& description() const override { return description_; }
  std::uint64_t allocate(std::size_t bytes) override {
    memory_.emplace_back(bytes);
    return reinterpret_cast<std::uint64_t>(memory_.back().data());
  }
  void release(std::uint64_t) noexcept override {}
  void upload(std::uint64_t target, const void* source, std::size_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(target), source, bytes);
  }
  void download(void* target, std::uint64_t source, std::size_t bytes) override {
    std::memcpy(target, reinterpret_cast<const void*>(source), bytes);
  }
  void fill(std::uint64_t target, std::uint8_t pattern, std::size_t bytes) override {
    std::memset(reinterpret_cast<void*>(target), pattern, bytes);
  }
  std::shared_ptr<ModuleInterface> load(std::string_view image) override {
    loaded = image;
    throw RuntimeError("loads nothing");
  }

  std::string loaded;

 private:
  DeviceDescription description_;
  std::vector<std::vector<std::byte>> memory_;
};

/// "machine code" or "PTX", for a kernel of a target on a device.
std::string loaded_code(const char* target, int sm) {
  const auto weights = std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 8, .columns = 16, .sparsity = 0.8}), formats::csr()));
  const Kernel kernel =
      compile(default_schedule(spmm_algorithm(8, 16, 4, DType::f32), weights, target_named(target)));
  Array b = random_array(DType::f32, {16, 4}, 1);
  Array c(DType::f32, {8, 4});
  const auto device = std::make_shared<Collector>(sm);
  EXPECT_THROW(kernel.bind(Device(device), {{{"B", &b}, {"C", &c}}, {}}), RuntimeError);
  return device->loaded.starts_with(
             "\x7f"
             "ELF")
             ? "machine code"
             : "PTX";
}

TEST(LoadedCode, MachineCodeOfTheDevicesGeneration) {
  if (!cuda::can_assemble()) GTEST_SKIP() << "there is no ptxas";
  EXPECT_EQ(loaded_code("sm_90", 90), "machine code");
  EXPECT_EQ(loaded_code("sm_90a", 90), "machine code");
  EXPECT_EQ(loaded_code("sm_80", 86), "machine code");
  EXPECT_EQ(loaded_code("sm_100", 103), "machine code");
}

TEST(LoadedCode, PtxForNewerGenerations) {
  EXPECT_EQ(loaded_code("sm_75", 90), "PTX");
  EXPECT_EQ(loaded_code("sm_80", 90), "PTX");
  EXPECT_EQ(loaded_code("sm_90", 100), "PTX");
  EXPECT_EQ(loaded_code("sm_100", 120), "PTX");
}

}  // namespace
}  // namespace weft
