// The loops that steps give back, and what is said while compiling where a step is asked for behind them, as
// behind the forms that go on with the schedule.
#pragma once

#include <weft/dsl/loop.h>
#include <weft/dsl/refused_call.h>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {

class Schedule;

namespace detail {

template <class... Given>
Schedule& refuse_step_of_loops() {
  static_assert(
      never<Given...>,
      "weft: a step stands behind a form that gives loops back, not the schedule; accepted: the form "
      "with =, s.split(n = 32).reorder(k, n.inner), or the loops by name, auto [outer, inner] = "
      "s.split(n, 32); s.reorder(k, inner)");
  return refused_result<Schedule&>();
}

}  // namespace detail

#define WEFT_STEP_OF_LOOPS(step)                           \
  template <class... Given>                                \
  Schedule& step(const Given&...) const {                  \
    return detail::refuse_step_of_loops<void, Given...>(); \
  }
/// Every step but tile, which persist calls one of its loops, as a member of what is no schedule.
#define WEFT_STEPS_OF_LOOPS             \
  WEFT_STEP_OF_LOOPS(split)             \
  WEFT_STEP_OF_LOOPS(reorder)           \
  WEFT_STEP_OF_LOOPS(fuse)              \
  WEFT_STEP_OF_LOOPS(unroll)            \
  WEFT_STEP_OF_LOOPS(vectorize)         \
  WEFT_STEP_OF_LOOPS(parallel)          \
  WEFT_STEP_OF_LOOPS(bind)              \
  WEFT_STEP_OF_LOOPS(stagger)           \
  WEFT_STEP_OF_LOOPS(peel)              \
  WEFT_STEP_OF_LOOPS(stage)             \
  WEFT_STEP_OF_LOOPS(stitch)            \
  WEFT_STEP_OF_LOOPS(decode)            \
  WEFT_STEP_OF_LOOPS(balance)           \
  WEFT_STEP_OF_LOOPS(pool)              \
  WEFT_STEP_OF_LOOPS(tensorize)         \
  WEFT_STEP_OF_LOOPS(reorder_writeback) \
  WEFT_STEP_OF_LOOPS(persist)           \
  WEFT_STEP_OF_LOOPS(specialize_warps)  \
  WEFT_STEP_OF_LOOPS(multicast)         \
  WEFT_STEP_OF_LOOPS(resident)          \
  WEFT_STEP_OF_LOOPS(stream_results)    \
  WEFT_STEP_OF_LOOPS(split_k)           \
  WEFT_STEP_OF_LOOPS(bake_values)

/// What one loop became.
struct SplitLoops {
  LoopName outer, inner;

  WEFT_STEPS_OF_LOOPS
  WEFT_STEP_OF_LOOPS(tile)
};

/// What pool makes of the loop over the rows and of the one over the places of a row.
struct PooledLoops {
  LoopName block;                 ///< over blocks of rows
  LoopName turn, worker;          ///< over the groups of places of a block
  LoopName row_turn, row_worker;  ///< over the rows of a block

  WEFT_STEPS_OF_LOOPS
  WEFT_STEP_OF_LOOPS(tile)
};

/// What persist makes of two loops: over the blocks that run at once, and over the tiles of one.
struct PersistentLoops {
  LoopName block, tile;

  WEFT_STEPS_OF_LOOPS
};

/// Of a step that makes several of them.
template <class Loops, std::size_t many>
struct ManyLoops : std::array<Loops, many> {
  WEFT_STEPS_OF_LOOPS
  WEFT_STEP_OF_LOOPS(tile)
};

/// Of a step that makes one.
struct OneLoop : LoopName {
  using LoopName::LoopName;
  using LoopName::operator=;
  OneLoop(LoopName loop) : LoopName(std::move(loop)) {}

  WEFT_STEPS_OF_LOOPS
  WEFT_STEP_OF_LOOPS(tile)
};
#undef WEFT_STEP_OF_LOOPS
#undef WEFT_STEPS_OF_LOOPS

}  // namespace weft

template <class Loops, std::size_t many>
struct std::tuple_size<weft::ManyLoops<Loops, many>> : std::integral_constant<std::size_t, many> {};
template <std::size_t number, class Loops, std::size_t many>
struct std::tuple_element<number, weft::ManyLoops<Loops, many>> {
  using type = Loops;
};
