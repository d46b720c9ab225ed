#include <weft/scheduler/steps/parts/stitched_tile.h>

#include <algorithm>
#include <ranges>
#include <string>

namespace weft::steps {

using ir::Expr;

void StitchedTile::Side::add(const ir::For& loop, std::int64_t iterations) {
  loops.push_back(loop);
  extent *= iterations;
}

bool StitchedTile::Side::is_used_by(const Expr& index) const {
  return std::ranges::any_of(loops, [&](const ir::For& each) { return ir::uses(index, each.name); });
}

Expr StitchedTile::Side::number(const ir::Substitution& names) const {
  Expr result = 0;
  for (const ir::For& loop : loops)
    result = result * loop.extent + ir::substitute(ir::variable(loop.name), names);
  return result;
}

void StitchedTile::add_row(const ir::For& loop, std::int64_t extent) {
  rows_.add(loop, extent);
}

void StitchedTile::add_column(const ir::For& loop, std::int64_t extent) {
  columns_.add(loop, extent);
}

bool StitchedTile::has(const std::string& loop) const {
  const auto is_in = [&](const Side& side) {
    return std::ranges::find(side.loops, loop, &ir::For::name) != side.loops.end();
  };
  return is_in(rows_) || is_in(columns_);
}

void StitchedTile::lay_out(const std::vector<Expr>& indices, std::int64_t element_bytes) {
  const auto is_looked_up = [&](const Expr& index) {
    return ir::any<ir::Load>(index, [&](const ir::Load& load) {
      return std::ranges::any_of(load.indices, [&](const Expr& each) { return rows_.is_used_by(each); });
    });
  };
  const Expr& last = indices.back();
  const bool is_number = last.as<ir::Load>() != nullptr;
  const bool is_along_memory =
      (!is_looked_up(last) || is_number) && rows_.is_used_by(last) && !columns_.is_used_by(last);
  along_rows_ = is_along_memory || (element_bytes == 1 && std::ranges::any_of(indices, is_looked_up));
  line_ = along().extent;
  for (const int swizzle : {3, 2, 1}) {
    const std::int64_t elements = (std::int64_t{16} << swizzle) / element_bytes;
    if (elements == 0 || along().extent % elements != 0) continue;
    line_ = elements;
    swizzle_ = swizzle;
    return;
  }
}

std::vector<Expr> StitchedTile::shape(std::int64_t buffers) const {
  std::vector<Expr> result{along().extent / line_, across().extent, line_};
  if (buffers > 1) result.insert(result.begin(), buffers);
  return result;
}

std::vector<Expr> StitchedTile::place(const ir::Substitution& names, const Expr& buffer,
                                      std::int64_t buffers) const {
  const Expr number = along().number(names);
  const bool one = along().extent == line_;
  std::vector<Expr> result{one ? 0 : number / line_, across().number(names), one ? number : number % line_};
  if (buffers > 1) result.insert(result.begin(), buffer);
  return result;
}

ir::Substitution StitchedTile::add_coordinates(ir::Copy& copy) const {
  ir::Substitution renamed;
  const auto add = [&](const std::string& name, const Expr& extent) {
    copy.coordinates.push_back(name + ".stitched");
    copy.extents.push_back(extent);
    return ir::variable(copy.coordinates.back());
  };
  if (along_rows_) {
    const std::string& outermost = columns_.loops.front().name;
    Expr number = add(outermost, columns_.extent);
    for (const ir::For& each : std::views::reverse(columns_.loops)) {
      renamed[each.name] = each.name == outermost ? number : number % each.extent;
      number = number / each.extent;
    }
  } else {
    for (const ir::For& each : rows_.loops) renamed[each.name] = add(each.name, each.extent);
  }
  for (const ir::For& each : along().loops) renamed[each.name] = add(each.name, each.extent);
  return renamed;
}

}  // namespace weft::steps
