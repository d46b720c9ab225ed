// What a package is made of, found out before any file is printed. For files of this folder.
#pragma once

#include <weft/backends/export/export.h>
#include <weft/backends/llvm/cpu_assembly.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft::exporting {

/// Sizes that a kernel takes.
struct Range {
  std::int64_t least = 1;
  std::int64_t most = 1;
  std::int64_t multiple = 1;
  bool operator==(const Range&) const = default;
  bool has(std::int64_t n) const { return n >= least && n <= most && n % multiple == 0; }
  std::string text() const;  ///< "1 to 512", "multiples of 8 from 8 to 512"
};

/// "1 to 64, and multiples of 8 from 72 to 512"
std::string text_of(const std::vector<Range>& ranges);

/// An array of the packed weights.
struct Tensor {
  std::string name;
  const Array* array = nullptr;
  bool is_values = false;
};

/// One packing of the weights, its arrays by number.
struct Packing {
  const SparseTensor* weights = nullptr;
  std::vector<int> tensors;  ///< in the order of weights->arrays()
  int tensor_of(const std::string& array) const;
};

/// A parameter of a kernel.
struct Parameter {
  enum class From : std::uint8_t { operand, tensor, workspace, scalar, size };
  From from = From::operand;
  int index = 0;             ///< which operand field, tensor, workspace or scalar
  std::int64_t divisor = 1;  ///< what a size is divided by
  int bytes = 8;             ///< as the kernel takes it
};

/// A launch that copies an operand for a kernel.
struct Copying {
  const ThreadProgram* program = nullptr;
  bool is_behind = false;
  std::vector<Parameter> parameters;
};

struct Variant {
  const Kernel* kernel = nullptr;
  Range range;
  bool is_unlimited = false;  ///< the sizes are those that the kernel can index
  std::function<double(std::int64_t size)> microseconds = {};
  std::string symbol;  ///< "sm_80_0", "x86_64_v3_0", "aarch64_0"
  std::vector<Parameter> parameters;
  std::vector<Copying> copying;
  std::vector<ir::BufferRef> workspaces;              ///< those of the program, and the copies of operands
  std::optional<llvm_backend::CpuAssembly> assembly;  ///< for processors alone
  bool has_cubin = false;
  bool has_ptx = false;
};

struct TargetGroup {
  const Target* target = nullptr;
  std::vector<Variant> variants;
  bool is_cpu() const { return !target->is_gpu(); }
  std::string symbol() const;  ///< the target in names of C: "sm_80", "x86_64_v3"
  /// That of ProcessorLevel, 3 of x86-64-v3; -1 of a GPU.
  int level() const;
};

/// A field of the arguments.
struct OperandField {
  std::string field;
  std::size_t operand = 0;  ///< number of the operand in the algorithm
  bool is_output = false;
};
struct ScalarField {
  std::string field;
  std::string name;
  DType dtype = DType::f32;
};

struct Package {
  std::string name;   ///< "ffn"
  std::string upper;  ///< "FFN"
  ExportOptions options;
  Algorithm algorithm;  ///< with the open size named after its field
  std::string size;     ///< the field, empty where all sizes are fixed
  std::vector<Range> ranges;
  std::vector<OperandField> operands;
  std::vector<ScalarField> scalars;
  std::vector<Tensor> tensors;
  std::vector<Packing> packings;  ///< the first is what the reference walks
  std::vector<Packing> aliases;   ///< packings again, for kernels that hold equal weights of their own
  std::vector<TargetGroup> targets;
  bool any_pattern = false;    ///< pack_csr takes any rows, not just those of the packed structure
  bool needs_weights = false;  ///< a kernel reads packed weights
  bool takes_values = false;   ///< every kernel reads the values, so that others may come in their place
  bool embeds_weights = false;

  const Operand& operand(const OperandField& field) const { return algorithm.operands[field.operand]; }
  const SparseTensor& weights() const { return *packings.front().weights; }
  std::int64_t least() const;  ///< the smallest size that is claimed
  std::int64_t most() const;
  bool claims(std::int64_t n) const;
  bool has_cpu() const { return std::ranges::any_of(targets, &TargetGroup::is_cpu); }
  bool has_gpu() const { return !std::ranges::all_of(targets, &TargetGroup::is_cpu); }
  /// Whether launches of some of its kernels overlap.
  bool overlaps() const {
    return std::ranges::any_of(targets, [](const TargetGroup& group) {
      return std::ranges::any_of(group.variants, [](const Variant& variant) {
        return variant.kernel->lowered().program.overlap.has_value();
      });
    });
  }
};

/// UserError as export_package.
Package describe(const std::vector<PackageKernel>& kernels, const ExportOptions& options);

/// Finds the packings of all kernels and whether kernels depend on where the entries are.
void describe_weights(Package& package, const std::vector<PackageKernel>& kernels);

/// Elements of a buffer in a launch of size n.
std::int64_t elements_at(const Kernel& kernel, const ir::Buffer& buffer, std::int64_t n);
/// Blocks of a launch of size n.
std::array<std::int64_t, 3> grid_at(const Kernel& kernel, std::int64_t n);

}  // namespace weft::exporting
