#include <fmt/format.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/ir/operand_copy.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/copy_operands.h>
#include <weft/scheduler/passes/gather.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace weft::passes {
namespace {

constexpr std::int64_t lanes = 32, most_warps = 8;

Expr product(const std::vector<Expr>& extents, std::size_t first, std::size_t end) {
  Expr result = 1;
  for (std::size_t i = first; i < end; ++i) result = result * extents[i];
  return result;
}

/// The two sides of a copy as arguments of its kernel, of three dimensions: their first and last ones change
/// places, and the one between them stays.
struct Sides {
  ir::BufferRef from, to;
};

ir::BufferRef seen_as(const ir::Buffer& buffer, std::string name, ir::Access access,
                      std::vector<Expr> shape) {
  auto result = std::make_shared<ir::Buffer>(*ir::make_buffer(
      std::move(name), buffer.dtype, ir::Scope::global, access, std::move(shape), buffer.non_negative));
  result->tensor = buffer.tensor;
  return result;
}

/// With the extents of what there is on the side that is read.
Sides sides_of(const ir::OperandCopy& copy) {
  const bool out = copy.is_output;
  const ir::Buffer &given = *copy.given, &ordered = *copy.ordered;
  const std::size_t last =
      copy.order == ir::CopyOrder::first_innermost_last_outermost ? given.shape.size() - 1 : 1;
  const Expr first = given.shape[0], between = product(given.shape, 1, last),
             rest = product(given.shape, last, given.shape.size());
  const auto outside =
      seen_as(given, given.name, out ? ir::Access::write : ir::Access::read, {first, between, rest});
  auto inside = std::make_shared<ir::Buffer>(*seen_as(ordered, ir::name_of_copy(copy),
                                                      out ? ir::Access::read : ir::Access::write,
                                                      {rest, between, ordered.shape.back()}));
  // What fills up the rows of a result nobody writes.
  if (out) inside->shape.back() = first;
  return out ? Sides{inside, outside} : Sides{outside, inside};
}

/// What a block of threads copies: so many rows and columns of the copy that kernels read or write.
struct Tile {
  std::int64_t rows = 64, columns = 64;
};

/// Rows that are few are all in a tile, which is as long then as the GPU has blocks for.
Tile tile_of(const Sides& sides, bool is_output) {
  constexpr std::int64_t elements = 64 * 64, least_rows = 16, enough_blocks = 2 * measured_processors;
  // Two vectors beside one another, or, of results, the rows that a warp stores at once.
  const std::int64_t least_columns = std::max(least_rows, 2 * ir::elements_of_vector(*sides.from));
  const ir::Buffer& outside = is_output ? *sides.to : *sides.from;
  const std::int64_t *columns = ir::integer_value(outside.shape[0]),
                     *between = ir::integer_value(outside.shape[1]),
                     *rows = ir::integer_value(outside.shape[2]);
  Tile tile;
  if (columns == nullptr || between == nullptr || rows == nullptr) return tile;
  while (tile.columns > least_columns && *columns <= tile.columns / 2) tile.columns /= 2;
  while (tile.rows * tile.columns < elements && *rows >= 2 * tile.rows &&
         *rows * *between >= 2 * tile.rows * enough_blocks)
    tile.rows *= 2;
  return tile;
}

/// Where a tile of `to` begins.
struct Corner {
  Expr row, between, column;
};

/// What a lane does of a part of a tile, of all parts: warps take them in turns.
struct PartsOfTile {
  Expr warp, lane, turn;
  std::int64_t count, warps;

  PartsOfTile(const std::string& name, std::int64_t parts)
      : warp(ir::variable(name + ".warp")),
        lane(ir::variable(name + ".lane")),
        turn(ir::variable(name + ".turn")),
        count(parts),
        warps(std::min(parts, most_warps)) {}

  Expr number() const { return turn * warps + warp; }
  Stmt each(Stmt body) const {
    body = ir::for_range(turn, count / warps, LoopKind::unrolled, -1, std::move(body));
    body = ir::for_range(lane, lanes, LoopKind::lane, -1, std::move(body));
    return ir::for_range(warp, warps, LoopKind::warp, -1, std::move(body));
  }
};

/// Whether the copy is of bytes, in whole words wherever a tile of it begins.
bool is_turned_by_words(const Sides& sides, bool is_output) {
  const std::int64_t* columns = ir::integer_value(sides.to->shape.back());
  return !is_output && ir::element_bytes(*sides.to) == 1 && columns != nullptr &&
         *columns % bytes_of_word == 0;
}

/// How a tile of bytes leaves shared memory: a lane takes words of four rows from four columns, turns them
/// and stores four bytes of each row. Eight lanes beside one another fill a sector of 32 bytes.
Stmt tile_turned(const Sides& sides, const std::string& name, const Corner& corner, const Tile& size,
                 const ir::BufferRef& tile) {
  constexpr std::int64_t together = 8, rows_beside = lanes / together * bytes_of_word,
                         columns_beside = together * bytes_of_word;
  const std::int64_t across = size.columns / columns_beside;
  const PartsOfTile parts(name, across * (size.rows / rows_beside));
  const auto registers = [&](const char* what) {
    return ir::make_buffer(name + what, DType::i32, ir::Scope::registers, ir::Access::read_write,
                           {bytes_of_word});
  };
  const ir::BufferRef words = registers(".words"), turned = registers(".turned");
  const Expr below = parts.number() / across * rows_beside + parts.lane / together * bytes_of_word;
  const Expr beside = parts.number() % across * columns_beside + parts.lane % together * bytes_of_word;
  std::vector<Stmt> loads, stores;
  for (std::int64_t i = 0; i < bytes_of_word; ++i) {
    loads.push_back(
        ir::execute({"load_4_bytes", {{words, {i}, 1}}, {}, {ir::load(tile, {beside + i, 0, below})}}));
    const std::vector<Expr> place{corner.row + below + i, corner.between, corner.column + beside};
    stores.push_back(
        ir::if_all({place[0] < sides.to->shape[0], place[2] < sides.to->shape[2]},
                   ir::execute({"store_word", {}, {{turned, {i}, 1}}, {ir::load(sides.to, place)}})));
  }
  constexpr int count = bytes_of_word;
  Stmt out = ir::block({ir::block(std::move(loads)),
                        ir::execute({"turn_bytes", {{turned, {0}, count}}, {{words, {0}, count}}, {}}),
                        ir::block(std::move(stores))});
  for (const ir::BufferRef& buffer : {words, turned}) out = ir::allocate(buffer, std::move(out));
  return parts.each(std::move(out));
}

/// The tile comes to shared memory by rows of `from` and leaves by those of `to`. Lanes of a warp take two
/// vectors of 16 rows: what they store are whole sectors of 32 bytes, and what they read lies in different
/// banks.
Stmt tile_copied(const Sides& sides, const std::string& name, const Corner& corner, const Tile& size,
                 bool is_output) {
  constexpr std::int64_t together = 2, rows_at_once = lanes / together;
  const std::int64_t width = ir::elements_of_vector(*sides.from);
  const std::int64_t pairs = size.columns / width / together;
  const PartsOfTile parts(name, pairs * (size.rows / rows_at_once));
  const auto tile =
      ir::make_tile(name + ".tile", *sides.from, ir::Scope::shared, {size.columns, 1, size.rows + width});
  ir::Copy in{
      tile, {0, 0, 0}, sides.from, {corner.column, corner.between, corner.row}, {size.columns, 1, size.rows},
      -1,   false,     {}};
  if (is_turned_by_words(sides, is_output))
    return ir::allocate(tile,
                        ir::block({ir::copy(std::move(in)), tile_turned(sides, name, corner, size, tile)}));
  const Expr element = ir::variable(name + ".element");
  const Expr below = parts.number() / pairs * rows_at_once + parts.lane / together;
  const Expr beside = (parts.number() % pairs * together + parts.lane % together) * width + element;
  const std::vector<Expr> place{corner.row + below, corner.between, corner.column + beside};
  Stmt out = ir::if_all({place[0] < sides.to->shape[0], place[2] < sides.to->shape[2]},
                        ir::store(sides.to, place, ir::load(tile, {beside, 0, below})));
  out = ir::for_range(element, width, LoopKind::vectorized, -1, std::move(out));
  return ir::allocate(tile, ir::block({ir::copy(std::move(in)), parts.each(std::move(out))}));
}

Stmt tiles_copied(const Sides& sides, const ir::OperandCopy& copy) {
  const std::string& name = copy.given->name;
  Tile tile = tile_of(sides, copy.is_output);
  // Of an output `to` is what the caller has.
  if (copy.is_output) std::swap(tile.rows, tile.columns);
  const Expr down = ir::ceil_divide(sides.to->shape[0], tile.rows),
             across = ir::ceil_divide(sides.to->shape[2], tile.columns);
  const Expr number = ir::variable(name + ".block");
  const Corner corner{ir::variable(name + ".row"), ir::variable(name + ".between"),
                      ir::variable(name + ".column")};
  Stmt body = tile_copied(sides, name, corner, tile, copy.is_output);
  body = ir::let(name + ".between", number / down / across, std::move(body));
  body = ir::let(name + ".column", number / down % across * tile.columns, std::move(body));
  body = ir::let(name + ".row", number % down * tile.rows, std::move(body));
  return ir::for_range(number, down * across * sides.to->shape[1], LoopKind::block_x, -1, std::move(body));
}

/// The same where no dimension moves, by rows.
Sides rows_of(const ir::OperandCopy& copy) {
  const ir::Buffer &given = *copy.given, &ordered = *copy.ordered;
  const bool out = copy.is_output;
  const Expr rows = product(given.shape, 0, given.shape.size() - 1);
  const auto outside =
      seen_as(given, given.name, out ? ir::Access::write : ir::Access::read, {rows, given.shape.back()});
  const auto inside = seen_as(ordered, ir::name_of_copy(copy), out ? ir::Access::read : ir::Access::write,
                              {rows, ordered.shape.back()});
  return out ? Sides{inside, outside} : Sides{outside, inside};
}

/// Neighbouring lanes copy neighbouring elements of `to`, one row behind the other, each several that lie
/// apart, whose loads are under way together.
Stmt rows_copied(const Sides& sides, const std::string& name) {
  constexpr std::int64_t turns = 8, elements = lanes * most_warps;
  const Expr lane = ir::variable(name + ".lane"), warp = ir::variable(name + ".warp"),
             turn = ir::variable(name + ".turn"), number = ir::variable(name + ".block");
  const Expr &rows = sides.to->shape[0], &columns = sides.to->shape[1];
  const Expr element = (number * turns + turn) * elements + (warp * lanes + lane);
  const Expr row = ir::variable(name + ".row"), column = ir::variable(name + ".column");
  const std::vector<Expr> place{row, column};
  const Expr there = sides.from->shape[1];
  Stmt body = ir::store(sides.to, place, ir::load(sides.from, place));
  if (!ir::same(there, columns))
    body = ir::if_then(column < there, std::move(body),
                       ir::store(sides.to, place, ir::zero_of(sides.to->dtype)));
  body = ir::if_then(row < rows, std::move(body));
  body = ir::let(column.as<ir::Variable>()->name, element % columns, std::move(body));
  body = ir::let(row.as<ir::Variable>()->name, element / columns, std::move(body));
  body = ir::for_range(turn, turns, LoopKind::unrolled, -1, std::move(body));
  body = ir::for_range(lane, lanes, LoopKind::lane, -1, std::move(body));
  body = ir::for_range(warp, most_warps, LoopKind::warp, -1, std::move(body));
  return ir::for_range(number, ir::ceil_divide(rows * columns, turns * elements), LoopKind::block_x, -1,
                       std::move(body));
}

/// Dimensions behind one another as one: where an element of it lies in each of them.
std::vector<Expr> parted(const Expr& place, const std::vector<Expr>& extents) {
  std::vector<Expr> places(extents.size());
  Expr behind = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    places[i] = i == 0 ? place / behind : place / behind % extents[i];
    behind = behind * extents[i];
  }
  return places;
}

bool are_integers(std::span<const Expr> extents) {
  return std::ranges::all_of(extents, [](const Expr& each) { return ir::integer_value(each) != nullptr; });
}

/// What the caller has as [..., first, second] and the kernel as [second, ..., first], each of them one
/// dimension or several behind one another.
struct Turn {
  std::size_t others = 0;    ///< dimensions in front of both
  std::size_t of_first = 1;  ///< dimensions of the first one
};

/// Nothing where what lies behind one another has sizes that a launch says.
std::optional<Turn> turn_of(const ir::OperandCopy& copy) {
  const std::span<const Expr> shape = copy.given->shape;
  switch (copy.order) {
    case ir::CopyOrder::first_innermost:
      return are_integers(shape.subspan(2)) ? std::optional<Turn>({0, 1}) : std::nullopt;
    case ir::CopyOrder::last_outermost: {
      std::size_t others = shape.size() - 2;
      while (others > 0 && ir::integer_value(shape[others]) != nullptr) --others;
      return Turn{others, shape.size() - 1 - others};
    }
    default: return std::nullopt;
  }
}

/// By squares of vectors, which come to a tile by rows of one side and leave it by rows of the other: every
/// line of both is read or written once, wherever rows that follow one another meet in a cache. What fills
/// up the rows of an input's copy becomes zero.
Stmt squares_copied(const ir::OperandCopy& each, const ir::BufferRef& copy, const Turn& turn) {
  constexpr std::int64_t side = 16;
  const std::string& name = each.given->name;
  const ir::BufferRef &from = each.is_output ? copy : each.given, &to = each.is_output ? each.given : copy;
  const auto variable = [&](const std::string& part) { return ir::variable(name + part); };
  const std::vector<Expr>& shape = each.given->shape;
  const auto end_of_first = shape.begin() + static_cast<std::ptrdiff_t>(turn.others + turn.of_first);
  const std::vector<Expr> of_first(shape.begin() + static_cast<std::ptrdiff_t>(turn.others), end_of_first),
      of_second(end_of_first, shape.end());
  std::vector<Expr> other;
  for (std::size_t i = 0; i < turn.others; ++i) other.push_back(variable(fmt::format(".other{}", i)));
  const auto at = [&](const ir::BufferRef& buffer, const Expr& row, const Expr& column) {
    const bool is_copy = buffer == copy;
    std::vector<Expr> place = parted(is_copy ? column : row, of_first);
    const std::vector<Expr> second = parted(is_copy ? row : column, of_second);
    place.insert(place.begin(), other.begin(), other.end());
    place.insert(is_copy ? place.begin() : place.end(), second.begin(), second.end());
    return place;
  };
  const Expr first = product(of_first, 0, of_first.size()), second = product(of_second, 0, of_second.size());
  // The copy may be wider than what is in it.
  const Expr filled = turn.of_first == 1 && !each.is_output ? copy->shape.back() : first;
  const Expr rows = each.is_output ? second : first, columns = each.is_output ? first : second,
             written = each.is_output ? second : filled;
  const Expr down = variable(".down"), across = variable(".across"), row = variable(".row"),
             column = variable(".column");
  const auto tile = ir::make_tile(name + ".square", *from, ir::Scope::shared, {side, side});
  const Expr from_row = down * side + row, from_column = across * side + column;
  const Stmt zero = ir::store(tile, {row, column}, ir::zero_of(tile->dtype));
  Stmt in = ir::if_then(from_column < columns,
                        ir::store(tile, {row, column}, ir::load(from, at(from, from_row, from_column))));
  in = ir::for_range(column, side, LoopKind::vectorized, -1, std::move(in));
  in = ir::if_then(from_row < rows, std::move(in),
                   ir::for_range(column, side, LoopKind::vectorized, -1, zero));
  in = ir::for_range(row, side, LoopKind::serial, -1, std::move(in));
  Stmt out = ir::if_then(from_row < written,
                         ir::store(to, at(to, from_column, from_row), ir::load(tile, {row, column})));
  out = ir::for_range(row, side, LoopKind::vectorized, -1, std::move(out));
  out = ir::if_then(from_column < columns, std::move(out));
  out = ir::for_range(column, side, LoopKind::serial, -1, std::move(out));
  Stmt body = ir::allocate(tile, ir::block({std::move(in), std::move(out)}));
  // Squares of a few pixels or rows of a matrix follow one another, whichever side they are read from: what
  // the caller has of them lies together. Threads share these, or lines of images.
  const std::int64_t* const few = ir::integer_value(first);
  const bool is_one = few != nullptr && *few <= side, goes_down = is_one == each.is_output;
  const auto kind_of = [&](bool is_last) { return is_last ? LoopKind::parallel : LoopKind::serial; };
  const auto along = [&](bool is_down, bool is_outer) {
    body = ir::for_range(is_down ? down : across, ir::ceil_divide(is_down ? written : columns, side),
                         kind_of(is_outer && turn.others == 0), -1, std::move(body));
  };
  along(!goes_down, false);
  along(goes_down, true);
  for (std::size_t i = turn.others; i-- > 0;)
    body = ir::for_range(other[i], shape[i], kind_of(i + 1 == turn.others), -1, std::move(body));
  return body;
}

/// Element by element, of buffers of any rank.
Stmt elements_copied(const ir::OperandCopy& each, const ir::BufferRef& copy) {
  const ir::Buffer& given = *each.given;
  const std::size_t innermost = ir::innermost_of(each);
  std::vector<Expr> outside;
  for (std::size_t i = 0; i < given.shape.size(); ++i)
    outside.push_back(ir::variable(given.name + ".copied" + std::to_string(i)));
  const std::vector<Expr> inside = ir::in_order(outside, each.order);
  const Expr there = outside[innermost] < given.shape[innermost];
  Stmt body = each.is_output ? ir::store(each.given, outside, ir::load(copy, inside))
                             : ir::if_then(there, ir::store(copy, inside, ir::load(each.given, outside)),
                                           ir::store(copy, inside, ir::zero_of(given.dtype)));
  for (std::size_t i = given.shape.size(); i-- > 0;) {
    const bool filled = i == innermost && !each.is_output;
    body = ir::for_range(outside[i], filled ? copy->shape.back() : given.shape[i], LoopKind::serial, -1,
                         std::move(body));
  }
  return body;
}

}  // namespace

ir::Program copying_program(const ir::Program& program, const ir::OperandCopy& copy, std::size_t number) {
  const bool by_rows = copy.order == ir::CopyOrder::none;
  const Sides sides = by_rows ? rows_of(copy) : sides_of(copy);
  ir::Program result;
  result.name = fmt::format("{}_{}_{}", program.name, by_rows ? "align" : "transpose", number);
  result.buffers = {sides.from, sides.to};
  result.extents = program.extents;
  result.index_bits = program.index_bits;
  result.largest_extent = program.largest_extent;
  result.overlap = program.overlap;
  result.body = by_rows ? rows_copied(sides, copy.given->name) : tiles_copied(sides, copy);
  return result;
}

ir::Program with_copies_inside(ir::Program program) {
  std::vector<Stmt> ahead, behind;
  for (const ir::OperandCopy& each : std::exchange(program.copied, {})) {
    auto copy = std::make_shared<ir::Buffer>(*each.ordered);
    copy->name = ir::name_of_copy(each);
    copy->access = ir::Access::read_write;
    program.workspaces.push_back(copy);
    // The kernel's own accesses go to the workspace.
    const auto in_body = std::ranges::find(program.buffers, each.given->name, &ir::Buffer::name);
    program.body = ir::replace_buffer(program.body, *in_body, copy);
    *in_body = each.given;
    const std::optional<Turn> turn = turn_of(each);
    (each.is_output ? behind : ahead)
        .push_back(turn ? squares_copied(each, copy, *turn) : elements_copied(each, copy));
  }
  ahead.push_back(program.body);
  std::ranges::move(behind, std::back_inserter(ahead));
  program.body = ir::block(std::move(ahead));
  return program;
}

}  // namespace weft::passes
