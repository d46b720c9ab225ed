#include <fmt/format.h>
#include <weft/scheduler/ir/transposition.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <utility>

namespace weft::ir {
namespace {

constexpr std::int64_t lanes = 32, most_warps = 8;
constexpr std::int64_t vector_bytes = 16;
constexpr std::int64_t columns_together = 16;  ///< rows of the copy are multiples of it

/// The buffer's memory as a matrix.
BufferRef as_matrix(const Buffer& buffer, std::string name, Access access, Expr rows, Expr columns) {
  auto result = std::make_shared<Buffer>(*make_buffer(std::move(name), buffer.dtype, Scope::global, access,
                                                      {rows, columns}, buffer.non_negative));
  result->tensor = buffer.tensor;
  return result;
}

Expr product(const std::vector<Expr>& extents, std::size_t first, std::size_t end) {
  Expr result = 1;
  for (std::size_t i = first; i < end; ++i) result = result * extents[i];
  return result;
}

/// The two sides of a copy as arguments of its kernel.
struct Sides {
  BufferRef from, to;
};

/// Both as matrices, with the extents of what there is on the side that is read.
Sides sides_of(const Transposition& transposition) {
  const bool out = transposition.is_output;
  const Buffer &given = *transposition.given, &ordered = *transposition.ordered;
  const Expr columns = given.shape[0], rows = product(given.shape, 1, given.shape.size());
  const auto outside = as_matrix(given, given.name, out ? Access::write : Access::read, columns, rows);
  auto inside = std::make_shared<Buffer>(*as_matrix(
      ordered, name_of_copy(transposition), out ? Access::read : Access::write, rows, ordered.shape.back()));
  // What fills up the rows of a result nobody writes.
  if (out) inside->shape.back() = columns;
  return out ? Sides{inside, outside} : Sides{outside, inside};
}

/// What a block of threads copies: so many rows and columns of the copy that kernels read or write.
struct Tile {
  std::int64_t rows = 64, columns = 64;
};

/// Rows of `from` that are few are all in a tile, which is as long then as the GPU has blocks for.
Tile tile_of(const Sides& sides, bool is_output) {
  constexpr std::int64_t elements = 64 * 64, enough_blocks = 264;
  const Buffer& outside = is_output ? *sides.to : *sides.from;
  const std::int64_t *columns = integer_value(outside.shape[0]), *rows = integer_value(outside.shape[1]);
  Tile tile;
  if (columns == nullptr || rows == nullptr) return tile;
  while (tile.columns > columns_together && *columns <= tile.columns / 2) tile.columns /= 2;
  while (tile.rows * tile.columns < elements && *rows >= 2 * tile.rows * enough_blocks) tile.rows *= 2;
  return tile;
}

/// A tile of `to` that begins at the row and the column: it comes to shared memory by rows of `from` and
/// leaves by those of `to`. Lanes of a warp take two vectors of 16 rows: what they store are whole sectors of
/// 32 bytes, and what they read lies in different banks.
Stmt tile_copied(const Sides& sides, const std::string& name, const Expr& row, const Expr& column,
                 std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t together = 2, rows_at_once = lanes / together;
  const std::int64_t width = vector_bytes / element_bytes(*sides.from);
  const std::int64_t pairs = columns / width / together, parts = pairs * (rows / rows_at_once);
  const std::int64_t warps = std::min(parts, most_warps);
  const auto tile = make_tile(name + ".tile", *sides.from, Scope::shared, {columns, rows + width});
  Copy in{tile, {0, 0}, sides.from, {column, row}, {columns, rows}, -1, false, {}};
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

Stmt tiles_copied(const Sides& sides, const Transposition& transposition) {
  const std::string& name = transposition.given->name;
  Tile tile = tile_of(sides, transposition.is_output);
  // Of an output `to` is what the caller has.
  if (transposition.is_output) std::swap(tile.rows, tile.columns);
  const Expr down = ceil_divide(sides.to->shape[0], tile.rows),
             across = ceil_divide(sides.to->shape[1], tile.columns);
  const Expr number = variable(name + ".block");
  const std::string row = name + ".row", column = name + ".column";
  Stmt body = tile_copied(sides, name, variable(row), variable(column), tile.rows, tile.columns);
  body = let(column, number / down * tile.columns, std::move(body));
  body = let(row, number % down * tile.rows, std::move(body));
  return for_range(number, down * across, LoopKind::block_x, -1, std::move(body));
}

/// Element by element, of buffers of any rank.
Stmt elements_copied(const Transposition& transposition, const BufferRef& copy) {
  const Buffer& given = *transposition.given;
  std::vector<Expr> outside, inside;
  for (std::size_t i = 0; i < given.shape.size(); ++i)
    outside.push_back(variable(given.name + ".copied" + std::to_string(i)));
  inside = outside;
  std::ranges::rotate(inside, inside.begin() + 1);
  const Expr there = outside.front() < given.shape.front();
  Stmt body = transposition.is_output
                  ? store(transposition.given, outside, load(copy, inside))
                  : if_then(there, store(copy, inside, load(transposition.given, outside)),
                            store(copy, inside, constant(given.dtype, 0)));
  for (std::size_t i = given.shape.size(); i-- > 0;) {
    const bool filled = i == 0 && !transposition.is_output;
    body = for_range(outside[i], filled ? copy->shape.back() : given.shape[i], LoopKind::serial, -1,
                     std::move(body));
  }
  return body;
}

}  // namespace

Transposition transposition_of(const BufferRef& given, bool is_output) {
  std::vector<Expr> shape = given->shape;
  std::ranges::rotate(shape, shape.begin() + 1);
  shape.back() = ceil_divide(shape.back(), columns_together) * columns_together;
  auto ordered = std::make_shared<Buffer>(*make_buffer(given->name, given->dtype, Scope::global,
                                                       given->access, std::move(shape), given->non_negative));
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
  result.body = tiles_copied(sides, transposition);
  return result;
}

Program with_copies_inside(Program program) {
  std::vector<Stmt> ahead, behind;
  for (const Transposition& each : std::exchange(program.transposed, {})) {
    auto copy = std::make_shared<Buffer>(*each.ordered);
    copy->name = name_of_copy(each);
    copy->access = Access::read_write;
    program.workspaces.push_back(copy);
    // The kernel's own accesses go to the workspace.
    const auto in_body = std::ranges::find(program.buffers, each.given->name, &Buffer::name);
    program.body = replace_buffer(program.body, *in_body, copy);
    *in_body = each.given;
    (each.is_output ? behind : ahead).push_back(elements_copied(each, copy));
  }
  ahead.push_back(program.body);
  std::ranges::move(behind, std::back_inserter(ahead));
  program.body = block(std::move(ahead));
  return program;
}

}  // namespace weft::ir
