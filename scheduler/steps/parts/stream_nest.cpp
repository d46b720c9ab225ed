#include <fmt/format.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/launch_sizes.h>
#include <weft/scheduler/steps/parts/stream_nest.h>

#include <algorithm>
#include <iterator>

namespace weft::steps {
namespace {

constexpr std::size_t loops_of_streams = 4;
constexpr std::int64_t columns_of_instruction = 8, elements_of_vector = 8;

Reason no_streams(std::string found, std::string accepted, std::string place = {}) {
  return Reason{12, std::move(found), std::move(accepted), std::move(place)};
}

bool uses(const ir::Load& load, const ir::For& loop) {
  return std::ranges::any_of(load.indices, [&](const Expr& index) { return ir::uses(index, loop.name); });
}

class StreamFinder {
 public:
  StreamFinder(const ir::Chain& chain, const ir::Store& store, const StepContext& context)
      : chain_(chain), store_(store), context_(context) {}

  std::variant<StreamNest, Reason> operator()() {
    if (auto reason = take_factors()) return *reason;
    if (auto reason = take_loops()) return *reason;
    if (auto reason = check_right()) return *reason;
    if (auto reason = check_conditions()) return *reason;
    TensorNest& tile = nest_.tile;
    for (std::size_t i = 0; i < store_.indices.size(); ++i) {
      if (!ir::uses(store_.indices[i], tile.rows.name) && !ir::uses(store_.indices[i], tile.columns.name))
        tile.kept.push_back(i);
    }
    return std::move(nest_);
  }

 private:
  std::string buffer(const char* array) const {
    return array_buffer_name(context_.algorithm.sparse_operand()->name, array);
  }

  std::optional<Reason> take_factors() {
    const auto* product = ir::as_binary(store_.value, ir::BinaryOperator::multiply);
    const ir::Load* factors[] = {product != nullptr ? ir::loaded(product->left) : nullptr,
                                 product != nullptr ? ir::loaded(product->right) : nullptr};
    if (factors[0] == nullptr || factors[1] == nullptr)
      return no_streams(ir::print(chain_.core), "a product of a stored value and one of a dense matrix");
    const bool swapped = factors[0]->buffer->name != buffer("values");
    nest_.tile.sum = store_.buffer;
    nest_.tile.left = *factors[swapped ? 1 : 0];
    nest_.tile.right = *factors[swapped ? 0 : 1];
    return std::nullopt;
  }

  /// Steps, rows, columns and places of a step, in this order.
  std::optional<Reason> take_loops() {
    const auto counts = [](const ir::For& loop, std::int64_t multiple) {
      const auto known = ir::constant_iterations(loop);
      return loop.kind == LoopKind::serial && known && known->begin == 0 && known->extent > 0 &&
             known->extent % multiple == 0;
    };
    std::string found;
    for (const ir::For& loop : chain_.loops) found += (found.empty() ? "" : ", ") + loop.name;
    const Level& places = context_.weights->levels().back();
    TensorNest& tile = nest_.tile;
    if (chain_.loops.size() == loops_of_streams) {
      nest_.steps = chain_.loops[0];
      tile.rows = chain_.loops[1];
      tile.columns = chain_.loops[2];
      tile.depth = chain_.loops[3];
      if (counts(nest_.steps, 1) && counts(tile.rows, rows_of_stream) &&
          counts(tile.columns, columns_of_instruction) && counts(tile.depth, places.extent) &&
          uses(tile.left, tile.rows) && !uses(tile.left, tile.columns) && uses(tile.right, tile.columns) &&
          uses(tile.right, tile.depth) && uses(tile.right, nest_.steps))
        return std::nullopt;
    }
    return no_streams(found,
                      fmt::format("serial loops over the steps of a stream, its {} rows, columns by "
                                  "eights and the {} places of a step, in this order: .split(n = 8) and "
                                  ".reorder first",
                                  rows_of_stream, places.extent));
  }

  /// Each lane reads eight elements of a row at once.
  std::optional<Reason> check_right() const {
    const TensorNest& nest = nest_.tile;
    const ir::Load& right = nest.right;
    const auto is_whole = [](const Expr& stride) {
      const std::int64_t* elements = ir::integer_value(stride);
      return elements != nullptr && *elements % elements_of_vector == 0;
    };
    const auto& strides = right.buffer->strides;
    if (right.buffer->scope == ir::Scope::shared && ir::uses(right.indices.back(), nest.depth.name) &&
        !ir::uses(right.indices.back(), nest.columns.name) &&
        std::all_of(strides.begin(), strides.end() - 1, is_whole))
      return std::nullopt;
    return no_streams(
        fmt::format("{} from {}", ir::print(ir::load(right.buffer, right.indices)),
                    ir::name_of(right.buffer->scope)),
        fmt::format("the dense factor, [n, k], in shared memory: {} at the loop over slices; of one [k, n], "
                    ".transpose of it first",
                    written("stage", {right.buffer->tensor})),
        right.buffer->name);
  }

  std::optional<Reason> check_conditions() const {
    for (const Expr& all : chain_.conditions) {
      for (const Expr& condition : ir::conjuncts_of(all)) {
        if (!is_of_instruction(condition))
          return no_streams(
              "the sum asks " + ir::print(condition),
              "nothing but what the format and sizes ask: numbers of .split that divide the sizes");
      }
    }
    return std::nullopt;
  }

  bool is_of_instruction(const Expr& condition) const {
    const auto* test = condition.as<ir::Binary>();
    if (test == nullptr) return false;
    if (test->op == ir::BinaryOperator::equal)
      return ir::any<ir::Load>(test->left, [&](const ir::Load& load) {
        return load.buffer->name == buffer(context_.weights->levels().back().index.c_str());
      });
    // The tile is zero beyond the matrix, and results of columns that there are not nobody reads.
    return test->op == ir::BinaryOperator::less && !ir::any<ir::Load>(condition) &&
           !ir::uses(condition, nest_.tile.rows.name);
  }

  const ir::Chain& chain_;
  const ir::Store& store_;
  const StepContext& context_;
  StreamNest nest_;
};

}  // namespace

bool are_streams(const SparseTensor* weights) {
  return weights != nullptr && weights->levels().back().kind == LevelKind::streamed;
}

Stmt loops_of_stream(const Stmt& nest) {
  Stmt inner = nest;
  while (chain_of(inner).loops.size() > loops_of_streams) {
    const auto* loop = inner.as<ir::For>();
    const Stmt body = loop != nullptr ? loop->body : inner.as<ir::If>()->then;
    inner = body;
  }
  return inner;
}

std::variant<StreamNest, Reason> stream_nest_of(const ir::Chain& chain, const ir::Store& store,
                                                const StepContext& context) {
  return StreamFinder(chain, store, context)();
}

}  // namespace weft::steps
