// Putting a kernel's operands on a device, and launching it.
#include <fmt/format.h>
#include <weft/backends/kernel.h>
#include <weft/backends/kernel_state.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/build_program.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/simulated_target.h>

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
  std::vector<double> scalars;
  std::vector<std::int64_t> extents;
  std::size_t output = 0;
  // On the CPU.
  std::vector<void*> pointers;
  // On a GPU.
  std::optional<Function> function;
  LaunchShape shape;
  std::vector<std::uint64_t> words;  ///< one an argument, its value in the low bytes
  std::vector<void*> arguments;      ///< into `words`

  DeviceMemory& find(const std::string& name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return memory[i];
    }
    throw UserError(
        {"the kernel has no operand of that name", {}, name, fmt::format("{}", fmt::join(names, ", "))});
  }
};

namespace {

std::int64_t evaluated(const ir::Expr& expr, const ir::Substitution& sizes) {
  const ir::Expr value = ir::substitute(expr, sizes);
  const std::int64_t* number = ir::integer_value(value);
  internal_check(number != nullptr, "a size that is not known at launch");
  return *number;
}

void check_device(const Target& target, const Device& device) {
  const DeviceDescription& d = device.description();
  const bool fits = target.is_gpu()
                        ? d.kind != DeviceKind::cpu &&
                              (target.architecture_specific ? d.sm == target.sm : d.sm >= target.sm) &&
                              (!is_simulated_only(target) || d.name == "sim:" + target.name)
                        : d.kind == DeviceKind::cpu;
  if (fits) return;
  throw UserError({"the device does not run this kernel", device.name(),
                   d.kind == DeviceKind::cpu ? d.model : fmt::format("{} (sm_{})", d.model, d.sm),
                   !target.is_gpu()            ? std::string("the device cpu")
                   : is_simulated_only(target) ? fmt::format("sim:{0}: no hardware has {0}", target.name)
                                               : "a CUDA or simulated device for " + target.name});
}

std::int64_t elements_of(const ir::Buffer& buffer, const ir::Substitution& sizes) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    const std::int64_t extent = evaluated(buffer.shape[i], sizes);
    if (extent == 0) return 0;
    last += (extent - 1) * evaluated(buffer.strides[i], sizes);
  }
  return last + 1;
}

void check_index_width(const ir::Program& program, const ir::Buffer& buffer, std::int64_t elements) {
  if (program.index_bits == 64 || elements <= INT32_MAX) return;
  throw UserError({fmt::format("{} is too large for this kernel", buffer.name), program.name,
                   fmt::format("{} elements, and the kernel indexes with 32 bits", elements),
                   "fewer than 2^31 elements, or sizes that are known when the kernel is compiled"});
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
  Binder(const std::shared_ptr<Kernel::State>& kernel, const Device& device, const Arguments& arguments)
      : kernel_(*kernel),
        device_(device),
        arguments_(arguments),
        state_(std::make_shared<BoundKernel::State>()) {
    state_->kernel = kernel;
    state_->device = device;
  }

  std::shared_ptr<BoundKernel::State> bind() {
    check_device(kernel_.target, device_);
    const Algorithm& algorithm = kernel_.schedule.algorithm();
    find_sizes(algorithm);
    const ir::Program& program = kernel_.lowered.program;
    for (const ir::BufferRef& buffer : program.buffers) add(*buffer, &source_of(buffer->name));
    for (const ir::BufferRef& buffer : program.workspaces) add(*buffer, nullptr);
    for (const ir::Variable& scalar : program.scalars)
      state_->scalars.push_back(arguments_.scalars.at(scalar.name));
    for (const ir::Variable& extent : program.extents)
      state_->extents.push_back(evaluated(ir::variable(extent.name), sizes_));
    const std::string& output = algorithm.operands[algorithm.output.operand].name;
    for (std::size_t i = 0; i < state_->names.size(); ++i) {
      if (state_->names[i] == output) state_->output = i;
    }
    device_.kind() == DeviceKind::cpu ? prepare_call() : prepare_launch();
    if (device_.kind() == DeviceKind::simulator) name_buffers();
    return state_;
  }

 private:
  /// The launch sizes. Those that the weights share with a dense operand, as K of A[M, K] and B[K, N], have
  /// to be the same.
  void find_sizes(const Algorithm& algorithm) {
    weights_ = weights_of(algorithm, kernel_.schedule.weights(), arguments_);
    const auto of_dense = launch_sizes(algorithm, nullptr, check_arguments(algorithm, arguments_));
    for (const auto& [name, size] : of_dense) sizes_.emplace(name, size);
    for (const auto& [name, size] : launch_sizes(algorithm, weights_, {})) {
      const auto known = of_dense.find(name);
      if (known != of_dense.end() && known->second != size) {
        throw UserError({"the weights and a dense operand disagree about " + name, algorithm.text(),
                         fmt::format("{} in the weights", size), fmt::format("{}", known->second)});
      }
      sizes_.emplace(name, size);
    }
  }

  const Array& source_of(const std::string& name) const {
    const auto found = arguments_.tensors.find(name);
    if (found != arguments_.tensors.end()) return *found->second;
    const Operand* sparse = kernel_.schedule.algorithm().sparse_operand();
    for (const SparseTensor::NamedArray& array : weights_->arrays()) {
      if (array_buffer_name(sparse->name, array.name) == name) return array.array;
    }
    throw InternalError("nothing is bound to " + name);
  }

  void add(const ir::Buffer& buffer, const Array* source) {
    const std::int64_t elements = elements_of(buffer, sizes_);
    check_index_width(kernel_.lowered.program, buffer, elements);
    const std::size_t bytes =
        source != nullptr ? source->bytes() : static_cast<std::size_t>(elements) * size_of(buffer.dtype);
    // A kernel may be handed an empty array, but never a null pointer.
    DeviceMemory memory(device_, std::max<std::size_t>(bytes, 16));
    if (buffer.between_blocks) memory.fill(0);
    if (source != nullptr && bytes > 0) memory.upload(source->data(), bytes);
    state_->names.push_back(buffer.name);
    state_->memory.push_back(std::move(memory));
  }

  void name_buffers() {
    for (std::size_t i = 0; i < state_->names.size(); ++i)
      simulator::name_buffer(device_, state_->memory[i].address(), state_->names[i]);
    simulator::set_origins(device_, kernel_.lowered.program.name, origins_of(kernel_.schedule));
  }

  void prepare_call() {
    for (const DeviceMemory& memory : state_->memory) state_->pointers.push_back(memory.data());
  }

  /// Machine code runs on devices of its own generation only; PTX of an older target runs on every newer one.
  bool runs_cubin() const {
    constexpr int of_generation = 10;
    return device_.is_cuda() && !kernel_.cubin.empty() &&
           device_.description().sm / of_generation == kernel_.target.sm / of_generation;
  }

  void prepare_launch() {
    const ThreadProgram& lowered = kernel_.lowered;
    const Module module = Module::load(device_, runs_cubin() ? kernel_.cubin : kernel_.ptx);
    state_->function = module.function(lowered.program.name);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t blocks = evaluated(lowered.launch.grid[i], sizes_);
      if (blocks > INT32_MAX)
        throw UserError({"the grid is too large", lowered.program.name, std::to_string(blocks),
                         "fewer than 2^31 blocks"});
      state_->shape.grid[i] = static_cast<unsigned>(blocks);
    }
    state_->shape.block = {static_cast<unsigned>(lowered.launch.threads), 1, 1};
    const auto in_image = static_cast<std::int64_t>(state_->function->attributes().static_shared_bytes);
    // Static shared memory is in the image already; what is above its limit is asked for at launch.
    state_->shape.shared_bytes =
        static_cast<std::size_t>(in_image >= lowered.launch.shared_bytes ? 0 : lowered.launch.shared_bytes);
    for (const DeviceMemory& memory : state_->memory) state_->words.push_back(memory.address());
    for (std::size_t i = 0; i < state_->scalars.size(); ++i) {
      const bool wide = lowered.program.scalars[i].dtype == DType::f64;
      state_->words.push_back(wide ? std::bit_cast<std::uint64_t>(state_->scalars[i])
                                   : std::bit_cast<std::uint32_t>(static_cast<float>(state_->scalars[i])));
    }
    for (const std::int64_t extent : state_->extents)
      state_->words.push_back(static_cast<std::uint64_t>(extent));
    for (std::uint64_t& word : state_->words) state_->arguments.push_back(&word);
  }

  const Kernel::State& kernel_;
  const Device& device_;
  const Arguments& arguments_;
  std::shared_ptr<BoundKernel::State> state_;
  ir::Substitution sizes_;
  const SparseTensor* weights_ = nullptr;
};

}  // namespace

BoundKernel Kernel::bind(const Device& device, const Arguments& arguments) const {
  BoundKernel bound;
  bound.state_ = Binder(state_, device, arguments).bind();
  return bound;
}

void Kernel::operator()(const Device& device, const Arguments& arguments) const {
  const BoundKernel bound = bind(device, arguments);
  const Stream stream(device);
  bound.launch(stream);
  wait_for(device, stream);
  const Algorithm& algorithm = state_->schedule.algorithm();
  const std::string& output = algorithm.operands[algorithm.output.operand].name;
  bound.download(output, *arguments.tensors.at(output));
}

void BoundKernel::launch(StreamHandle stream) const {
  if (state_->function) {
    state_->function->launch(state_->shape, state_->arguments, stream);
  } else {
    state_->kernel->cpu->run(state_->pointers, state_->scalars, state_->extents,
                             state_->kernel->options.threads);
  }
}

void BoundKernel::poison_output() const {
  state_->memory[state_->output].poison();
}

void BoundKernel::upload(const std::string& operand, const Array& array) const {
  state_->find(operand).upload(array.data(), array.bytes());
}

void BoundKernel::download(const std::string& operand, Array& array) const {
  if (array.bytes() > 0) state_->find(operand).download(array.data(), array.bytes());
}

std::uint64_t BoundKernel::address(const std::string& operand) const {
  return state_->find(operand).address();
}

}  // namespace weft
