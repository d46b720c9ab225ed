#include <fmt/format.h>
#include <weft/backends/llvm/launch_limits.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/visit.h>

#include <string>

namespace weft::llvm_backend {
namespace {

constexpr std::uintptr_t argument_alignment = 16;

void check_count(const ir::Program& program, const char* what, std::size_t found, std::size_t wanted) {
  if (found == wanted) return;
  throw UserError(fmt::format("a call of {} with the wrong number of {}", program.name, what),
                  std::to_string(found), std::to_string(wanted));
}

void check_size(const ir::Program& program, const ir::Buffer& buffer, const ir::Substitution& sizes) {
  const std::int64_t limit = program.index_bits == 32 ? ir::largest_32_bit_extent : INT64_MAX;
  std::int64_t elements = 1;
  for (const ir::Expr& extent : buffer.shape) {
    const ir::Expr known = ir::substitute(extent, sizes);
    const std::int64_t* size = ir::integer_value(known);
    internal_check(size != nullptr, "the shape of " + buffer.name + " holds more than the program's extents");
    if (__builtin_mul_overflow(elements, *size, &elements) || elements > limit)
      throw UserError(fmt::format("{} of {} is too large for {}-bit indices", buffer.name, program.name,
                                  program.index_bits),
                      "more elements, at the sizes of this launch",
                      fmt::format("at most {} elements", limit));
  }
}

}  // namespace

void check_launch(const ir::Program& program, std::span<void* const> buffers, std::size_t scalars,
                  std::span<const std::int64_t> extents) {
  check_count(program, "buffers", buffers.size(), program.buffers.size() + program.workspaces.size());
  check_count(program, "scalars", scalars, program.scalars.size());
  check_count(program, "extents", extents.size(), program.extents.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const bool argument = i < program.buffers.size();
    const ir::Buffer& buffer =
        *(argument ? program.buffers[i] : program.workspaces[i - program.buffers.size()]);
    if (buffers[i] == nullptr || reinterpret_cast<std::uintptr_t>(buffers[i]) % argument_alignment != 0)
      throw UserError(fmt::format("{} of {} cannot be used where it lies", buffer.name, program.name),
                      buffers[i] == nullptr ? "a null pointer" : fmt::format("{}", buffers[i]),
                      fmt::format("an address that is a multiple of {}", argument_alignment));
  }
  if (extents.empty()) return;
  ir::Substitution sizes;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::string& name = program.extents[i].name;
    const bool fits = program.index_bits == 64 || extents[i] <= program.largest_extent;
    if (extents[i] < 1 || !fits)
      throw UserError(fmt::format("the size {} of {} is out of range", name, program.name),
                      std::to_string(extents[i]),
                      fits ? "at least 1" : fmt::format("at most {}", program.largest_extent));
    sizes[name] = extents[i];
  }
  for (const auto* list : {&program.buffers, &program.workspaces}) {
    for (const ir::BufferRef& buffer : *list) check_size(program, *buffer, sizes);
  }
}

}  // namespace weft::llvm_backend
