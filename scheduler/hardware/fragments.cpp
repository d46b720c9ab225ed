#include <weft/scheduler/hardware/fragments.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <functional>
#include <ranges>

namespace weft {

using ir::LoopRole;

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

std::vector<Fragments::Digit> Fragments::digits() const {
  const auto& [lane, element, warp] = product.sum.layout;
  const FragmentLoops at = loops();
  return {{at.warp, warp, LoopKind::warp, LoopRole::rows},
          {at.row_lane, lane[1], LoopKind::lane, LoopRole::rows},
          {at.column_lane, lane[0], LoopKind::lane, LoopRole::output},
          {at.eight, element[2], LoopKind::serial, LoopRole::output},
          {at.half, element[1], LoopKind::serial, LoopRole::fragment_rows},
          {at.pair, element[0], LoopKind::vectorized, LoopRole::fragment_columns}};
}

std::vector<Expr> Fragments::shape() const {
  std::vector<Expr> extents{rows / product.m, columns / product.n};
  for (const Digit& digit : digits()) extents.emplace_back(digit.number.extent);
  return extents;
}

std::vector<Expr> Fragments::place_of(const Expr& row, const Expr& column) const {
  std::vector<Expr> place{row / product.m, column / product.n};
  for (const Digit& digit : digits())
    place.push_back((digit.is_of_rows() ? row : column) % (digit.step() * digit.number.extent) /
                    digit.step());
  return place;
}

std::vector<Expr> Fragments::place_in_loops() const {
  std::vector<Expr> place{loops().row_tile, loops().column_tile};
  for (const Digit& digit : digits()) place.push_back(digit.has_loop() ? digit.variable : 0);
  return place;
}

std::vector<Expr> Fragments::begin_of(const Expr& row_tile, const Expr& column_tile) const {
  std::vector<Expr> place{row_tile, column_tile};
  for (const Digit& digit : digits())
    place.push_back(digit.is_of_threads() && digit.has_loop() ? digit.variable : 0);
  return place;
}

Stmt Fragments::loop_over(const Digit& digit, const Stmt& body, int step) const {
  if (!digit.has_loop()) return body;
  return ir::for_range(digit.variable, digit.number.extent, digit.kind, step, body, digit.role,
                       digit.is_of_rows() ? row_loop : column_loop);
}

Stmt Fragments::over(bool of_rows, const Stmt& body, int step) const {
  const std::string& loop = of_rows ? row_loop : column_loop;
  const Expr tile = of_rows ? loops().row_tile : loops().column_tile;
  const std::int64_t size = of_rows ? product.m : product.n;
  std::vector<Digit> own = digits();
  std::erase_if(own, [&](const Digit& digit) { return digit.is_of_rows() != of_rows; });
  std::vector<Digit> summed = own;
  std::ranges::sort(summed, std::greater(), &Digit::step);
  Expr index = tile * size;
  for (const Digit& digit : summed)
    if (digit.has_loop()) index = index + digit.variable * digit.step();
  Stmt result = ir::substitute(body, {{loop, index}});
  // Threads outside of tiles, elements inside.
  const auto first = std::ranges::find_if_not(own, &Digit::is_of_threads);
  for (const Digit& digit : std::views::reverse(std::ranges::subrange(first, own.end())))
    result = loop_over(digit, result, step);
  result = ir::for_range(tile, (of_rows ? rows : columns) / size, LoopKind::serial, step, result,
                         of_rows ? LoopRole::rows : LoopRole::output, loop);
  for (const Digit& digit : std::views::reverse(std::ranges::subrange(own.begin(), first)))
    result = loop_over(digit, result, step);
  return result;
}

Stmt Fragments::over_threads(const Stmt& body, int step) const {
  Stmt result = body;
  const std::vector<Digit> all = digits();
  for (const Digit& digit : std::views::reverse(all))
    if (digit.is_of_threads()) result = loop_over(digit, result, step);
  return result;
}

Expr Fragments::lane() const {
  return loops().row_lane * product.sum.layout.lane[0].extent + loops().column_lane;
}

}  // namespace weft
