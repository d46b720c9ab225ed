#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/padded_tile.h>

#include <algorithm>
#include <optional>

namespace weft::steps {
namespace {

using ir::Expr;

/// The only copy into the tile, where nothing else writes there.
std::optional<ir::Copy> only_copy_into(const ir::Program& program, const ir::BufferRef& tile) {
  const auto copies =
      ir::find_all<ir::Copy>(program.body, [&](const ir::Copy& copy) { return copy.destination == tile; });
  const bool one = copies.size() == 1 && !ir::stores_to(program.body, tile) &&
                   copies.front()->destination_begin.size() == copies.front()->source_begin.size();
  return one ? std::optional(*copies.front()) : std::nullopt;
}

/// An element of a tile, and where in the operand it comes from.
class PaddedElement {
 public:
  PaddedElement(const ir::Copy& copy, const ir::Load& load, const Coordinates& coordinates, ir::Ranges ranges)
      : copy_(copy), coordinates_(coordinates), ranges_(std::move(ranges)) {
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      const Expr place = load.indices[i] - copy.destination_begin[i];
      copied_ = copied_ && holds(ir::integer(0) <= place) && holds(place < copy.extents[i]);
      sources_.push_back(ir::linear(place + copy.source_begin[i]).expr());
    }
  }

  /// Whether the copy filled the place, whatever the loops and coordinates are.
  bool is_copied() const { return copied_; }

  /// Whether the element lies outside of the operand where the comparison does not hold.
  bool is_bound(const Expr& comparison) const {
    const auto bound = ir::bound_of(comparison);
    if (!bound) return false;
    const Expr index = ir::linear(bound->index).expr();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (ir::same(index, sources_[i]) &&
          (!bound->end.defined() || ir::same(bound->end, copy_.source->shape[i])))
        return true;
    }
    return false;
  }

 private:
  bool holds(const Expr& condition) {
    const Expr named = coordinates_.named(condition, ranges_);
    return ir::always(named, ranges_);
  }

  const ir::Copy& copy_;
  const Coordinates& coordinates_;
  ir::Ranges ranges_;
  std::vector<Expr> sources_;
  bool copied_ = true;
};

}  // namespace

NeededConditions needed_conditions(const ir::Program& program, const Coordinates& coordinates,
                                   const std::vector<Expr>& conditions, const Expr& value) {
  const NeededConditions all{conditions, {}};
  const auto loads = ir::find_all<ir::Load>(
      value, [](const ir::Load& load) { return load.buffer->scope == ir::Scope::shared; });
  if (loads.size() != 1) return all;
  const auto copy = only_copy_into(program, loads.front()->buffer);
  if (!copy) return all;
  const PaddedElement element(*copy, *loads.front(), coordinates, ir::loop_ranges(program.body));
  if (!element.is_copied()) return all;
  NeededConditions result;
  for (const Expr& condition : conditions) {
    for (const Expr& part : ir::conjuncts_of(condition))
      (element.is_bound(part) ? result.of_padding : result.needed).push_back(part);
  }
  return result;
}

}  // namespace weft::steps
