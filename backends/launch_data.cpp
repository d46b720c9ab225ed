#include <fmt/format.h>
#include <weft/backends/launch_data.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/operand_copy.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/program/launch_sizes.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace weft {
namespace {

/// That a grid has room for, on every GPU.
constexpr std::int64_t most_blocks_of_y_and_z = 65'535;

std::int64_t evaluated(const ir::Expr& expr, const ir::Substitution& sizes) {
  const ir::Expr value = ir::substitute(expr, sizes);
  const std::int64_t* number = ir::integer_value(value);
  internal_check(number != nullptr, "a size that is not known at launch");
  return *number;
}

std::int64_t elements_of(const ir::Buffer& buffer, const ir::Substitution& sizes) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    const std::int64_t extent = evaluated(buffer.shape[i], sizes);
    if (extent == 0) return 0;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(extent - 1, evaluated(buffer.strides[i], sizes), &reach) ||
        __builtin_add_overflow(last, reach, &last) || last == std::numeric_limits<std::int64_t>::max())
      throw UserError(fmt::format("{} is larger than any memory", buffer.name), "more than 2^63 elements",
                      "smaller sizes at launch");
  }
  return last + 1;
}

void check_index_width(const ir::Program& program, const ir::Buffer& buffer, std::int64_t elements) {
  if (program.index_bits == 64 || elements <= INT32_MAX) return;
  throw UserError(fmt::format("{} is too large for this kernel", buffer.name), program.name,
                  fmt::format("{} elements, and the kernel indexes with 32 bits", elements),
                  "fewer than 2^31 elements, or sizes that are known when the kernel is compiled");
}

void check_index_width(const ir::Program& program, const std::string& extent, std::int64_t size) {
  if (program.index_bits == 64 || size <= program.largest_extent) return;
  throw UserError(
      fmt::format("the size {} is too large for this kernel", extent), program.name,
      fmt::format("{}, and the kernel indexes with 32 bits", size),
      fmt::format("at most {}, or a size that is known when the kernel is compiled", program.largest_extent));
}

class Collecting {
 public:
  Collecting(const Kernel& kernel, const Arguments& arguments) : kernel_(kernel), arguments_(arguments) {}

  LaunchData operator()() {
    const Algorithm& algorithm = kernel_.schedule().algorithm();
    find_sizes(algorithm);
    const ThreadProgram& lowered = kernel_.lowered();
    const ir::Program& program = lowered.program;
    for (const ir::BufferRef& buffer : program.buffers)
      add(given_of(program, buffer), &source_of(buffer->name));
    for (const ir::BufferRef& buffer : program.workspaces) add(*buffer, nullptr);
    const std::size_t arguments = data_.memory.size();
    for (const ir::OperandCopy& each : program.copied) {
      add(*each.ordered, nullptr);
      data_.memory.back().name = ir::name_of_copy(each);
    }
    const std::string& output = algorithm.operands[algorithm.output.operand].name;
    data_.output = place_of(output);
    add_numbers(program);
    if (!kernel_.target().is_gpu()) return std::move(data_);
    for (const ThreadProgram& copying : lowered.ahead) add_copying(copying);
    LaunchData::Call& call = add_call(lowered);
    for (std::size_t i = 0; i < arguments; ++i) call.memory.push_back(i);
    for (const ir::OperandCopy& each : program.copied)
      call.memory[place_of(each.given->name)] = place_of(ir::name_of_copy(each));
    for (const ThreadProgram& copying : lowered.behind) add_copying(copying);
    return std::move(data_);
  }

 private:
  void find_sizes(const Algorithm& algorithm) {
    weights_ = weights_of(algorithm, kernel_.schedule().weights(), arguments_);
    const auto sizes = check_arguments(algorithm, weights_, arguments_);
    for (const auto& [name, size] : launch_sizes(algorithm, weights_, sizes)) sizes_.emplace(name, size);
  }

  const Array& source_of(const std::string& name) const {
    const auto found = arguments_.tensors.find(name);
    if (found != arguments_.tensors.end()) return *found->second;
    const Operand* sparse = kernel_.schedule().algorithm().sparse_operand();
    for (const SparseTensor::NamedArray& array : weights_->arrays()) {
      if (array_buffer_name(sparse->name, array.name) == name) return array.array;
    }
    throw InternalError("nothing is bound to " + name);
  }

  bool is_coordinates(const std::string& name) const {
    if (weights_ == nullptr || arguments_.tensors.contains(name)) return false;
    return name != array_buffer_name(kernel_.schedule().algorithm().sparse_operand()->name, "values");
  }

  /// The buffer as the caller has it.
  static const ir::Buffer& given_of(const ir::Program& program, const ir::BufferRef& buffer) {
    const ir::OperandCopy* copy = ir::copied_operand(program, buffer->name);
    return copy == nullptr ? *buffer : *copy->given;
  }

  void add(const ir::Buffer& buffer, const Array* source) {
    const std::int64_t elements = elements_of(buffer, sizes_);
    check_index_width(kernel_.lowered().program, buffer, elements);
    const std::size_t bytes =
        source != nullptr ? source->bytes() : static_cast<std::size_t>(elements) * size_of(buffer.dtype);
    data_.memory.push_back({buffer.name, bytes, source, buffer.begins_as_zero, is_coordinates(buffer.name)});
  }

  std::size_t place_of(const std::string& name) const {
    const auto found = std::ranges::find(data_.memory, name, &LaunchData::Memory::name);
    return static_cast<std::size_t>(found - data_.memory.begin());
  }

  void add_numbers(const ir::Program& program) {
    for (const ir::Variable& scalar : program.scalars)
      data_.scalars.push_back(arguments_.scalars.at(scalar.name));
    for (const ir::Variable& extent : program.extents) {
      data_.extents.push_back(evaluated(ir::variable(extent.name), sizes_));
      check_index_width(program, extent.name, data_.extents.back());
    }
  }

  void add_copying(const ThreadProgram& copying) {
    LaunchData::Call& call = add_call(copying);
    for (const ir::BufferRef& buffer : copying.program.buffers) call.memory.push_back(place_of(buffer->name));
  }

  /// Without its memory.
  LaunchData::Call& add_call(const ThreadProgram& kernel) {
    LaunchData::Call& call = data_.calls.emplace_back();
    const Launch& launch = kernel.launch;
    call.function = kernel.program.name;
    for (std::size_t i = 0; i < call.grid.size(); ++i) {
      call.grid[i] = evaluated(launch.grid[i], sizes_);
      if (call.grid[i] > INT32_MAX)
        throw UserError("the grid is too large", call.function, std::to_string(call.grid[i]),
                        "fewer than 2^31 blocks: smaller sizes at launch, or larger tiles of the schedule");
      if (i > 0 && call.grid[i] > most_blocks_of_y_and_z) refuse_blocks_along(i, call.grid[i]);
    }
    call.threads = launch.threads;
    call.shared_bytes = launch.shared_bytes;
    call.overlaps = kernel.program.overlap.has_value();
    for (const ir::Variable& scalar : kernel.program.scalars) {
      const double value = arguments_.scalars.at(scalar.name);
      call.words.push_back(scalar.dtype == DType::f64
                               ? std::bit_cast<std::uint64_t>(value)
                               : std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
    for (const std::int64_t extent : data_.extents) call.words.push_back(static_cast<std::uint64_t>(extent));
    return call;
  }

  /// What the grid of a launch has along y or z is known here at last; the user bound a loop.
  [[noreturn]] void refuse_blocks_along(std::size_t dimension, std::int64_t blocks) const {
    const std::string axis = dimension == 1 ? "block_y" : "block_z";
    const ir::Program& program = kernel_.schedule().program();
    std::string loop = "a loop";
    for (const std::string& name : ir::loop_names(program.body)) {
      if (ir::name_of(ir::find_loop(program.body, name)->kind) == axis) loop = loop_text(name);
    }
    throw UserError("the grid is too large", program.name,
                    fmt::format("{} blocks of {}, which is bound to {}", blocks, loop, axis),
                    fmt::format("at most {} there, by smaller sizes at launch; or .bind({}, block_x), and "
                                "what is bound to block_x to {}",
                                most_blocks_of_y_and_z, loop, axis));
  }

  const Kernel& kernel_;
  const Arguments& arguments_;
  LaunchData data_;
  ir::Substitution sizes_;
  const SparseTensor* weights_ = nullptr;
};

}  // namespace

LaunchData launch_data(const Kernel& kernel, const Arguments& arguments) {
  return Collecting(kernel, arguments)();
}

Module loaded_code(const Kernel& kernel, const Device& device) {
  // Machine code runs on devices of its own generation only; PTX of an older target runs on every newer one.
  constexpr int of_generation = 10;
  const bool runs = device.is_cuda() && !kernel.cubin().empty() &&
                    device.description().sm / of_generation == kernel.target().sm / of_generation;
  return Module::load(device, runs ? kernel.cubin() : kernel.ptx());
}

PreparedLaunch::PreparedLaunch(const Module& code, const LaunchData& data,
                               std::span<const std::uint64_t> addresses) {
  internal_check(addresses.size() == data.memory.size(), "an address for each operand");
  for (const LaunchData::Call& given : data.calls) {
    Call call{code.function(given.function), {}, given.memory, {}, {}};
    for (std::size_t i = 0; i < 3; ++i) call.shape.grid[i] = static_cast<unsigned>(given.grid[i]);
    call.shape.block = {static_cast<unsigned>(given.threads), 1, 1};
    call.shape.overlaps = given.overlaps;
    const auto in_image = static_cast<std::int64_t>(call.function.attributes().static_shared_bytes);
    // Static shared memory is in the image already; what is above its limit is asked for at launch.
    call.shape.shared_bytes =
        static_cast<std::size_t>(in_image >= given.shared_bytes ? 0 : given.shared_bytes);
    for (const std::size_t place : given.memory) call.words.push_back(addresses[place]);
    call.words.insert(call.words.end(), given.words.begin(), given.words.end());
    for (std::uint64_t& word : call.words) call.arguments.push_back(&word);
    calls_.push_back(std::move(call));
  }
}

void PreparedLaunch::replace_address(std::size_t number, std::uint64_t address) {
  for (Call& call : calls_) {
    for (std::size_t i = 0; i < call.memory.size(); ++i)
      if (call.memory[i] == number) call.words[i] = address;
  }
}

void PreparedLaunch::launch(StreamHandle stream) const {
  for (const Call& call : calls_) call.function.launch(call.shape, call.arguments, stream);
}

}  // namespace weft
