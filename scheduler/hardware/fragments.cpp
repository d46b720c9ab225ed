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
  Stmt operator()(const Expr& variable, std::int64_t extent, LoopKind kind, const Stmt& body) const {
    return (*this)(variable, extent, kind, body, role_);
  }
  Stmt operator()(const Expr& variable, std::int64_t extent, LoopKind kind, const Stmt& body,
                  LoopRole role) const {
    return ir::for_range(variable, extent, kind, step_, body, role, tile_);
  }

 private:
  const std::string& tile_;
  LoopRole role_;
  int step_;
};

}  // namespace

FragmentLoops::FragmentLoops(const std::string& rows, const std::string& columns)
    : row_tile(ir::variable(rows + ".tile")),
      warp(ir::variable(rows + ".warp")),
      half(ir::variable(rows + ".half")),
      row_lane(ir::variable(rows + ".lane")),
      column_tile(ir::variable(columns + ".tile")),
      column_lane(ir::variable(columns + ".lane")),
      eight(ir::variable(columns + ".eight")),
      pair(ir::variable(columns + ".pair")) {}

std::optional<std::pair<std::string, std::string>> Fragments::tile_of(const std::vector<ir::For>& loops) {
  std::string rows, columns;
  for (const ir::For& loop : loops) {
    if (loop.role == LoopRole::fragment_rows) rows = loop.tile;
    if (loop.role == LoopRole::fragment_columns) columns = loop.tile;
  }
  return rows.empty() || columns.empty() ? std::nullopt : std::optional(std::pair(rows, columns));
}

std::vector<Expr> Fragments::shape() const {
  return {rows / instruction.m,
          columns / instruction.n,
          instruction.warps,
          rows_of_lanes,
          columns_of_lanes,
          instruction.n / eight,
          halves,
          pair};
}

std::vector<Expr> Fragments::place_of(const Expr& row, const Expr& column) const {
  const Expr m = instruction.m, n = instruction.n;
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
  const FragmentLoops at = loops();
  const Expr warp = instruction.warps > 1 ? at.warp : 0;
  return {at.row_tile, at.column_tile, warp, at.row_lane, at.column_lane, at.eight, at.half, at.pair};
}

std::vector<Expr> Fragments::begin_of(const Expr& row_tile, const Expr& column_tile) const {
  std::vector<Expr> place = place_in_loops();
  place[0] = row_tile;
  place[1] = column_tile;
  for (const std::size_t i : {5, 6, 7}) place[i] = 0;
  return place;
}

Stmt Fragments::over_rows(const Stmt& body, int step) const {
  const FragmentLoops at = loops();
  const bool several = instruction.warps > 1;
  Expr row = at.row_tile * instruction.m;
  if (several) row = row + at.warp * rows_of_warp;
  row = row + at.half * rows_of_lanes + at.row_lane;
  Stmt result = ir::substitute(body, {{row_loop, row}});
  const OfTile loop(row_loop, LoopRole::rows, step);
  result = loop(at.half, halves, LoopKind::serial, result, LoopRole::fragment_rows);
  result = loop(at.row_tile, rows / instruction.m, LoopKind::serial, result);
  result = loop(at.row_lane, rows_of_lanes, LoopKind::lane, result);
  return several ? loop(at.warp, instruction.warps, LoopKind::warp, result) : result;
}

Stmt Fragments::over_columns(const Stmt& body, int step) const {
  const FragmentLoops at = loops();
  const Expr column = at.column_tile * instruction.n + at.eight * eight + at.column_lane * pair + at.pair;
  Stmt result = ir::substitute(body, {{column_loop, column}});
  const OfTile loop(column_loop, LoopRole::output, step);
  result = loop(at.pair, pair, LoopKind::vectorized, result, LoopRole::fragment_columns);
  result = loop(at.eight, instruction.n / eight, LoopKind::serial, result);
  result = loop(at.column_tile, columns / instruction.n, LoopKind::serial, result);
  return loop(at.column_lane, columns_of_lanes, LoopKind::lane, result);
}

Stmt Fragments::over_threads(const Stmt& body, int step) const {
  const FragmentLoops at = loops();
  const OfTile row(row_loop, LoopRole::rows, step), column(column_loop, LoopRole::output, step);
  const Stmt result = row(at.row_lane, rows_of_lanes, LoopKind::lane,
                          column(at.column_lane, columns_of_lanes, LoopKind::lane, body));
  return instruction.warps > 1 ? row(at.warp, instruction.warps, LoopKind::warp, result) : result;
}

Expr Fragments::lane() const {
  return loops().row_lane * columns_of_lanes + loops().column_lane;
}

}  // namespace weft
