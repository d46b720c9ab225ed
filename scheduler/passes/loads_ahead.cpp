#include <weft/scheduler/passes/loads_ahead.h>

#include <algorithm>
#include <utility>

namespace weft::passes {

Stmt loads_ahead(const ir::Buffer& like, std::int64_t rounds, int step, const std::string& name,
                 const ElementRound& element, ir::LoopKind kind) {
  constexpr std::int64_t under_way = 16;
  const Expr one = ir::variable(name + ".load"), some = ir::variable(name + ".round");
  const auto several = [&](const Expr& first, std::int64_t count) {
    if (count == 0) return Stmt();
    const ir::BufferRef loaded =
        ir::make_tile(name + ".loaded", like, ir::Scope::registers, {ir::integer(count)});
    const auto each = [&](Stmt body) {
      return ir::for_loop({name + ".load", ir::integer(0), ir::integer(count), ir::LoopKind::unrolled, step,
                           std::move(body)});
    };
    return ir::allocate(loaded, ir::block({each(ir::store(loaded, {one}, element.load(first + one))),
                                           each(element.store(first + one, ir::load(loaded, {one})))}));
  };
  const std::int64_t full = rounds / under_way;
  return ir::block({full == 0 ? Stmt()
                              : ir::for_loop({name + ".round", ir::integer(0), ir::integer(full), kind, step,
                                              several(some * under_way, under_way)}),
                    several(ir::integer(full * under_way), rounds % under_way)});
}

bool has_elements(const ir::Buffer& buffer) {
  return buffer.name == buffer.tensor || std::ranges::all_of(buffer.shape, [](const Expr& size) {
           const std::int64_t* number = ir::integer_value(size);
           return number != nullptr && *number > 0;
         });
}

Expr moved_inside(const ir::Buffer& buffer, std::size_t dimension, Expr index, const ir::Ranges& ranges) {
  const Expr& size = buffer.shape[dimension];
  if (!ir::always(ir::integer(0) <= index, ranges)) index = ir::maximum(index, ir::integer(0));
  return ir::always(index < size, ranges) ? index : ir::minimum(index, size - 1);
}

}  // namespace weft::passes
