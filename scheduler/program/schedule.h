// A schedule: steps applied one after the other to the program of an algorithm and its weights.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/loop.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/program/made_loops.h>
#include <weft/scheduler/program/refused_operands.h>
#include <weft/scheduler/program/step.h>
#include <weft/scheduler/program/step_spelling.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

/// Steps are applied when they are called; one that does not apply throws UserError with the step, the user's
/// line, what was found, what would be accepted, and the program with the place marked, and leaves the
/// schedule as it was. What each step does, and its numbered preconditions, stand in docs/steps.md; `weft
/// steps` prints them.
///
/// A step that makes loops has two forms: `.split(n = 64)` goes on with the schedule; `split(n, 64)` gives
/// the loops back. A knob may stand for every number.
class Schedule {
  using LoopGiven = Placed<LoopName>;
  using OneTensor = Placed<std::string>;
  using Copy = void(OneTensor, Word, NamedArgument);
  using CopyAhead = void(OneTensor, Word, NamedArgument, NamedArgument);

 public:
  /// `weights` may be null where the algorithm has no sparse operand.
  Schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, Target target,
           CallPlace place = {});
  /// Always refused: there is nothing to schedule.
  template <class Never = void>
  Schedule() {
    static_assert(
        detail::never<Never>,
        "weft: a schedule of nothing; accepted: Schedule s = schedule(algorithm, weights, target);");
  }

  template <class Given>
    requires(!std::convertible_to<const Given&, const Schedule&>)
  explicit Schedule(const Given&) {
    static_assert(detail::never<Given>,
                  "weft: a Schedule is not made so; found: the type beside Given; accepted: "
                  "Schedule s = schedule(algorithm, weights, target);");
  }

  /// `.split(n = 64)`: n becomes n.outer and n.inner.
  template <std::same_as<LoopFactor>... Rest>
  Schedule& split(Placed<LoopFactor> first, Rest... rest) {
    return step("split", {argument(first.value), argument(rest)...}, first.place);
  }
  /// `auto [outer, inner] = s.split(n, 64);`
  template <StepNumber Number>
  SplitLoops split(Placed<LoopName> loop, Number factor) {
    const auto made = loops_of(split(Placed<LoopFactor>(loop.value = factor, loop.place)));
    return {made[0], made[1]};
  }
  /// `auto [rows, columns] = s.split(m, 64, n, 128);`: one step for several loops.
  template <StepNumber Number, class... Rest>
    requires(sizeof...(Rest) > 0 && sizeof...(Rest) % 2 == 0)
  ManyLoops<SplitLoops, sizeof...(Rest) / 2 + 1> split(Placed<LoopName> first, Number factor, Rest... rest) {
    std::vector<Argument> arguments;
    add_factors(arguments, first.value, factor, rest...);
    const auto made = loops_of(step("split", std::move(arguments), first.place));
    ManyLoops<SplitLoops, sizeof...(Rest) / 2 + 1> result;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = {made[2 * i], made[2 * i + 1]};
    return result;
  }
  /// `.tile(m = 4, n = 64)`: splits, then m.outer, n.outer, m.inner, n.inner.
  template <std::same_as<LoopFactor>... Rest>
  Schedule& tile(Placed<LoopFactor> first, Rest... rest) {
    return step("tile", {argument(first.value), argument(rest)...}, first.place);
  }
  /// `auto [m_outer, n_outer, m_inner, n_inner] = s.tile(m, 4, n, 64);`
  template <StepNumber Number, class... Rest>
    requires(sizeof...(Rest) % 2 == 0)
  ManyLoops<LoopName, sizeof...(Rest) + 2> tile(Placed<LoopName> first, Number factor, Rest... rest) {
    std::vector<Argument> arguments;
    add_factors(arguments, first.value, factor, rest...);
    const auto made = loops_of(step("tile", std::move(arguments), first.place));
    ManyLoops<LoopName, sizeof...(Rest) + 2> result;
    std::ranges::copy(made, result.begin());
    return result;
  }
  /// Always refused: what follows needs loops and a number for each.
  template <class... Given>
    requires detail::NoFactors<Given...>
  auto split(const Given&...) {
    detail::refuse_factors<Given...>();
    return std::conditional_t<(sizeof...(Given) > 2), ManyLoops<SplitLoops, (sizeof...(Given) + 1) / 2>,
                              SplitLoops>{};
  }
  template <class... Given>
    requires detail::NoFactors<Given...>
  auto tile(const Given&...) {
    detail::refuse_factors<Given...>();
    return ManyLoops<LoopName, (sizeof...(Given) + 1) / 2 * 2>{};
  }
  /// Always refused: loops and numbers stand in lists of their own.
  template <class Never = void>
  Schedule& split(std::initializer_list<LoopName>, std::initializer_list<std::int64_t>) {
    detail::refuse_factors<std::initializer_list<Never>>();
    return *this;
  }
  template <class Never = void>
  Schedule& tile(std::initializer_list<LoopName>, std::initializer_list<std::int64_t>) {
    detail::refuse_factors<std::initializer_list<Never>>();
    return *this;
  }
  /// Always refused: a loop and its number stand in braces, or one of them.
  template <class Never = void>
  Schedule& split(std::initializer_list<detail::Anything>, std::initializer_list<detail::Anything> = {}) {
    detail::refuse_factors<std::initializer_list<Never>>();
    return *this;
  }
  template <class Never = void>
  SplitLoops split(const LoopName&, std::initializer_list<detail::Anything>) {
    detail::refuse_factors<std::initializer_list<Never>>();
    return {};
  }
  template <class Never = void>
  Schedule& tile(std::initializer_list<detail::Anything>, std::initializer_list<detail::Anything> = {}) {
    detail::refuse_factors<std::initializer_list<Never>>();
    return *this;
  }
  /// `.reorder(m, k, n.inner)`: these loops in this order.
  template <class... Rest>
  Schedule& reorder(Placed<LoopName> first, Rest... rest) {
    return step("reorder", {argument(first.value), argument(LoopName(rest))...}, first.place);
  }
  Schedule& reorder(const std::vector<LoopName>& loops, CallPlace place = {}) {
    return step("reorder", arguments_of(loops), place);
  }
  /// `.fuse(p, q, b)`: loops directly inside one another become one, "p_q_b".
  template <class... Rest>
  Schedule& fuse(Placed<LoopName> first, LoopName second, Rest... rest) {
    return step("fuse", {argument(first.value), argument(second), argument(LoopName(rest))...}, first.place);
  }
  /// `LoopName pixels = s.fuse({p, q, b});`
  OneLoop fuse(const std::vector<LoopName>& loops, CallPlace place = {});
  /// `.unroll(n.inner)`: written out.
  template <class... Rest>
  Schedule& unroll(Placed<LoopName> first, Rest... rest) {
    return step("unroll", {argument(first.value), argument(LoopName(rest))...}, first.place);
  }
  /// `.vectorize(n.inner)`: the iterations are elements of a vector.
  Schedule& vectorize(Placed<LoopName> loop) { return step("vectorize", {argument(loop.value)}, loop.place); }
  /// `.parallel(m)`: CPU threads share the iterations.
  Schedule& parallel(Placed<LoopName> loop) { return step("parallel", {argument(loop.value)}, loop.place); }
  /// `.bind(n.outer, block_x)`: blocks, warps, lanes or threads of a GPU share the iterations.
  Schedule& bind(Placed<LoopName> loop, Word axis) {
    return step("bind", {argument(loop.value), {{}, std::string(axis.text)}}, loop.place);
  }
  /// `.stagger(n.inner.outer, "m.row")`: neighbouring iterations of m.row go through those of n.inner.outer
  /// in different orders, so that lanes of two rows do not ask the same banks.
  Schedule& stagger(Placed<LoopName> loop, const LoopName& by) {
    return step("stagger", {argument(loop.value), argument(by)}, loop.place);
  }
  /// `.peel(n.outer, from_end = 1)`: the last iteration stands by itself behind the others, in which
  /// conditions that ask for the end of a row fall away; `from_begin` does the same for the first ones. Both
  /// parts are called n.outer.
  template <class... Rest>
  Schedule& peel(Placed<LoopName> loop, const NamedArgument& number, const Rest&... rest) {
    return step("peel", {argument(loop.value), number, NamedArgument(rest)...}, loop.place);
  }
  /// `.stage("B", shared, at = n.outer)`: what an iteration of n.outer reads of B is copied first.
  /// `.stage("B", shifted, at = p.outer)`: on a CPU, what each column of a filter reads lies apart, in
  /// vectors.
  /// `.stage("B", shared, at = "k.chunk", depth = 4)`: into four buffers in turn, three iterations ahead, by
  /// copies that go on while the threads compute (sm_80 and newer). The loop is serial or unrolled.
  template <class... Rest>
  Schedule& stage(Placed<std::string> tensor, Word scope, const NamedArgument& place, const Rest&... rest) {
    return copied("stage", std::move(tensor), scope, {place, NamedArgument(rest)...});
  }
  /// `.stitch("B", shared, at = "k.block", depth = 4)`: the rows of B that the weights keep are gathered into
  /// a dense tile, of which there are four in turn.
  template <class... Rest>
  Schedule& stitch(Placed<std::string> tensor, Word scope, const NamedArgument& place, const Rest&... rest) {
    return copied("stitch", std::move(tensor), scope, {place, NamedArgument(rest)...});
  }
  /// `.decode("A", shared, at = "k.block", depth = 4)`: the block of the weights that an iteration reads,
  /// whose rows have a width of their own, becomes a dense tile. What is stored is copied into four buffers
  /// in turn.
  template <class... Rest>
  Schedule& decode(Placed<std::string> tensor, Word scope, const NamedArgument& place, const Rest&... rest) {
    return copied("decode", std::move(tensor), scope, {place, NamedArgument(rest)...});
  }
  /// `.balance(m, parts = 132)`: the rows of the weights, in the order in which they are stored, shared out
  /// to parts of about the same number of entries: m.outer over the parts, m.inner over the rows of one.
  Schedule& balance(Placed<LoopName> loop, const NamedArgument& number) {
    return step("balance", {argument(loop.value), number}, loop.place);
  }
  /// `auto [outer, inner] = s.balance(m, 132);`
  template <StepNumber Number>
  SplitLoops balance(Placed<LoopName> loop, Number number) {
    const auto made = loops_of(balance(loop, parts = number));
    return {made[0], made[1]};
  }
  /// `.pool(m, k, workers = 27)`: the groups of places of a block's rows (padded_csr with fill) shared out to
  /// workers, k.group.inner, whichever rows they belong to; m.row.inner then adds up those of its row.
  Schedule& pool(Placed<LoopName> rows, const LoopName& sum, const NamedArgument& number) {
    return step("pool", {argument(rows.value), argument(sum), number}, rows.place);
  }
  template <StepNumber Number>
  PooledLoops pool(Placed<LoopName> rows, const LoopName& sum, Number number) {
    const auto made = loops_of(pool(rows, sum, workers = number));
    return {made[0], made[1], made[2], made[3], made[4]};
  }
  /// `.tensorize("mma_m16n8k16")`: the sums of a tile in registers are made by an instruction that multiplies
  /// matrices. Names of instructions: scheduler/hardware/tensor_instructions.h. With `promote = 1` each
  /// iteration of the loop around is summed from zero and added to the sums in f32, as sums of e4m3 and e5m2
  /// need it that should have the bits of f32.
  template <class... Rest>
  Schedule& tensorize(Placed<std::string> instruction, const Rest&... rest) {
    return step("tensorize", {{{}, instruction.value}, NamedArgument(rest)...}, instruction.place);
  }
  /// `.reorder_writeback("C")`: results leave through shared memory, in whole lines, to the rows that the
  /// format names; of so many columns with `columns = 32`, else 64.
  template <class... Rest>
  Schedule& reorder_writeback(Placed<std::string> tensor, const Rest&... rest) {
    return step("reorder_writeback", {{{}, tensor.value}, NamedArgument(rest)...}, tensor.place);
  }
  /// `.persist(n.outer, "m.block", blocks = 132)`: so many thread blocks go through the tiles of two loops
  /// that are bound to blocks, those of the second one first. With `deal = "k.block"` they share the
  /// iterations of that sum too, so that all have the same work.
  template <class... Rest>
  Schedule& persist(Placed<LoopName> outer, LoopName inner, const NamedArgument& number,
                    const Rest&... rest) {
    return step("persist", {argument(outer.value), argument(inner), number, NamedArgument(rest)...},
                outer.place);
  }
  template <StepNumber Number>
  PersistentLoops persist(Placed<LoopName> outer, const LoopName& inner, Number number) {
    const auto made = loops_of(persist(outer, inner, blocks = number));
    return {made[0], made[1]};
  }
  /// `.specialize_warps(producers = 4, producer_registers = 40, consumer_registers = 232)`: warps of their
  /// own start the copies of the staged loop (sm_90 and newer).
  template <class... Rest>
  Schedule& specialize_warps(Placed<NamedArgument> first, const Rest&... rest) {
    return step("specialize_warps", {first.value, NamedArgument(rest)...}, first.place);
  }
  /// `.multicast("A.values", n.outer)`: the blocks of the loop are a cluster, each of which copies a part of
  /// a tile of A to all of them (sm_90 and newer).
  Schedule& multicast(Placed<std::string> tensor, const LoopName& loop) {
    return step("multicast", {{{}, tensor.value}, argument(loop)}, tensor.place);
  }
  /// `.resident(blocks = 1)`: a multiprocessor is to hold that many thread blocks at a time. Their threads
  /// get the registers that it has, so that many loads are under way at once where few blocks are.
  Schedule& resident(Placed<NamedArgument> number) { return step("resident", {number.value}, number.place); }
  /// `.stream_results("C")`: what is stored to C leaves the caches before what the kernel reads. For results
  /// so large that they would push operands out.
  Schedule& stream_results(Placed<std::string> tensor) {
    return step("stream_results", {{{}, tensor.value}}, tensor.place);
  }
  /// `.overlap_launches("A")`: a launch may begin before the one in front of it in its stream has ended
  /// (programmatic dependent launch, sm_90 and newer). Until it has, nothing but A, the weights, is read: no
  /// launch writes them.
  Schedule& overlap_launches(Placed<std::string> tensor) {
    return step("overlap_launches", {{{}, tensor.value}}, tensor.place);
  }
  /// `.transpose("B")`: an operand that is given as [n, k] is read as [k, n], or an output [n, m] written as
  /// [m, n]; of images the first dimension becomes the innermost, and channels the outermost. A launch of its
  /// own copies it, ahead of the kernel or behind it.
  Schedule& transpose(Placed<std::string> tensor) {
    return step("transpose", {{{}, tensor.value}}, tensor.place);
  }
  /// `.align("B")`: the rows of an operand are read, or an output's written, where they are filled up to 16
  /// bytes. A launch of its own copies it, ahead of the kernel or behind it.
  Schedule& align(Placed<std::string> tensor) { return step("align", {{{}, tensor.value}}, tensor.place); }
  /// `.split_k(k, groups = 8)`: groups share what is summed over k, each with sums of its own, which are
  /// added up through shared memory. The loop over the groups is called "k.group"; bind it to warps.
  /// `.split_k(k, groups = 8, reduce = second_pass)`: the groups are blocks, which meet in a workspace; bind
  /// "k.group" to block_x, block_y or block_z. `reduce = atomic` adds parts together as they come.
  template <class... Rest>
  Schedule& split_k(Placed<LoopName> loop, const NamedArgument& number, const Rest&... rest) {
    return step("split_k", {argument(loop.value), number, NamedArgument(rest)...}, loop.place);
  }
  /// `s.bind(s.split_k(k, 8), warp);`: the loop over the groups.
  template <StepNumber Number, std::convertible_to<Word>... Reduction>
  OneLoop split_k(Placed<LoopName> loop, Number number, const Reduction&... reduction) {
    return loops_of(split_k(loop, groups = number, (reduce = detail::word_of(reduction))...)).front();
  }
  /// `.bake_values(m.inner)`: values and coordinates of the weights become constants of the program, for each
  /// block of the rows that m.inner runs over.
  Schedule& bake_values(Placed<LoopName> rows) {
    return step("bake_values", {argument(rows.value)}, rows.place);
  }
  /// `.bake_values(m.inner, code_bytes = 26 * 1024)`: refused where the code of a block would be larger.
  /// An H200 reads code at full speed where a multiprocessor runs about 26 KB of it, or the whole chip 100
  /// KB.
  /// `.bake_values(m.inner, chunk = 16)`: the code is cut at every 16 columns of the weights. A loop over the
  /// pieces, called "k.chunk", stands around them, at which B can be staged. Both may be given.
  template <class... Rest>
  Schedule& bake_values(Placed<LoopName> rows, const NamedArgument& first, const Rest&... rest) {
    return step("bake_values", {argument(rows.value), first, NamedArgument(rest)...}, rows.place);
  }
  /// `LoopName chunks = s.bake_values(m.inner, 16);`: the loop over the pieces.
  template <StepNumber Number>
  OneLoop bake_values(Placed<LoopName> rows, Number columns_of_chunk) {
    return loops_of(bake_values(rows, chunk = columns_of_chunk)).front();
  }

  // What fits none of the forms above.
  WEFT_STEP_REFUSED(reorder, ".reorder(m, k, n.inner)", (detail::are_loops<1, Given...>))
  WEFT_STEP_REFUSED(fuse, ".fuse(p, q)", (detail::are_loops<2, Given...>))
  WEFT_STEP_REFUSED(unroll, ".unroll(n.inner) of a loop that .split(n = 4) makes, without a number",
                    (detail::are_loops<1, Given...>))
  WEFT_STEP_REFUSED(vectorize, ".vectorize(n.inner) of one loop, which .split(n = 16) makes",
                    (detail::takes<void(LoopGiven), Given...>))
  WEFT_STEP_REFUSED(parallel, ".parallel(m) of one loop; .fuse(m, n) makes one of two",
                    (detail::takes<void(LoopGiven), Given...>))
  WEFT_STEP_REFUSED(bind, ".bind(n.outer, block_x)", (detail::takes<void(LoopGiven, Word), Given...>))
  WEFT_STEP_REFUSED(stagger, ".stagger(n.inner, m)", (detail::takes<void(LoopGiven, LoopName), Given...>))
  WEFT_STEP_REFUSED(peel, ".peel(n.outer, from_end = 1)",
                    (detail::takes<void(LoopGiven, NamedArgument, ...), Given...>))
  WEFT_COPY_REFUSED(stage, ".stage(\"B\", shared, at = n.outer)",
                    (detail::takes<Copy, Given...> || detail::takes<CopyAhead, Given...>))
  WEFT_COPY_REFUSED(stitch, ".stitch(\"B\", shared, at = \"k.block\")",
                    (detail::takes<Copy, Given...> || detail::takes<CopyAhead, Given...>))
  WEFT_COPY_REFUSED(decode, ".decode(\"A\", shared, at = \"k.block\")",
                    (detail::takes<void(OneTensor, Word, NamedArgument, ...), Given...>))
  WEFT_STEP_REFUSED(balance, ".balance(m, parts = 132)",
                    (detail::takes<void(LoopGiven, NamedArgument), Given...>))
  WEFT_STEP_REFUSED(pool, ".pool(m, k, workers = 27)",
                    (detail::takes<void(LoopGiven, LoopName, NamedArgument), Given...>))
  WEFT_STEP_REFUSED(tensorize, ".tensorize(\"mma_m16n8k16\")",
                    (detail::takes<void(OneTensor, ...), Given...>))
  WEFT_STEP_REFUSED(reorder_writeback, ".reorder_writeback(\"C\")",
                    (detail::takes<void(OneTensor, ...), Given...>))
  WEFT_STEP_REFUSED(persist, ".persist(n.outer, \"m.block\", blocks = 132)",
                    (detail::takes<void(LoopGiven, LoopName, NamedArgument, ...), Given...>))
  WEFT_STEP_REFUSED(specialize_warps, ".specialize_warps(producers = 4)",
                    (detail::takes<void(Placed<NamedArgument>, ...), Given...>))
  WEFT_STEP_REFUSED(multicast, ".multicast(\"A\", n.outer)",
                    (detail::takes<void(OneTensor, LoopName), Given...>))
  WEFT_STEP_REFUSED(resident, ".resident(blocks = 1)", (detail::takes<void(Placed<NamedArgument>), Given...>))
  WEFT_STEP_REFUSED(stream_results, ".stream_results(\"C\")", (detail::takes<void(OneTensor), Given...>))
  WEFT_STEP_REFUSED(overlap_launches, ".overlap_launches(\"A\")", (detail::takes<void(OneTensor), Given...>))
  WEFT_STEP_REFUSED(transpose, ".transpose(\"B\")", (detail::takes<void(OneTensor), Given...>))
  WEFT_STEP_REFUSED(align, ".align(\"B\")", (detail::takes<void(OneTensor), Given...>))
  WEFT_STEP_REFUSED(split_k, ".split_k(k, groups = 8)",
                    (detail::takes<void(LoopGiven, NamedArgument), Given...> ||
                     detail::takes<void(LoopGiven, NamedArgument, NamedArgument), Given...>))
  WEFT_STEP_REFUSED(bake_values, ".bake_values(m.inner)", (detail::takes<void(LoopGiven, ...), Given...>))

  WEFT_STEP_IN_BRACES(unroll, ".unroll(m.inner, n.inner)")
  WEFT_STEP_IN_BRACES(vectorize, ".vectorize(n.inner) of one loop")
  WEFT_STEP_IN_BRACES(parallel, ".parallel(m) of one loop")
  WEFT_STEP_IN_BRACES(bind, ".bind(m, block_x) of one loop")

  // What languages beside this one call it.
  WEFT_STEP_ELSEWHERE(
      compute_at, "sums stand where their output is; .stage(\"B\", shared, at = n.outer) copies an operand")
  WEFT_STEP_ELSEWHERE(store_at, ".stage(\"B\", shared, at = n.outer)")
  WEFT_STEP_ELSEWHERE(cache_read, ".stage(\"B\", shared, at = n.outer)")
  WEFT_STEP_ELSEWHERE(
      cache_write,
      "sums are kept in registers; .reorder_writeback(\"C\") stores them by way of shared memory")
  WEFT_STEP_ELSEWHERE(double_buffer, ".stage(\"B\", shared, at = k.outer, depth = 2)")
  WEFT_STEP_ELSEWHERE(prefetch, ".stage(\"B\", shared, at = k.outer, depth = 2)")
  WEFT_STEP_ELSEWHERE(rfactor, ".split_k(k, groups = 8)")
  WEFT_STEP_ELSEWHERE(gpu_blocks, ".bind(m.outer, block_x)")
  WEFT_STEP_ELSEWHERE(gpu_threads, ".bind(n.inner, thread)")
  WEFT_STEP_ELSEWHERE(gpu_lanes, ".bind(n.inner, lane)")
  WEFT_STEP_ELSEWHERE(gpu_tile, ".tile(m = 4, n = 64) and .bind(m.outer, block_x)")
  WEFT_STEP_ELSEWHERE(parallelize, ".parallel(m)")
  WEFT_STEP_ELSEWHERE(cache, ".stage(\"B\", shared, at = k.outer)")
  WEFT_STEP_ELSEWHERE(pipeline, ".stage(\"B\", shared, at = k.outer, depth = 3)")
  WEFT_STEP_ELSEWHERE(interchange, ".reorder(n, m)")
  WEFT_STEP_ELSEWHERE(permute, ".reorder(n, m)")
  // What is done with a schedule, and no step of it.
  WEFT_STEP_ELSEWHERE(compile, "Kernel kernel = compile(schedule);")
  WEFT_STEP_ELSEWHERE(build, "Kernel kernel = compile(schedule);")
  WEFT_STEP_ELSEWHERE(lower, "compile(schedule).lowered()")
  WEFT_STEP_ELSEWHERE(print, "print(schedule), or std::cout << schedule")

  /// Any step, from a file or a search. Throws as the members do. A step that knows where it was asked for
  /// keeps that place; others get this one. A knob that the rewrite cannot take as a symbol stands in the
  /// program with its values, and the program is the one at the first of them at which the step applies.
  Schedule& apply(const Step& step, CallPlace place = {});
  /// The same for a search: the reason instead of a throw, the schedule unchanged then. Throws where there is
  /// no such step or its arguments are not those that its row declares.
  std::optional<Reason> try_apply(const Step& step, CallPlace place = {});
  /// The message that apply() would throw.
  UserError error_of(const Step& step, const Reason& reason) const;

  const Algorithm& algorithm() const { return algorithm_; }
  const SparseTensor* weights() const { return weights_.get(); }
  const std::shared_ptr<const SparseTensor>& shared_weights() const { return weights_; }
  const Target& target() const { return target_; }
  const std::vector<Step>& steps() const { return steps_; }
  /// The program after the last step. UserError of a schedule that was moved from.
  const ir::Program& program(CallPlace place = {}) const;
  /// The program before the first step and after each: steps().size() + 1 of them.
  const std::vector<ir::Program>& history() const { return history_; }

  /// The steps as the C++ that makes them: ".split(n = 64)\n.bind(n.outer, block_x)", to be put behind a
  /// schedule where the algorithm's indices are declared and the names of weft are in use.
  std::string cpp() const;
  /// A C++ source file with the steps in a function, `weft::Schedule& schedule_NAME(weft::Schedule&
  /// schedule)` for the algorithm NAME.
  std::string cpp_file() const;
  /// The steps as a JSON array; read back by steps_of_json.
  std::string json() const;

 private:
  /// What the members do.
  Schedule& step(const char* name, std::vector<Argument> arguments, CallPlace place);
  /// Those that copy a tensor.
  Schedule& copied(const char* name, Placed<std::string> tensor, Word scope, std::vector<Argument> rest);
  std::optional<Reason> tried(Step step);
  /// Why the program that the step makes is not what earlier steps say, naming both.
  std::optional<Reason> breaks_earlier(const Step& step, const ir::Program& next) const;
  /// "best.weft.json, program.cpp:12, step 3 of the schedule", of the next step.
  std::string where_of(const Step& step) const;

  static Argument argument(const LoopFactor& factor);
  static Argument argument(const LoopName& loop) { return {{}, loop.text()}; }
  static void add_factors(std::vector<Argument>&) {}
  template <StepNumber Number, class... Rest>
  static void add_factors(std::vector<Argument>& arguments, LoopName loop, Number factor, Rest... rest) {
    arguments.push_back(argument(loop = factor));
    add_factors(arguments, rest...);
  }
  static std::vector<Argument> arguments_of(const std::vector<LoopName>& loops);
  /// Those that the last step made.
  static std::vector<LoopName> loops_of(const Schedule& schedule);

  Algorithm algorithm_;
  std::shared_ptr<const SparseTensor> weights_;
  Target target_;
  std::vector<Step> steps_;
  std::vector<ir::Program> history_;
};

/// The program after the last step, as text.
std::string print(const Schedule& schedule, CallPlace place = {});
std::ostream& operator<<(std::ostream& stream, const Schedule& schedule);

/// The steps of a JSON array as Schedule::json writes it, with the places that it gives. `file` is where the
/// text was read, for messages. UserError, naming file and step, when it is no such array.
std::vector<Step> steps_of_json(std::string_view json, std::string_view file = {}, CallPlace place = {});

/// A schedule without steps. UserError where weights are missing, of another shape or element type.
Schedule schedule(Algorithm algorithm, SparseTensor weights, const Target& target, CallPlace place = {});
Schedule schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  CallPlace place = {});
Schedule schedule(Algorithm algorithm, const Target& target, CallPlace place = {});
WEFT_CALL_REFUSED(Schedule, schedule,
                  "schedule(algorithm, pack(weights, formats::csr()), target_named(\"cpu\")), or without "
                  "weights where none are sparse")
/// Always refused: weights are packed first, and a target is more than its name.
template <class Weights, class Machine>
  requires detail::NoOperands<Weights, Machine>
Schedule schedule(const Algorithm& algorithm, const Weights&, const Machine&, CallPlace = {}) {
  detail::refuse_operands<Weights, Machine>();
  return Schedule(algorithm, nullptr, Target());
}

/// Of `auto [outer, inner] = s.split(n = 64)`, which is refused: a schedule has no parts.
template <std::size_t>
LoopName get(const Schedule&);

}  // namespace weft

/// Always refused: the form of a step that goes on with the schedule gives no loops back.
template <std::same_as<weft::Schedule> Given>
struct std::tuple_size<Given> : std::integral_constant<std::size_t, 2> {
  static_assert(weft::detail::never<Given>,
                "weft: loops are asked back of a step that goes on with the schedule; accepted: the form "
                "with commas, such as auto [outer, inner] = s.split(n, 64) in place of s.split(n = 64)");
};
template <std::size_t number>
struct std::tuple_element<number, weft::Schedule> {
  using type = weft::LoopName;
};
