#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/padded_tile.h>

#include <algorithm>
#include <optional>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

/// The only copy into the tile, where nothing else writes there.
std::optional<ir::Copy> only_copy_into(const ir::Program& program, const ir::BufferRef& tile) {
  std::vector<ir::Copy> copies;
  bool others = false;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* copy = s.as<ir::Copy>();
    if (copy != nullptr && copy->destination == tile) copies.push_back(*copy);
    const auto* store = s.as<ir::Store>();
    others = others || (store != nullptr && store->buffer == tile);
  });
  const bool one = copies.size() == 1 && !others &&
                   copies.front().destination_begin.size() == copies.front().source_begin.size();
  return one ? std::optional(copies.front()) : std::nullopt;
}

/// The ranges of all loops whose ends are constants.
ir::Ranges loop_ranges(const ir::Program& program) {
  ir::Ranges ranges;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    const std::int64_t* begin = loop == nullptr ? nullptr : ir::integer_value(loop->begin);
    const std::int64_t* extent = loop == nullptr ? nullptr : ir::integer_value(loop->extent);
    if (begin != nullptr && extent != nullptr && *extent > 0)
      ranges[loop->name] = {*begin, *begin + *extent - 1};
  });
  return ranges;
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
    const auto* compare = comparison.as<ir::Binary>();
    if (compare == nullptr || is_float(compare->left.dtype())) return false;
    const std::int64_t* zero = ir::integer_value(compare->left);
    const bool lower = compare->op == ir::BinaryOperator::less_equal && zero != nullptr && *zero == 0;
    if (!lower && compare->op != ir::BinaryOperator::less) return false;
    const Expr index = ir::linear(lower ? compare->right : compare->left).expr();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (ir::same(index, sources_[i]) && (lower || ir::same(compare->right, copy_.source->shape[i])))
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

/// The tiles in shared memory that are read.
std::vector<const ir::Load*> tiles_read(const Expr& value) {
  std::vector<const ir::Load*> loads;
  ir::visit(value, [&](const Expr& e) {
    const auto* load = e.as<ir::Load>();
    if (load != nullptr && load->buffer->scope == ir::Scope::shared) loads.push_back(load);
  });
  return loads;
}

void sort_out(const Expr& condition, const PaddedElement& element, NeededConditions& result) {
  const auto* both = condition.as<ir::Binary>();
  if (both != nullptr && both->op == ir::BinaryOperator::logical_and) {
    sort_out(both->left, element, result);
    sort_out(both->right, element, result);
    return;
  }
  (element.is_bound(condition) ? result.of_padding : result.needed).push_back(condition);
}

}  // namespace

NeededConditions needed_conditions(const ir::Program& program, const Coordinates& coordinates,
                                   const std::vector<Expr>& conditions, const Expr& value) {
  const NeededConditions all{conditions, {}};
  const auto loads = tiles_read(value);
  if (loads.size() != 1) return all;
  const auto copy = only_copy_into(program, loads.front()->buffer);
  if (!copy) return all;
  const PaddedElement element(*copy, *loads.front(), coordinates, loop_ranges(program));
  if (!element.is_copied()) return all;
  NeededConditions result;
  for (const Expr& condition : conditions) sort_out(condition, element, result);
  return result;
}

}  // namespace weft::steps
