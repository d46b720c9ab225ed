#include <fmt/format.h>
#include <weft/scheduler/ir/transposition.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <utility>

namespace weft::ir {
namespace {

constexpr std::int64_t tile_side = 64, warps = 8, lanes = 32;
constexpr std::int64_t vector_bytes = 16;

BufferRef named(const Buffer& buffer, std::string name, Access access) {
  auto result = std::make_shared<Buffer>(buffer);
  result->name = std::move(name);
  result->access = access;
  result->streams = false;
  return result;
}

/// The two sides of a copy as arguments of its kernel.
struct Sides {
  BufferRef from, to;
};

Sides sides_of(const Transposition& transposition) {
  const Access read = Access::read, write = Access::write;
  const bool out = transposition.is_output;
  const Buffer& given = *transposition.given;
  Buffer ordered = *transposition.ordered;
  // What fills up the rows of a result nobody writes.
  if (out) ordered.shape = {given.shape[1], given.shape[0]};
  const BufferRef outside = named(given, given.name, out ? write : read);
  const BufferRef inside = named(ordered, name_of_copy(transposition), out ? read : write);
  return out ? Sides{inside, outside} : Sides{outside, inside};
}

/// A tile of `to` that begins at the row and the column: it comes to shared memory by rows of `from` and
/// leaves by those of `to`. Lanes of a warp take two vectors of 16 rows: what they store are whole sectors of
/// 32 bytes, and what they read lies in different banks.
Stmt tile_copied(const Sides& sides, const std::string& name, const Expr& row, const Expr& column) {
  constexpr std::int64_t together = 2, rows_at_once = lanes / together;
  const std::int64_t width = vector_bytes / element_bytes(*sides.from);
  const std::int64_t pairs = tile_side / width / together, parts = pairs * (tile_side / rows_at_once);
  const auto tile = make_tile(name + ".tile", *sides.from, Scope::shared, {tile_side, tile_side + width});
  Copy in{tile, {0, 0}, sides.from, {column, row}, {tile_side, tile_side}, -1, false, {}};
  const Expr warp = variable(name + ".warp"), lane = variable(name + ".lane"),
             turn = variable(name + ".turn"), element = variable(name + ".element");
  const Expr part = turn * warps + warp;
  const Expr below = part / pairs * rows_at_once + lane / together;
  const Expr beside = (part % pairs * together + lane % together) * width + element;
  const std::vector<Expr> place{row + below, column + beside};
  Stmt out = if_all({place[0] < sides.to->shape[0], place[1] < sides.to->shape[1]},
                    store(sides.to, place, load(tile, {beside, below})));
  out = for_range(element, width, LoopKind::vectorized, -1, std::move(out));
  out = for_range(turn, parts / warps, LoopKind::unrolled, -1, std::move(out));
  out = for_range(lane, lanes, LoopKind::lane, -1, std::move(out));
  out = for_range(warp, warps, LoopKind::warp, -1, std::move(out));
  return allocate(tile, block({copy(std::move(in)), std::move(out)}));
}

Stmt tiles_copied(const Sides& sides, const std::string& name) {
  const Expr down = ceil_divide(sides.to->shape[0], tile_side),
             across = ceil_divide(sides.to->shape[1], tile_side);
  const Expr number = variable(name + ".block");
  const std::string row = name + ".row", column = name + ".column";
  Stmt body = tile_copied(sides, name, variable(row), variable(column));
  body = let(column, number / down * tile_side, std::move(body));
  body = let(row, number % down * tile_side, std::move(body));
  return for_range(number, down * across, LoopKind::block_x, -1, std::move(body));
}

Stmt elements_copied(const Sides& sides, const Transposition& transposition) {
  const std::string& name = transposition.given->name;
  const Expr row = variable(name + ".row"), column = variable(name + ".column");
  const Buffer& to = *sides.to;
  const Stmt zero = store(sides.to, {row, column}, constant(to.dtype, 0));
  Stmt body =
      if_then(column < sides.from->shape[0], store(sides.to, {row, column}, load(sides.from, {column, row})),
              transposition.is_output ? Stmt() : zero);
  body = for_range(column, to.shape[1], LoopKind::serial, -1, std::move(body));
  return for_range(row, to.shape[0], LoopKind::serial, -1, std::move(body));
}

}  // namespace

Transposition transposition_of(const BufferRef& given, bool is_output) {
  const Expr columns = ceil_divide(given->shape[0], tile_side) * tile_side;
  auto ordered =
      std::make_shared<Buffer>(*make_buffer(given->name, given->dtype, Scope::global, given->access,
                                            {given->shape[1], columns}, given->non_negative));
  ordered->tensor = given->tensor;
  return {given, ordered, is_output};
}

std::string name_of_copy(const Transposition& transposition) {
  return transposition.given->name + ".transposed";
}

Expr asked_of_copy(const std::vector<Transposition>& transposed, const std::vector<Expr>& indices,
                   const BufferRef& buffer, const Expr& condition) {
  const auto* less = as_binary(condition, BinaryOperator::less);
  const auto found = std::ranges::find_if(transposed, [&](const Transposition& each) {
    return each.ordered->name == buffer->name && !each.is_output;
  });
  if (less == nullptr || found == transposed.end() || !same(less->left, indices.back()) ||
      !same(less->right, found->given->shape[0]))
    return condition;
  return less->left < buffer->shape.back();
}

Program copying_program(const Program& program, const Transposition& transposition, std::size_t number) {
  const Sides sides = sides_of(transposition);
  Program result;
  result.name = fmt::format("{}_transpose_{}", program.name, number);
  result.buffers = {sides.from, sides.to};
  result.extents = program.extents;
  result.index_bits = program.index_bits;
  result.largest_extent = program.largest_extent;
  result.body = tiles_copied(sides, transposition.given->name);
  return result;
}

Program with_copies_inside(Program program) {
  std::vector<Stmt> ahead, behind;
  for (const Transposition& each : std::exchange(program.transposed, {})) {
    const Sides sides = sides_of(each);
    const BufferRef& copy = each.is_output ? sides.from : sides.to;
    const auto both = named(*copy, copy->name, Access::read_write);
    program.workspaces.push_back(both);
    // The kernel's own accesses go to the workspace.
    const auto in_body = std::ranges::find_if(
        program.buffers, [&](const BufferRef& buffer) { return buffer->name == each.given->name; });
    program.body = replace_buffer(program.body, *in_body, both);
    *in_body = each.given;
    const Sides plain = each.is_output ? Sides{both, each.given} : Sides{each.given, both};
    (each.is_output ? behind : ahead).push_back(elements_copied(plain, each));
  }
  ahead.push_back(program.body);
  std::ranges::move(behind, std::back_inserter(ahead));
  program.body = block(std::move(ahead));
  return program;
}

}  // namespace weft::ir
