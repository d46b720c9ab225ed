// A warp goes through a stream of groups of 32 rows of the weights. Lanes take elements at their own pace,
// none more than most_rows_ahead behind another, so the rows of the stream in use are few: a ring in shared
// memory holds them and those that come, copied in chunks. While a step is multiplied, the next one's word is
// loaded and counted, so that all know at its begin which rows it takes.
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/lane_streams.h>
#include <weft/scheduler/hardware/fragments.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/instructions/streams.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/stream_products.h>

#include <algorithm>
#include <functional>

namespace weft::passes {
namespace {

constexpr std::int64_t row_elements = lanes_of_stream * elements_of_lane, row_bytes = 2 * row_elements;
constexpr std::int64_t columns_at_once = 32, registers_at_once = 4, tiles_of_part = 4, parts_of_turn = 2,
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

/// A loop over one step, or over one group, is none any more.
ir::Chain with_all_loops(ir::Chain chain) {
  const auto insert = [&](std::size_t place, const char* what) {
    ir::For one;
    one.name = chain.loops.back().name + what;
    one.begin = 0;
    one.extent = 1;
    chain.loops.insert(chain.loops.begin() + static_cast<std::ptrdiff_t>(place), std::move(one));
  };
  constexpr std::size_t loops_of_tile = 3;
  const auto is_over_steps = [&](std::size_t place) {
    return chain.loops.size() > loops_of_tile && chain.loops.at(place).role == ir::LoopRole::sum;
  };
  if (!is_over_steps(0) && (chain.loops.size() <= loops_of_tile || !is_over_steps(1)))
    insert(chain.loops.size() - loops_of_tile, ".step");
  if (chain.loops.size() == loops_of_tile + 1) insert(0, ".group");
  return chain;
}

class StreamProduct {
 public:
  StreamProduct(const ir::TensorOperation& operation, const StreamCopies& copies)
      : chain_(with_all_loops(ir::chain_of(operation.meaning))),
        groups_(chain_.loops.at(0)),
        steps_(chain_.loops.at(1)),
        rows_(chain_.loops.at(2)),
        columns_(chain_.loops.at(3)),
        places_(chain_.loops.at(4)),
        store_(*chain_.core.as<ir::Store>()),
        instruction_(operation.instruction),
        fragments_{tensor_product(instruction_), rows_of_stream, *ir::integer_value(columns_.extent),
                   rows_.tile, columns_.tile},
        at_(fragments_.loops()),
        step_(operation.step),
        copies_(copies),
        in_pairs_(*ir::integer_value(places_.extent) == columns_of_pairs) {
    const auto& product = *store_.value.as<ir::Binary>();
    const ir::Load* factors[] = {ir::loaded(product.left), ir::loaded(product.right)};
    // The dense one is a tile.
    const bool swapped = factors[0]->buffer->scope == ir::Scope::shared;
    const ir::Load& values = *factors[swapped ? 1 : 0];
    values_ = values.buffer;
    dense_ = *factors[swapped ? 0 : 1];
    given_words_ = ir::substitute(first_load_of(chain_.conditions, "bits"),
                                  {{rows_.name, 0}, {places_.name, 0}, {steps_.name, 0}});
    first_row_ = first_load_of(values.indices, "begin");
    const auto shared = [&](const char* what, DType type, std::vector<Expr> shape) {
      return ir::make_buffer(store_.buffer->name + what, type, ir::Scope::shared, ir::Access::read_write,
                             std::move(shape));
    };
    ring_ = shared(".ring", values_->dtype,
                   {copies.warps, StreamRing::rows + StreamRing::rows_once_more, row_elements});
    words_ = shared(".words", DType::i32, {copies.warps, words_at_once(), steps_.extent, lanes_of_stream});
    full_ = shared(".full", DType::i64, {copies.warps, StreamRing::chunks + words_at_once()});
  }

  Stmt operator()() const {
    ir::For groups = groups_;
    groups.step = step_;
    groups.body = one_group();
    Stmt result = ir::block({begun(), ir::for_loop(std::move(groups)), ended()});
    for (const ir::BufferRef& buffer :
         {first_, rows_there_, asked_, asked_slot_, arrived_, arrived_slot_, round_, least_, most_, word_,
          next_word_, counts_, taken_, place_, next_place_, end_, dense_now_, tile_})
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
  Expr variable(const char* name) const { return ir::variable(rows_.name + name); }
  Expr lane() const { return fragments_.lane(); }
  Expr warp() const { return ir::call("thread", DType::i64, {}) / lanes_of_stream % copies_.warps; }
  /// Streams that a lane goes through side by side: one, or one for each half of a register.
  std::int64_t streams() const { return in_pairs_ ? 1 : 2; }
  /// Words of a turn of the loop, which takes 64 columns: whether a chunk is needed is asked by the whole
  /// warp.
  std::int64_t words_of_turn() const { return in_pairs_ ? 1 : 2; }
  std::int64_t column_tiles() const { return fragments_.columns / fragments_.product.n; }
  std::int64_t words_at_once() const { return number_of_groups() > 1 ? 2 : 1; }
  std::int64_t bytes_of_words() const {
    return *ir::integer_value(steps_.extent) * lanes_of_stream * ir::element_bytes(*words_);
  }
  std::int64_t number_of_groups() const { return *ir::integer_value(groups_.extent); }
  Expr group() const { return ir::variable(groups_.name); }
  Stmt one_lane(Stmt body) const { return ir::if_then(ir::equal(lane(), 0), std::move(body)); }

  // ---- the ring ----

  Expr full(const Expr& slot) const { return ir::load(full_, {warp(), slot}); }
  Expr words_full(const Expr& of_group) const {
    return full(of_group % words_at_once() + StreamRing::chunks);
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

  Stmt ask_for_one() const {
    const Expr slot = now(asked_slot_);
    const Expr bytes = ir::minimum(now(rows_there_) - now(asked_), chunk_rows) * row_bytes;
    const ir::Load source{values_, {(now(first_) + now(asked_)) * row_elements}};
    const Piece chunk{ring_, {warp(), slot * chunk_rows}, source, bytes, chunk_rows};
    return ir::block({ask(bytes, {copied(chunk, full(slot))}, full(slot)),
                      set(asked_, now(asked_) + chunk_rows), set(asked_slot_, behind(slot))});
  }

  Expr behind(const Expr& slot) const { return ir::select(slot < StreamRing::chunks - 1, slot + 1, 0); }

  /// A chunk that no lane reads any more makes room for another.
  Stmt ask_where_room_is() const {
    const Expr room = now(asked_) <= now(least_) + (StreamRing::chunks - 1) * chunk_rows;
    return ir::if_then(now(asked_) < now(rows_there_) && room, ask_for_one());
  }

  /// For the chunk from which the step is the first to read.
  Stmt wait_where_one_comes() const {
    const Expr slot = now(arrived_slot_);
    return ir::if_then(
        now(arrived_) < now(most_),
        ir::block({wait(full(slot), now(round_) % 2),
                   ir::if_then(ir::equal(slot, 0) && 0 < now(arrived_), put_once_more()),
                   set(arrived_, now(arrived_) + chunk_rows),
                   set(round_, ir::select(slot < StreamRing::chunks - 1, now(round_), now(round_) + 1)),
                   set(arrived_slot_, behind(slot))}));
  }

  /// The ring's first rows, as far as the stream has them, behind its end.
  Stmt put_once_more() const {
    constexpr std::int64_t of_lane = 8, lanes_of_row = row_elements / of_lane,
                           rows_at_once = lanes_of_stream / lanes_of_row;
    const Expr round = variable(".once_more"), element = variable(".once_more.element");
    const Expr row = round * rows_at_once + lane() / lanes_of_row,
               place = lane() % lanes_of_row * of_lane + element;
    const Stmt one =
        ir::store(ring_, {warp(), StreamRing::rows + row, place}, ir::load(ring_, {warp(), row, place}));
    const Stmt of_round = ir::if_then(now(arrived_) + row < now(rows_there_),
                                      ir::for_range(element, of_lane, LoopKind::vectorized, step_, one));
    return ir::block(
        {ir::for_range(round, StreamRing::rows_once_more / rows_at_once, LoopKind::unrolled, step_, of_round),
         ir::execute("barrier_of_warp")});
  }

  Stmt ask_for_words(const Expr& of_group) const {
    const Expr words = ir::substitute(given_words_, {{groups_.name, of_group}});
    const Piece all{words_,
                    {warp(), of_group % words_at_once(), 0},
                    *words.as<ir::Load>(),
                    bytes_of_words(),
                    *ir::integer_value(steps_.extent)};
    return ask(bytes_of_words(), {copied(all, words_full(of_group))}, words_full(of_group));
  }

  // ---- what a step reads beside the ring ----

  Expr word_of(const Expr& step) const {
    return ir::load(words_, {warp(), group() % words_at_once(), step, lane()});
  }

  /// A lane has eight columns beside one another, of one row of the dense tile for each eight columns.
  Stmt load_dense(const Expr& turn) const {
    std::vector<Stmt> loads;
    for (std::int64_t part = 0; part < parts_of_turn; ++part) {
      for (std::int64_t tile = 0; tile < column_tiles(); ++tile) {
        const ir::Substitution at{{steps_.name, turn * words_of_turn()},
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

  Stmt begun() const {
    const auto& begin = *first_row_.as<ir::Load>();
    std::vector<Stmt> list{
        set(first_, first_row_),
        set(rows_there_, ir::load(begin.buffer, {begin.indices.front() + 1}) - now(first_))};
    std::vector<Stmt> barriers;
    for (std::int64_t i = 0; i < StreamRing::chunks + words_at_once(); ++i)
      barriers.push_back(ir::execute("mbarrier_init",
                                     {ir::load(full_, {warp(), i}), copies_.in_bulk ? 1 : lanes_of_stream}));
    if (copies_.in_bulk) barriers.push_back(ir::execute("fence_mbarrier_init"));
    list.push_back(one_lane(ir::block(std::move(barriers))));
    list.push_back(ir::execute("barrier_of_warp"));
    list.push_back(ask_for_words(0));
    for (const ir::BufferRef& buffer : {asked_, asked_slot_, arrived_, arrived_slot_, round_, least_})
      list.push_back(set(buffer, 0));
    for (std::int64_t i = 0; i < StreamRing::chunks; ++i)
      list.push_back(ir::if_then(now(asked_) < now(rows_there_), ask_for_one()));
    for (std::int64_t i = 0; i < streams(); ++i) {
      list.push_back(ir::store(taken_, {i}, 0));
      list.push_back(address(place_, i, ir::load(ring_, {warp(), 0, lane() * elements_of_lane + i})));
    }
    list.push_back(address(end_, 0, ir::load(ring_, {warp(), StreamRing::rows, 0})));
    return ir::block(std::move(list));
  }

  static Stmt address(const ir::BufferRef& to, std::int64_t i, const Expr& of) {
    return ir::execute({std::string(shared_address), {{to, {i}, 1}}, {}, {of}});
  }

  /// What is used again may be begun again.
  Stmt ended() const {
    std::vector<Stmt> barriers;
    for (std::int64_t i = 0; i < StreamRing::chunks + words_at_once(); ++i)
      barriers.push_back(ir::execute("mbarrier_end", {ir::load(full_, {warp(), i})}));
    return ir::block({ir::execute("barrier_of_warp"), one_lane(ir::block(std::move(barriers)))});
  }

  /// While the steps of a group are gone through, the words of the next one come.
  Stmt one_group() const {
    const Expr turn = ir::variable(steps_.name);
    ir::For loop = steps_;
    loop.step = step_;
    loop.extent = *ir::integer_value(steps_.extent) / words_of_turn();
    loop.body =
        ir::block({ask_where_room_is(), wait_where_one_comes(), load_dense(turn), gone_on(),
                   counted(next_word_, ir::minimum(turn + 1, loop.extent - 1)), multiplied(), begun_next()});
    std::vector<Stmt> list;
    if (number_of_groups() > 1) {
      const Expr next = group() + 1;
      list.push_back(ir::execute("barrier_of_warp"));
      list.push_back(ir::if_then(next < number_of_groups(), ask_for_words(next)));
    }
    list.push_back(wait(words_full(group()), group() / words_at_once() % 2));
    list.push_back(counted(word_, 0));
    list.push_back(ir::for_loop(std::move(loop)));
    return ir::block(std::move(list));
  }

  /// The least or the most of what there is for each stream of a lane.
  Expr of_streams(const std::function<Expr(std::int64_t)>& each, Expr (*choose)(Expr, Expr)) const {
    return in_pairs_ ? each(0) : choose(each(0), each(1));
  }
  static Stmt of_warp(std::string_view what, const ir::BufferRef& to) {
    return ir::execute({std::string(what), {{to, {0}, 1}}, {{to, {0}, 1}}, {}});
  }
  /// Where counts and places of 32 columns of a turn are.
  std::int64_t place_of(std::int64_t part, std::int64_t stream) const { return part * streams() + stream; }
  /// What a lane takes of a stream in a turn.
  Expr in_turn(std::int64_t stream) const {
    return ir::load(counts_, {place_of(0, stream)}) + ir::load(counts_, {place_of(1, stream)});
  }

  /// Loads the words of a turn and counts their bits, by halves, and says up to which row the warp reads.
  Stmt counted(const ir::BufferRef& to, const Expr& turn) const {
    const Expr half = std::int64_t{1} << bits_of_half;
    const auto count = [](const Expr& bits) { return ir::call(std::string(count_bits), DType::i64, {bits}); };
    std::vector<Stmt> list;
    for (std::int64_t i = 0; i < words_of_turn(); ++i) {
      const Expr word = ir::load(to, {i});
      list.push_back(ir::store(to, {i}, word_of(turn * words_of_turn() + i)));
      list.push_back(ir::store(counts_, {2 * i}, count(word % half)));
      list.push_back(ir::store(counts_, {2 * i + 1}, count(word / half % half)));
    }
    list.push_back(set(
        most_, of_streams([&](std::int64_t i) { return ir::load(taken_, {i}) + in_turn(i); }, ir::maximum)));
    list.push_back(of_warp(warp_maximum, most_));
    return ir::block(std::move(list));
  }

  /// Where the second 32 columns of the turn begin, and the next turn.
  Stmt gone_on() const {
    std::vector<Stmt> list;
    const auto place_behind = [&](const ir::BufferRef& to, std::int64_t at, std::int64_t part,
                                  std::int64_t stream) {
      const Expr place = ir::load(to, {at});
      const std::int64_t from = place_of(part, stream);
      list.push_back(ir::store(to, {at}, ir::load(place_, {from}) + ir::load(counts_, {from}) * row_bytes));
      list.push_back(
          ir::store(to, {at}, ir::select(place < now(end_), place, place - StreamRing::rows * row_bytes)));
    };
    for (std::int64_t i = 0; i < streams(); ++i) place_behind(place_, place_of(1, i), 0, i);
    for (std::int64_t i = 0; i < streams(); ++i) place_behind(next_place_, i, 1, i);
    for (std::int64_t i = 0; i < streams(); ++i)
      list.push_back(ir::store(taken_, {i}, ir::load(taken_, {i}) + in_turn(i)));
    list.push_back(
        set(least_, of_streams([&](std::int64_t i) { return ir::load(taken_, {i}); }, ir::minimum)));
    list.push_back(of_warp(warp_minimum, least_));
    return ir::block(std::move(list));
  }

  Stmt begun_next() const {
    std::vector<Stmt> list;
    for (std::int64_t i = 0; i < words_of_turn(); ++i)
      list.push_back(ir::store(word_, {i}, ir::load(next_word_, {i})));
    for (std::int64_t i = 0; i < streams(); ++i)
      list.push_back(ir::store(place_, {i}, ir::load(next_place_, {i})));
    return ir::block(std::move(list));
  }

  /// Tiles of 16 x 16, each taken while the one before is on its way from shared memory.
  Stmt multiplied() const {
    const std::int64_t tiles = parts_of_turn * tiles_of_part;
    std::vector<Stmt> list{taken(0)};
    for (std::int64_t i = 0; i < tiles; ++i) {
      if (i + 1 < tiles) list.push_back(taken(i + 1));
      for (std::int64_t column = 0; column < column_tiles(); ++column)
        list.push_back(
            ir::execute({instruction_,
                         {accumulators(i % 2, column)},
                         {tile(i), {dense_now_, {i / tiles_of_part, column, i % tiles_of_part / 2 * 2}, 2}},
                         {}}));
    }
    return ir::block(std::move(list));
  }

  ir::RegisterRange tile(std::int64_t number) const { return {tile_, {number % 2, 0}, registers_at_once}; }

  /// The four registers of the tile of that number in the turn: its bits, and those of the half before them.
  Stmt taken(std::int64_t number) const {
    const auto bits = [](std::int64_t first, std::int64_t count) -> Expr {
      return static_cast<std::int32_t>(((std::uint32_t{1} << count) - 1) << first);
    };
    const std::int64_t part = number / tiles_of_part, before = number % tiles_of_part * registers_at_once;
    std::vector<Expr> masks;
    for (std::int64_t i = 0; i < streams(); ++i) {
      const std::int64_t begin = (in_pairs_ ? part : i) * bits_of_half;
      masks.push_back(bits(begin, before));
      for (std::int64_t r = 0; r < registers_at_once; ++r) masks.push_back(bits(begin + before + r, 1));
    }
    const ir::RegisterRange places{place_, {place_of(part, 0)}, static_cast<int>(streams())},
        word{word_, {in_pairs_ ? 0 : part}, 1};
    return ir::execute({std::string(in_pairs_ ? take_pairs : take_elements),
                        {tile(number)},
                        {word, places},
                        std::move(masks)});
  }

  ir::RegisterRange accumulators(std::int64_t row_tile, std::int64_t column_tile) const {
    std::vector<Expr> place(store_.indices.begin(), store_.indices.end() - Fragments::dimensions);
    const std::vector<Expr> own = fragments_.begin_of(row_tile, column_tile);
    place.insert(place.end(), own.begin(), own.end());
    return {store_.buffer, std::move(place), registers_at_once};
  }

  ir::Chain chain_;
  ir::For groups_, steps_, rows_, columns_, places_;
  ir::Store store_;
  std::string instruction_;
  Fragments fragments_;
  FragmentLoops at_;
  int step_;
  StreamCopies copies_;
  bool in_pairs_;
  ir::BufferRef values_, ring_, words_, full_;
  ir::Load dense_;
  Expr given_words_, first_row_;  ///< loads: of the first word of a group and of the first row of the stream
  ir::BufferRef first_ = registers(".first", {1}), rows_there_ = registers(".rows", {1}),
                asked_ = registers(".asked", {1}), asked_slot_ = registers(".asked.slot", {1}),
                arrived_ = registers(".arrived", {1}), arrived_slot_ = registers(".arrived.slot", {1}),
                round_ = registers(".round", {1}), least_ = registers(".least", {1}),
                most_ = registers(".most", {1}), word_ = registers(".word", {words_of_turn()}),
                next_word_ = registers(".word.next", {words_of_turn()}),
                counts_ = registers(".counts", {2 * words_of_turn()}),
                taken_ = registers(".taken", {streams()}),
                place_ = registers(".place", {parts_of_turn * streams()}),
                next_place_ = registers(".place.next", {streams()}), end_ = registers(".end", {1}),
                dense_now_ = registers(".dense", {parts_of_turn, column_tiles(), registers_at_once}),
                tile_ = registers(".tile", {2, registers_at_once});
};

/// Whether the weights are read from streams, whose words say which places there are.
bool takes_streams(const ir::TensorOperation& operation) {
  return ir::any<ir::Call>(operation.meaning,
                           [](const ir::Call& call) { return call.instruction == word_bit; });
}

}  // namespace

Stmt lower_stream_products(const Stmt& body, const StreamCopies& copies) {
  return ir::rewrite<ir::TensorOperation>(body, [&](const ir::TensorOperation& operation, const Stmt& s) {
    return takes_streams(operation) ? StreamProduct(operation, copies)() : s;
  });
}

}  // namespace weft::passes
