#include <fmt/format.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/steps/parts/block_reading.h>
#include <weft/scheduler/steps/parts/loops.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace weft::steps {
namespace {

class FindReading {
 public:
  explicit FindReading(const BlockArrays& arrays) : arrays_(arrays) {}

  std::optional<Reason> operator()(const ir::For& loop) {
    const auto places = ir::find_all<ir::For>(
        loop.body, [&](const ir::For& each) { return load_of(each.extent, arrays_.width) != nullptr; });
    if (places.size() != 1)
      return Reason{
          3, fmt::format("{} loops in {} run over the places of a block's row", places.size(), loop.name),
          "one such loop in the body of the loop at which the copy is made", loop.name};
    reading_.places = places.front()->name;
    reading_.block = load_of(places.front()->extent, arrays_.width)->indices.front();
    const ir::InnerLoops loops = inner_loops(loop.body);
    for (const std::string& name : loop_names(loop.body)) {
      if (!ir::uses(reading_.block, name)) continue;
      const ir::For& inside = loops.at(name);
      const auto known = ir::constant_iterations(inside);
      if (!known || known->begin != 0)
        return Reason{
            4, fmt::format("an iteration of {} reads as many blocks as {} has iterations", loop.name, name),
            fmt::format("one block an iteration, at = {}, or {} first and at = {}", loop_text(name),
                        split_text(name, 2), loop_text(name + ".outer")),
            name};
      if (const Expr end = end_of(name, loop.body); end.defined())
        return Reason{4, fmt::format("blocks that are not there are kept out by {}", ir::print(end)),
                      fmt::format("{} split by a number that divides its iterations", name), name};
      (ir::is_over_output(inside.role) ? reading_.below : reading_.beside).push_back(inside);
    }
    return find_row(*places.front());
  }

  BlockReading take() { return std::move(reading_); }

 private:
  /// A condition inside that keeps the number of blocks below something, as a split makes it; undefined
  /// without.
  Expr end_of(const std::string& name, const Stmt& body) const {
    Expr found;
    ir::each<ir::If>(body, [&](const ir::If& branch) {
      for (const Expr& condition : ir::conjuncts_of(branch.condition)) {
        const ir::Binary* less = ir::inequality(condition);
        if (less == nullptr || is_float(less->left.dtype()) || ir::uses(condition, reading_.places)) continue;
        const ir::Linear number = ir::linear(less->left);
        const bool of_loops = std::ranges::all_of(number.terms, [](const ir::Linear::Term& term) {
          return term.atom.as<ir::Variable>() != nullptr;
        });
        if (of_loops && number.coefficient_of(name) != 0) found = condition;
      }
    });
    return found;
  }

  /// begin[block] + row * width[block] + place
  std::optional<Reason> find_row(const ir::For& places) {
    const Expr width = ir::load(arrays_.width, {reading_.block});
    const Expr begin = ir::load(arrays_.begin, {reading_.block});
    for (const ir::Load* value : ir::find_all<ir::Load>(
             places.body, [&](const ir::Load& load) { return load.buffer == arrays_.values; })) {
      const Expr& index = value->indices.front();
      Expr row = 0;
      const ir::Linear rest = ir::linear(index - begin - ir::variable(places.name));
      bool known = rest.constant == 0 && rest.terms.size() <= 1;
      for (const ir::Linear::Term& term : rest.terms) {
        const auto* product = ir::as_binary(term.atom, ir::BinaryOperator::multiply);
        known = known && term.coefficient == 1 && product != nullptr && ir::same(product->right, width);
        if (known) row = product->left;
      }
      if (!known || (reading_.row.defined() && !ir::same(row, reading_.row)))
        return Reason{
            4, fmt::format("{} is read at {}", arrays_.values->name, ir::print(index)),
            fmt::format("one loop over all rows of a block: no .split of the loop over its rows before "
                        "this step, and none of {}",
                        places.name),
            arrays_.values->name};
      reading_.row = row;
    }
    if (reading_.row.defined()) return std::nullopt;
    return Reason{3, fmt::format("{} reads no values", places.name),
                  "a sum of products, as C(m, n) = sum(k, A(m, k) * B(k, n))", places.name};
  }

  const BlockArrays& arrays_;
  BlockReading reading_;
};

}  // namespace

std::optional<BlockArrays> block_arrays_of(const ir::Program& program, const StepContext& context,
                                           const std::string& tensor) {
  const Operand* sparse = context.algorithm.sparse_operand();
  if (sparse == nullptr || sparse->name != tensor || context.weights == nullptr) return std::nullopt;
  const Level& level = context.weights->levels().back();
  if (level.kind != LevelKind::bucketed) return std::nullopt;
  const auto buffer = [&](const std::string& array) {
    const auto found =
        std::ranges::find(program.buffers, array_buffer_name(tensor, array), &ir::Buffer::name);
    return found == program.buffers.end() ? nullptr : *found;
  };
  return BlockArrays{&level, buffer("values"), buffer(level.begin), buffer(level.width), buffer(level.index)};
}

const ir::Load* load_of(const Expr& expr, const ir::BufferRef& buffer) {
  const auto* load = expr.as<ir::Load>();
  return load != nullptr && load->buffer == buffer ? load : nullptr;
}

std::variant<BlockReading, Reason> block_reading_of(const ir::For& loop, const BlockArrays& arrays) {
  FindReading find(arrays);
  if (auto refused = find(loop)) return *refused;
  return find.take();
}

std::vector<ir::For> BlockReading::block_loops() const {
  std::vector<ir::For> loops = below;
  loops.insert(loops.end(), beside.begin(), beside.end());
  return loops;
}

std::int64_t count_of(const std::vector<ir::For>& loops) {
  return std::transform_reduce(loops.begin(), loops.end(), std::int64_t{1}, std::multiplies<>(),
                               [](const ir::For& loop) { return *ir::integer_value(loop.extent); });
}

Expr number_of(const std::vector<ir::For>& loops) {
  Expr number = 0;
  for (const ir::For& loop : loops) number = number * loop.extent + ir::variable(loop.name);
  return number;
}

}  // namespace weft::steps
