// decode: a block of the weights whose rows have a width of their own becomes a dense tile.
#include <fmt/format.h>
#include <weft/scheduler/build_program.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/copies_ahead.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/loops.h>
#include <weft/scheduler/steps/staging_request.h>

#include <algorithm>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

/// The arrays that describe a block, and the level that says how.
struct Arrays {
  const Level* level = nullptr;
  ir::BufferRef values, begin, width, offset;
};

/// Nothing where the weights of that name have no such blocks.
std::optional<Arrays> arrays_of(const ir::Program& program, const StepContext& context,
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
  return Arrays{&level, buffer("values"), buffer(level.begin), buffer(level.width), buffer(level.index)};
}

const ir::Load* load_of(const Expr& expr, const ir::BufferRef& buffer) {
  const auto* load = expr.as<ir::Load>();
  return load != nullptr && load->buffer == buffer ? load : nullptr;
}

bool reads(const Expr& expr, const ir::BufferRef& buffer) {
  bool found = false;
  ir::visit(expr, [&](const Expr& e) { found = found || load_of(e, buffer) != nullptr; });
  return found;
}

bool reads(const Stmt& stmt, const ir::BufferRef& buffer) {
  bool found = false;
  ir::visit(stmt, {}, [&](const Expr& e) { found = found || load_of(e, buffer) != nullptr; });
  return found;
}

/// What an iteration reads of a block: the loop over the places of a row, the number of the block, and the
/// row.
struct Reading {
  std::string places;
  Expr block;
  Expr row;
};

class Decode {
 public:
  Decode(const StepContext& context, const StagingRequest& request, Arrays arrays)
      : context_(context), request_(request), arrays_(std::move(arrays)), size_(arrays_.level->extent) {}

  std::variant<Stmt, Reason> operator()(const ir::For& loop) {
    if (auto refused = find_reading(loop)) return *refused;
    width_ = ir::load(arrays_.width, {reading_.block});
    slot_ = (ir::variable(loop.name) - loop.begin) % ir::integer(request_.depth);
    const ir::BufferRef values = stored(arrays_.values, size_ * size_);
    const ir::BufferRef offset = stored(arrays_.offset, size_ * bytes_of_row());
    auto tile = std::make_shared<ir::Buffer>(
        *ir::make_buffer(arrays_.values->name + ".decoded", arrays_.values->dtype, ir::Scope::shared,
                         ir::Access::read_write, {ir::integer(size_), ir::integer(size_)}));
    tile->swizzle = swizzle_of(*tile);
    const Stmt rest = with_tile(loop.body, tile);
    for (const ir::BufferRef& buffer : {arrays_.values, arrays_.begin, arrays_.width, arrays_.offset}) {
      if (reads(rest, buffer))
        return Reason{4, fmt::format("{} is read for something else too", buffer->name),
                      "values that are multiplied, and their columns", buffer->name};
    }
    const Stmt decoded = ir::allocate(tile, ir::block({fill(tile, values, offset), rest}));
    const Expr is_stored = ir::binary(ir::BinaryOperator::not_equal, width_, ir::integer(size_));
    const Stmt with_offsets = ir::allocate(
        offset, ir::block({copy_of(arrays_.offset, offset, bytes_of_row(), is_stored), decoded}));
    return ir::allocate(values, ir::block({copy_of(arrays_.values, values, size_, {}), with_offsets}));
  }

 private:
  /// Of the offsets of a row as wide as the block.
  std::int64_t bytes_of_row() const { return size_ * arrays_.level->index_bits / 8; }

  std::optional<Reason> find_reading(const ir::For& loop) {
    std::vector<ir::For> places;
    ir::visit(loop.body, [&](const Stmt& s) {
      const auto* each = s.as<ir::For>();
      if (each != nullptr && load_of(each->extent, arrays_.width) != nullptr) places.push_back(*each);
    });
    if (places.size() != 1)
      return Reason{
          3, fmt::format("{} loops in {} run over the places of a block's row", places.size(), loop.name),
          "one: a place further inside or outside", loop.name};
    reading_.places = places.front().name;
    reading_.block = load_of(places.front().extent, arrays_.width)->indices.front();
    for (const std::string& inside : loop_names(loop.body)) {
      if (ir::uses(reading_.block, inside))
        return Reason{4, fmt::format("an iteration of {} reads several blocks", loop.name),
                      "the loop over blocks itself", inside};
    }
    return find_row(places.front());
  }

  /// begin[block] + row * width[block] + place
  std::optional<Reason> find_row(const ir::For& places) {
    std::vector<Expr> indices;
    ir::visit(places.body, {}, [&](const Expr& e) {
      if (const auto* load = load_of(e, arrays_.values)) indices.push_back(load->indices.front());
    });
    const Expr width = ir::load(arrays_.width, {reading_.block});
    const Expr begin = ir::load(arrays_.begin, {reading_.block});
    for (const Expr& index : indices) {
      Expr row = ir::integer(0);
      const ir::Linear rest = ir::linear(index - begin - ir::variable(places.name));
      bool known = rest.constant == 0 && rest.terms.size() <= 1;
      for (const ir::Linear::Term& term : rest.terms) {
        const auto* product = term.atom.as<ir::Binary>();
        known = known && term.coefficient == 1 && product != nullptr &&
                product->op == ir::BinaryOperator::multiply && ir::same(product->right, width);
        if (known) row = product->left;
      }
      if (!known || (reading_.row.defined() && !ir::same(row, reading_.row)))
        return Reason{4, fmt::format("{} is read at {}", arrays_.values->name, ir::print(index)),
                      "one loop over all rows of a block", arrays_.values->name};
      reading_.row = row;
    }
    if (reading_.row.defined()) return std::nullopt;
    return Reason{3, fmt::format("{} reads no values", places.name), "a sum of products", places.name};
  }

  ir::BufferRef stored(const ir::BufferRef& source, std::int64_t elements) const {
    std::vector<Expr> shape{ir::integer(elements)};
    if (request_.depth > 1) shape.insert(shape.begin(), ir::integer(request_.depth));
    return ir::make_buffer(source->name + ".stored", source->dtype, ir::Scope::shared, ir::Access::read_write,
                           shape, source->non_negative);
  }

  /// Rows of 32 bytes whose halves change places every four rows: eight of them lie in different banks.
  static int swizzle_of(const ir::Buffer& tile) {
    constexpr std::int64_t bytes_of_line = 32;
    return *ir::integer_value(tile.shape.back()) * static_cast<std::int64_t>(size_of(tile.dtype)) ==
                   bytes_of_line
               ? 1
               : 0;
  }

  std::vector<Expr> at(const Expr& place) const {
    if (request_.depth == 1) return {place};
    return {slot_, place};
  }

  /// The rows of a block lie one behind the other, in whole lines of `of_row` elements for each place of a
  /// row.
  Stmt copy_of(const ir::BufferRef& source, const ir::BufferRef& destination, std::int64_t of_row,
               const Expr& condition) const {
    const std::string name = destination->name + ".place";
    const Expr place = ir::variable(name);
    const Expr first = ir::load(arrays_.begin, {reading_.block}) / ir::integer(size_) * ir::integer(of_row);
    ir::Copy copy{destination,   at(place),          source, {first + place}, {ir::integer(size_ * of_row)},
                  context_.step, request_.depth > 1, {},     {name}};
    copy.inside = place < width_ * ir::integer(of_row);
    if (condition.defined()) copy.inside = copy.inside && condition;
    return ir::copy(std::move(copy));
  }

  /// One thread clears a row and writes its entries: nobody else writes there.
  Stmt fill(const ir::BufferRef& tile, const ir::BufferRef& values, const ir::BufferRef& offset) const {
    const std::string name = reading_.places;
    const Expr row = ir::variable(name + ".row"), place = ir::variable(name + ".stored");
    const Expr position = row * width_ + place;
    const Expr value = ir::load(values, at(position));
    const Expr column = ir::select(ir::equal(width_, ir::integer(size_)), place, number_at(offset, position));
    const Expr entry =
        ir::binary(ir::BinaryOperator::not_equal, ir::cast(DType::f32, value), ir::constant(DType::f32, 0));
    const Stmt scatter = ir::if_then(entry, ir::store(tile, {row, column}, value));
    const auto loop = [&](const std::string& what, const Expr& extent, ir::LoopKind kind, const Stmt& body) {
      return ir::for_loop({name + what, ir::integer(0), extent, kind, context_.step, body});
    };
    const std::int64_t together = std::min<std::int64_t>(8, size_);
    const Expr run = ir::variable(name + ".run"), in_run = ir::variable(name + ".zero");
    const Stmt zero =
        ir::store(tile, {row, run * ir::integer(together) + in_run}, ir::constant(tile->dtype, 0));
    const Stmt clear = loop(".run", ir::integer(size_ / together), ir::LoopKind::unrolled,
                            loop(".zero", ir::integer(together), ir::LoopKind::vectorized, zero));
    return loop(".row", ir::integer(size_), ir::LoopKind::thread,
                ir::block({clear, loop(".stored", width_, ir::LoopKind::serial, scatter)}));
  }

  /// What is stored stays inside the tile, whatever it is.
  Expr number_at(const ir::BufferRef& offset, const Expr& position) const {
    const Expr size = ir::integer(size_);
    if (arrays_.level->index_bits == 8) return ir::load(offset, at(position)) % size;
    const Expr byte = ir::load(offset, at(position / ir::integer(2)));
    return ir::select(ir::equal(position % ir::integer(2), ir::integer(0)), byte % size,
                      byte / ir::integer(16) % size);
  }

  Stmt with_tile(const Stmt& body, const ir::BufferRef& tile) const {
    const Expr place = ir::variable(reading_.places);
    const Expr is_dense = ir::equal(width_, ir::integer(size_));
    ir::Rewriter rewriter;
    rewriter.on_expr = [&](const Expr& e) {
      if (load_of(e, arrays_.values) != nullptr) return ir::load(tile, {reading_.row, place});
      const auto* choice = e.as<ir::Select>();
      return choice != nullptr && ir::same(choice->condition, is_dense) ? place : e;
    };
    rewriter.on_stmt = [&](const Stmt& s) -> Stmt {
      if (const auto* loop = s.as<ir::For>(); loop != nullptr && loop->name == reading_.places) {
        ir::For whole = *loop;
        whole.extent = ir::integer(size_);
        whole.step = context_.step;
        return ir::for_loop(std::move(whole));
      }
      const auto* condition = s.as<ir::If>();
      if (condition == nullptr || condition->otherwise.defined() || !reads(condition->condition, tile))
        return s;
      Expr left = ir::boolean(true);
      for (const Expr& part : ir::conjuncts_of(condition->condition)) {
        if (!reads(part, tile)) left = left && part;
      }
      return ir::if_then(left, condition->then);
    };
    return rewriter(body);
  }

  const StepContext& context_;
  const StagingRequest& request_;
  Arrays arrays_;
  std::int64_t size_;
  Reading reading_;
  Expr width_, slot_;
};

/// decode(A, shared, at = loop, depth = buffers): A is stored in blocks whose rows have a width of their own,
/// in places with a number each (LevelKind::bucketed). At the begin of each iteration of the loop, the block
/// that the iteration reads becomes a dense tile in shared memory, zero where nothing is stored; the loop
/// over the places of a row becomes one over all its columns, and reads the tile. What is stored is copied to
/// shared memory first; with a depth beyond 1 to that many buffers in turn, and a GPU starts the copies depth
/// - 1 iterations ahead. The sum then has products with zeros which are not stored: where the other factor is
/// infinite or not a number there, the sum is not a number, as that of a dense product. Preconditions: 1 the
/// loop exists; 2 the scope is shared and A such weights; 3 one loop inside runs over the places of a row of
/// a block; 4 the iteration reads one block, by one loop over its rows, and multiplies what it reads; 5 no
/// warp, lane or thread loop stands around; 7, 8, 9 as those of stage.
StepResult apply_decode(const ir::Program& program, const Step& step, const StepContext& context) {
  const StagingRequest request = staging_request_of(step);
  if (auto missing = require_loop(program, request.at)) return *missing;
  const auto arrays = arrays_of(program, context, request.tensor);
  if (request.scope != "shared" || !arrays)
    return Reason{2,
                  fmt::format("{} in {}", request.tensor, request.scope),
                  "weights in hb_ell, decoded in shared memory",
                  {}};
  if (auto refused = check_depth(program, request.at, request.scope, request.depth, context.target))
    return *refused;
  if (auto refused = require_reached_together(program, request.at, 5)) return *refused;
  ir::Program result = program;
  std::optional<Reason> refused;
  bool done = false;
  result.body = change_loops(result.body, request.at, [&](const ir::For& loop) -> Stmt {
    ir::For changed = loop;
    if (!reads(loop.body, arrays->values) || refused) return ir::for_loop(std::move(changed));
    done = true;
    auto decoded = Decode(context, request, *arrays)(loop);
    if (auto* reason = std::get_if<Reason>(&decoded)) {
      refused = *reason;
    } else {
      changed.body = std::get<Stmt>(decoded);
      refused = needs_its_iteration(changed.body, loop);
    }
    return ir::for_loop(std::move(changed));
  });
  if (refused) return *refused;
  if (done) return result;
  return Reason{3, fmt::format("{} reads no block of {}", request.at, request.tensor),
                "the loop over the blocks of a row", request.at};
}

}  // namespace

const StepKind decode{"decode", ".decode(A, shared, at = k.block, depth = 4)", 3, 4, apply_decode};

}  // namespace weft::steps
