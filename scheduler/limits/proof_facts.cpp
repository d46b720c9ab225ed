// What a format's check has made sure of, as facts about the arrays that programs read.
#include <weft/dsl/errors.h>
#include <weft/scheduler/limits/proof_places.h>
#include <weft/scheduler/program/build_program.h>

#include <algorithm>

namespace weft::proofs {
namespace {

using ir::Expr;

class Facts {
 public:
  Facts(const Algorithm& algorithm, const SparseTensor& weights, const ir::Program& program)
      : algorithm_(algorithm),
        weights_(weights),
        program_(program),
        any_(algorithm.takes_any_weights()),
        left_{{Dimension::row, extent_of(true)}, {Dimension::column, extent_of(false)}} {}

  WeightFacts take() {
    for (std::size_t i = 0; i < weights_.levels().size(); ++i) add(i);
    const std::vector<int>& order = weights_.value_order().levels;
    const std::size_t of_values =
        order.empty() ? counts_.size() - 1 : static_cast<std::size_t>(order.front());
    require_entries("values", counts_.at(of_values));
    return std::move(facts_);
  }

 private:
  std::string name_of_array(const std::string& array) const {
    return array_buffer_name(algorithm_.sparse_operand()->name, array);
  }

  Expr extent_of(bool rows) const {
    if (!any_) return ir::integer(rows ? weights_.rows() : weights_.columns());
    Expr product = ir::integer(1);
    for (const TensorAccess& factor : algorithm_.factors) {
      if (algorithm_.operands[factor.operand].storage != Storage::sparse) continue;
      for (const AffineIndex& index : factor.indices) {
        const IndexVariable& variable = algorithm_.index(*index.plain());
        if (variable.reduction != rows) product = product * size_of_extent(variable.extent);
      }
    }
    return product;
  }

  Expr parents_of(std::size_t number) const {
    const Level& level = weights_.levels()[number];
    if (level.parent >= 0) return counts_[static_cast<std::size_t>(level.parent)];
    return number == 0 ? ir::integer(1) : counts_.back();
  }

  void add(std::size_t number) {
    const Level& level = weights_.levels()[number];
    const Expr parents = parents_of(number);
    if (level.kind == LevelKind::dense) {
      add_dense(number, parents);
    } else if (level.kind == LevelKind::compressed) {
      add_list(number, parents);
    } else if (level.kind == LevelKind::n_of_m) {
      require_entries(level.index, parents);
      counts_.push_back(parents * ir::integer(2 * level.extent));
    } else if (level.kind == LevelKind::bucketed) {
      return add_buckets(number, parents);
    } else {
      counts_.push_back(parents);
    }
    if (level.dimension == Dimension::none) return;
    // Coordinates inside a block end with it.
    const Expr extent = std::exchange(left_.at(level.dimension), ir::integer(level.stride));
    if (!level.index.empty() && level.kind != LevelKind::n_of_m) add_coordinates(level, extent);
  }

  void add_dense(std::size_t number, const Expr& parents) {
    const Level& level = weights_.levels()[number];
    if (number > 0 || !any_) {
      counts_.push_back(parents * ir::integer(level.extent));
      return;
    }
    const Expr outermost = ir::variable(outermost_variable(algorithm_.sparse_operand()->name));
    facts_.conditions.push_back(ir::integer(1) <= outermost);
    const bool filled_up = level.extent * level.stride >= weights_.rows() + level.stride;
    if (level.dimension == Dimension::row && !filled_up)
      facts_.conditions.push_back(
          ir::equal(outermost, ir::ceil_divide(left_.at(Dimension::row), ir::integer(level.stride))));
    counts_.push_back(outermost);
  }

  void add_list(std::size_t number, const Expr& parents) {
    const Level& level = weights_.levels()[number];
    const Array& begin = weights_.array(level.begin);
    const Expr count = any_ ? ir::variable("entries of level " + std::to_string(number))
                            : ir::integer(static_cast<std::int64_t>(begin.get(begin.size() - 1)));
    facts_.conditions.push_back(ir::integer(0) <= count);
    require_entries(level.begin, parents + 1);
    facts_.arrays[name_of_array(level.begin)] = {parents + 1, ir::integer(0), count, true, false, {}, {}};
    counts_.push_back(count);
  }

  void add_buckets(std::size_t number, const Expr& parents) {
    const Level& level = weights_.levels()[number];
    const auto size_of_array = [&](const std::string& name, std::int64_t size) {
      return any_ ? ir::variable("places of " + name) : ir::integer(size);
    };
    const Array& begin = weights_.array(level.begin);
    const Expr count = size_of_array(level.begin, static_cast<std::int64_t>(begin.get(begin.size() - 1)));
    const Expr bytes = size_of_array(level.index, weights_.array(level.index).size());
    const Expr numbered = bytes * ir::integer(8 / level.index_bits);
    for (const Expr& size : {count, bytes}) facts_.conditions.push_back(ir::integer(0) <= size);
    require_entries(level.begin, parents + 1);
    require_entries(level.width, parents);
    require_entries(level.index, bytes);
    const Expr rows = ir::integer(weights_.levels()[static_cast<std::size_t>(level.across)].extent);
    const Expr extent = ir::integer(level.extent);
    facts_.arrays[name_of_array(level.width)] = {parents, ir::integer(0), extent, false, false, {}, {}};
    facts_.arrays[name_of_array(level.index)] = {
        bytes, ir::integer(0), level.index_bits == 8 ? extent - 1 : ir::integer(255), false, false, {}, {}};
    ArrayFact places{parents + 1, ir::integer(0), count, false, false, {}, {}};
    places.buckets = {name_of_array(level.width), parents, rows, extent, numbered};
    facts_.arrays[name_of_array(level.begin)] = places;
    counts_.push_back(count);
  }

  void add_coordinates(const Level& level, const Expr& extent) {
    require_entries(level.index, counts_.back());
    ArrayFact fact{counts_.back(),
                   ir::integer(level.padded || any_ ? -1 : 0),
                   (extent - 1) / ir::integer(level.stride),
                   false,
                   false,
                   {},
                   {}};
    if (weights_.row_order() == level.index) {
      fact.is_permutation = true;
      fact.whole = extent_of(true);
    }
    facts_.arrays[name_of_array(level.index)] = fact;
  }

  /// Of weights that are given at launch, the entries of an array are a variable.
  void require_entries(const std::string& array, const Expr& count) {
    for (const ir::BufferRef& buffer : program_.buffers) {
      if (buffer->name == name_of_array(array) && any_)
        facts_.conditions.push_back(ir::equal(buffer->shape.front(), count));
    }
  }

  const Algorithm& algorithm_;
  const SparseTensor& weights_;
  const ir::Program& program_;
  bool any_;
  std::map<Dimension, Expr> left_;  ///< extents that coordinates of the next level stay below
  std::vector<Expr> counts_;        ///< positions of each level
  WeightFacts facts_;
};

}  // namespace

WeightFacts facts_of(const Algorithm& algorithm, const SparseTensor* weights, const ir::Program& program) {
  WeightFacts facts;
  if (weights != nullptr) facts = Facts(algorithm, *weights, program).take();
  for (const ir::Variable& extent : program.extents) {
    const bool entries = extent.name.ends_with(".entries");
    facts.conditions.push_back(ir::integer(entries ? 0 : 1) <= ir::variable(extent.name));
  }
  return facts;
}

}  // namespace weft::proofs
