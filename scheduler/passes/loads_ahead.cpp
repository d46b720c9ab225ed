#include <weft/scheduler/passes/loads_ahead.h>

#include <algorithm>
#include <utility>

namespace weft::passes {

Stmt loads_ahead(const ir::Copy& copy, std::int64_t rounds, const std::string& name,
                 const ElementRound& element, ir::LoopKind kind) {
  constexpr std::int64_t under_way = 16;
  const Expr one = ir::variable(name + ".load"), some = ir::variable(name + ".round");
  const auto several = [&](const Expr& first, std::int64_t count) {
    if (count == 0) return Stmt();
    const ir::BufferRef loaded =
        ir::make_tile(name + ".loaded", *copy.source, ir::Scope::registers, {ir::integer(count)});
    const auto each = [&](Stmt body) {
      return ir::for_loop({name + ".load", ir::integer(0), ir::integer(count), ir::LoopKind::unrolled,
                           copy.step, std::move(body)});
    };
    const Expr round = first + one;
    const Expr kept =
        ir::select(element.inside(round), ir::load(loaded, {one}), ir::zero_of(copy.destination->dtype));
    return ir::allocate(loaded,
                        ir::block({each(ir::store(loaded, {one}, ir::load(copy.source, element.from(round)))),
                                   each(ir::store(copy.destination, element.to(round), kept))}));
  };
  const std::int64_t full = rounds / under_way;
  return ir::block({full == 0 ? Stmt()
                              : ir::for_loop({name + ".round", ir::integer(0), ir::integer(full), kind,
                                              copy.step, several(some * under_way, under_way)}),
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
