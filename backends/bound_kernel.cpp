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
#include <cctype>

namespace weft {

struct BoundKernel::State {
  struct Contents {
    DType dtype;
    std::vector<std::int64_t> shape;
    bool is_coordinates;  ///< they say where entries of the weights stand
  };
  /// A buffer or workspace of the program, by its name.
  struct Placed {
    std::string name;
    DeviceMemory memory;
    std::optional<Contents> contents;  ///< nothing for a workspace
  };
  std::shared_ptr<Kernel::State> kernel;
  std::optional<Device> device;
  std::vector<Placed> placed;
  std::vector<double> scalars;
  std::vector<std::int64_t> extents;
  std::size_t output = 0;
  // On the CPU.
  std::vector<void*> pointers;
  // On a GPU.
  std::optional<PreparedLaunch> launch;

  /// Of what can be replaced: no workspace, and no places of entries.
  std::vector<std::string_view> names_to_upload() const {
    std::vector<std::string_view> names;
    for (const Placed& each : placed)
      if (each.contents && !each.contents->is_coordinates) names.push_back(each.name);
    return names;
  }

  std::vector<std::string_view> all_names() const {
    std::vector<std::string_view> names;
    for (const Placed& each : placed) names.push_back(each.name);
    return names;
  }

  /// `names` are those to offer where it is none.
  Placed& find(const std::string& name, const std::vector<std::string_view>& names) {
    const auto found = std::ranges::find(placed, name, &Placed::name);
    if (found != placed.end()) return *found;
    const ir::Program& first = kernel->schedule.history().front();
    if (std::ranges::find(first.buffers, name, [](const auto& buffer) { return buffer->name; }) !=
        first.buffers.end())
      throw UserError(
          "the weights are in the code of the kernel", name,
          fmt::format("{}; for other weights another kernel, or a schedule without the steps that "
                      "leave {} out",
                      fmt::join(names, ", "), name));
    const bool is_packed =
        std::ranges::any_of(names, [&](std::string_view known) { return known.starts_with(name + "."); });
    throw UserError(
        "the kernel has no operand of that name", name,
        fmt::format("{}{}", fmt::join(names, ", "),
                    is_packed ? fmt::format("; {0}.values is pack(weights, format).array(\"values\")", name)
                              : did_you_mean(name, names)));
  }

  /// UserError for one that says where entries of the weights stand, and for a workspace.
  void require_replaceable(const Placed& one) const {
    if (one.contents && !one.contents->is_coordinates) return;
    if (!one.contents) refuse_workspace(one.name);
    throw UserError("the places of the weights' entries cannot be replaced", one.name,
                    fmt::format("{}; for other places {}", fmt::join(names_to_upload(), ", "),
                                kernel->schedule.algorithm().takes_any_weights()
                                    ? "Arguments::weights at binding"
                                    : "a kernel that is compiled for weights with these places"));
  }

  [[noreturn]] void refuse_workspace(const std::string& name) const {
    throw UserError(fmt::format("{} is a workspace, which holds nothing between launches", name), name,
                    fmt::format("an operand: {}", fmt::join(names_to_upload(), ", ")));
  }

  /// One that has these elements.
  Placed& find(const std::string& name, const std::vector<std::string_view>& names, const Array& array) {
    Placed& found = find(name, names);
    const auto text = [](DType dtype, const std::vector<std::int64_t>& shape) {
      return fmt::format("{} {}", name_of(dtype), text_of_shape(shape));
    };
    if (!found.contents) refuse_workspace(name);
    if (array.dtype() == found.contents->dtype && array.shape() == found.contents->shape) return found;
    throw UserError(fmt::format("an array does not fit operand {}", name), text(array.dtype(), array.shape()),
                    text(found.contents->dtype, found.contents->shape) + ", as it was bound");
  }
};

namespace {

void check_device(const Kernel::State& kernel, const Device& device) {
  const Target& target = kernel.target;
  const DeviceDescription& d = device.description();
  if (!target.is_gpu() && d.kind == DeviceKind::cpu && !kernel.cpu)
    throw UserError("the device does not run this kernel", device.name(), d.model,
                    fmt::format("a processor of {}, or a kernel for cpu", target.name));
  const bool fits = target.is_gpu()
                        ? d.kind != DeviceKind::cpu &&
                              (target.architecture_specific ? d.sm == target.sm : d.sm >= target.sm) &&
                              (!is_simulated_only(target) || d.name == "sim:" + target.name)
                        : d.kind == DeviceKind::cpu;
  if (fits) return;
  throw UserError("the device does not run this kernel", device.name(),
                  d.kind == DeviceKind::cpu ? d.model : fmt::format("{} (sm_{})", d.model, d.sm),
                  !target.is_gpu() ? std::string("Device::cpu() (--device cpu), or a schedule for a GPU")
                  : is_simulated_only(target) ? fmt::format("sim:{0}: no hardware has {0}", target.name)
                                              : fmt::format("Device::simulator(\"{0}\") (--device sim:{0}), "
                                                            "a CUDA device that runs {0}, or a kernel for "
                                                            "this device",
                                                            target.name));
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

std::shared_ptr<BoundKernel::State> bound_to(const Device& device, const Kernel& kernel,
                                             const std::shared_ptr<Kernel::State>& state,
                                             const Arguments& arguments) {
  const LaunchData data = launch_data(kernel, arguments);
  auto bound = std::make_shared<BoundKernel::State>();
  bound->kernel = state;
  bound->device = device;
  std::vector<std::uint64_t> addresses;
  for (const LaunchData::Memory& one : data.memory) {
    // A kernel may be handed an empty array, but never a null pointer.
    DeviceMemory memory(device, std::max<std::size_t>(one.bytes, 16));
    if (one.begins_as_zero)
      memory.fill(0);
    else if (one.source == nullptr && device.kind() == DeviceKind::simulator)
      memory.poison();
    if (one.source != nullptr && one.bytes > 0) memory.upload(one.source->data(), one.bytes);
    addresses.push_back(memory.address());
    bound->pointers.push_back(memory.data());
    BoundKernel::State::Placed& placed = bound->placed.emplace_back(one.name, std::move(memory));
    if (one.source != nullptr)
      placed.contents = {one.source->dtype(), one.source->shape(), one.is_coordinates};
  }
  bound->scalars = data.scalars;
  bound->extents = data.extents;
  bound->output = data.output;
  if (device.kind() != DeviceKind::cpu) bound->launch.emplace(loaded_code(kernel, device), data, addresses);
  if (device.kind() == DeviceKind::simulator) {
    for (const BoundKernel::State::Placed& each : bound->placed)
      simulator::name_buffer(device, each.memory.address(), each.name);
    simulator::set_origins(device, kernel.lowered().program.name, origins_of(kernel.schedule()));
  }
  return bound;
}

}  // namespace

BoundKernel Kernel::bind(const Device& device, const Arguments& arguments, CallPlace place) const {
  return user_call(place, [&] {
    BoundKernel bound;
    check_device(state(place), device);
    bound.state_ = bound_to(device, *this, state_, arguments);
    return bound;
  });
}

detail::NoResult Kernel::operator()(const Device& device, const Arguments& arguments, CallPlace place) const {
  user_call(place, [&] {
    const BoundKernel bound = bind(device, arguments, place);
    const Stream stream(device);
    bound.launch(stream);
    wait_for(device, stream);
    const Algorithm& algorithm = state_->schedule.algorithm();
    const std::string& output = algorithm.operands[algorithm.output.operand].name;
    bound.download(output, *arguments.tensors.at(output));
  });
  return {};
}

BoundKernel::State& BoundKernel::state(CallPlace place) const {
  return held(state_, "BoundKernel", "Kernel::bind()", place);
}

void BoundKernel::launch(StreamHandle stream, CallPlace place) const {
  user_call(place, [&] {
    const State& bound = state(place);
    if (bound.launch)
      bound.launch->launch(stream);
    else
      bound.kernel->cpu->run(bound.pointers, bound.scalars, bound.extents, bound.kernel->options.threads);
  });
}

void BoundKernel::poison_output(CallPlace place) const {
  user_call(place, [&] {
    State& bound = state(place);
    bound.placed[bound.output].memory.poison();
  });
}

void BoundKernel::upload(const std::string& operand, const Array& array, CallPlace place) const {
  user_call(place, [&] {
    State& bound = state(place);
    State::Placed& found = bound.find(operand, bound.names_to_upload(), array);
    bound.require_replaceable(found);
    found.memory.upload(array.data(), array.bytes());
  });
}

void BoundKernel::use_memory(const std::string& operand, std::uint64_t address, CallPlace place) const {
  user_call(place, [&] {
    State& bound = state(place);
    State::Placed& found = bound.find(operand, bound.names_to_upload());
    bound.require_replaceable(found);
    constexpr std::uint64_t alignment = 16;
    if (address == 0 || address % alignment != 0)
      throw UserError("an operand cannot lie there", operand, fmt::format("{:#x}", address),
                      fmt::format("the address of memory, at a multiple of {} bytes", alignment));
    const auto number = static_cast<std::size_t>(&found - bound.placed.data());
    found.memory = DeviceMemory::borrowed(*bound.device, address, found.memory.bytes());
    bound.pointers[number] = found.memory.data();
    if (bound.launch) bound.launch->replace_address(number, address);
  });
}

void BoundKernel::download(const std::string& operand, Array& array, CallPlace place) const {
  user_call(place, [&] {
    State& bound = state(place);
    bound.find(operand, bound.all_names(), array).memory.download(array.data(), array.bytes());
  });
}

std::uint64_t BoundKernel::address(const std::string& operand, CallPlace place) const {
  return user_call(place, [&] {
    State& bound = state(place);
    return bound.find(operand, bound.all_names()).memory.address();
  });
}

}  // namespace weft
