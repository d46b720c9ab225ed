// A warp goes through a stream of 32 rows of the weights. Lanes take elements at their own pace, none more
// than most_rows_ahead behind another, so the rows of the stream in use are few: a ring in shared memory
// holds them and those that come, copied in chunks. Behind the ring's end lie as many of its first rows once
// more as a step takes, so that no lane has to ask within a step where the ring ends.
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/hardware/fragments.h>
#include <weft/scheduler/hardware/stream_instructions.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/stream_products.h>

#include <algorithm>
#include <optional>

namespace weft::passes {
namespace {

constexpr std::int64_t row_elements = lanes_of_stream * elements_of_lane, row_bytes = 2 * row_elements;
constexpr std::int64_t columns_at_once = 32, registers_at_once = 4, tiles_of_part = 4,
                       chunk_rows = StreamRing::chunk_rows;

Expr first_load_of(const std::vector<Expr>& where, const std::string& array) {
  for (const Expr& each : where) {
    const auto found = ir::find_all<ir::Load>(each, [&](const ir::Load& load) {
      return load.buffer->name.ends_with("." + array) && load.buffer->scope == ir::Scope::global;
    });
    if (!found.empty()) return ir::load(found.front()->buffer, found.front()->indices);
  }
  throw InternalError("the meaning of a product of streams reads no " + array);
}

/// A loop over one step is none any more.
ir::Chain with_steps(ir::Chain chain) {
  constexpr std::size_t loops_of_tile = 3;
  if (chain.loops.size() > loops_of_tile) return chain;
  ir::For one;
  one.name = chain.loops.front().name + ".step";
  one.begin = 0;
  one.extent = 1;
  chain.loops.insert(chain.loops.begin(), std::move(one));
  return chain;
}

class StreamProduct {
 public:
  StreamProduct(const ir::TensorOperation& operation, const StreamCopies& copies, const ir::For* turns)
      : chain_(with_steps(ir::chain_of(operation.meaning))),
        steps_(chain_.loops.at(0)),
        rows_(chain_.loops.at(1)),
        columns_(chain_.loops.at(2)),
        places_(chain_.loops.at(3)),
        store_(*chain_.core.as<ir::Store>()),
        fragments_{*tensor_instruction_done_by(operation.instruction), rows_of_stream,
                   *ir::integer_value(columns_.extent), rows_.tile, columns_.tile},
        at_(fragments_.loops()),
        step_(operation.step),
        copies_(copies),
        in_pairs_(*ir::integer_value(places_.extent) == columns_of_pairs) {
    if (turns != nullptr) {
      turns_ = *turns;
      turn_ = ir::variable(turns->name);
    }
    const auto& product = *store_.value.as<ir::Binary>();
    const ir::Load* factors[] = {ir::loaded(product.left), ir::loaded(product.right)};
    // The dense one is a tile.
    const bool swapped = factors[0]->buffer->scope == ir::Scope::shared;
    const ir::Load& values = *factors[swapped ? 1 : 0];
    values_ = values.buffer;
    dense_ = *factors[swapped ? 0 : 1];
    given_words_ = ir::substitute(first_load_of(chain_.conditions, "bits"),
                                  {{rows_.name, 0}, {places_.name, 0}, {steps_.name, 0}});
    first_row_ = ir::substitute(first_load_of(values.indices, "begin"), {{steps_.name, 0}});
    const auto shared = [&](const char* what, DType type, std::vector<Expr> shape) {
      return ir::make_buffer(store_.buffer->name + what, type, ir::Scope::shared, ir::Access::read_write,
                             std::move(shape));
    };
    ring_ =
        shared(".ring", values_->dtype,
               {copies.warps, (ring_of_.chunks() + ring_of_.chunks_once_more()) * chunk_rows, row_elements});
    words_ = shared(".words", DType::i32, {copies.warps, words_at_once(), steps_.extent, lanes_of_stream});
    full_ = shared(".full", DType::i64, {copies.warps, ring_of_.chunks() + words_at_once()});
  }

  Stmt operator()() const {
    Stmt each = one_stream();
    if (turns_) each = ir::for_loop(*turns_, std::move(each));
    Stmt result = ir::block({begun(), std::move(each), ended()});
    for (const ir::BufferRef& buffer : {first_, rows_left_, next_first_, next_rows_, before_, word_, place_,
                                        taken_, taken_now_, asked_, arrived_, dense_now_, tile_})
      result = ir::allocate(buffer, result);
    result = fragments_.over_threads(result, step_);
    for (const ir::BufferRef& buffer : {full_, words_, ring_}) result = ir::allocate(buffer, result);
    return result;
  }

 private:
  // ---- small things ----

  ir::BufferRef registers(const char* what, std::vector<Expr> shape) const {
    return ir::make_buffer(store_.buffer->name + what, DType::i32, ir::Scope::registers,
                           ir::Access::read_write, std::move(shape));
  }
  static Expr now(const ir::BufferRef& buffer) { return ir::load(buffer, {0}); }
  static Stmt set(const ir::BufferRef& buffer, Expr value) {
    return ir::store(buffer, {0}, std::move(value));
  }
  static ir::RegisterRange all_of(const ir::BufferRef& buffer) {
    return {buffer, {0}, static_cast<int>(*ir::product_of(buffer->shape))};
  }
  Expr variable(const char* name) const { return ir::variable(rows_.name + name); }
  Expr lane() const { return fragments_.lane(); }
  Expr warp() const { return ir::call("thread", DType::i64, {}) / lanes_of_stream % copies_.warps; }
  std::int64_t counts() const { return in_pairs_ ? 1 : 2; }
  std::int64_t column_tiles() const { return fragments_.columns / fragments_.instruction.n; }
  std::int64_t words_at_once() const { return number_of_turns() > 1 ? 2 : 1; }
  std::int64_t parts_of_step() const { return in_pairs_ ? 2 : 1; }
  std::int64_t bytes_of_words() const {
    return *ir::integer_value(steps_.extent) * lanes_of_stream * ir::element_bytes(*words_);
  }
  Expr chunks() const { return ir::ceil_divide(now(rows_left_), chunk_rows); }
  Expr chunks_there() const { return chunks() + ir::ceil_divide(now(next_rows_), chunk_rows); }
  std::int64_t number_of_turns() const { return turns_ ? *ir::integer_value(turns_->extent) : 1; }
  /// What stands for the stream of a turn, of another one.
  Expr of_turn(const Expr& what, const Expr& turn) const {
    return turns_ ? ir::substitute(what, {{turns_->name, turn}}) : what;
  }
  Stmt one_lane(Stmt body) const { return ir::if_then(ir::equal(lane(), 0), std::move(body)); }

  // ---- the ring ----

  /// Chunks of a stream are numbered from its first, those of the next stream behind them; in the ring they
  /// lie behind those of the streams before.
  Expr slot(const Expr& chunk) const { return (now(before_) + chunk) % ring_of_.chunks(); }
  Expr full(const Expr& chunk) const { return ir::load(full_, {warp(), slot(chunk)}); }
  Expr words_full(const Expr& turn) const {
    return ir::load(full_, {warp(), turn % words_at_once() + ring_of_.chunks()});
  }

  /// What is copied together: to lines of 128 bytes from one on, so many of them at most.
  struct Piece {
    ir::BufferRef to;
    std::vector<Expr> line;  ///< the indices of its first element but the last index, which is 0
    ir::Load from;
    Expr bytes;
    std::int64_t most_lines = 1;
  };

  /// By one copy; or by copies of 16 bytes that lanes share.
  Stmt copied(const Piece& piece, const Expr& barrier) const {
    const Expr source = ir::load(piece.from.buffer, piece.from.indices);
    const auto place = [&](const Expr& line, const Expr& element) {
      std::vector<Expr> indices = piece.line;
      indices.back() = indices.back() + line;
      indices.push_back(element);
      return ir::load(piece.to, std::move(indices));
    };
    if (copies_.in_bulk) return ir::execute("bulk_copy", {place(0, 0), source, piece.bytes, barrier});
    constexpr std::int64_t of_copy = 16, of_line = row_bytes / of_copy;
    const std::int64_t elements = of_copy / ir::element_bytes(*piece.to);
    const Expr round = variable(".round"), at = round * lanes_of_stream + lane();
    std::vector<Expr> from = piece.from.indices;
    from.back() = from.back() + at * elements;
    const Stmt one = ir::execute(
        "copy_16_bytes", {place(at / of_line, at % of_line * elements), ir::load(piece.from.buffer, from)});
    return ir::for_range(round, ceil_divide(piece.most_lines * of_line, lanes_of_stream), LoopKind::serial,
                         step_, ir::if_then(at * of_copy < piece.bytes, one));
  }

  /// Asks for pieces, all of which are there once the barrier is passed.
  Stmt ask(const Expr& bytes, std::vector<Stmt> copies, const Expr& barrier) const {
    if (copies_.in_bulk) {
      copies.insert(copies.begin(), ir::execute("mbarrier_expect", {barrier, bytes}));
      return one_lane(ir::block(std::move(copies)));
    }
    copies.push_back(ir::execute("mbarrier_arrive_copies", {barrier}));
    return ir::block(std::move(copies));
  }

  Stmt wait(const Expr& barrier, const Expr& phase) const {
    return ir::execute(copies_.in_bulk ? "mbarrier_wait" : "mbarrier_test", {barrier, phase});
  }

  /// Asks for a chunk; where it is one of the ring's first, for a second one of it behind the end.
  Stmt ask_for(const Expr& chunk) const {
    const Expr is_next = chunks() <= chunk, is_first = slot(chunk) < ring_of_.chunks_once_more();
    const Expr own = chunk - ir::select(is_next, chunks(), 0);
    const Expr rows = ir::select(is_next, now(next_rows_), now(rows_left_));
    const Expr first = ir::select(is_next, now(next_first_), now(first_));
    const Expr bytes = ir::minimum(rows - own * chunk_rows, chunk_rows) * row_bytes;
    const ir::Load source{values_, {(first + own * chunk_rows) * row_elements}};
    const auto copy = [&](const Expr& to) {
      return copied({ring_, {warp(), to * chunk_rows}, source, bytes, chunk_rows}, full(chunk));
    };
    return ask(ir::select(is_first, bytes * 2, bytes),
               {copy(slot(chunk)), ir::if_then(is_first, copy(slot(chunk) + ring_of_.chunks()))},
               full(chunk));
  }

  Stmt ask_up_to(const Expr& end) const {
    const Expr chunk = variable(".asked");
    return ir::block({ir::for_loop({.name = chunk.as<ir::Variable>()->name,
                                    .begin = now(asked_),
                                    .extent = ir::maximum(end - now(asked_), 0),
                                    .step = step_,
                                    .body = ask_for(chunk)}),
                      set(asked_, ir::maximum(now(asked_), end))});
  }

  Stmt wait_up_to(const Expr& end) const {
    const Expr chunk = variable(".arrived");
    const Expr phase = (now(before_) + chunk) / ring_of_.chunks() % 2;
    return ir::block({ir::for_loop({.name = chunk.as<ir::Variable>()->name,
                                    .begin = now(arrived_),
                                    .extent = ir::maximum(end - now(arrived_), 0),
                                    .step = step_,
                                    .body = wait(full(chunk), phase)}),
                      set(arrived_, ir::maximum(now(arrived_), end))});
  }

  Stmt ask_for_words(const Expr& turn) const {
    const Expr words = of_turn(given_words_, turn);
    const Piece all{words_,
                    {warp(), turn % words_at_once(), 0},
                    *words.as<ir::Load>(),
                    bytes_of_words(),
                    *ir::integer_value(steps_.extent)};
    return ask(bytes_of_words(), {copied(all, words_full(turn))}, words_full(turn));
  }

  // ---- what a step reads beside the ring ----

  Expr word_of(const Expr& step) const {
    return ir::load(words_, {warp(), turn_ % words_at_once(), step, lane()});
  }

  /// A lane has eight columns beside one another, of one row of the dense tile for each eight columns.
  Stmt load_dense(const Expr& step) const {
    std::vector<Stmt> loads;
    for (std::int64_t part = 0; part < parts_of_step(); ++part) {
      for (std::int64_t tile = 0; tile < column_tiles(); ++tile) {
        const ir::Substitution at{{steps_.name, step},
                                  {places_.name, part * columns_at_once + at_.column_lane * 8},
                                  {columns_.name, at_.row_lane + tile * 8}};
        loads.push_back(ir::execute({std::string(load_16_bytes),
                                     {{dense_now_, {part, tile, 0}, registers_at_once}},
                                     {},
                                     {ir::substitute(ir::load(dense_.buffer, dense_.indices), at)}}));
      }
    }
    return ir::block(std::move(loads));
  }

  // ---- the parts of the whole ----

  /// Where the stream of a turn lies.
  Stmt found(const Expr& turn) const {
    const Expr first = of_turn(first_row_, turn);
    const auto& begin = *first.as<ir::Load>();
    return ir::block(
        {set(next_first_, first),
         set(next_rows_, ir::load(begin.buffer, {begin.indices.front() + 1}) - now(next_first_))});
  }

  Stmt begun() const {
    std::vector<Stmt> list{found(0)};
    std::vector<Stmt> barriers;
    for (std::int64_t i = 0; i < ring_of_.chunks() + words_at_once(); ++i)
      barriers.push_back(ir::execute("mbarrier_init",
                                     {ir::load(full_, {warp(), i}), copies_.in_bulk ? 1 : lanes_of_stream}));
    if (copies_.in_bulk) barriers.push_back(ir::execute("fence_mbarrier_init"));
    list.push_back(one_lane(ir::block(std::move(barriers))));
    list.push_back(ir::execute("barrier_of_warp"));
    list.push_back(ask_for_words(0));
    list.push_back(set(before_, 0));
    list.push_back(set(asked_, 0));
    if (copies_.early && number_of_turns() > 1) {
      list.push_back(set(first_, now(next_first_)));
      list.push_back(set(rows_left_, now(next_rows_)));
      list.push_back(ask_up_to(ir::minimum(chunks(), ring_of_.chunks())));
    }
    return ir::block(std::move(list));
  }

  /// What is used again may be begun again.
  Stmt ended() const {
    std::vector<Stmt> barriers;
    for (std::int64_t i = 0; i < ring_of_.chunks() + words_at_once(); ++i)
      barriers.push_back(ir::execute("mbarrier_end", {ir::load(full_, {warp(), i})}));
    return ir::block({ir::execute("barrier_of_warp"), one_lane(ir::block(std::move(barriers)))});
  }

  /// Of the stream of a turn; while its steps are gone through, the begin of the next one comes.
  Stmt one_stream() const {
    const Expr step = ir::variable(steps_.name);
    ir::For loop = steps_;
    loop.step = step_;
    loop.body =
        ir::block({set(word_, word_of(step)), load_dense(step), made_ready(), multiplied(), moved_on()});
    std::vector<Stmt> list{set(first_, now(next_first_)), set(rows_left_, now(next_rows_)), set(arrived_, 0)};
    if (number_of_turns() > 1) {
      const Expr next = turn_ + 1;
      list.push_back(ir::execute("barrier_of_warp"));
      list.push_back(ir::if_then(next < number_of_turns(), ir::block({found(next), ask_for_words(next)}),
                                 set(next_rows_, 0)));
    } else {
      list.push_back(set(next_rows_, 0));
    }
    list.push_back(ask_up_to(ir::minimum(chunks_there(), ring_of_.chunks())));
    for (std::int64_t i = 0; i < counts(); ++i) {
      list.push_back(ir::store(taken_, {i}, 0));
      list.push_back(
          ir::execute({std::string(shared_address),
                       {{place_, {i}, 1}},
                       {},
                       {ir::load(ring_, {warp(), slot(0) * chunk_rows, lane() * elements_of_lane + i})}}));
    }
    list.push_back(wait(words_full(turn_), turn_ / words_at_once() % 2));
    list.push_back(ir::for_loop(std::move(loop)));
    const Expr behind = chunks();
    list.push_back(set(before_, now(before_) + behind));
    list.push_back(set(asked_, now(asked_) - behind));
    return ir::block(std::move(list));
  }

  /// Chunks that no lane reads any more make room, and those are there from which this step reads.
  Stmt made_ready() const {
    const Expr half = std::int64_t{1} << bits_of_half;
    const ir::BufferRef least = registers(".least", {1}), most = registers(".most", {1});
    const auto of_warp = [](std::string_view what, const ir::BufferRef& to) {
      return ir::execute({std::string(what), {{to, {0}, 1}}, {{to, {0}, 1}}, {}});
    };
    const auto of_halves = [&](Expr (*choose)(Expr, Expr)) {
      const Expr one = ir::load(taken_, {0});
      return in_pairs_ ? one : choose(one, ir::load(taken_, {1}));
    };
    const auto count = [](const Expr& bits) { return ir::call(std::string(count_bits), DType::i64, {bits}); };
    const Expr low = count(now(word_) % half), high = count(now(word_) / half % half);
    std::vector<Stmt> list{set(least, of_halves(ir::minimum)),
                           ir::store(taken_now_, {0}, in_pairs_ ? low + high : low)};
    if (!in_pairs_) list.push_back(ir::store(taken_now_, {1}, high));
    for (std::int64_t i = 0; i < counts(); ++i)
      list.push_back(ir::store(taken_, {i}, ir::load(taken_, {i}) + ir::load(taken_now_, {i})));
    list.push_back(set(most, of_halves(ir::maximum)));
    list.push_back(of_warp(warp_minimum, least));
    list.push_back(of_warp(warp_maximum, most));
    list.push_back(ask_up_to(ir::minimum(chunks_there(), now(least) / chunk_rows + ring_of_.chunks())));
    list.push_back(wait_up_to(ir::ceil_divide(now(most), chunk_rows)));
    return ir::allocate(least, ir::allocate(most, ir::block(std::move(list))));
  }

  /// Tiles of 16 x 16, each taken while the one before is on its way from shared memory.
  Stmt multiplied() const {
    const std::int64_t tiles = parts_of_step() * tiles_of_part;
    std::vector<Stmt> list{taken(0)};
    for (std::int64_t i = 0; i < tiles; ++i) {
      if (i + 1 < tiles) list.push_back(taken(i + 1));
      for (std::int64_t column = 0; column < column_tiles(); ++column)
        list.push_back(
            ir::execute({std::string(fragments_.instruction.executed),
                         {accumulators(i % 2, column)},
                         {tile(i), {dense_now_, {i / tiles_of_part, column, i % tiles_of_part / 2 * 2}, 2}},
                         {}}));
    }
    return ir::block(std::move(list));
  }

  ir::RegisterRange tile(std::int64_t number) const { return {tile_, {number % 2, 0}, registers_at_once}; }

  /// The four registers of the tile of that number in the step: its bits, and those of the lane before them.
  Stmt taken(std::int64_t number) const {
    const auto bits = [](std::int64_t first, std::int64_t count) -> Expr {
      return static_cast<std::int32_t>(((std::uint32_t{1} << count) - 1) << first);
    };
    std::vector<Expr> masks;
    for (std::int64_t half = 0; half < counts(); ++half) {
      const std::int64_t begin = half * bits_of_half, before = number * registers_at_once;
      masks.push_back(bits(begin, before));
      for (std::int64_t i = 0; i < registers_at_once; ++i) masks.push_back(bits(begin + before + i, 1));
    }
    return ir::execute({std::string(in_pairs_ ? take_pairs : take_elements),
                        {tile(number)},
                        {all_of(word_), all_of(place_)},
                        std::move(masks)});
  }

  ir::RegisterRange accumulators(std::int64_t row_tile, std::int64_t column_tile) const {
    std::vector<Expr> place(store_.indices.begin(), store_.indices.end() - Fragments::dimensions);
    const std::vector<Expr> own = fragments_.begin_of(row_tile, column_tile);
    place.insert(place.end(), own.begin(), own.end());
    return {store_.buffer, std::move(place), registers_at_once};
  }

  /// Lanes go on behind what they have taken, and from the ring's end to its begin.
  Stmt moved_on() const {
    std::vector<Stmt> list;
    const ir::BufferRef end = registers(".end", {1});
    list.push_back(ir::execute({std::string(shared_address),
                                {{end, {0}, 1}},
                                {},
                                {ir::load(ring_, {warp(), ring_of_.chunks() * chunk_rows, 0})}}));
    for (std::int64_t i = 0; i < counts(); ++i) {
      const Expr place = ir::load(place_, {i});
      list.push_back(ir::store(place_, {i}, place + ir::load(taken_now_, {i}) * row_bytes));
      list.push_back(
          ir::store(place_, {i},
                    ir::select(place < now(end), place, place - ring_of_.chunks() * chunk_rows * row_bytes)));
    }
    return ir::allocate(end, ir::block(std::move(list)));
  }

  ir::Chain chain_;
  ir::For steps_, rows_, columns_, places_;
  ir::Store store_;
  Fragments fragments_;
  FragmentLoops at_;
  int step_;
  StreamCopies copies_;
  std::optional<ir::For> turns_ = {};  ///< the loop over streams of a warp
  Expr turn_ = 0;
  bool in_pairs_;
  StreamRing ring_of_{in_pairs_};
  ir::BufferRef values_, ring_, words_, full_;
  ir::Load dense_;
  Expr given_words_, first_row_;  ///< loads: of the first word and of the first row of the stream
  ir::BufferRef first_ = registers(".first", {1}), rows_left_ = registers(".rows", {1}),
                next_first_ = registers(".first.next", {1}), next_rows_ = registers(".rows.next", {1}),
                before_ = registers(".before", {1}), word_ = registers(".word", {1}),
                place_ = registers(".place", {counts()}), taken_ = registers(".taken", {counts()}),
                taken_now_ = registers(".taken.now", {counts()}), asked_ = registers(".asked", {1}),
                arrived_ = registers(".arrived", {1}),
                dense_now_ = registers(".dense", {parts_of_step(), column_tiles(), registers_at_once}),
                tile_ = registers(".tile", {2, registers_at_once});
};

/// Whether the weights are read from streams, whose words say which places there are.
bool takes_streams(const ir::TensorOperation& operation) {
  return ir::any<ir::Call>(operation.meaning,
                           [](const ir::Call& call) { return call.instruction == word_bit; });
}

}  // namespace

Stmt lower_stream_products(const Stmt& body, const StreamCopies& copies) {
  const auto streams_in = [](const Stmt& stmt) {
    const auto* operation = stmt.as<ir::TensorOperation>();
    return operation != nullptr && takes_streams(*operation) ? operation : nullptr;
  };
  const Stmt in_turns = ir::rewrite<ir::For>(body, [&](const ir::For& loop, const Stmt& s) {
    const auto* operation = loop.kind == LoopKind::serial ? streams_in(loop.body) : nullptr;
    if (operation == nullptr || loop.role != ir::LoopRole::rows) return s;
    return StreamProduct(*operation, copies, &loop)();
  });
  return ir::rewrite<ir::TensorOperation>(in_turns, [&](const ir::TensorOperation& operation, const Stmt& s) {
    return takes_streams(operation) ? StreamProduct(operation, copies, nullptr)() : s;
  });
}

}  // namespace weft::passes
