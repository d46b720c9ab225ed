// decode: a block of the weights whose rows have a width of their own becomes a dense tile.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/verify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/block_reading.h>
#include <weft/scheduler/steps/parts/copies_ahead.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/staging_request.h>

#include <algorithm>

namespace weft::steps {
namespace {

class Decode {
 public:
  Decode(const StepContext& context, const StagingRequest& request, std::int64_t parts, BlockArrays arrays,
         std::int64_t threads)
      : context_(context),
        request_(request),
        parts_(parts),
        arrays_(std::move(arrays)),
        size_(arrays_.level->extent),
        threads_(threads) {}

  /// The loop with what it needs before it begins: the places and widths of the blocks that its iterations
  /// read, in shared memory. Loads of them in each iteration would wait behind the copies under way.
  Stmt with_numbers(const Stmt& loop) const {
    if (begins_ == nullptr) return loop;
    const Stmt copies =
        ir::block({numbers_copied(arrays_.begin, begins_), numbers_copied(arrays_.width, widths_), loop});
    return ir::allocate(begins_, ir::allocate(widths_, copies));
  }

  std::variant<Stmt, Reason> operator()(const ir::For& loop) {
    auto reading = block_reading_of(loop, arrays_);
    if (auto* refused = std::get_if<Reason>(&reading)) return *refused;
    reading_ = std::get<BlockReading>(std::move(reading));
    find_numbers(loop);
    width_ = number_of_block(arrays_.width, widths_);
    slot_ = (ir::variable(loop.name) - loop.begin) % request_.depth;
    const ir::BufferRef values = stored(arrays_.values, widest() * size_);
    const ir::BufferRef offset = stored(arrays_.offset, widest() * bytes_of_row());
    const auto tile = ir::make_tile(arrays_.values->name + ".decoded", *arrays_.values, ir::Scope::shared,
                                    {count_of(reading_.below) * size_, count_of(reading_.beside) * size_});
    tile->swizzle = swizzle_of(*tile);
    const Stmt rest = with_tile(loop.body, tile);
    for (const ir::BufferRef& buffer : {arrays_.values, arrays_.begin, arrays_.width, arrays_.offset}) {
      if (reads(rest, buffer))
        return Reason{4, fmt::format("{} is read for something else too", buffer->name),
                      "values that are multiplied, and their columns", buffer->name};
    }
    const Stmt decoded = ir::allocate(tile, ir::block({fill(tile, values, offset), rest}));
    const Expr is_stored = ir::binary(ir::BinaryOperator::not_equal, width_, size_);
    const Stmt with_offsets = ir::allocate(
        offset, ir::block({copy_of(arrays_.offset, offset, bytes_of_row(), is_stored), decoded}));
    return ir::allocate(values, ir::block({copy_of(arrays_.values, values, size_, {}), with_offsets}));
  }

 private:
  /// Of the offsets of a row as wide as the block.
  std::int64_t bytes_of_row() const { return size_ * arrays_.level->index_bits / 8; }

  /// No block is wider, nor does a thread of those that share a row have more places than another; of weights
  /// that are given at launch any may be dense.
  std::int64_t widest() const {
    if (context_.algorithm.takes_any_weights()) return size_;
    std::int64_t most = 1;
    for (const std::int32_t width : context_.weights->array(arrays_.level->width).as<std::int32_t>())
      most = std::max<std::int64_t>(most, width);
    const std::int64_t together = shares().of_row;
    return ceil_divide(most, together) * together;
  }

  /// Where all blocks of a row are stored, in the order of the iterations, as many of them as fit.
  void find_numbers(const ir::For& loop) {
    constexpr std::int64_t most_bytes = 16 * 1024;
    const auto known = ir::constant_iterations(loop);
    if (!known || known->begin != 0) return;
    ir::Substitution begin{{loop.name, 0}};
    for (const ir::For& each : reading_.beside) begin[each.name] = 0;
    first_block_ = ir::substitute(reading_.block, begin);
    in_row_ = ir::variable(loop.name) * count_of(reading_.beside) + number_of(reading_.beside);
    const ir::Linear rest = ir::linear(reading_.block - first_block_ - in_row_);
    const std::int64_t rows = count_of(reading_.below), of_row = known->extent * count_of(reading_.beside);
    if (rest.constant != 0 || !rest.terms.empty() || 2 * 4 * rows * of_row > most_bytes) return;
    const auto numbers = [&](const ir::BufferRef& source) {
      return ir::make_tile(source->name + ".stored", *source, ir::Scope::shared, {rows, of_row});
    };
    begins_ = numbers(arrays_.begin);
    widths_ = numbers(arrays_.width);
  }

  /// Of the block that an iteration reads.
  Expr number_of_block(const ir::BufferRef& source, const ir::BufferRef& stored) const {
    if (stored == nullptr) return ir::load(source, {reading_.block});
    return ir::load(stored, {number_of(reading_.below), in_row_});
  }

  /// The copy goes over these loops, which have names of its own there.
  static ir::Substitution over(const std::vector<ir::For>& loops, ir::Copy& copy) {
    ir::Substitution renamed;
    for (const ir::For& loop : loops) {
      copy.coordinates.push_back(copy.destination->name + "." + loop.name);
      copy.extents.push_back(loop.extent);
      renamed[loop.name] = ir::variable(copy.coordinates.back());
    }
    return renamed;
  }

  Stmt numbers_copied(const ir::BufferRef& source, const ir::BufferRef& stored) const {
    ir::Copy copy{stored, {}, source, {}, {}, context_.step, false, {}, {}};
    const ir::Substitution renamed = over(reading_.below, copy);
    copy.coordinates.push_back(stored->name + ".block");
    copy.extents.push_back(stored->shape.back());
    const Expr block = ir::variable(copy.coordinates.back());
    copy.destination_begin = {ir::substitute(number_of(reading_.below), renamed), block};
    copy.source_begin = {ir::substitute(first_block_, renamed) + block};
    return ir::copy(std::move(copy));
  }

  ir::BufferRef stored(const ir::BufferRef& source, std::int64_t elements) const {
    std::vector<Expr> shape{count_of(reading_.block_loops()), elements};
    if (request_.depth > 1) shape.insert(shape.begin(), request_.depth);
    return ir::make_tile(source->name + ".stored", *source, ir::Scope::shared, shape);
  }

  /// Rows of 32, 64 or 128 bytes whose chunks change places: eight of them lie in different banks. A tile of
  /// fewer rows than the exchange repeats after stays in order: four of 32 bytes fill the banks once.
  static int swizzle_of(const ir::Buffer& tile) {
    const std::int64_t bytes = *ir::integer_value(tile.shape.back()) * ir::element_bytes(tile);
    const int swizzle = bytes == 32 ? 1 : bytes == 64 ? 2 : bytes % 128 == 0 ? 3 : 0;
    return ir::holds_whole_lines(tile, swizzle) ? swizzle : 0;
  }

  std::vector<Expr> at(const Expr& place, const ir::Substitution& names = {}) const {
    const Expr block = ir::substitute(number_of(reading_.block_loops()), names);
    if (request_.depth == 1) return {block, place};
    return {slot_, block, place};
  }

  /// The rows of a block lie one behind the other, `of_row` elements for each place of a row.
  Stmt copy_of(const ir::BufferRef& source, const ir::BufferRef& destination, std::int64_t of_row,
               const Expr& condition) const {
    ir::Copy copy{destination, {}, source, {}, {}, context_.step, request_.depth > 1, {}, {}};
    const ir::Substitution renamed = over(reading_.block_loops(), copy);
    copy.coordinates.push_back(destination->name + ".place");
    copy.extents.push_back(destination->shape.back());
    const Expr place = ir::variable(copy.coordinates.back());
    const Expr first = number_of_block(arrays_.begin, begins_) / size_ * of_row;
    copy.destination_begin = at(place, renamed);
    copy.source_begin = {ir::substitute(first, renamed) + place};
    copy.inside = place < width_ * of_row;
    if (condition.defined()) copy.inside = copy.inside && condition;
    copy.inside = ir::substitute(copy.inside, renamed);
    return ir::copy(std::move(copy));
  }

  /// How the threads of a block share the rows: some take one row together, and those that the rows below one
  /// another leave over take blocks beside.
  struct Shares {
    std::int64_t rows = 1, beside = 1;
    std::int64_t of_row = 1;   ///< threads that share a row
    std::int64_t at_once = 1;  ///< blocks beside one another
  };

  /// One thread a row at least; no more than clear two values each.
  Shares shares() const {
    Shares shares{.rows = count_of(reading_.below) * size_, .beside = count_of(reading_.beside)};
    const auto fit = [&] { return 2 * shares.at_once * shares.of_row * shares.rows <= threads_; };
    if (parts_ > 0) shares.of_row = parts_;
    while (shares.beside % (2 * shares.at_once) == 0 && fit()) shares.at_once *= 2;
    while (parts_ == 0 && 4 * shares.of_row <= size_ && fit()) shares.of_row *= 2;
    return shares;
  }

  /// Threads clear their part of the rows, and then write their part of the entries.
  Stmt fill(const ir::BufferRef& tile, const ir::BufferRef& values, const ir::BufferRef& offset) const {
    const Shares shared = shares();
    const Expr line = of_places(".line"), turn = of_places(".turn");
    const Expr part = line % shared.of_row, number = line / shared.of_row;
    const Expr column = turn * shared.at_once + number / shared.rows;
    const Expr row = number % shared.rows;
    ir::Substitution names = taken_apart(reading_.beside, column);
    names.merge(taken_apart(reading_.below, row / size_));
    const auto of_threads = [&](const Stmt& one) {
      return loop(line, shared.rows * shared.at_once * shared.of_row, LoopKind::thread,
                  loop(turn, shared.beside / shared.at_once, LoopKind::unrolled, one));
    };
    const Expr first_column = column * size_;
    const Stmt cleared = clear(tile, row, first_column, part, shared);
    const Stmt written = scatter(tile, values, offset, names, row, first_column, part, shared);
    // A thread that has a row for itself waits for nobody.
    if (shared.of_row == 1) return of_threads(ir::block({cleared, written}));
    return ir::block({of_threads(cleared), of_threads(written)});
  }

  Stmt clear(const ir::BufferRef& tile, const Expr& row, const Expr& first_column, const Expr& part,
             const Shares& shared) const {
    const std::int64_t columns = size_ / shared.of_row, together = std::min<std::int64_t>(8, columns);
    const Expr run = of_places(".run"), in_run = of_places(".zero");
    const Expr column = first_column + part * columns + run * together + in_run;
    const Stmt zero = ir::store(tile, {row, column}, ir::zero_of(tile->dtype));
    return loop(run, columns / together, LoopKind::unrolled,
                loop(in_run, together, LoopKind::vectorized, zero));
  }

  /// The entries of a thread, some at a time: blocks that are narrower have done with the first. What is
  /// written together is read before, so that reads do not wait for one another. It stays inside the tile,
  /// whatever is stored.
  Stmt scatter(const ir::BufferRef& tile, const ir::BufferRef& values, const ir::BufferRef& offset,
               const ir::Substitution& names, const Expr& row, const Expr& first_column, const Expr& part,
               const Shares& shared) const {
    constexpr std::int64_t together = 4;
    const std::int64_t rounds = widest() / shared.of_row, at_once = std::min(together, rounds);
    const auto registers = [&](const char* what, DType type) {
      return ir::make_buffer(reading_.places + what, type, ir::Scope::registers, ir::Access::read_write,
                             {at_once}, true);
    };
    const ir::BufferRef value = registers(".value", tile->dtype), column = registers(".column", DType::i32);
    const Expr width = ir::substitute(width_, names);
    const Expr read = of_places(".read"), write = of_places(".write");
    std::vector<Stmt> turns;
    for (std::int64_t first = 0; first < rounds; first += at_once) {
      const auto place = [&](const Expr& round) { return part + (round + first) * shared.of_row; };
      const Expr position = row % size_ * width + place(read);
      const Expr stored_column =
          ir::select(ir::equal(width, size_), place(read), number_at(offset, position, names));
      const Stmt reads = ir::block({ir::store(value, {read}, ir::load(values, at(position, names))),
                                    ir::store(column, {read}, stored_column)});
      const Expr found = ir::load(value, {write});
      const Expr entry =
          ir::binary(ir::BinaryOperator::not_equal, ir::cast(DType::f32, found), ir::constant(DType::f32, 0));
      const Stmt writes =
          ir::if_then(place(write) < width && entry,
                      ir::store(tile, {row, first_column + ir::load(column, {write}) % size_}, found));
      const auto all = [&](const Expr& round, const Stmt& one) {
        return loop(round, std::min(at_once, rounds - first), LoopKind::unrolled, one);
      };
      turns.push_back(
          ir::if_then(first * shared.of_row < width, ir::block({all(read, reads), all(write, writes)})));
    }
    return ir::allocate(value, ir::allocate(column, ir::block(std::move(turns))));
  }

  /// What counts a loop that takes the place of the one over the places of a row.
  Expr of_places(const char* what) const { return ir::variable(reading_.places + what); }

  Stmt loop(const Expr& variable, std::int64_t extent, LoopKind kind, const Stmt& body) const {
    return ir::for_range(variable, extent, kind, context_.step, body);
  }

  /// The iterations of the loops that the number stands for.
  static ir::Substitution taken_apart(const std::vector<ir::For>& loops, Expr number) {
    ir::Substitution names;
    for (std::size_t i = loops.size(); i-- > 0;) {
      names[loops[i].name] = i == 0 ? number : number % loops[i].extent;
      number = number / loops[i].extent;
    }
    return names;
  }

  Expr number_at(const ir::BufferRef& offset, const Expr& position, const ir::Substitution& names) const {
    if (arrays_.level->index_bits == 8) return ir::load(offset, at(position, names));
    const Expr byte = ir::load(offset, at(position / 2, names));
    return ir::select(ir::equal(position % 2, 0), byte, byte / 16);
  }

  Stmt with_tile(const Stmt& body, const ir::BufferRef& tile) const {
    const Expr place = ir::variable(reading_.places);
    const Expr is_dense = ir::equal(ir::load(arrays_.width, {reading_.block}), size_);
    const Expr row = number_of(reading_.below) * size_ + reading_.row;
    const Expr column = number_of(reading_.beside) * size_ + place;
    ir::Rewriter rewriter;
    rewriter.on_expr = [&](const Expr& e) {
      if (load_of(e, arrays_.values) != nullptr) return ir::load(tile, {row, column});
      const auto* choice = e.as<ir::Select>();
      return choice != nullptr && ir::same(choice->condition, is_dense) ? place : e;
    };
    rewriter.on_stmt = [&](const Stmt& s) -> Stmt {
      if (const auto* each = s.as<ir::For>(); each != nullptr && each->name == reading_.places) {
        ir::For whole = *each;
        whole.extent = size_;
        whole.step = context_.step;
        return ir::for_loop(std::move(whole));
      }
      const auto* condition = s.as<ir::If>();
      if (condition == nullptr || condition->otherwise.defined() || !reads(condition->condition, tile))
        return s;
      std::vector<Expr> left = ir::conjuncts_of(condition->condition);
      std::erase_if(left, [&](const Expr& part) { return reads(part, tile); });
      return ir::if_then(ir::all_of(left), condition->then);
    };
    return rewriter(body);
  }

  const StepContext& context_;
  const StagingRequest& request_;
  std::int64_t parts_;  ///< parts of a row; 0: not said
  BlockArrays arrays_;
  std::int64_t size_;
  std::int64_t threads_;
  BlockReading reading_;
  Expr width_, slot_;
  ir::BufferRef begins_, widths_;  ///< null: read where they are
  Expr first_block_, in_row_;      ///< the first block of a block row, and which of its blocks
};

StepResult decode_at(const ir::Program& program, const StepArguments& arguments, const StepContext& context) {
  const StagingRequest request = staging_request_of(arguments);
  const std::int64_t parts = arguments.number("parts");
  if (auto missing = require_place(program, request)) return *missing;
  const auto arrays = block_arrays_of(program, context, request.tensor);
  if (!arrays)
    return Reason{
        2,
        fmt::format("{} is no weights in blocks whose rows have a width of their own", request.tensor),
        "weights in hb_ell, as pack(weights, formats::hb_ell()) makes them, decoded in shared",
        {}};
  if (auto refused = check_depth(program, request.at, request.scope, request.depth, context.target))
    return *refused;
  const std::int64_t most_parts = arrays->level->extent / 2;
  if (parts != 0 && (parts > most_parts || arrays->level->extent % (2 * parts) != 0))
    return Reason{2,
                  fmt::format("parts = {}", parts),
                  fmt::format("parts = a power of two from 1 to {}", most_parts),
                  {}};
  if (auto refused = require_reached_together(program, request.at, 5)) return *refused;
  const auto reads_block = [&](const ir::For* loop) { return reads(loop->body, arrays->values); };
  if (std::ranges::none_of(find_loops(program.body, request.at), reads_block))
    return Reason{3, fmt::format("{} reads no block of {}", request.at, request.tensor),
                  "the loop over the blocks of a row", request.at};
  std::optional<Decode> decode;
  return with_copies(
      program, request.at, arrays->values,
      [&](const ir::For& loop) {
        return decode.emplace(context, request, parts, *arrays, passes::threads_of(program))(loop);
      },
      [&](const Stmt& loop) { return decode->with_numbers(loop); });
}

constexpr auto parameters = [] {
  const auto copied = copy_parameters("\"A\"", shared_alone, "\"k.block\"");
  return std::array{
      copied[0], copied[1], copied[2], copied[3],
      optional_number("parts", "2", "threads that share a row, a power of two; else as many as there are", 2,
                      1024, 0)};
}();
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "the scope is shared, and the tensor such weights; parts divide a row"},
    {3, "one loop inside runs over the places of a row of a block"},
    {4, "the iteration reads one block, by one loop over its rows, and multiplies what it reads"},
    copy_reached_together,
    depth_possible,
    one_depth,
    place_known_ahead};

}  // namespace

constinit const StepKind decode{.name = "decode",
                                .sentence =
                                    "The block of weights that an iteration reads, whose rows have a width "
                                    "of their own, becomes a dense tile in shared memory.",
                                .more =
                                    "The weights are stored in blocks, in places with a number each (as "
                                    "hb_ell). The tile is zero where nothing is stored; the loop over the "
                                    "places of a row becomes one over all its columns, and reads the tile. "
                                    "What is stored is copied to shared memory first; with a depth beyond 1 "
                                    "to that many buffers in turn, and a GPU starts the copies depth - 1 "
                                    "iterations ahead. Where `parts` is not given, as many threads share a "
                                    "row as there are, of an instruction of warpgroups four times as many "
                                    "as there are warps yet. The sum then has products with zeros which are "
                                    "not stored: where the other factor is infinite or not a number there, "
                                    "the sum is not a number, as that of a dense product.",
                                .parameters = parameters,
                                .preconditions = preconditions,
                                .apply = proposing_places<decode_at>};

}  // namespace weft::steps
