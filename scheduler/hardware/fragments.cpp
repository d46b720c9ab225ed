#include <weft/scheduler/hardware/fragments.h>
#include <weft/scheduler/ir/visit.h>

namespace weft {
namespace {

using ir::LoopRole;

constexpr std::int64_t rows_of_lanes = 8, columns_of_lanes = 4, pair = 2, halves = 2, eight = 8,
                       rows_of_warp = 16;

/// Loops that take the place of one over a tile.
class OfTile {
 public:
  OfTile(const std::string& tile, LoopRole role, int step) : tile_(tile), role_(role), step_(step) {}
  Stmt operator()(const char* what, std::int64_t extent, LoopKind kind, const Stmt& body) const {
    return (*this)(what, extent, kind, body, role_);
  }
  Stmt operator()(const char* what, std::int64_t extent, LoopKind kind, const Stmt& body,
                  LoopRole role) const {
    return ir::for_loop({tile_ + what, ir::integer(0), ir::integer(extent), kind, step_, body, role, tile_});
  }

 private:
  const std::string& tile_;
  LoopRole role_;
  int step_;
};

}  // namespace

std::optional<std::pair<std::string, std::string>> Fragments::tile_of(const std::vector<ir::For>& loops) {
  std::string rows, columns;
  for (const ir::For& loop : loops) {
    if (loop.role == LoopRole::fragment_rows) rows = loop.tile;
    if (loop.role == LoopRole::fragment_columns) columns = loop.tile;
  }
  return rows.empty() || columns.empty() ? std::nullopt : std::optional(std::pair(rows, columns));
}

std::vector<Expr> Fragments::shape() const {
  const auto n = [](std::int64_t number) { return ir::integer(number); };
  return {n(rows / instruction.m),
          n(columns / instruction.n),
          n(instruction.warps),
          n(rows_of_lanes),
          n(columns_of_lanes),
          n(instruction.n / eight),
          n(halves),
          n(pair)};
}

std::vector<Expr> Fragments::place_of(const Expr& row, const Expr& column) const {
  const Expr m = ir::integer(instruction.m), n = ir::integer(instruction.n);
  return {row / m,
          column / n,
          row % m / rows_of_warp,
          row % rows_of_lanes,
          column % eight / pair,
          column % n / eight,
          row % rows_of_warp / rows_of_lanes,
          column % pair};
}

std::vector<Expr> Fragments::place_in_loops() const {
  const Expr warp = instruction.warps > 1 ? ir::variable(row_loop + ".warp") : ir::integer(0);
  return {ir::variable(row_loop + ".tile"),
          ir::variable(column_loop + ".tile"),
          warp,
          ir::variable(row_loop + ".lane"),
          ir::variable(column_loop + ".lane"),
          ir::variable(column_loop + ".eight"),
          ir::variable(row_loop + ".half"),
          ir::variable(column_loop + ".pair")};
}

std::vector<Expr> Fragments::begin_of(const Expr& row_tile, const Expr& column_tile) const {
  std::vector<Expr> place = place_in_loops();
  place[0] = row_tile;
  place[1] = column_tile;
  for (const std::size_t i : {5, 6, 7}) place[i] = ir::integer(0);
  return place;
}

Stmt Fragments::over_rows(const Stmt& body, int step) const {
  const auto variable = [&](const char* what) { return ir::variable(row_loop + what); };
  const bool several = instruction.warps > 1;
  Expr row = variable(".tile") * ir::integer(instruction.m);
  if (several) row = row + variable(".warp") * rows_of_warp;
  row = row + variable(".half") * rows_of_lanes + variable(".lane");
  Stmt result = ir::substitute(body, {{row_loop, row}});
  const OfTile loop(row_loop, LoopRole::rows, step);
  result = loop(".half", halves, LoopKind::serial, result, LoopRole::fragment_rows);
  result = loop(".tile", rows / instruction.m, LoopKind::serial, result);
  result = loop(".lane", rows_of_lanes, LoopKind::lane, result);
  return several ? loop(".warp", instruction.warps, LoopKind::warp, result) : result;
}

Stmt Fragments::over_columns(const Stmt& body, int step) const {
  const auto variable = [&](const char* what) { return ir::variable(column_loop + what); };
  const Expr column = variable(".tile") * ir::integer(instruction.n) + variable(".eight") * eight +
                      variable(".lane") * pair + variable(".pair");
  Stmt result = ir::substitute(body, {{column_loop, column}});
  const OfTile loop(column_loop, LoopRole::output, step);
  result = loop(".pair", pair, LoopKind::vectorized, result, LoopRole::fragment_columns);
  result = loop(".eight", instruction.n / eight, LoopKind::serial, result);
  result = loop(".tile", columns / instruction.n, LoopKind::serial, result);
  return loop(".lane", columns_of_lanes, LoopKind::lane, result);
}

Stmt Fragments::over_threads(const Stmt& body, int step) const {
  const OfTile row(row_loop, LoopRole::rows, step), column(column_loop, LoopRole::output, step);
  const Stmt result =
      row(".lane", rows_of_lanes, LoopKind::lane, column(".lane", columns_of_lanes, LoopKind::lane, body));
  return instruction.warps > 1 ? row(".warp", instruction.warps, LoopKind::warp, result) : result;
}

Expr Fragments::lane() const {
  return ir::variable(row_loop + ".lane") * columns_of_lanes + ir::variable(column_loop + ".lane");
}

}  // namespace weft
