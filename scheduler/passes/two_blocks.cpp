#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/hardware/tensor_nest.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/ring.h>
#include <weft/scheduler/passes/two_blocks.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::passes {
namespace {

constexpr std::int64_t threads_that_copy = 128;
/// The numbers of a list that is gone through.
constexpr const char *first_name = "list.first_of_pairs", *twos_name = "list.twos";

std::optional<TensorNest> nest_of_meaning(const ir::TensorOperation& operation) {
  const ir::Chain chain = ir::chain_of(operation.meaning);
  const auto* store = chain.core.as<ir::Store>();
  return store == nullptr ? std::nullopt : tensor_nest_of(chain.loops, *store);
}

/// Whether blocks may have half of the slots of a tile, and all rows and runs of it that a thread copies are
/// of the same half.
bool is_by_halves(const ir::Copy& copy) {
  if (!copy.inside.defined()) return false;
  const std::vector<Expr> conditions = ir::conjuncts_of(copy.inside);
  const auto found = std::ranges::find_if(
      conditions, [](const Expr& condition) { return bound_of_slots(condition) != nullptr; });
  if (found == conditions.end()) return false;
  const std::int64_t* slots = ir::integer_value(bound_of_slots(*found)->arguments.back());
  const std::int64_t* rows = ir::integer_value(copy.extents.front());
  const auto columns = ir::product_of({copy.extents.begin() + 1, copy.extents.end()});
  if (slots == nullptr || rows == nullptr || !columns) return false;
  const std::int64_t half = *slots / 2, length = gather_runs(copy, {}).length;
  const std::int64_t lanes = std::min(*columns / length, lanes_of_warp);
  if (ir::same(found->as<ir::Binary>()->left, ir::variable(copy.coordinates.front())))
    return half % std::max<std::int64_t>(1, *rows * lanes / threads_that_copy) == 0;
  return half % length == 0 && lanes * length == *columns;
}

/// Whether the copies are those of the blocks' values, of codes that say which slots are kept, and of rows of
/// the dense operand of which a block may have half.
bool are_of_blocks(const Ring& ring, const ir::BufferRef& values, const Expr& codes) {
  return std::ranges::all_of(ring.copies, [&](const ir::Copy& copy) {
    if (!copy.coordinates.empty()) return is_by_halves(copy);
    return copy.destination == values ||
           ir::any<ir::Load>(codes, [&](const ir::Load& load) { return load.buffer == copy.destination; });
  });
}

/// The copy of the values of the loop's blocks; null where the places of a row are not those of a block.
const ir::Copy* copy_of_values(const ir::For& loop, Ring& ring) {
  const Stmt rest = ring_of(loop.body, ring);
  const ir::Copy* found = nullptr;
  ir::each<ir::TensorOperation>(rest, [&](const ir::TensorOperation& operation) {
    const auto nest = nest_of_meaning(operation);
    const auto* kept = nest && nest->slot.defined() ? nest->slot.as<ir::Call>() : nullptr;
    if (kept == nullptr || kept->instruction != kept_slot_behind) return;
    const auto* place = nest->left.indices.back().as<ir::Variable>();
    const auto copy = std::ranges::find(ring.copies, nest->left.buffer, &ir::Copy::destination);
    if (place != nullptr && place->name == nest->depth.name && copy != ring.copies.end() &&
        copy->coordinates.empty() && are_of_blocks(ring, nest->left.buffer, kept->arguments[0]))
      found = &*copy;
  });
  return found;
}

/// Beside the dimensions of what is copied, a tile has one for its buffers, and one more for two blocks.
bool has_room(const ir::Copy& copy) {
  return copy.destination_begin.size() == copy.extents.size() + 2;
}

/// The program's statement with the tile that has room, in whose first half all is that was in the other.
Stmt with_tile(const Stmt& stmt, const ir::BufferRef& from, const ir::BufferRef& to) {
  const auto in_first = [](std::vector<Expr> indices) {
    indices.insert(indices.begin() + 1, 0);
    return indices;
  };
  const Stmt copied = ir::rewrite<ir::Copy>(stmt, [&](const ir::Copy& copy, const Stmt& s) {
    if (copy.destination != from) return s;
    ir::Copy own = copy;
    own.destination = to;
    own.destination_begin = in_first(copy.destination_begin);
    return ir::copy(std::move(own));
  });
  const Stmt read = ir::rewrite<ir::Load>(copied, [&](const ir::Load& load, const Expr& e) {
    return load.buffer == from ? ir::load(to, in_first(load.indices)) : e;
  });
  return ir::rewrite<ir::Allocate>(read, [&](const ir::Allocate& allocation, const Stmt& s) {
    return allocation.buffer == from ? ir::allocate(to, allocation.body) : s;
  });
}

}  // namespace

std::optional<MixedBlocks> mixed_blocks_of(const ir::For& loop) {
  std::optional<MixedBlocks> found;
  ir::each<ir::Call>(loop.body, [&](const ir::Call& call) {
    if (call.instruction != kept_slot_behind) return;
    const auto* block = call.arguments[2].as<ir::Variable>();
    if (block != nullptr && block->name == loop.name && !ir::uses(call.arguments[3], loop.name))
      found = {call.arguments[3]};
  });
  if (!found) return found;
  Ring ring;
  const ir::Copy* copy = copy_of_values(loop, ring);
  if (copy != nullptr && has_room(*copy)) found->values = copy->destination;
  return found;
}

std::optional<ir::Program> with_room_for_two_blocks(ir::Program program) {
  const auto loops = ring_loops(program.body);
  if (loops.size() != 1 || !mixed_blocks_of(*loops.front())) return std::nullopt;
  Ring ring;
  const ir::Copy* copy = copy_of_values(*loops.front(), ring);
  if (copy == nullptr) return std::nullopt;
  const ir::BufferRef values = copy->destination;
  const ir::Buffer& tile = *values;
  std::vector<Expr> shape = tile.shape;
  shape.insert(shape.begin() + 1, 2);
  const auto roomy = ir::make_tile(tile.name, tile, tile.scope, std::move(shape));
  roomy->swizzle = tile.swizzle;
  program.body = with_tile(program.body, values, roomy);
  return program;
}

Stmt of_two_blocks(const Stmt& stmt, const MixedBlocks& mixed) {
  return ir::rewrite<ir::TensorOperation>(stmt, [&](const ir::TensorOperation& operation, const Stmt& s) {
    const auto nest = nest_of_meaning(operation);
    if (!nest || nest->left.buffer != mixed.values) return s;
    const Expr place = ir::variable(nest->depth.name), kept = nest->depth.extent;
    ir::TensorOperation both = operation;
    both.meaning = ir::rewrite<ir::Load>(both.meaning, [&](const ir::Load& load, const Expr& e) {
      if (load.buffer != mixed.values) return e;
      std::vector<Expr> indices = load.indices;
      indices[1] = place / kept;
      indices.back() = place % kept;
      return ir::load(load.buffer, std::move(indices));
    });
    both.meaning = ir::rewrite<ir::For>(both.meaning, [&](const ir::For& loop, const Stmt& each) {
      if (loop.name != nest->depth.name) return each;
      ir::For longer = loop;
      longer.extent = 2 * kept;
      return ir::for_loop(std::move(longer));
    });
    return ir::tensor_operation(std::move(both));
  });
}

Stmt of_kind(const Stmt& stmt, bool keeps_first) {
  return ir::rewrite<ir::Call>(stmt, [&](const ir::Call& call, const Expr& e) {
    if (call.instruction != kept_slot_behind) return e;
    std::vector<Expr> arguments = call.arguments;
    arguments[2] = 0;
    arguments[3] = keeps_first ? 1 : 0;
    return ir::call(call.instruction, call.dtype, std::move(arguments));
  });
}

std::pair<ir::For, ir::For> cut_at(const ir::For& loop, const Expr& first) {
  ir::For keeping_first = loop, of_pairs = loop;
  keeping_first.body = of_kind(loop.body, true);
  of_pairs.body = of_kind(loop.body, false);
  const Expr end = loop.begin + loop.extent;
  of_pairs.begin = ir::minimum(ir::maximum(first, loop.begin), end);
  of_pairs.extent = end - of_pairs.begin;
  keeping_first.extent = of_pairs.begin - loop.begin;
  return {std::move(keeping_first), std::move(of_pairs)};
}

Stmt in_twos(const ir::For& loop, const Stmt& of_two) {
  ir::For twos = loop;
  twos.name = loop.name + ".two";
  twos.begin = 0;
  twos.extent = loop.extent / 2;
  twos.body = ir::let(loop.name, loop.begin + ir::variable(twos.name) * 2, of_kind(of_two, true));
  const Stmt left = ir::let(loop.name, loop.begin + (loop.extent - 1), loop.body);
  return ir::block({ir::for_loop(std::move(twos)), ir::if_then(0 < loop.extent % 2, left)});
}

BlockList BlockList::of(const std::optional<MixedBlocks>& mixed, const Expr& begin, const Expr& extent,
                        const Expr& first) {
  BlockList list{begin, extent, first};
  if (mixed && mixed->takes_two()) list.twos = ir::minimum(ir::maximum(first - begin, 0), extent) / 2;
  return list;
}

BlockList BlockList::named() const {
  BlockList result = *this;
  if (first.defined()) result.first = ir::variable(first_name);
  if (twos.defined()) result.twos = ir::variable(twos_name);
  return result;
}

Stmt BlockList::with_names(Stmt body) const {
  if (twos.defined()) body = ir::let(twos_name, twos, body);
  return first.defined() ? ir::let(first_name, first, body) : body;
}

Expr BlockList::block(const Expr& iteration) const {
  return twos.defined() ? begin + iteration + ir::minimum(iteration, twos) : begin + iteration;
}

Expr BlockList::takes_two(const Expr& iteration) const {
  return twos.defined() ? ir::select(iteration < twos, 1, 0) : Expr(0);
}

}  // namespace weft::passes
