#include <fmt/format.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/check.h>
#include <weft/backends/export/package.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/processor_level.h>
#include <weft/scheduler/ir/operand_copy.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>
#include <utility>

namespace weft::exporting {
namespace {

constexpr std::int64_t most_blocks_across = 65'535;  ///< along y and z
/// Sizes are tried up to here; more elements than a launch could ever have.
constexpr std::int64_t largest_size = std::int64_t{1} << 40;

/// In place of numbers that 64 bits do not hold, which are not computed.
constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

std::int64_t evaluated(const Kernel& kernel, const ir::Expr& expr, std::int64_t n) {
  const Algorithm& algorithm = kernel.schedule().algorithm();
  std::map<std::string, std::int64_t> sizes;
  for (const Operand& operand : algorithm.operands) {
    for (const Extent& extent : operand.shape) {
      if (!extent.is_static()) sizes[extent.name] = n;
    }
  }
  ir::Substitution values;
  for (const auto& [name, value] : launch_sizes(algorithm, nullptr, sizes)) values.emplace(name, value);
  const ir::Expr value = ir::substitute(expr, values);
  const std::int64_t* number = ir::integer_value(value);
  const bool is_known = ir::find_all<ir::Variable>(value, [](const ir::Variable&) { return true; }).empty();
  internal_check(is_known, "a size that is not known at launch: " + ir::print(value));
  return number != nullptr ? *number : beyond;
}

/// Whether the kernel can be launched at this size: blocks and offsets fit their numbers.
bool can_index(const Kernel& kernel, std::int64_t n) {
  const ir::Program& program = kernel.lowered().program;
  const auto grid = grid_at(kernel, n);
  if (grid[0] > INT32_MAX || grid[1] > most_blocks_across || grid[2] > most_blocks_across) return false;
  if (program.index_bits == 64) return true;
  if (n > program.largest_extent) return false;
  for (const auto* list : {&program.buffers, &program.workspaces}) {
    for (const ir::BufferRef& buffer : *list) {
      if (elements_at(kernel, *buffer, n) > INT32_MAX) return false;
    }
  }
  return std::ranges::all_of(program.copied, [&](const ir::OperandCopy& each) {
    return elements_at(kernel, *each.given, n) <= INT32_MAX;
  });
}

/// The open size of the kernels: where it stands in the operands and indices, and what each kernel has there.
class OpenSize {
 public:
  explicit OpenSize(const std::vector<PackageKernel>& kernels) : first_(algorithm_of(kernels.front())) {
    for (const PackageKernel& kernel : kernels) {
      const Algorithm& algorithm = algorithm_of(kernel);
      for (const Place& place : places(first_)) {
        const Extent& extent = at(algorithm, place);
        if (!extent.is_static()) names_.insert(extent.name);
        if (!extent.is_static() || extent != at(first_, place)) open_.insert(place);
      }
    }
    for (const PackageKernel& kernel : kernels) {
      for (const Place& place : open_) {
        if (at(algorithm_of(kernel), place) != of(algorithm_of(kernel)))
          refuse("the kernels of a package differ in several sizes, or leave several to the launch",
                 place_of(kernels, kernel),
                 fmt::format("{} is {} and {} is {}", name_at(place), at(algorithm_of(kernel), place).text(),
                             name_at(*open_.begin()), of(algorithm_of(kernel)).text()),
                 "one size that differs or is open, the same for all of these; the others fixed");
      }
    }
  }

  /// The first kernel's algorithm with the size open under the name of its field.
  Algorithm opened(std::string& field) const {
    Algorithm algorithm = first_;
    if (open_.empty()) return algorithm;
    std::string name = names_.empty() ? std::string("n") : *names_.begin();
    for (std::size_t i = 0; i < first_.indices.size(); ++i) {
      if (names_.empty() && open_.count({indices, i}) != 0) name = first_.indices[i].name;
    }
    field = field_name(name);
    for (const auto& [operand, i] : open_)
      (operand == indices ? algorithm.indices[i].extent : algorithm.operands[operand].shape[i]) =
          Extent::any(field);
    return algorithm;
  }

  /// What the kernel has in place of the open size.
  Extent of(const Algorithm& algorithm) const {
    return open_.empty() ? Extent(1) : at(algorithm, *open_.begin());
  }

 private:
  /// An operand and its dimension, or `indices` and the index.
  using Place = std::pair<std::size_t, std::size_t>;
  static constexpr std::size_t indices = std::numeric_limits<std::size_t>::max();

  static std::vector<Place> places(const Algorithm& algorithm) {
    std::vector<Place> all;
    for (std::size_t i = 0; i < algorithm.operands.size(); ++i) {
      for (std::size_t d = 0; d < algorithm.operands[i].shape.size(); ++d) all.emplace_back(i, d);
    }
    for (std::size_t i = 0; i < algorithm.indices.size(); ++i) all.emplace_back(indices, i);
    return all;
  }

  static const Extent& at(const Algorithm& algorithm, const Place& place) {
    return place.first == indices ? algorithm.indices[place.second].extent
                                  : algorithm.operands[place.first].shape[place.second];
  }

  /// "dimension 2 of B", "index n"
  std::string name_at(const Place& place) const {
    return place.first == indices
               ? "index " + first_.indices[place.second].name
               : fmt::format("dimension {} of {}", place.second + 1, first_.operands[place.first].name);
  }

  const Algorithm& first_;
  std::set<std::string> names_;
  std::set<Place> open_;
};

Range range_of(const PackageKernel& kernel, const Extent& extent, const std::string& where) {
  if (extent.is_static()) return {extent.value, extent.value, 1};
  Range range{kernel.least, kernel.most, extent.multiple};
  const std::int64_t multiple = extent.multiple;
  std::int64_t low = 0;  // in multiples; indexing fails from some size on
  std::int64_t high = largest_size / multiple;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    can_index(kernel.kernel, middle * multiple) ? low = middle : high = middle - 1;
  }
  const bool unlimited = range.most == std::numeric_limits<std::int64_t>::max();
  if (!unlimited && range.most > low * multiple + multiple - 1)
    refuse("a kernel cannot index the sizes that it is for", where, fmt::format("sizes to {}", range.most),
           fmt::format("at most {}", low * multiple));
  if (unlimited) range.most = low * multiple;
  range.most = range.most / multiple * multiple;
  range.least = ceil_divide(std::max<std::int64_t>(1, range.least), multiple) * multiple;
  if (range.least > range.most)
    refuse("a kernel is for no size", where, fmt::format("{} to {}", kernel.least, kernel.most),
           multiple == 1 ? std::string("a range from 1 on whose end is not before its beginning")
                         : fmt::format("a range with a multiple of {} in it", multiple));
  return range;
}

void name_fields(Package& package) {
  std::set<std::string> taken{package.size};
  const auto unique = [&](std::string field) {
    while (!taken.insert(field).second) field += "_";
    return field;
  };
  for (std::size_t i = 0; i < package.algorithm.operands.size(); ++i) {
    const Operand& operand = package.algorithm.operands[i];
    if (operand.storage == Storage::sparse) continue;
    package.operands.push_back({unique(field_name(operand.name)), i, i == package.algorithm.output.operand});
  }
  const DType dtype = package.algorithm.accumulator;
  for (const std::string& scalar : package.algorithm.scalars)
    package.scalars.push_back({unique(field_name(scalar)), scalar, dtype});
}

/// Where the arguments of a variant's kernels come from.
class Parameters {
 public:
  Parameters(const Package& package, const Kernel& kernel, const Packing& packing)
      : package_(package), kernel_(kernel), packing_(packing) {}

  void add_to(Variant& variant) const {
    const ThreadProgram& lowered = kernel_.lowered();
    variant.workspaces = lowered.program.workspaces;
    for (const ir::OperandCopy& each : lowered.program.copied) variant.workspaces.push_back(each.ordered);
    for (const ir::BufferRef& buffer : lowered.program.buffers)
      variant.parameters.push_back(copied(buffer->name) ? copy_of(*copied(buffer->name))
                                                        : given(buffer->name));
    for (std::size_t i = 0; i < lowered.program.workspaces.size(); ++i)
      variant.parameters.push_back({Parameter::From::workspace, static_cast<int>(i)});
    add_numbers(lowered.program, variant.parameters);
    for (const auto* list : {&lowered.ahead, &lowered.behind}) {
      for (const ThreadProgram& copying : *list)
        variant.copying.push_back({&copying, list == &lowered.behind, arguments_of(copying.program)});
    }
  }

 private:
  const ir::Program& program() const { return kernel_.lowered().program; }

  const ir::OperandCopy* copied(const std::string& name) const { return ir::copied_operand(program(), name); }

  Parameter copy_of(const ir::OperandCopy& copy) const {
    const auto number = &copy - program().copied.data();
    return {Parameter::From::workspace,
            static_cast<int>(program().workspaces.size()) + static_cast<int>(number)};
  }

  /// An operand or an array of the weights.
  Parameter given(const std::string& name) const {
    Parameter parameter;
    for (std::size_t i = 0; i < package_.operands.size(); ++i) {
      if (package_.operand(package_.operands[i]).name == name) parameter.index = static_cast<int>(i);
    }
    const std::string& sparse = package_.algorithm.sparse_operand()->name;
    for (const SparseTensor::NamedArray& array : packing_.weights->arrays()) {
      if (array_buffer_name(sparse, array.name) == name)
        parameter = {Parameter::From::tensor, packing_.tensor_of(array.name)};
    }
    return parameter;
  }

  std::vector<Parameter> arguments_of(const ir::Program& copying) const {
    std::vector<Parameter> parameters;
    for (const ir::BufferRef& buffer : copying.buffers)
      parameters.push_back(copied(buffer->name) ? given(buffer->name) : copy_called(buffer->name));
    add_numbers(copying, parameters);
    return parameters;
  }

  Parameter copy_called(const std::string& name) const {
    const auto found = std::ranges::find(program().copied, name, ir::name_of_copy);
    return copy_of(*found);
  }

  void add_numbers(const ir::Program& of, std::vector<Parameter>& parameters) const {
    for (const ir::Variable& scalar : of.scalars) {
      const auto found = std::ranges::find(package_.scalars, scalar.name, &ScalarField::name);
      internal_check(found != package_.scalars.end(),
                     "a scalar that the algorithm does not have: " + scalar.name);
      parameters.push_back({Parameter::From::scalar, static_cast<int>(found - package_.scalars.begin()), 1,
                            static_cast<int>(size_of(scalar.dtype))});
    }
    for (const ir::Variable& extent : of.extents) {
      // What a size of 1'000'000 multiples becomes tells the divisor.
      constexpr std::int64_t probe = std::int64_t{1} << 20;
      parameters.push_back(
          {Parameter::From::size, 0, probe / evaluated(kernel_, ir::variable(extent.name), probe)});
    }
  }

  const Package& package_;
  const Kernel& kernel_;
  const Packing& packing_;
};

const Packing& packing_of(const Package& package, const Kernel& kernel) {
  for (const auto* list : {&package.packings, &package.aliases}) {
    const auto found = std::ranges::find(*list, kernel.schedule().weights(), &Packing::weights);
    if (found != list->end()) return *found;
  }
  return package.packings.front();  // a kernel with its weights in its code reads none
}

/// Kernels of several targets that take what they can index take what all of these can.
void share_limits(std::vector<TargetGroup>& targets) {
  std::size_t count = targets.front().variants.size();
  for (const TargetGroup& group : targets) count = std::min(count, group.variants.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::ranges::all_of(targets, [i](const TargetGroup& g) { return g.variants[i].is_unlimited; }))
      continue;
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const TargetGroup& group : targets) most = std::min(most, group.variants[i].range.most);
    for (TargetGroup& group : targets) group.variants[i].range.most = most;
  }
}

void add_variants(Package& package, const std::vector<PackageKernel>& kernels, const OpenSize& size) {
  for (const PackageKernel& kernel : kernels) {
    const Target* target = exported_target(kernel.kernel);
    auto group = std::ranges::find(package.targets, target, &TargetGroup::target);
    if (group == package.targets.end()) group = package.targets.insert(group, {target, {}});
    Variant variant;
    variant.kernel = &kernel.kernel;
    variant.microseconds = kernel.microseconds;
    const Extent extent = size.of(algorithm_of(kernel));
    variant.is_unlimited = !extent.is_static() && kernel.most == std::numeric_limits<std::int64_t>::max();
    variant.range = range_of(kernel, extent, place_of(kernels, kernel));
    variant.symbol = fmt::format("{}_{}", group->symbol(), group->variants.size());
    group->variants.push_back(variant);
  }
  std::ranges::stable_sort(package.targets, {}, [](const TargetGroup& g) {
    return std::pair(g.level(), 2 * g.target->sm + (g.target->architecture_specific ? 1 : 0));
  });
  share_limits(package.targets);
  for (const Variant& variant : package.targets.front().variants) package.ranges.push_back(variant.range);
  for (const TargetGroup& group : package.targets) {
    std::vector<Range> ranges;
    for (const Variant& variant : group.variants) ranges.push_back(variant.range);
    if (ranges != package.ranges)
      refuse("the targets of a package have kernels for different sizes",
             "export, target " + group.target->name, text_of(ranges),
             fmt::format("{}, as {} has them: each target with the same sizes in the same order",
                         text_of(package.ranges), package.targets.front().target->name));
  }
}

/// PTX for devices that none of the machine code is for; and where there is no machine code.
void choose_ptx(Package& package) {
  bool chosen = false;
  for (TargetGroup& group : package.targets) {
    if (group.is_cpu()) continue;
    const bool lowest = !chosen && !group.target->architecture_specific;
    chosen = chosen || lowest;
    const bool complete = std::ranges::none_of(
        group.variants, [](const Variant& variant) { return variant.kernel->cubin().empty(); });
    for (Variant& variant : group.variants) {
      variant.has_cubin = complete;
      variant.has_ptx = lowest || !complete;
    }
  }
}

}  // namespace

std::string Range::text() const {
  if (least == most) return std::to_string(least);
  if (multiple == 1) return fmt::format("{} to {}", least, most);
  return fmt::format("multiples of {} from {} to {}", multiple, least, most);
}

std::string text_of(const std::vector<Range>& ranges) {
  std::vector<std::string> texts;
  for (const Range& range : ranges) texts.push_back(range.text());
  return fmt::format("{}", fmt::join(texts, ", and "));
}

std::string TargetGroup::symbol() const {
  std::string text = target->name;
  std::ranges::replace(text, '-', '_');
  return text;
}

int TargetGroup::level() const {
  const ProcessorLevel* row = processor_level(target->name);
  return row != nullptr ? row->level : -1;
}

int Packing::tensor_of(const std::string& array) const {
  for (std::size_t i = 0; i < weights->arrays().size(); ++i) {
    if (weights->arrays()[i].name == array) return tensors[i];
  }
  throw InternalError("a packing has no array " + array);
}

std::int64_t Package::least() const {
  return std::ranges::min_element(ranges, {}, &Range::least)->least;
}
std::int64_t Package::most() const {
  return std::ranges::max_element(ranges, {}, &Range::most)->most;
}
bool Package::claims(std::int64_t n) const {
  return std::ranges::any_of(ranges, [n](const Range& range) { return range.has(n); });
}

std::int64_t elements_at(const Kernel& kernel, const ir::Buffer& buffer, std::int64_t n) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    const std::int64_t extent = evaluated(kernel, buffer.shape[i], n);
    if (extent == 0) return 0;
    std::int64_t span = 0;
    if (__builtin_mul_overflow(extent - 1, evaluated(kernel, buffer.strides[i], n), &span) ||
        __builtin_add_overflow(last, span, &last))
      return beyond;
  }
  return last < beyond ? last + 1 : beyond;
}

std::array<std::int64_t, 3> grid_at(const Kernel& kernel, std::int64_t n) {
  const auto& grid = kernel.lowered().launch.grid;
  return {evaluated(kernel, grid[0], n), evaluated(kernel, grid[1], n), evaluated(kernel, grid[2], n)};
}

Package describe(const std::vector<PackageKernel>& kernels, const ExportOptions& options) {
  check_export_options(options);
  check_kernels(kernels);
  Package package;
  package.options = options;
  package.name = options.name;
  for (const char c : package.name)
    package.upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const OpenSize size(kernels);
  package.algorithm = size.opened(package.size);
  name_fields(package);
  add_variants(package, kernels, size);
  choose_ptx(package);
  describe_weights(package, kernels);
  for (TargetGroup& group : package.targets) {
    for (Variant& variant : group.variants) {
      Parameters(package, *variant.kernel, packing_of(package, *variant.kernel)).add_to(variant);
      if (!group.is_cpu()) continue;
      const std::string entry = fmt::format("{}_{}", package.name, variant.symbol);
      variant.assembly = llvm_backend::assembly_for(variant.kernel->lowered(), group.target->processor,
                                                    {entry, package.name + "_parallel_loop"});
    }
  }
  return package;
}

}  // namespace weft::exporting
