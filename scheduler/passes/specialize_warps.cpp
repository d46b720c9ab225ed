#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/hardware/tensor_instructions.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/own_variables.h>
#include <weft/scheduler/passes/passes.h>
#include <weft/scheduler/passes/producer_copies.h>
#include <weft/scheduler/passes/ring.h>
#include <weft/scheduler/passes/two_blocks.h>

#include <algorithm>
#include <optional>

namespace weft::passes {
namespace {

Expr thread() {
  return ir::call("thread", DType::i64, {});
}

/// A loop through whose iterations producers go from ring to ring: the ring's loop and the variables between
/// the two, outermost first.
struct TileLoop {
  const ir::For* loop = nullptr;
  const ir::For* ring = nullptr;
  std::vector<const ir::Let*> lets;

  /// What the expression is in another iteration.
  Expr at(Expr expr, const Expr& number) const {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
      expr = ir::substitute(expr, {{(*let)->name, (*let)->value}});
    return ir::substitute(expr, {{loop->name, number}});
  }
};

/// Nothing where no numbers choose what is copied, unless the first tile is another: it is asked for early.
std::optional<TileLoop> tile_loop_of(const ir::For& loop, bool is_early) {
  TileLoop tiles{&loop, nullptr, {}};
  Stmt stmt = loop.kind == LoopKind::serial ? loop.body : Stmt();
  while (stmt.defined()) {
    Stmt inner;
    if (const auto* let = stmt.as<ir::Let>()) {
      tiles.lets.push_back(let);
      inner = let->body;
    } else if (const auto* allocation = stmt.as<ir::Allocate>()) {
      inner = allocation->body;
    } else if (const auto* block = stmt.as<ir::Sequence>()) {
      inner = *std::ranges::find_if(block->statements, has_ring);
    } else if (const auto* ring = stmt.as<ir::For>()) {
      tiles.ring = ring;
    }
    stmt = inner;
  }
  if (tiles.ring == nullptr) return std::nullopt;
  Ring ring;
  ring_of(tiles.ring->body, ring);
  const bool of_data = ring.copies.end() != std::ranges::find_if(ring.copies, [](const ir::Copy& copy) {
                         return data_of(copy).defined();
                       });
  return of_data || is_early ? std::optional(tiles) : std::nullopt;
}

/// Where the lists of a tile and of those behind it begin, and how long they are, in registers: loaded while
/// the tiles before are copied. To wait for two loads at each tile would leave nothing under way.
class Lists {
 public:
  Lists(const TileLoop& tiles, const std::optional<MixedBlocks>& mixed) : tiles_(tiles), mixed_(mixed) {
    add("list.begin", tiles.ring->begin);
    add("list.extent", tiles.ring->extent);
    if (mixed && mixed->takes_two()) add("list.first", mixed->first);
  }

  BlockList list(int tile) const {
    const auto number = [&](std::size_t i) { return ir::load(numbers_[i].registers, {tile}); };
    const Expr first = numbers_.size() > 2 ? number(2) : mixed_ ? mixed_->first : Expr();
    return BlockList::of(mixed_, number(0), number(1), first);
  }
  /// Whether the loop has that iteration.
  Expr exists(const Expr& iteration) const { return iteration < tiles_.loop->begin + tiles_.loop->extent; }

  Stmt before_first_tile() const {
    std::vector<Stmt> asked;
    for (int tile = 0; tile < ahead; ++tile) asked.push_back(ask(tile + 1, tiles_.loop->begin + tile));
    return ir::block(std::move(asked));
  }
  /// At the begin of a tile.
  Stmt next() const {
    std::vector<Stmt> moved;
    for (int tile = 0; tile < ahead; ++tile) {
      for (const Number& each : numbers_)
        moved.push_back(ir::store(each.registers, {tile}, ir::load(each.registers, {tile + 1})));
    }
    moved.push_back(ask(ahead, ir::variable(tiles_.loop->name) + ahead));
    return ir::block(std::move(moved));
  }
  Stmt around(Stmt body) const {
    for (auto each = numbers_.rbegin(); each != numbers_.rend(); ++each)
      body = ir::allocate(each->registers, body);
    return body;
  }

 private:
  /// What a list is known by, of this tile and of those that come.
  struct Number {
    ir::BufferRef registers;
    Expr value;
  };
  void add(const char* name, const Expr& value) {
    numbers_.push_back(
        {ir::make_buffer(name, DType::i32, ir::Scope::registers, ir::Access::read_write, {ahead + 1}),
         value});
  }
  Stmt ask(int tile, const Expr& iteration) const {
    std::vector<Stmt> stores;
    for (const Number& each : numbers_)
      stores.push_back(ir::store(each.registers, {tile}, tiles_.at(each.value, iteration)));
    return ir::if_then(exists(iteration), ir::block(std::move(stores)));
  }

  static constexpr int ahead = 2;
  const TileLoop& tiles_;
  const std::optional<MixedBlocks>& mixed_;
  std::vector<Number> numbers_;
};

/// The program of each role. Iterations of the ring's loop are counted through all tiles of a block: number t
/// uses buffer t mod S, in phase t / S mod 2. Of two memory barriers a buffer, "full" says that it holds what
/// was copied, and "empty" that the consumers have read it.
class Roles {
 public:
  Roles(const ir::Program& program, std::int64_t consumers, Arrivals arrivals)
      : program_(program),
        roles_(*program.roles),
        arrivals_(arrivals),
        consumers_(consumers),
        producers_(roles_.producers * lanes_of_warp) {}

  Stmt operator()(const Stmt& body) {
    if (const auto* loop = body.as<ir::For>(); loop != nullptr && ir::is_block(loop->kind))
      return ir::for_loop(*loop, (*this)(loop->body));
    if (const auto* let = body.as<ir::Let>()) return ir::let(let->name, let->value, (*this)(let->body));
    const auto loops = ring_loops(body);
    internal_check(loops.size() == 1, "warps have roles in a program without one ring of copies");
    rest_ = ring_of(loops.front()->body, ring_);
    mixed_ = mixed_blocks_of(*loops.front());
    const auto barriers = [&](const char* name) {
      return ir::make_buffer(name, DType::i64, ir::Scope::shared, ir::Access::read_write, {ring_.buffers});
    };
    const auto turn = [](const char* name) {
      return ir::make_buffer(name, DType::i32, ir::Scope::registers, ir::Access::read_write, {});
    };
    full_ = barriers("ring.full");
    empty_ = barriers("ring.empty");
    turn_ = turn("consumer.turn");
    const Stmt consumer = in_turns(role(body, true), roles_.consumer_registers, "more_registers");
    turn_ = turn("producer.turn");
    const Stmt producer = in_turns(role(body, false), roles_.producer_registers, "less_registers");
    Stmt result = ir::block({prepared(), ir::if_then(thread() < consumers_, consumer, producer), left()});
    for (const ir::BufferRef& buffer : {full_, empty_}) result = ir::allocate(buffer, result);
    for (auto tile = ring_.tiles.rbegin(); tile != ring_.tiles.rend(); ++tile)
      result = ir::allocate(*tile, result);
    return result;
  }

 private:
  Stmt in_turns(const Stmt& body, int registers, const char* instruction) const {
    const Stmt first = registers > 0 ? ir::execute(instruction, {registers}) : Stmt();
    return ir::allocate(turn_, ir::block({first, ir::store(turn_, {}, 0), body}));
  }

  Stmt prepared() const {
    // Each producer's copies count once, and so does the one that announces the bytes of bulk copies.
    const std::int64_t filling =
        std::ranges::any_of(ring_.copies, is_by_elements) ? lanes_of_warp : producers_;
    const std::int64_t arrivals = filling + (has_bulk_copy(ring_) ? 1 : 0);
    std::vector<Stmt> inits;
    for (std::int64_t i = 0; i < ring_.buffers; ++i) {
      inits.push_back(ir::execute("mbarrier_init", {ir::load(full_, {i}), arrivals}));
      inits.push_back(ir::execute("mbarrier_init", {ir::load(empty_, {i}), readers()}));
    }
    inits.push_back(ir::execute("fence_mbarrier_init"));
    return ir::block({ir::if_then(ir::equal(thread(), 0), ir::block(std::move(inits))),
                      program_.cluster ? ir::execute("barrier_of_cluster") : ir::barrier()});
  }

  /// Blocks of a cluster stay until nobody arrives at their barriers any more.
  Stmt left() const { return program_.cluster ? ir::execute("barrier_of_cluster") : Stmt(); }

  /// Whose consumers read what a block copies.
  std::int64_t blocks() const { return program_.cluster ? program_.cluster->blocks : 1; }

  /// Arrivals that say that a buffer can be filled again.
  std::int64_t readers() const {
    return (arrivals_ == Arrivals::of_lanes ? consumers_ : consumers_ / lanes_of_warp) * blocks();
  }

  /// The warp has read a buffer: that is told to all who copy into it, by a lane each.
  Stmt released(const Expr& buffer) const {
    const Expr lane = thread() % lanes_of_warp;
    const Expr barrier = ir::load(empty_, {buffer});
    if (arrivals_ == Arrivals::of_lanes) return released_by_lanes(barrier);
    if (!program_.cluster) return ir::if_then(ir::equal(lane, 0), ir::execute("mbarrier_arrive", {barrier}));
    return ir::if_then(lane < blocks(), ir::execute("mbarrier_arrive_at", {barrier, lane}));
  }

  Stmt released_by_lanes(const Expr& barrier) const {
    if (!program_.cluster) return ir::execute("mbarrier_arrive", {barrier});
    std::vector<Stmt> arrivals;
    for (std::int64_t block = 0; block < blocks(); ++block)
      arrivals.push_back(ir::execute("mbarrier_arrive_at", {barrier, block}));
    return ir::block(std::move(arrivals));
  }

  /// What a role does of the program. Producers only walk to the ring.
  Stmt role(const Stmt& stmt, bool consumes) {
    if (!stmt.defined() || (!consumes && !has_ring(stmt))) return {};
    if (const auto* loop = stmt.as<ir::For>()) {
      Ring ring;
      ring_of(loop->body, ring);
      if (!ring.copies.empty()) return consumes ? consume(*loop) : produce(*loop);
      if (const auto tiles = consumes ? std::nullopt : tile_loop_of(*loop, program_.overlap.has_value()))
        return produce(*tiles);
    }
    if (const auto* allocation = stmt.as<ir::Allocate>(); allocation != nullptr && !consumes)
      return role(allocation->body, consumes);
    const bool repeats = stmt.as<ir::For>() != nullptr;
    loops_around_ += repeats ? 1 : 0;
    const Stmt result = with_children(stmt, [&](const Stmt& child) { return role(child, consumes); });
    loops_around_ -= repeats ? 1 : 0;
    return result;
  }

  Stmt next_turn() const { return ir::store(turn_, {}, ir::load(turn_, {}) + 1); }

  /// `body` with variables for the buffer and the phase of the iteration.
  Stmt with_turn(const Stmt& body) const { return with_turn(ir::load(turn_, {}), body); }
  Stmt with_turn(const Expr& turn, const Stmt& body) const {
    return ir::let("ring.slot", turn % ring_.buffers, ir::let("ring.phase", turn / ring_.buffers % 2, body));
  }

  static Expr slot() { return ir::variable("ring.slot"); }
  static Expr phase() { return ir::variable("ring.phase"); }

  /// Waits for the copies, computes, and says that the buffer can be filled again: at once, or, where the
  /// computation goes on while the next one is prepared, an iteration later.
  Stmt consume(const ir::For& loop) const {
    bool overlaps = false, has_codes = false;
    const auto with_pending = [&](const Stmt& stmt, int pending) {
      return ir::rewrite<ir::TensorOperation>(stmt, [&](const ir::TensorOperation& operation, const Stmt& s) {
        const TensorProduct& product = tensor_product(operation.instruction);
        if (product.place != TensorOperands::in_shared) return s;
        if (product.two_of_four() && !may_overlap(operation)) return s;
        // Sums of an iteration alone are read in it.
        if (stores_to_own(rest_, operation)) return s;
        overlaps = true;
        has_codes = product.two_of_four();
        ir::TensorOperation changed = operation;
        changed.pending = pending;
        return ir::tensor_operation(std::move(changed));
      });
    };
    const auto iteration = [&](const Stmt& of_blocks, const Stmt& release) {
      const Stmt compute = with_pending(with_slot(of_blocks, ring_, slot()), 1);
      return ir::block(
          {with_turn(ir::block(
               {ir::execute("mbarrier_wait", {ir::load(full_, {slot()}), phase()}), compute, release})),
           next_turn()});
    };
    const Stmt finish = with_pending(with_slot(rest_, ring_, 0), -1);
    const Expr turn = ir::load(turn_, {});
    const Expr before = (turn + (ring_.buffers - 1)) % ring_.buffers;
    const Expr is_first = ir::equal(ir::variable(loop.name), loop.begin);
    const Stmt release = overlaps ? ir::if_then(is_first, {}, released(before))
                                  : ir::block({loads_are_done(), released(slot())});
    ir::For changed = loop;
    changed.body = iteration(rest_, release);
    const Stmt last = overlaps ? ir::if_then(0 < loop.extent, released(before)) : Stmt();
    const bool takes_two = mixed_ && mixed_->takes_two();
    if (mixed_ && (overlaps || takes_two)) {
      const auto [keeping_first, of_pairs] = cut_at(changed, mixed_->first);
      const Stmt those = takes_two ? in_twos(keeping_first, iteration(of_two_blocks(rest_, *mixed_), release))
                                   : in_pairs(keeping_first);
      if (!overlaps) return ir::block({those, ir::for_loop(of_pairs)});
      // Sums have their first values in front of the first fence, which a compiler that knows how many pairs
      // there are would give them behind it.
      const Stmt wait = of_kind(finish, false);
      return ir::block({wait, those, wait, in_pairs(of_pairs), wait, last});
    }
    if (!overlaps) return ir::for_loop(std::move(changed));
    if (!has_codes) return ir::block({ir::for_loop(std::move(changed)), finish, last});
    return ir::block({finish, in_pairs(changed), finish, last});
  }

  /// Whether what the operation sums to is allocated inside.
  static bool stores_to_own(const Stmt& stmt, const ir::TensorOperation& operation) {
    return ir::any<ir::Allocate>(stmt, [&](const ir::Allocate& allocation) {
      return ir::any<ir::Store>(operation.meaning,
                                [&](const ir::Store& store) { return store.buffer == allocation.buffer; });
    });
  }

  /// Beside the buffers that two iterations read, producers need two to fill; one where iterations are so
  /// short that pauses between them cost more (docs/measurements/two_of_four.md).
  bool may_overlap(const ir::TensorOperation& operation) const {
    constexpr std::int64_t short_iteration = 32;  // places that are kept
    std::int64_t places = 0;
    ir::each<ir::For>(operation.meaning, [&](const ir::For& loop) {
      const std::int64_t* extent = ir::integer_value(loop.extent);
      if (extent != nullptr && loop.body.as<ir::Store>() != nullptr) places = *extent;
    });
    return ring_.buffers >= (places <= short_iteration ? 3 : 4);
  }

  /// Two iterations written out: codes are loaded into registers that the instruction reads until it is done,
  /// so that the next iteration, which begins beside it, needs others.
  static Stmt in_pairs(const ir::For& loop) {
    const auto iteration = [&](const Expr& behind_first) {
      return ir::let(loop.name, loop.begin + behind_first, loop.body);
    };
    ir::For pairs = loop;
    pairs.name = loop.name + ".pair";
    pairs.begin = 0;
    pairs.extent = loop.extent / 2;
    const Expr first = ir::variable(pairs.name) * 2;
    pairs.body = ir::block({iteration(first), iteration(first + 1)});
    return ir::block(
        {ir::for_loop(std::move(pairs)), ir::if_then(0 < loop.extent % 2, iteration(loop.extent - 1))});
  }

  /// Before one lane speaks for the loads of its warp. ptxas lets an arrival overtake loads of fragments;
  /// copies could then reach what they still read.
  Stmt loads_are_done() const {
    const Stmt together = ir::execute("barrier_of_warp");
    return loads_fragments(rest_) ? ir::block({ir::execute("fence_of_block"), together}) : together;
  }

  /// Whether tiles are read by loads of the lanes, which nothing waits for, rather than by the instruction.
  static bool loads_fragments(const Stmt& stmt) {
    return ir::any<ir::TensorOperation>(stmt, [](const ir::TensorOperation& operation) {
      return tensor_product(operation.instruction).place == TensorOperands::in_registers;
    });
  }

  Stmt produce(const ir::For& loop) const {
    const BlockList list = BlockList::of(mixed_, loop.begin, loop.extent, mixed_ ? mixed_->first : Expr());
    const ProducerCopies copies(program_, ring_, loop, mixed_, list, thread() - consumers_, producers_,
                                full_);
    const auto same = [](const Expr& expr) { return expr; };
    const Stmt early = loops_around_ == 0 ? copies.ask_early(ring_.buffers, same, list) : Stmt();
    const Expr asked = early.defined() ? ir::integer(ring_.buffers) : Expr();
    const Stmt copied =
        ir::block({copies.before_first_iteration(ir::load(turn_, {})), iterations(loop, copies, asked)});
    return copies.around(ir::block({early, list.with_names(copied)}));
  }

  /// The first numbers of a list are loaded one tile ahead too, and so where it begins two.
  Stmt produce(const TileLoop& tiles) const {
    const Lists lists(tiles, mixed_);
    const BlockList list = lists.list(0), next = lists.list(1);
    ir::For own = *tiles.ring;
    own.begin = list.begin;
    own.extent = list.extent;
    const ProducerCopies copies(program_, ring_, own, mixed_, list, thread() - consumers_, producers_, full_);
    const auto first_numbers = [&](const Expr& iteration, const Expr& before) {
      const auto at = [&](const Expr& expr) { return tiles.at(expr, iteration); };
      return ir::if_then(lists.exists(iteration), copies.load_coming(at, next, before));
    };
    const auto at_first = [&](const Expr& expr) { return tiles.at(expr, tiles.loop->begin); };
    Stmt early = copies.ask_early(ring_.buffers, at_first, next);
    const auto asked =
        ir::make_buffer("producer.asked", DType::i32, ir::Scope::registers, ir::Access::read_write, {});
    const Expr first_asked = early.defined() ? ir::load(asked, {}) : Expr();
    if (early.defined())
      early = ir::block(
          {ir::store(asked, {}, 0),
           ir::if_then(
               lists.exists(tiles.loop->begin),
               ir::block({ir::store(asked, {}, ir::minimum(next.iterations(), ring_.buffers)), early}))});
    Stmt copied = list.with_names(iterations(own, copies, first_asked));
    for (auto let = tiles.lets.rbegin(); let != tiles.lets.rend(); ++let)
      copied = ir::let((*let)->name, (*let)->value, copied);
    ir::For changed = *tiles.loop;
    changed.body =
        ir::block({lists.next(), copies.take_coming(),
                   first_numbers(ir::variable(changed.name) + 1, ir::load(turn_, {}) + own.extent), copied});
    Stmt all = ir::block({lists.before_first_tile(), early, first_numbers(changed.begin, 0),
                          ir::for_loop(std::move(changed))});
    if (early.defined()) all = ir::allocate(asked, all);
    return copies.around(lists.around(all));
  }

  /// The weights of the first iterations, `asked` of them, have been asked for; undefined: of none.
  Stmt iterations(const ir::For& loop, const ProducerCopies& copies, const Expr& asked) const {
    return copies.by_warps() ? of_warps(loop, copies, asked) : written_out(loop, copies, asked);
  }

  /// The iterations that are a warp's own.
  Stmt of_warps(const ir::For& loop, const ProducerCopies& copies, const Expr& asked) const {
    const std::int64_t warps = producers_ / lanes_of_warp;
    const Expr turns = ir::variable(loop.name + ".turns");
    const Expr own = turns * warps + copies.first_own(ir::load(turn_, {}));
    const Expr turn = ir::load(turn_, {}) + own;
    Stmt body = ir::block(
        {copies.load_ahead(0),
         with_turn(turn,
                   ir::block({ir::execute("mbarrier_wait", {ir::load(empty_, {slot()}), (phase() + 1) % 2}),
                              copies.of_iteration(slot(), 0, asked.defined() ? turn < asked : Expr())}))});
    body = ir::if_then(own < loop.extent, ir::let(loop.name, loop.begin + own, body));
    return ir::block(
        {ir::for_range(turns, ir::ceil_divide(loop.extent, warps), LoopKind::serial, loop.step, body),
         ir::store(turn_, {}, ir::load(turn_, {}) + loop.extent)});
  }

  /// The loop in turns.
  Stmt written_out(const ir::For& loop, const ProducerCopies& copies, const Expr& asked) const {
    const Expr is_asked = asked.defined() ? ir::load(turn_, {}) < asked : Expr();
    const Expr turn = ir::variable(loop.name + ".turn"), turns = ir::variable(loop.name + ".turns");
    const Expr count = ProducerCopies::turns;
    const Stmt body = ir::block(
        {copies.load_ahead(turn),
         with_turn(ir::block({ir::execute("mbarrier_wait", {ir::load(empty_, {slot()}), (phase() + 1) % 2}),
                              copies.of_iteration(slot(), turn, is_asked)})),
         next_turn()});
    return ir::for_range(turns, ir::ceil_divide(copies.iterations(), count), LoopKind::serial, loop.step,
                         ir::for_range(turn, count, LoopKind::unrolled, loop.step,
                                       copies.in_iteration(turns * count + turn, body)));
  }

  const ir::Program& program_;
  ir::WarpRoles roles_;
  Arrivals arrivals_;
  std::int64_t consumers_, producers_;
  Ring ring_;
  Stmt rest_;
  std::optional<MixedBlocks> mixed_;
  int loops_around_ = 0;  ///< those between the role's program and what is looked at
  ir::BufferRef full_, empty_, turn_;
};

}  // namespace

ir::Program specialize_warps(ir::Program program, std::int64_t consumers, Arrivals arrivals) {
  program.body = Roles(program, consumers, arrivals)(program.body);
  return program;
}

ir::Program wait_within_roles(ir::Program program, std::int64_t consumers) {
  if (!program.roles) return program;
  // The roles part behind the first barrier.
  const auto within = [&](const Stmt& stmt) {
    const Stmt met = ir::rewrite<ir::Barrier>(
        stmt, [&](const ir::Barrier&) { return ir::execute("barrier_of_some", {1, consumers}); });
    return ir::rewrite<ir::If>(met, [&](const ir::If& branch, const Stmt& s) {
      if (!is_last_arrival(branch.condition)) return s;
      return ir::if_then(arrival_of_some(*branch.condition.as<ir::Call>(), consumers), branch.then);
    });
  };
  program.body = ir::rewrite<ir::If>(program.body, [&](const ir::If& branch, const Stmt& s) {
    const bool parts = ir::same(branch.condition, thread() < consumers);
    return parts ? ir::if_then(branch.condition, within(branch.then), branch.otherwise) : s;
  });
  return program;
}

}  // namespace weft::passes
