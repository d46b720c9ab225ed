#include <fmt/format.h>
#include <weft/backends/launch_data.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/program/launch_sizes.h>

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
    const ir::Program& program = kernel_.lowered().program;
    data_.function = program.name;
    for (const ir::BufferRef& buffer : program.buffers) add(*buffer, &source_of(buffer->name));
    for (const ir::BufferRef& buffer : program.workspaces) add(*buffer, nullptr);
    const std::string& output = algorithm.operands[algorithm.output.operand].name;
    for (std::size_t i = 0; i < data_.memory.size(); ++i) {
      if (data_.memory[i].name == output) data_.output = i;
    }
    add_words(program);
    if (kernel_.target().is_gpu()) add_shape(kernel_.lowered().launch);
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

  void add(const ir::Buffer& buffer, const Array* source) {
    const std::int64_t elements = elements_of(buffer, sizes_);
    check_index_width(kernel_.lowered().program, buffer, elements);
    const std::size_t bytes =
        source != nullptr ? source->bytes() : static_cast<std::size_t>(elements) * size_of(buffer.dtype);
    data_.memory.push_back({buffer.name, bytes, source, buffer.between_blocks, is_coordinates(buffer.name)});
  }

  void add_words(const ir::Program& program) {
    for (const ir::Variable& scalar : program.scalars) {
      const double value = arguments_.scalars.at(scalar.name);
      data_.scalars.push_back(value);
      data_.words.push_back(scalar.dtype == DType::f64
                                ? std::bit_cast<std::uint64_t>(value)
                                : std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
    for (const ir::Variable& extent : program.extents) {
      data_.extents.push_back(evaluated(ir::variable(extent.name), sizes_));
      check_index_width(program, extent.name, data_.extents.back());
      data_.words.push_back(static_cast<std::uint64_t>(data_.extents.back()));
    }
  }

  void add_shape(const Launch& launch) {
    for (std::size_t i = 0; i < data_.grid.size(); ++i) {
      data_.grid[i] = evaluated(launch.grid[i], sizes_);
      if (data_.grid[i] > INT32_MAX)
        throw UserError("the grid is too large", data_.function, std::to_string(data_.grid[i]),
                        "fewer than 2^31 blocks: smaller sizes at launch, or larger tiles of the schedule");
      if (i > 0 && data_.grid[i] > most_blocks_of_y_and_z) refuse_blocks_along(i);
    }
    data_.threads = launch.threads;
    data_.shared_bytes = launch.shared_bytes;
  }

  /// What the grid of a launch has along y or z is known here at last; the user bound a loop.
  [[noreturn]] void refuse_blocks_along(std::size_t dimension) const {
    const std::string axis = dimension == 1 ? "block_y" : "block_z";
    const ir::Program& program = kernel_.schedule().program();
    std::string loop = "a loop";
    for (const std::string& name : ir::loop_names(program.body)) {
      if (ir::name_of(ir::find_loop(program.body, name)->kind) == axis) loop = loop_text(name);
    }
    throw UserError("the grid is too large", data_.function,
                    fmt::format("{} blocks of {}, which is bound to {}", data_.grid[dimension], loop, axis),
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

PreparedLaunch::PreparedLaunch(Function function, const LaunchData& data,
                               std::span<const std::uint64_t> addresses)
    : function_(std::move(function)), words_(addresses.begin(), addresses.end()) {
  internal_check(addresses.size() == data.memory.size(), "an address for each operand");
  for (std::size_t i = 0; i < 3; ++i) shape_.grid[i] = static_cast<unsigned>(data.grid[i]);
  shape_.block = {static_cast<unsigned>(data.threads), 1, 1};
  const auto in_image = static_cast<std::int64_t>(function_.attributes().static_shared_bytes);
  // Static shared memory is in the image already; what is above its limit is asked for at launch.
  shape_.shared_bytes = static_cast<std::size_t>(in_image >= data.shared_bytes ? 0 : data.shared_bytes);
  words_.insert(words_.end(), data.words.begin(), data.words.end());
  for (std::uint64_t& word : words_) arguments_.push_back(&word);
}

}  // namespace weft
