#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/shared_arrays.h>

#include <algorithm>

namespace weft {
namespace {

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) {
  return ceil_divide(bytes, unit) * unit;
}

}  // namespace

std::int64_t elements_of_local(const ir::Buffer& buffer) {
  std::int64_t count = 1;
  for (const ir::Expr& extent : buffer.shape) {
    const std::int64_t* value = ir::integer_value(extent);
    internal_check(value != nullptr && *value >= 0, "local array " + buffer.name + " has no constant shape");
    internal_check(!__builtin_mul_overflow(count, *value, &count),
                   "local array " + buffer.name + " is too large");
  }
  return std::max<std::int64_t>(count, 1);
}

std::int64_t shared_alignment_of(const ir::Buffer& buffer) {
  return buffer.swizzle == 0 ? 16 : std::int64_t{128} << buffer.swizzle;
}

std::vector<SharedArray> shared_arrays(const ir::Program& program) {
  std::vector<SharedArray> arrays;
  std::int64_t end = 0;
  ir::each<ir::Allocate>(program.body, [&](const ir::Allocate& allocation) {
    const ir::Buffer& buffer = *allocation.buffer;
    const bool known = std::ranges::find(arrays, &buffer, &SharedArray::buffer) != arrays.end();
    if (buffer.scope != ir::Scope::shared || known) return;
    // An array without elements has an address too.
    const std::int64_t bytes =
        std::max<std::int64_t>(16, rounded_up(*ir::product_of(buffer.shape) * ir::element_bytes(buffer), 16));
    const std::int64_t offset = rounded_up(end, shared_alignment_of(buffer));
    arrays.push_back({&buffer, offset, bytes});
    end = offset + bytes;
  });
  return arrays;
}

std::int64_t shared_bytes_of(const ir::Program& program) {
  const auto arrays = shared_arrays(program);
  return arrays.empty() ? 0 : arrays.back().offset + arrays.back().bytes;
}

}  // namespace weft
