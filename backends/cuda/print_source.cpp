#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/cuda/library_names.h>
#include <weft/backends/cuda/name_values.h>
#include <weft/backends/cuda/print_source.h>
#include <weft/backends/cuda/source_statement.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/print.h>

#include <algorithm>

namespace weft {
namespace cuda {
namespace {

void check(const ThreadProgram& program, const Target& target) {
  const std::string& name = program.program.name;
  if (!target.is_gpu()) throw UserError("CUDA C++ is for GPUs", name, target.name, "sm_75 to sm_120");
  // Compilers of files include the C library, whatever NVRTC does without.
  const std::string_view header = library_header_of(name);
  if (is_reserved(name) || !header.empty())
    throw UserError("CUDA C++ has something else of the kernel's name", "algorithm " + name,
                    header.empty() ? name : fmt::format("{}, a name of {}", name, header),
                    fmt::format("another name for the algorithm, as algorithm(\"{}_layer\", …)", name));
  if (const SourceLength length = source_length(program); !length.is_printable())
    throw UserError(
        "the kernel is too long for CUDA C++", name,
        fmt::format("{} statements and {} loops and conditions, as when values are baked or loops "
                    "unrolled",
                    length.statements, length.branches),
        fmt::format("at most {} statements, and {} of one times the other: compilers of C++ take time that "
                    "grows with the square of a straight line (1638 entries 1.1 s, 6554 entries 16 s). "
                    "Emitter::llvm (--emitter llvm) makes PTX of any length",
                    most_source_statements, most_source_crossings));
  require_instructions(name, program.program.body, target);
}

/// Prints one kernel.
class SourcePrinter {
 public:
  SourcePrinter(const ThreadProgram& program, const Target& target, Helpers& helpers)
      : program_(program),
        target_(target),
        helpers_(helpers),
        expressions_(program, names_, helpers_),
        layout_(shared_layout(program)) {}

  /// What stands behind the comment and the helpers, which it adds to.
  std::string print() {
    const std::string head = signature();
    const std::string body = Statements(names_, helpers_, expressions_, layout_).body(program_.program.body);
    std::string result = constants() + head;
    if (layout_.is_dynamic)
      result += fmt::format("  extern __shared__ __align__({}) unsigned char shared_memory[];\n",
                            layout_.alignment);
    return result + body + "}\n";
  }

  std::string comment(const std::string& computes) {
    std::vector<const ir::Buffer*> read;
    std::vector<const ir::Buffer*> written;
    std::vector<const ir::Buffer*> lent;
    for (const ir::BufferRef& buffer : program_.program.buffers) {
      if (buffer->access != ir::Access::write) read.push_back(buffer.get());
      if (buffer->access != ir::Access::read) written.push_back(buffer.get());
    }
    for (const ir::BufferRef& buffer : program_.program.workspaces) lent.push_back(buffer.get());
    const Launch& launch = program_.launch;
    std::string result = fmt::format("// {}, for {}\n//\n", program_.program.name, target_.name);
    const auto add = [&](std::string_view label, const std::string& text) {
      if (!text.empty()) result += commented(fmt::format("{:<10}", label), text);
    };
    add("computes", computes);
    add("reads", list_of(read));
    add("writes", list_of(written));
    add("lent", list_of(lent));
    add("grid", fmt::format("({}, {}, {}) blocks", expressions_.text(launch.grid[0]),
                            expressions_.text(launch.grid[1]), expressions_.text(launch.grid[2])));
    add("block", fmt::format("{} thread{}", launch.threads, launch.threads == 1 ? "" : "s"));
    if (launch.shared_bytes > 0)
      add("shared", fmt::format("{} bytes, {}", launch.shared_bytes,
                                layout_.is_dynamic ? "given at launch" : "declared below"));
    if (expressions_.can_be_contracted())
      add("compile", "with -fmad=false, or products and sums are rounded once instead of twice");
    return result;
  }

 private:
  std::vector<const ir::Buffer*> arguments() const {
    std::vector<const ir::Buffer*> result;
    for (const auto* list : {&program_.program.buffers, &program_.program.workspaces}) {
      for (const ir::BufferRef& buffer : *list) result.push_back(buffer.get());
    }
    return result;
  }

  std::string signature() {
    std::vector<std::string> parameters;
    for (const ir::Buffer* buffer : arguments()) {
      helpers_.need_type(buffer->dtype);
      parameters.push_back(fmt::format(
          "{}{}* {}{}", buffer->access == ir::Access::read ? "const " : "", type_in_memory(buffer->dtype),
          ir::changes_meanwhile(program_.program, *buffer) ? "" : "__restrict__ ",
          expressions_.name_of(*buffer)));
    }
    for (const ir::Variable& scalar : program_.program.scalars)
      parameters.push_back(expressions_.type_of_value(scalar.dtype) + " " + expressions_.name_of(scalar));
    for (const ir::Variable& extent : program_.program.extents)
      parameters.push_back(expressions_.index_type() + " " + expressions_.name_of(extent));
    std::string bounds = std::to_string(program_.launch.threads);
    if (program_.program.resident_blocks > 0) bounds += fmt::format(", {}", program_.program.resident_blocks);
    const auto& cluster = program_.launch.cluster;
    const std::string together =
        program_.program.cluster ? fmt::format("__cluster_dims__({}) ", fmt::join(cluster, ", ")) : "";
    std::string result = fmt::format("extern \"C\" __global__ void {}__launch_bounds__({}) {}(", together,
                                     bounds, program_.program.name);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      result += (i == 0 ? "\n    " : ",\n    ") + parameters[i];
    return result + ") {\n";
  }

  std::string constants() {
    // More than that is no constant memory.
    constexpr std::size_t most_bytes = 64 * 1024;
    std::size_t bytes = 0;
    for (const ir::ConstantBuffer& constant : program_.program.constants)
      bytes += constant.numbers.size() * sizeof(std::int32_t);
    std::string result;
    for (const ir::ConstantBuffer& constant : program_.program.constants)
      result += wrapped(
          fmt::format("static __{}__ const int {}[{}] = {{{}}};", bytes <= most_bytes ? "constant" : "device",
                      expressions_.name_of(*constant.buffer), constant.numbers.size(),
                      fmt::join(constant.numbers, ", ")),
          0);
    return result.empty() ? result : result + "\n";
  }

  /// "C[12][N]"
  std::string with_shape(const ir::Buffer& buffer) {
    std::string result = expressions_.name_of(buffer);
    for (const ir::Expr& extent : buffer.shape) result += "[" + expressions_.text(extent) + "]";
    return result;
  }

  std::string list_of(const std::vector<const ir::Buffer*>& buffers) {
    std::string result;
    for (const ir::Buffer* buffer : buffers) result += (result.empty() ? "" : ", ") + with_shape(*buffer);
    return result;
  }

  static std::string commented(const std::string& label, const std::string& text) {
    const std::string mark = "//   ";
    std::string lines = wrapped(text, mark.size() + label.size());
    lines.replace(mark.size(), label.size(), label);
    std::string result;
    for (std::size_t begin = 0; begin < lines.size();) {
      const std::size_t end = lines.find('\n', begin);
      result += mark + lines.substr(begin + mark.size(), end - begin - mark.size()) + "\n";
      begin = end + 1;
    }
    return result;
  }

  const ThreadProgram& program_;
  const Target& target_;
  Names names_;
  Helpers& helpers_;
  Expressions expressions_;
  SharedLayout layout_;
};

}  // namespace
}  // namespace cuda

SourceLength source_length(const ThreadProgram& program) {
  return program.program.body.defined() ? cuda::length_written_out(program.program.body) : SourceLength();
}

std::string print_cuda_source(const ThreadProgram& program, const Target& target,
                              const std::string& computes) {
  int index_bits = program.program.index_bits;
  std::vector<std::pair<const ThreadProgram*, std::string>> kernels{{&program, computes}};
  for (const auto* list : {&program.ahead, &program.behind}) {
    for (const ThreadProgram& copying : *list) {
      const auto& buffers = copying.program.buffers;
      kernels.emplace_back(&copying, fmt::format("{} of {}", buffers[1]->name, buffers[0]->name));
      index_bits = std::max(index_bits, copying.program.index_bits);
    }
  }
  cuda::Helpers helpers(index_bits);
  std::string comments, code;
  for (const auto& [kernel, says] : kernels) {
    cuda::check(*kernel, target);
    const ThreadProgram named{cuda::name_values(kernel->program), kernel->launch, kernel->scheduled};
    cuda::SourcePrinter printer(named, target, helpers);
    code += (code.empty() ? "" : "\n") + printer.print();
    comments += printer.comment(says) + "\n";
  }
  return comments + helpers.text() + code;
}

}  // namespace weft
