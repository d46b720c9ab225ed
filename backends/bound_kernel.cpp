// Putting a kernel's operands on a device, and launching it.
#include <fmt/format.h>
#include <weft/backends/kernel.h>
#include <weft/backends/kernel_state.h>
#include <weft/backends/launch_data.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>

namespace weft {

struct BoundKernel::State {
  std::shared_ptr<Kernel::State> kernel;
  Device device = Device::cpu();
  std::vector<std::string> names;  ///< of `memory`, as the program's buffers and workspaces
  std::vector<DeviceMemory> memory;
  struct Contents {
    DType dtype;
    std::vector<std::int64_t> shape;
    bool is_coordinates;  ///< they say where entries of the weights stand
  };
  std::vector<std::optional<Contents>> contents;  ///< of `memory`; nothing for a workspace
  std::vector<double> scalars;
  std::vector<std::int64_t> extents;
  std::size_t output = 0;
  // On the CPU.
  std::vector<void*> pointers;
  // On a GPU.
  std::optional<PreparedLaunch> launch;

  std::size_t find(const std::string& name) const {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    throw UserError(
        {"the kernel has no operand of that name",
         {},
         name,
         fmt::format("{}{}", fmt::join(names, ", "),
                     did_you_mean(name, {std::vector<std::string_view>(names.begin(), names.end())}))});
  }

  std::vector<std::string> operands() const {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (contents[i]) found.push_back(names[i]);
    }
    return found;
  }

  /// The memory of an operand that has these elements.
  DeviceMemory& find(const std::string& name, const Array& array) {
    const std::size_t number = find(name);
    const auto& bound = contents[number];
    const auto text = [](DType dtype, const std::vector<std::int64_t>& shape) {
      return fmt::format("{} {}", name_of(dtype), text_of_shape(shape));
    };
    if (!bound)
      throw UserError({fmt::format("{} is a workspace, which holds nothing between launches", name),
                       {},
                       name,
                       fmt::format("an operand: {}", fmt::join(operands(), ", "))});
    if (array.dtype() == bound->dtype && array.shape() == bound->shape) return memory[number];
    throw UserError({fmt::format("an array does not fit operand {}", name),
                     {},
                     text(array.dtype(), array.shape()),
                     text(bound->dtype, bound->shape) + ", as it was bound"});
  }
};

namespace {

void check_device(const Target& target, const Device& device) {
  const DeviceDescription& d = device.description();
  const bool fits = target.is_gpu()
                        ? d.kind != DeviceKind::cpu &&
                              (target.architecture_specific ? d.sm == target.sm : d.sm >= target.sm) &&
                              (!is_simulated_only(target) || d.name == "sim:" + target.name)
                        : d.kind == DeviceKind::cpu;
  if (fits) return;
  throw UserError(
      {"the device does not run this kernel", device.name(),
       d.kind == DeviceKind::cpu ? d.model : fmt::format("{} (sm_{})", d.model, d.sm),
       !target.is_gpu() ? std::string("Device::cpu(), or a schedule for a GPU")
       : is_simulated_only(target)
           ? fmt::format("sim:{0}: no hardware has {0}", target.name)
           : fmt::format(
                 "Device::simulator(\"{0}\"), a CUDA device that runs {0}, or a kernel for this device",
                 target.name)});
}

/// The step that made each buffer of shared memory or registers, by the name that it has in PTX: the first
/// program of the schedule's history that allocates it.
std::map<std::string, std::string> origins_of(const Schedule& schedule) {
  std::map<std::string, std::string> origins;
  for (std::size_t i = 0; i < schedule.history().size(); ++i) {
    ir::visit(schedule.history()[i].body,
              [&](const ir::Stmt& s) {
                const auto* allocate = s.as<ir::Allocate>();
                if (allocate == nullptr) return;
                std::string name = allocate->buffer->name;
                std::ranges::replace_if(
                    name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
                if (i == 0) {
                  origins.try_emplace(name, "the program before its first step");
                } else {
                  const Step& step = schedule.steps()[i - 1];
                  origins.try_emplace(name,
                                      fmt::format("step {}, {} ({})", i, step.cpp(), step.place.text()));
                }
              },
              {});
  }
  return origins;
}

class Binder {
 public:
  Binder(const Kernel& kernel, const std::shared_ptr<Kernel::State>& state, const Device& device,
         const Arguments& arguments)
      : kernel_(kernel),
        device_(device),
        data_(launch_data(kernel, arguments)),
        state_(std::make_shared<BoundKernel::State>()) {
    state_->kernel = state;
    state_->device = device;
  }

  std::shared_ptr<BoundKernel::State> bind() {
    for (const LaunchData::Memory& memory : data_.memory) add(memory);
    state_->scalars = data_.scalars;
    state_->extents = data_.extents;
    state_->output = data_.output;
    device_.kind() == DeviceKind::cpu ? prepare_call() : prepare_launch();
    if (device_.kind() == DeviceKind::simulator) name_buffers();
    return state_;
  }

 private:
  void add(const LaunchData::Memory& one) {
    // A kernel may be handed an empty array, but never a null pointer.
    DeviceMemory memory(device_, std::max<std::size_t>(one.bytes, 16));
    if (one.begins_as_zero) memory.fill(0);
    if (one.source != nullptr && one.bytes > 0) memory.upload(one.source->data(), one.bytes);
    state_->names.push_back(one.name);
    state_->contents.emplace_back();
    if (one.source != nullptr)
      state_->contents.back() = {one.source->dtype(), one.source->shape(), one.is_coordinates};
    state_->memory.push_back(std::move(memory));
  }

  void name_buffers() {
    for (std::size_t i = 0; i < state_->names.size(); ++i)
      simulator::name_buffer(device_, state_->memory[i].address(), state_->names[i]);
    simulator::set_origins(device_, kernel_.lowered().program.name, origins_of(kernel_.schedule()));
  }

  void prepare_call() {
    for (const DeviceMemory& memory : state_->memory) state_->pointers.push_back(memory.data());
  }

  void prepare_launch() {
    std::vector<std::uint64_t> addresses;
    for (const DeviceMemory& memory : state_->memory) addresses.push_back(memory.address());
    state_->launch.emplace(loaded_code(kernel_, device_).function(data_.function), data_, addresses);
  }

  const Kernel& kernel_;
  const Device& device_;
  LaunchData data_;
  std::shared_ptr<BoundKernel::State> state_;
};

}  // namespace

BoundKernel Kernel::bind(const Device& device, const Arguments& arguments, std::source_location place) const {
  return user_call(place, [&] {
    BoundKernel bound;
    check_device(state(place).target, device);
    bound.state_ = Binder(*this, state_, device, arguments).bind();
    return bound;
  });
}

void Kernel::operator()(const Device& device, const Arguments& arguments, std::source_location place) const {
  user_call(place, [&] {
    const BoundKernel bound = bind(device, arguments, place);
    const Stream stream(device);
    bound.launch(stream);
    wait_for(device, stream);
    const Algorithm& algorithm = state_->schedule.algorithm();
    const std::string& output = algorithm.operands[algorithm.output.operand].name;
    bound.download(output, *arguments.tensors.at(output));
  });
}

BoundKernel::State& BoundKernel::state(std::source_location place) const {
  return held(state_, "BoundKernel", "Kernel::bind()", place);
}

void BoundKernel::launch(StreamHandle stream, std::source_location place) const {
  user_call(place, [&] {
    const State& bound = state(place);
    if (bound.launch) {
      bound.launch->launch(stream);
    } else {
      bound.kernel->cpu->run(bound.pointers, bound.scalars, bound.extents, bound.kernel->options.threads);
    }
  });
}

void BoundKernel::poison_output(std::source_location place) const {
  user_call(place, [&] {
    State& bound = state(place);
    bound.memory[bound.output].poison();
  });
}

void BoundKernel::upload(const std::string& operand, const Array& array, std::source_location place) const {
  user_call(place, [&] {
    State& bound = state(place);
    DeviceMemory& memory = bound.find(operand, array);
    if (bound.contents[bound.find(operand)]->is_coordinates)
      throw UserError(
          {"the places of the weights' entries cannot be replaced",
           {},
           operand,
           "their values alone; for other places another kernel, or Arguments::weights at binding"});
    memory.upload(array.data(), array.bytes());
  });
}

void BoundKernel::download(const std::string& operand, Array& array, std::source_location place) const {
  user_call(place, [&] { state(place).find(operand, array).download(array.data(), array.bytes()); });
}

std::uint64_t BoundKernel::address(const std::string& operand, std::source_location place) const {
  return user_call(place, [&] {
    State& bound = state(place);
    return bound.memory[bound.find(operand)].address();
  });
}

}  // namespace weft
