#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/module.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

namespace weft {
namespace {

/// Numbers of CUfunction_attribute.
enum Attribute : int {
  max_threads_per_block = 0,
  shared_size_bytes = 1,
  const_size_bytes = 2,
  local_size_bytes = 3,
  num_regs = 4,
  max_dynamic_shared_size_bytes = 8,
  required_cluster_width = 11,
  non_portable_cluster_size_allowed = 14,
};

constexpr int portable_cluster_blocks = 8;

enum class ImageKind { elf, fat_binary, ptx, unknown };

bool starts_with_word(std::string_view image, std::uint32_t word) {
  return image.size() >= sizeof word && std::memcmp(image.data(), &word, sizeof word) == 0;
}

ImageKind kind_of(std::string_view image) {
  if (image.starts_with("\177ELF")) return ImageKind::elf;
  if (starts_with_word(image, 0xBA55ED50U)) return ImageKind::fat_binary;
  const bool is_text = image.find('\0') == std::string_view::npos;
  return is_text && image.find(".version") != std::string_view::npos ? ImageKind::ptx : ImageKind::unknown;
}

template <class T>
T read_at(std::string_view image, std::size_t offset) {
  T value{};
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

/// The driver takes an image without its length and trusts the sizes inside, so a cut-off file would make it
/// read past the end. The tables of an ELF file and the length of a fat binary stand in its header.
bool is_complete(ImageKind kind, std::string_view image) {
  if (kind == ImageKind::elf) {
    constexpr std::size_t header_bytes = 64;
    if (image.size() < header_bytes) return false;
    const auto sections = read_at<std::uint64_t>(image, 0x28);
    const auto entry_bytes = read_at<std::uint16_t>(image, 0x3A);
    const auto entries = read_at<std::uint16_t>(image, 0x3C);
    const std::uint64_t table_bytes = std::uint64_t{entry_bytes} * entries;
    return sections <= image.size() && table_bytes <= image.size() - sections;
  }
  if (kind == ImageKind::fat_binary) {
    constexpr std::size_t header_bytes = 16;
    if (image.size() < header_bytes) return false;
    const auto body_bytes = read_at<std::uint64_t>(image, 8);
    return body_bytes <= image.size() - header_bytes;
  }
  return true;
}

void check_image(std::string_view image) {
  const std::string accepted = "a cubin, a fat binary or PTX text";
  const ImageKind kind = kind_of(image);
  if (kind == ImageKind::unknown)
    throw UserError("loading a module", std::to_string(image.size()) + " bytes of something else", accepted);
  if (!is_complete(kind, image))
    throw UserError("loading a module", "an image cut off after " + std::to_string(image.size()) + " bytes",
                    accepted + ", complete");
}

/// The driver's compile logs, as it fills them.
struct JitLogs {
  static constexpr std::size_t bytes = 64 * 1024;
  std::vector<char> info = std::vector<char>(bytes);
  std::vector<char> error = std::vector<char>(bytes);

  driver::Result load(const std::string& image, driver::Module& module) {
    constexpr int info_buffer = 3, info_bytes = 4, error_buffer = 5, error_bytes = 6, verbose = 12;
    int options[] = {info_buffer, info_bytes, error_buffer, error_bytes, verbose};
    // An option's value is the number itself, in the place of a pointer.
    const auto as_value = [](std::size_t number) { return reinterpret_cast<void*>(number); };
    void* values[] = {info.data(), as_value(bytes - 1), error.data(), as_value(bytes - 1), as_value(1)};
    return driver::entry_points().cuModuleLoadDataEx(&module, image.c_str(), std::size(options), options,
                                                     values);
  }
};

struct CudaImage {
  std::shared_ptr<CudaDevice> device;
  driver::Module module = nullptr;
  std::string log;

  CudaImage() = default;
  CudaImage(const CudaImage&) = delete;
  CudaImage& operator=(const CudaImage&) = delete;
  ~CudaImage() {
    if (module != nullptr)
      release_in_context(*device, [this] { driver::entry_points().cuModuleUnload(module); });
  }
};

/// Allows `bytes` of dynamic shared memory; more than 48 KB a block is refused by the driver until asked for.
void raise_limit(std::atomic<std::size_t>& limit, driver::Function function, const std::string& name,
                 std::size_t bytes) {
  if (bytes <= limit) return;
  driver::check(driver::entry_points().cuFuncSetAttribute(function, max_dynamic_shared_size_bytes,
                                                          static_cast<int>(bytes)),
                "allowing " + std::to_string(bytes) + " bytes of shared memory for '" + name + "'");
  limit = bytes;
}

class CudaFunction final : public FunctionInterface {
 public:
  CudaFunction(std::shared_ptr<const CudaImage> image, const std::string& name)
      : image_(std::move(image)), name_(name) {
    const ContextScope scope(*image_->device);
    const auto& api = driver::entry_points();
    const driver::Result result = api.cuModuleGetFunction(&function_, image_->module, name.c_str());
    if (result != driver::success)
      throw UserError("finding a kernel in a module", "no '" + name + "': " + driver::text_of_error(result),
                      "the name of an entry of the loaded image");
    attributes_.registers = ask(num_regs);
    attributes_.local_bytes = static_cast<std::size_t>(ask(local_size_bytes));
    attributes_.static_shared_bytes = static_cast<std::size_t>(ask(shared_size_bytes));
    attributes_.constant_bytes = static_cast<std::size_t>(ask(const_size_bytes));
    attributes_.max_threads = ask(max_threads_per_block);
    int cluster = 1;
    for (int axis = 0; axis < 3; ++axis) cluster *= ask(required_cluster_width + axis);
    attributes_.cluster_blocks = cluster;
    if (cluster > portable_cluster_blocks)
      driver::check(api.cuFuncSetAttribute(function_, non_portable_cluster_size_allowed, 1),
                    "allowing clusters of " + std::to_string(cluster) + " blocks for '" + name + "'");
    dynamic_limit_ = static_cast<std::size_t>(std::max(0, ask(max_dynamic_shared_size_bytes)));
  }

  const std::string& name() const override { return name_; }
  const FunctionAttributes& attributes() const override { return attributes_; }

  int blocks_per_multiprocessor(const LaunchShape& shape) const override {
    const CudaDevice& device = *image_->device;
    check_launch(device.description(), name_, attributes_, shape);
    const ContextScope scope(device);
    raise_limit(dynamic_limit_, function_, name_, shape.shared_bytes);
    int blocks = 0;
    driver::check(driver::entry_points().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                      &blocks, function_, static_cast<int>(shape.block[0] * shape.block[1] * shape.block[2]),
                      shape.shared_bytes),
                  "asking how many blocks of '" + name_ + "' fit");
    return blocks;
  }

  void launch(const LaunchShape& shape, std::span<void* const> arguments,
              StreamHandle stream) const override {
    const CudaDevice& device = *image_->device;
    check_launch(device.description(), name_, attributes_, shape);
    const ContextScope scope(device);
    raise_limit(dynamic_limit_, function_, name_, shape.shared_bytes);
    driver::check(shape.overlaps && driver::entry_points().cuLaunchKernelEx != nullptr
                      ? launch_overlapping(shape, arguments, stream)
                      : driver::entry_points().cuLaunchKernel(
                            function_, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                            shape.block[1], shape.block[2], static_cast<unsigned>(shape.shared_bytes), stream,
                            const_cast<void**>(arguments.data()), nullptr),
                  "launching '" + name_ + "' on " + device.description().name);
  }

 private:
  driver::Result launch_overlapping(const LaunchShape& shape, std::span<void* const> arguments,
                                    StreamHandle stream) const {
    driver::LaunchAttribute overlaps{.id = driver::attribute_overlaps, .value = 1};
    const driver::LaunchConfig config{.grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
                                      .block = {shape.block[0], shape.block[1], shape.block[2]},
                                      .shared_bytes = static_cast<unsigned>(shape.shared_bytes),
                                      .stream = stream,
                                      .attributes = &overlaps,
                                      .attribute_count = 1};
    return driver::entry_points().cuLaunchKernelEx(&config, function_, const_cast<void**>(arguments.data()),
                                                   nullptr);
  }

  int ask(int attribute) const {
    int value = 0;
    return driver::entry_points().cuFuncGetAttribute(&value, attribute, function_) == driver::success ? value
                                                                                                      : 0;
  }

  std::shared_ptr<const CudaImage> image_;
  driver::Function function_ = nullptr;
  std::string name_;
  FunctionAttributes attributes_;
  mutable std::atomic<std::size_t> dynamic_limit_{0};
};

class CudaModule final : public ModuleInterface {
 public:
  explicit CudaModule(std::shared_ptr<const CudaImage> image) : image_(std::move(image)) {}

  std::shared_ptr<FunctionInterface> function(const std::string& name) const override {
    return std::make_shared<CudaFunction>(image_, name);
  }

  std::pair<std::uint64_t, std::size_t> variable(const std::string& name) const override {
    const ContextScope scope(*image_->device);
    std::pair<std::uint64_t, std::size_t> variable;
    const driver::Result result = driver::entry_points().cuModuleGetGlobal_v2(
        &variable.first, &variable.second, image_->module, name.c_str());
    if (result != driver::success)
      throw UserError("finding a variable in a module", "no '" + name + "': " + driver::text_of_error(result),
                      "the name of a global or constant variable of the loaded image");
    return variable;
  }

  const std::string& log() const override { return image_->log; }

 private:
  std::shared_ptr<const CudaImage> image_;
};

}  // namespace

std::shared_ptr<ModuleInterface> CudaDevice::load(std::string_view image) {
  check_image(image);
  auto loaded = std::make_shared<CudaImage>();
  loaded->device = shared_from_this();
  const ContextScope scope(*this);
  JitLogs logs;
  const driver::Result result = logs.load(std::string(image), loaded->module);
  if (result != driver::success) {
    loaded->module = nullptr;
    throw RuntimeError("loading a module on " + description().name + ": " + driver::text_of_error(result) +
                       "\n" + logs.error.data() + logs.info.data());
  }
  loaded->log = logs.info.data();
  return std::make_shared<CudaModule>(std::move(loaded));
}

}  // namespace weft
