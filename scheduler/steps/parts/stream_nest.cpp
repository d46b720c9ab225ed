#include <fmt/format.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/instructions/streams.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/stored_nest.h>
#include <weft/scheduler/steps/parts/stream_nest.h>

#include <algorithm>

namespace weft::steps {
namespace {

constexpr std::size_t loops_of_streams = 5;
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
    nest_.tile.kept = kept_dimensions(store_, nest_.tile.rows, nest_.tile.columns);
    return std::move(nest_);
  }

 private:
  std::optional<Reason> take_factors() {
    const auto factors = stored_factors_of(store_, context_);
    if (!factors)
      return no_streams(ir::print(chain_.core), "a product of a stored value and one of a dense matrix");
    nest_.tile.sum = store_.buffer;
    nest_.tile.left = factors->stored;
    nest_.tile.right = factors->dense;
    return std::nullopt;
  }

  /// Groups, steps, rows, columns and places of a step, in this order.
  std::optional<Reason> take_loops() {
    const auto counts = [](const ir::For& loop, std::int64_t multiple) {
      const auto known = ir::constant_iterations(loop);
      return loop.kind == LoopKind::serial && known && known->begin == 0 && known->extent > 0 &&
             known->extent % multiple == 0;
    };
    const std::vector<Level>& levels = context_.weights->levels();
    const Level& places = levels.back();
    const std::int64_t groups = levels[levels.size() - 3].extent;
    TensorNest& tile = nest_.tile;
    if (chain_.loops.size() == loops_of_streams) {
      nest_.groups = chain_.loops[0];
      nest_.steps = chain_.loops[1];
      tile.rows = chain_.loops[2];
      tile.columns = chain_.loops[3];
      tile.depth = chain_.loops[4];
      if (counts(nest_.groups, groups) && is_whole_stream() && counts(nest_.steps, 1) &&
          counts(tile.rows, rows_of_stream) && counts(tile.columns, columns_of_instruction) &&
          counts(tile.depth, places.extent) && uses(tile.left, tile.rows) && !uses(tile.left, tile.columns) &&
          uses(tile.right, tile.columns) && uses(tile.right, tile.depth) && uses(tile.right, nest_.steps))
        return std::nullopt;
    }
    return no_streams(names_of(chain_.loops),
                      fmt::format("serial loops over the groups of rows of a stream ({}), its steps, the {} "
                                  "rows, columns by eights and the {} places of a step, in this order: "
                                  ".split(n = 8) and .reorder first",
                                  groups, rows_of_stream, places.extent));
  }

  /// The groups are those of one stream: where it begins does not depend on which one it is.
  bool is_whole_stream() const {
    const std::string& begin = context_.weights->levels().back().begin;
    return std::ranges::none_of(nest_.tile.left.indices, [&](const Expr& index) {
      return ir::any<ir::Load>(index, [&](const ir::Load& load) {
        return load.buffer->name.ends_with("." + begin) && uses(load, nest_.groups);
      });
    });
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
    if (const auto other = other_condition(chain_, [&](const Expr& each) { return is_of_instruction(each); }))
      return no_streams("the sum asks " + ir::print(*other), conditions_of_formats);
    return std::nullopt;
  }

  bool is_of_instruction(const Expr& condition) const {
    const auto* test = condition.as<ir::Binary>();
    if (test == nullptr) return false;
    if (test->op == ir::BinaryOperator::equal)
      return ir::any<ir::Call>(test->left, [](const ir::Call& call) { return call.instruction == word_bit; });
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
  return innermost_loops(nest, loops_of_streams);
}

Stmt with_rows_apart(const Stmt& body, const ir::BufferRef& tile) {
  std::vector<Expr> shape = tile->shape;
  shape.back() = shape.back() + stream_rows_apart;
  const ir::BufferRef apart = ir::make_tile(tile->name, *tile, tile->scope, std::move(shape));
  return ir::rewrite<ir::Allocate>(
      ir::replace_buffer(body, tile, apart), [&](const ir::Allocate& allocation, const Stmt& s) {
        return allocation.buffer == tile ? ir::allocate(apart, allocation.body) : s;
      });
}

std::variant<StreamNest, Reason> stream_nest_of(const ir::Chain& chain, const ir::Store& store,
                                                const StepContext& context) {
  return StreamFinder(chain, store, context)();
}

}  // namespace weft::steps
