#include <fmt/format.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/simulator/device.h>
#include <weft/backends/simulator/ptx/parse.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/hardware/target.h>

#include <algorithm>
#include <cstring>

namespace weft::simulator {
namespace {

class SimulatedDevice final : public DeviceInterface, public std::enable_shared_from_this<SimulatedDevice> {
 public:
  explicit SimulatedDevice(const Target& target) {
    description_.kind = DeviceKind::simulator;
    description_.name = "sim:" + target.name;
    description_.model = "simulated " + target.name;
    description_.sm = target.sm;
    description_.multiprocessors = time_parameters_of(target.sm).multiprocessors;
    description_.threads_per_block = static_cast<int>(target.threads_per_block);
    description_.threads_per_multiprocessor = static_cast<int>(target.threads_per_multiprocessor);
    description_.blocks_per_multiprocessor = static_cast<int>(target.blocks_per_multiprocessor);
    description_.registers_per_block = static_cast<int>(target.registers_per_multiprocessor);
    description_.registers_per_multiprocessor = static_cast<int>(target.registers_per_multiprocessor);
    description_.shared_bytes_per_block = 48 * 1024;
    description_.shared_bytes_opt_in = static_cast<std::size_t>(target.shared_bytes_per_block);
    description_.shared_bytes_per_multiprocessor =
        static_cast<std::size_t>(target.shared_bytes_per_multiprocessor);
    description_.block_limit = {1024, 1024, 64};
    description_.grid_limit = {2147483647, 65535, 65535};
    description_.cluster_launch = target.has(Capability::clusters);
  }

  const DeviceDescription& description() const override { return description_; }
  std::uint64_t allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(std::uint64_t address) noexcept override { memory_.release(address); }

  void upload(std::uint64_t target, const void* source, std::size_t bytes) override {
    Region& region = memory_.region(target, bytes);
    std::memcpy(region.data.get() + (target - region.address), source, bytes);
    region.mark_written(target - region.address, bytes);
  }
  void download(void* target, std::uint64_t source, std::size_t bytes) override {
    const Region& region = memory_.region(source, bytes);
    std::memcpy(target, region.data.get() + (source - region.address), bytes);
  }
  void fill(std::uint64_t target, std::uint8_t pattern, std::size_t bytes) override {
    Region& region = memory_.region(target, bytes);
    std::memset(region.data.get() + (target - region.address), pattern, bytes);
    region.mark_written(target - region.address, bytes);
  }
  void poison(std::uint64_t target, std::size_t bytes) override {
    fill(target, 0xFF, bytes);
    Region& region = memory_.region(target, bytes);
    region.mark_unwritten(target - region.address, bytes);
  }
  std::shared_ptr<ModuleInterface> load(std::string_view image) override;
  std::optional<double> own_microseconds() const override { return microseconds_; }

  void launch(const Code& code, const LaunchGrid& grid, std::vector<std::byte> arguments,
              const std::map<std::uint64_t, Region*>& constants) {
    memory_.begin_launch(code.global_granule);
    Machine machine(code, memory_, grid, std::move(arguments), constants, options_.launch, next_serial_);
    std::optional<TimeModel> model;
    if (options_.timed) {
      model.emplace(time_parameters_of(description_.sm), code, grid, options_.registers, description_);
      machine.set_timer(&*model);
    }
    report_ = machine.run();
    for (Finding& finding : report_.findings) {
      const auto& origins = origins_[code.function->name];
      if (const auto found = origins.find(finding.buffer); found != origins.end())
        finding.origin = found->second;
    }
    if (model) {
      estimate_ = model->estimate(report_.blocks, memory_);
      microseconds_ += estimate_.microseconds;
    }
    if (!report_.clean() && !options_.tolerates_findings)
      throw RuntimeError(code.function->name + " on " + description_.name + ":\n" + report_.text());
  }

  GlobalMemory& memory() { return memory_; }
  std::map<std::string, std::map<std::string, std::string>>& origins() { return origins_; }
  DeviceOptions& options() { return options_; }
  const LaunchReport& report() const { return report_; }
  const TimeEstimate& estimate() const { return estimate_; }

 private:
  DeviceDescription description_;
  GlobalMemory memory_;
  DeviceOptions options_;
  LaunchReport report_;
  TimeEstimate estimate_;
  std::map<std::string, std::map<std::string, std::string>> origins_;  ///< by kernel and buffer
  std::uint64_t next_serial_ = 1;
  double microseconds_ = 0;
};

/// A module in the device's memory: its text, and where its variables are.
struct Image {
  std::shared_ptr<SimulatedDevice> device;
  ptx::Module module;
  std::map<std::string, std::uint64_t> addresses;
  std::map<std::string, std::size_t> sizes;
  std::vector<std::unique_ptr<Region>> constants;
  std::map<std::uint64_t, Region*> constant_at;

  Image(std::shared_ptr<SimulatedDevice> on, std::string_view text)
      : device(std::move(on)), module(ptx::parse(text)) {
    for (const ptx::Variable& variable : module.variables) place(variable);
    for (const ptx::Function& function : module.functions)
      std::ranges::for_each(function.variables, [this](const auto& v) { place(v); });
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() {
    for (const auto& [name, address] : addresses) device->memory().release(address);
  }

 private:
  void place(const ptx::Variable& variable) {
    std::vector<std::byte> contents = variable.initial;
    contents.resize(variable.bytes);
    if (variable.space == ptx::Space::global) {
      const std::uint64_t address =
          device->memory().allocate(std::max<std::size_t>(variable.bytes, 1), variable.name);
      device->upload(address, contents.data(), contents.size());
      addresses[variable.name] = address;
    } else if (variable.space == ptx::Space::constant) {
      // A gap between variables keeps an index that leaves one from reaching the next.
      constexpr std::uint64_t gap = 1 << 20;
      const std::uint64_t address = window::constant + constants.size() * gap;
      auto region = std::make_unique<Region>(variable.name, address, variable.bytes, 4);
      std::ranges::copy(contents, region->data.get());
      region->mark_written(0, variable.bytes);
      region->is_read_only = true;
      constant_at[address] = region.get();
      addresses[variable.name] = address;
      constants.push_back(std::move(region));
    } else {
      return;
    }
    sizes[variable.name] = variable.bytes;
  }
};

class SimulatedFunction final : public FunctionInterface {
 public:
  SimulatedFunction(std::shared_ptr<const Image> image, const ptx::Function& function)
      : image_(std::move(image)),
        code_(decode(image_->module, function, image_->addresses)),
        name_(function.name) {
    attributes_.static_shared_bytes = code_.shared_bytes;
    attributes_.local_bytes = code_.local_bytes;
    int cluster = 1;
    for (const int blocks : function.required_cluster) cluster *= std::max(blocks, 1);
    attributes_.cluster_blocks = function.required_cluster[0] == 0 ? 0 : cluster;
    attributes_.max_threads = 1024;
    const auto& limit = function.required_threads[0] != 0 ? function.required_threads : function.max_threads;
    if (limit[0] != 0) attributes_.max_threads = limit[0] * std::max(limit[1], 1) * std::max(limit[2], 1);
  }

  const std::string& name() const override { return name_; }
  const FunctionAttributes& attributes() const override { return attributes_; }
  int blocks_per_multiprocessor(const LaunchShape& shape) const override {
    const DeviceDescription& device = image_->device->description();
    check_launch(device, name_, attributes_, shape);
    const auto threads = static_cast<int>((shape.block[0] * shape.block[1] * shape.block[2] + 31) / 32 * 32);
    const std::size_t shared = attributes_.static_shared_bytes + shape.shared_bytes + 1024;
    return std::min({device.blocks_per_multiprocessor, device.threads_per_multiprocessor / threads,
                     static_cast<int>(device.shared_bytes_per_multiprocessor / shared)});
  }

  void launch(const LaunchShape& shape, std::span<void* const> arguments, StreamHandle) const override {
    check_launch(image_->device->description(), name_, attributes_, shape);
    LaunchGrid grid;
    grid.grid = shape.grid;
    grid.block = shape.block;
    grid.dynamic_shared_bytes = shape.shared_bytes;
    const auto& cluster = code_.function->required_cluster;
    for (std::size_t axis = 0; axis < 3 && attributes_.cluster_blocks > 0; ++axis) {
      grid.cluster[axis] = static_cast<std::uint32_t>(std::max(cluster[axis], 1));
      if (grid.grid[axis] % grid.cluster[axis] != 0)
        refuse(fmt::format("{} blocks in clusters of {}", grid.grid[axis], grid.cluster[axis]),
               "a grid that clusters divide");
    }
    const auto& required = code_.function->required_threads;
    for (std::size_t axis = 0; axis < 3 && required[0] != 0; ++axis) {
      if (static_cast<unsigned>(std::max(required[axis], 1)) != shape.block[axis])
        refuse(fmt::format("a block of {}", fmt::join(shape.block, " x ")),
               fmt::format("one of {}, which its PTX requires", fmt::join(required, " x ")));
    }
    if (arguments.size() != code_.parameters.size())
      refuse(fmt::format("{} arguments", arguments.size()),
             fmt::format("the {} that the kernel has", code_.parameters.size()));
    std::vector<std::byte> bytes(code_.parameter_bytes);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      std::memcpy(bytes.data() + code_.parameters[i].offset, arguments[i], code_.parameters[i].bytes);
    image_->device->launch(code_, grid, std::move(bytes), image_->constant_at);
  }

 private:
  [[noreturn]] void refuse(std::string found, std::string accepted) const {
    throw UserError("launching '" + name_ + "'", std::move(found), std::move(accepted));
  }

  std::shared_ptr<const Image> image_;
  Code code_;
  std::string name_;
  FunctionAttributes attributes_;
};

class SimulatedModule final : public ModuleInterface {
 public:
  explicit SimulatedModule(std::shared_ptr<const Image> image) : image_(std::move(image)) {}

  std::shared_ptr<FunctionInterface> function(const std::string& name) const override {
    const ptx::Function* found = image_->module.find(name);
    if (found == nullptr || !found->is_entry)
      throw UserError("finding a kernel in a module", "no '" + name + "'", names_of_entries(name));
    return std::make_shared<SimulatedFunction>(image_, *found);
  }
  std::pair<std::uint64_t, std::size_t> variable(const std::string& name) const override {
    const auto found = image_->addresses.find(name);
    if (found == image_->addresses.end())
      throw UserError("finding a variable in a module", "no '" + name + "'", names_of_variables(name));
    return {found->second, image_->sizes.at(name)};
  }
  const std::string& log() const override { return log_; }

 private:
  static std::string listed(const std::vector<std::string_view>& names, const std::string& asked) {
    return names.empty() ? "none: the loaded image has none"
                         : fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(asked, names));
  }
  std::string names_of_entries(const std::string& asked) const {
    std::vector<std::string_view> names;
    for (const ptx::Function& function : image_->module.functions) {
      if (function.is_entry) names.push_back(function.name);
    }
    return listed(names, asked);
  }
  std::string names_of_variables(const std::string& asked) const {
    std::vector<std::string_view> names;
    for (const auto& [name, address] : image_->addresses) names.push_back(name);
    return listed(names, asked);
  }

  std::shared_ptr<const Image> image_;
  std::string log_;
};

std::shared_ptr<ModuleInterface> SimulatedDevice::load(std::string_view image) {
  if (image.starts_with("\177ELF"))
    throw UserError("loading a module on " + description_.name, "a cubin", "PTX text");
  return std::make_shared<SimulatedModule>(std::make_shared<const Image>(shared_from_this(), image));
}

SimulatedDevice& simulated(const Device& device, CallPlace place = {}) {
  return user_call(place, [&]() -> SimulatedDevice& {
    auto* found = dynamic_cast<SimulatedDevice*>(&device.implementation(place));
    if (found == nullptr)
      throw UserError("asking the simulator", "the device " + device.name(),
                      "a simulated device such as Device::simulator(\"sm_90a\")");
    return *found;
  });
}

}  // namespace

DeviceOptions& options(const Device& device, CallPlace place) {
  return simulated(device, place).options();
}

bool is_built() {
  return true;
}

const LaunchReport& last_report(const Device& device, CallPlace place) {
  return simulated(device, place).report();
}

void name_buffer(const Device& device, std::uint64_t address, const std::string& name) {
  if (Region* region = simulated(device).memory().find(address); region != nullptr) region->name = name;
}

void set_origins(const Device& device, const std::string& kernel,
                 std::map<std::string, std::string> origins) {
  simulated(device).origins()[kernel] = std::move(origins);
}

const TimeEstimate& last_estimate(const Device& device, CallPlace place) {
  return simulated(device, place).estimate();
}

Device make_device(std::string_view architecture, const DeviceOptions& options, CallPlace place) {
  return user_call(place, [&] {
    const Target& target = [&]() -> const Target& {
      try {
        return target_named(architecture);
      } catch (const UserError& error) {
        std::vector<std::string_view> names;
        for (const Target& known : targets()) {
          if (known.is_gpu()) names.push_back(known.name);
        }
        throw UserError("there is no simulated device of that name", error.report().found,
                        fmt::format("{}", fmt::join(names, ", ")));
      }
    }();
    if (!target.is_gpu())
      throw UserError("choosing a simulated device", std::string(architecture),
                      "a GPU target such as sm_90a");
    auto device = std::make_shared<SimulatedDevice>(target);
    device->options() = options;
    return Device(std::move(device));
  });
}

}  // namespace weft::simulator

namespace weft {

Device Device::simulator(std::string_view architecture, CallPlace place) {
  return simulator::make_device(architecture, {}, place);
}

}  // namespace weft
