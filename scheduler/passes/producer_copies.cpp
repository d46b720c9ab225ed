#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/cluster_copies.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/own_variables.h>
#include <weft/scheduler/passes/producer_copies.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::passes {
namespace {

/// Iterations between the load of a number and its use.
constexpr std::int64_t iterations_ahead = ProducerCopies::turns - 1;
/// The number of an iteration in its list, and whether it takes two blocks: 1 or 0.
constexpr const char *number_name = "list.number", *takes_two_name = "list.takes_two";

std::int64_t extent_of(const Expr& extent) {
  const std::int64_t* value = ir::integer_value(extent);
  internal_check(value != nullptr, "a copy of producers has no constant extent");
  return *value;
}

std::int64_t bytes_of(const ir::Copy& copy) {
  const auto elements = ir::product_of(copy.extents);
  internal_check(elements.has_value(), "a copy of producers has no constant extent");
  return *elements * ir::element_bytes(*copy.source);
}

bool uses_data(const Expr& expr, const Expr& data) {
  const auto& load = *data.as<ir::Load>();
  return ir::any<ir::Load>(expr, [&](const ir::Load& each) {
    return each.buffer == load.buffer && ir::same(each.indices, load.indices);
  });
}

/// A condition that holds for no number from the weights unless this one does: of a comparison of sums, what
/// depends on the number alone is replaced by its worst value. The condition itself where it is of another
/// form, or about the number alone.
Expr for_any_number(const Expr& condition, const Expr& data) {
  const auto* e = ir::inequality(condition);
  if (e == nullptr || !uses_data(condition, data)) return condition;
  constexpr std::int64_t mark_of_padding = -1;
  const std::string name = "data.number";
  const ir::Ranges ranges{{name, {data.as<ir::Load>()->buffer->non_negative ? 0 : mark_of_padding, {}}}};
  ir::Linear sum =
      ir::linear(ir::rewrite<ir::Load>(e->right - e->left, [&](const ir::Load&, const Expr& each) {
        return ir::same(each, data) ? ir::variable(name) : each;
      }));
  bool others = false;
  for (ir::Linear::Term& term : sum.terms) {
    if (!ir::uses(term.atom, name)) {
      others = true;
      continue;
    }
    const ir::Range range = ir::range_of(term.atom, ranges);
    const auto& worst = term.coefficient > 0 ? range.minimum : range.maximum;
    if (!worst) return condition;
    sum.constant += term.coefficient * *worst;
    term.coefficient = 0;
  }
  if (!others) return condition;
  return ir::binary(e->op, 0, ir::linear(sum.expr()).expr());
}

/// A comparison with what depends on the number on one side and all else, which is the same for every row, on
/// the other. Sums of the two for each row are also what ptxas 13.0 makes a wrong kernel of: of several
/// products' upper halves with different addends it takes one for another (docs/decisions.md).
Expr number_apart(const Expr& condition, const Expr& data) {
  const auto* e = ir::inequality(condition);
  if (e == nullptr || !uses_data(condition, data)) return condition;
  ir::Linear rest = ir::linear(e->right - e->left);
  ir::Linear of_number;
  std::ranges::copy_if(rest.terms, std::back_inserter(of_number.terms),
                       [&](const ir::Linear::Term& term) { return uses_data(term.atom, data); });
  std::erase_if(rest.terms, [&](const ir::Linear::Term& term) { return uses_data(term.atom, data); });
  const bool falls =
      std::ranges::all_of(of_number.terms, [](const auto& term) { return term.coefficient < 0; });
  ir::Linear& negated = falls ? of_number : rest;
  for (ir::Linear::Term& term : negated.terms) term.coefficient = -term.coefficient;
  negated.constant = -negated.constant;
  return falls ? ir::binary(e->op, of_number.expr(), rest.expr())
               : ir::binary(e->op, rest.expr(), of_number.expr());
}

/// Whether a comparison that holds for some value of the variable holds for all smaller ones.
bool grows_with(const Expr& condition, const std::string& variable) {
  const auto* e = ir::inequality(condition);
  if (e == nullptr) return false;
  const ir::Linear difference = ir::linear(e->right - e->left);
  const bool is_alone = std::ranges::all_of(difference.terms, [&](const ir::Linear::Term& term) {
    return term.atom.as<ir::Variable>() != nullptr || !ir::uses(term.atom, variable);
  });
  return is_alone && difference.coefficient_of(variable) < 0;
}

}  // namespace

bool has_bulk_copy(const Ring& ring) {
  return std::ranges::any_of(ring.copies, [](const ir::Copy& copy) { return copy.coordinates.empty(); });
}

ProducerCopies::ProducerCopies(const ir::Program& program, const Ring& ring, const ir::For& loop,
                               const std::optional<MixedBlocks>& mixed, const BlockList& list, Expr thread,
                               std::int64_t threads, ir::BufferRef full)
    : program_(program),
      loop_(loop),
      mixed_(mixed),
      list_(list.named()),
      thread_(std::move(thread)),
      threads_(threads),
      full_(std::move(full)) {
  for (const ir::Copy& copy : ring.copies) {
    if (is_by_elements(copy)) {
      elements_.emplace_back(copy, loop_, threads_ / lanes_of_warp);
      continue;
    }
    if (!copy.coordinates.empty()) {
      gathers_.push_back(gathered(copy));
      continue;
    }
    blocks_.push_back(copy);
    bulk_bytes_ += bytes_of(copy);
  }
}

ProducerCopies::Gathered ProducerCopies::gathered(const ir::Copy& copy) const {
  Gathered result;
  result.copy = copy;
  const GatherRuns runs = gather_runs(copy, {});
  result.length = runs.length;
  result.copy.inside = runs.condition;
  std::int64_t columns = 1;
  for (std::size_t i = 1; i < copy.extents.size(); ++i) columns *= extent_of(copy.extents[i]);
  result.runs = columns / runs.length;
  const std::int64_t lanes = std::min(result.runs, lanes_of_warp);
  const std::int64_t rows = extent_of(copy.extents.front());
  const std::int64_t groups = threads_ / lanes;
  result.rows = rows / groups;
  take_slots_of_block(result);
  result.data = data_of(copy);
  if (!result.data.defined()) return result;
  result.one_number = !ir::uses(result.data, copy.coordinates.front());
  if (result.copy.inside.defined()) {
    std::vector<Expr> conditions = ir::conjuncts_of(result.copy.inside);
    for (Expr& condition : conditions) condition = number_apart(condition, result.data);
    result.copy.inside = ir::all_of(conditions);
  }
  const auto registers = [&](const char* name, std::vector<Expr> shape) {
    return ir::make_buffer(copy.destination->name + name, DType::i32, ir::Scope::registers,
                           ir::Access::read_write, std::move(shape));
  };
  result.loaded = registers(".loaded", {turns});
  result.coming = registers(".coming", {iterations_ahead});
  if (result.one_number) return result;
  result.chosen = registers(".rows", {result.rows});
  result.whole = registers(".whole", {});
  return result;
}

/// Slots that a block does not have are read by nobody: threads whose rows or runs these are have nothing to
/// do. Where only some rows of a thread were such, zeros are copied as elsewhere.
void ProducerCopies::take_slots_of_block(Gathered& gather) const {
  if (!mixed_ || !gather.copy.inside.defined()) return;
  std::vector<Expr> conditions = ir::conjuncts_of(gather.copy.inside);
  const auto found = std::ranges::find_if(
      conditions, [](const Expr& condition) { return bound_of_slots(condition) != nullptr; });
  if (found == conditions.end()) return;
  const ir::Call& bound = *bound_of_slots(*found);
  const Expr slot = found->as<ir::Binary>()->left;
  const std::int64_t* slots = ir::integer_value(bound.arguments.back());
  const bool by_rows = ir::same(slot, ir::variable(gather.copy.coordinates.front()));
  if (slots == nullptr || (by_rows && *slots / 2 % gather.rows != 0)) return;
  std::vector<Expr> arguments = bound.arguments;
  arguments[1] = list_.first;
  Expr present = ir::call(bound.instruction, bound.dtype, std::move(arguments));
  if (takes_two()) {
    gather.half = *slots / 2;
    gather.slot = slot;
    present = present + ir::variable(takes_two_name) * gather.half;
  }
  (by_rows ? gather.has_rows : gather.has_run) = slot < present;
  conditions.erase(found);
  gather.copy.inside = conditions.empty() ? Expr() : ir::all_of(conditions);
}

/// The row of the tile that the thread copies in that round.
Expr ProducerCopies::row_of(const Gathered& gather, const Expr& round) const {
  const std::int64_t lanes = std::min(gather.runs, lanes_of_warp);
  return producer_number() / lanes * gather.rows + round;
}

/// Where a thread copies one of its runs, or in the first round, all of them.
ir::Substitution ProducerCopies::place_of_run(const Gathered& gather, const Expr& round,
                                              std::int64_t part) const {
  const ir::Copy& copy = gather.copy;
  const std::int64_t lanes = std::min(gather.runs, lanes_of_warp);
  ir::Substitution place{{copy.coordinates.front(), row_of(gather, round)}};
  Expr rest = producer_number() % lanes + part * lanes;
  for (std::size_t i = copy.coordinates.size(); i-- > 1;) {
    const bool last = i + 1 == copy.coordinates.size();
    const std::int64_t extent = extent_of(copy.extents[i]) / (last ? gather.length : 1);
    const Expr own = extent == 1 ? 0 : i == 1 ? rest : rest % extent;
    place[copy.coordinates[i]] = last ? own * gather.length : own;
    rest = rest / extent;
  }
  return place;
}

/// Whether what the thread copies is of the second of two blocks: 1 or 0.
Expr ProducerCopies::second_block(const Gathered& gather) const {
  return ir::substitute(gather.slot, place_of_run(gather, 0, 0)) / gather.half;
}

/// Lanes beyond the rows load one that another lane has loaded too.
Expr ProducerCopies::number_of(const Gathered& gather, const Expr& block, const Expr& takes_two) const {
  const std::int64_t lanes = std::min(gather.runs, lanes_of_warp);
  const Expr own = producer_number() % lanes % gather.rows;
  return ir::substitute(
      gather.data, {{gather.copy.coordinates.front(), row_of(gather, own)},
                    {loop_.name, gather.slot.defined() ? block + takes_two * second_block(gather) : block}});
}

Expr ProducerCopies::counter() const {
  return ir::variable(takes_two() ? number_name : loop_.name);
}

Expr ProducerCopies::first() const {
  return takes_two() ? Expr(0) : list_.begin;
}

Expr ProducerCopies::end() const {
  return first() + list_.iterations();
}

Stmt ProducerCopies::load_number(const Gathered& gather, const Expr& turn, const Expr& count) const {
  const Expr number = takes_two() ? number_of(gather, list_.block(count), list_.takes_two(count))
                                  : number_of(gather, count, 0);
  return ir::if_then(count < end(), ir::store(gather.loaded, {turn}, number));
}

/// Whether all rows of a thread are inside, asked without looking at each of them where that can be: for the
/// mark of padding the warp has been asked.
template <class Place>
Expr ProducerCopies::holds_for_all_rows(const Gathered& gather, const Place& at, const std::string& round) {
  Expr all = ir::boolean(true);
  for (const Expr& condition : ir::conjuncts_of(gather.copy.inside)) {
    if (gather.data.defined() && ir::same(condition, 0 <= gather.data)) {
      all = all && 0 < ir::load(gather.whole, {});
      continue;
    }
    const Expr one = at(gather.data.defined() ? for_any_number(condition, gather.data) : condition);
    if (gather.one_number && grows_with(one, round)) {
      all = all && ir::substitute(one, {{round, gather.rows - 1}});
      continue;
    }
    const std::int64_t times = ir::uses(one, round) ? gather.rows : 1;
    for (std::int64_t i = 0; i < times; ++i) all = all && ir::substitute(one, {{round, i}});
  }
  return all;
}

/// Slots of the second of two blocks are counted from its own first one where they are read.
void ProducerCopies::shift_second(const Gathered& gather, ir::Substitution& place) const {
  for (auto name = gather.copy.coordinates.rbegin(); name != gather.copy.coordinates.rend(); ++name) {
    if (!ir::uses(gather.slot, *name)) continue;
    place[*name] = place[*name] - ir::variable(takes_two_name) * (second_block(gather) * gather.half);
    return;
  }
}

Stmt ProducerCopies::copy_rows(const Gathered& gather, const Expr& slot, const Expr& turn) const {
  const ir::Copy& copy = gather.copy;
  const std::string name = copy.destination->name + ".round";
  const std::int64_t lanes = std::min(gather.runs, lanes_of_warp);
  const Expr round = ir::variable(name);
  std::vector<Stmt> runs, whole_runs;
  Expr whole = ir::boolean(true);
  for (std::int64_t part = 0; part < gather.runs / lanes; ++part) {
    const ir::Substitution place = place_of_run(gather, round, part);
    ir::Substitution in_source = place;
    if (gather.slot.defined()) shift_second(gather, in_source);
    const auto at = [&](const Expr& e) {
      const Expr known = gather.data.defined()
                             ? with_number(e, gather.data,
                                           gather.one_number ? ir::load(gather.loaded, {turn})
                                                             : ir::load(gather.chosen, {round}))
                             : e;
      return ir::substitute(known, in_source);
    };
    const auto in_tile = [&](const Expr& e) { return ir::substitute(e, place); };
    ir::Copy run = copy;
    std::ranges::transform(copy.source_begin, run.source_begin.begin(), at);
    std::ranges::transform(copy.destination_begin, run.destination_begin.begin(), in_tile);
    run.destination_begin.front() = slot;
    run.inside = copy.inside.defined() ? at(copy.inside) : Expr();
    run.extents = {gather.length};
    run.coordinates = {copy.destination->name + ".place"};
    run.of_one_thread = true;
    const auto where_read = [&](const ir::Copy& each) {
      return gather.has_run.defined() ? ir::if_then(in_tile(gather.has_run), ir::copy(each)) : ir::copy(each);
    };
    runs.push_back(where_read(run));
    if (copy.inside.defined()) whole = whole && holds_for_all_rows(gather, at, name);
    run.inside = {};
    whole_runs.push_back(where_read(run));
  }
  const auto rounds = [&](const Expr& variable, const Stmt& body) {
    return ir::for_range(variable, gather.rows, LoopKind::unrolled, copy.step, body);
  };
  Stmt exchange;
  const bool asks_lanes = gather.data.defined() && !gather.one_number;
  if (asks_lanes) {
    // All of them before the first copy: lanes that ask one another wait behind copies.
    const Expr asked = ir::variable(copy.destination->name + ".asked");
    const Expr lane = producer_number() % lanes_of_warp;
    exchange = rounds(asked, ir::execute({"shuffle",
                                          {{gather.chosen, {asked}, 1}},
                                          {{gather.loaded, {turn}, 1}},
                                          {lane / lanes * lanes + asked}}));
  }
  // Lanes at the border of an image would part, and each half of the warp start its own copies.
  const auto asked = ir::conjuncts_of(copy.inside.defined() ? copy.inside : ir::boolean(true));
  const auto of_number = std::ranges::count_if(
      asked, [&](const Expr& e) { return gather.data.defined() && uses_data(e, gather.data); });
  if (gather.runs > lanes && of_number > 1)
    return ir::block({exchange, rounds(round, ir::block(std::move(runs)))});
  Stmt vote;
  if (asks_lanes)
    vote = ir::execute({"none_negative", {{gather.whole, {}, 1}}, {{gather.loaded, {turn}, 1}}, {}});
  // A copy that may have to clear its run takes longer, and few tiles have padding or end beyond the operand.
  return ir::block({vote, exchange,
                    ir::if_then(whole, rounds(round, ir::block(std::move(whole_runs))),
                                rounds(round, ir::block(std::move(runs))))});
}

Stmt ProducerCopies::bulk(const ir::Copy& copy, const Expr& slot) const {
  const bool to_cluster = goes_to_cluster(program_, copy);
  const std::optional<ir::Copy> share = to_cluster ? share_of(copy, *program_.cluster) : copy;
  internal_check(share.has_value(), "a tile that blocks of a cluster cannot share out");
  std::vector<Expr> to = share->destination_begin;
  to.front() = slot;
  std::vector<Expr> operands{ir::load(copy.destination, to), ir::load(copy.source, share->source_begin),
                             bytes_of(*share), ir::load(full_, {slot})};
  if (to_cluster) operands.push_back(mask_of(*program_.cluster));
  return ir::execute(to_cluster ? "bulk_copy_to_cluster" : "bulk_copy", std::move(operands));
}

/// A block, and the second one where there are two of them; what says which slots are kept is left out then.
Stmt ProducerCopies::blocks_copied(const ir::Copy& copy, const Expr& slot) const {
  if (!takes_two()) return bulk(copy, slot);
  const Expr are_two = 0 < ir::variable(takes_two_name);
  if (copy.destination != mixed_->values) return ir::if_then(are_two, {}, bulk(copy, slot));
  ir::Copy second = copy;
  second.destination_begin[1] = 1;
  for (Expr& index : second.source_begin)
    index = ir::substitute(index, {{loop_.name, ir::variable(loop_.name) + 1}});
  return ir::block({bulk(copy, slot), ir::if_then(are_two, bulk(second, slot))});
}

Stmt ProducerCopies::announced(const Expr& slot) const {
  Expr bytes = bulk_bytes_;
  if (takes_two()) {
    const auto values = std::ranges::find(blocks_, mixed_->values, &ir::Copy::destination);
    bytes = ir::select(0 < ir::variable(takes_two_name), 2 * bytes_of(*values), bytes);
  }
  std::vector<Stmt> statements{ir::execute("mbarrier_expect", {ir::load(full_, {slot}), bytes})};
  for (const ir::Copy& copy : blocks_)
    if (!ir::is_awaited(program_, *copy.source)) statements.push_back(blocks_copied(copy, slot));
  return ir::block(std::move(statements));
}

Stmt ProducerCopies::ask_early(std::int64_t buffers, const std::function<Expr(const Expr&)>& at,
                               const BlockList& list) const {
  const bool has_weights = std::ranges::any_of(
      blocks_, [&](const ir::Copy& copy) { return !ir::is_awaited(program_, *copy.source); });
  // A warp waits for elements before it begins what it copies next.
  if ((!program_.overlap && elements_.empty()) || !has_weights) return {};
  std::vector<Stmt> iterations;
  for (std::int64_t i = 0; i < buffers; ++i) {
    const Stmt one = ir::substitute(announced(i), {{loop_.name, list.block(i)}});
    const Stmt here = ir::rewrite<ir::Variable>(one, [&](const ir::Variable& variable, const Expr& e) {
      return variable.name == takes_two_name ? list.takes_two(i) : at(e);
    });
    iterations.push_back(ir::if_then(i < list.iterations(), here));
  }
  return ir::if_then(ir::equal(producer_number(), 0), ir::block(std::move(iterations)));
}

Stmt ProducerCopies::of_iteration(const Expr& slot, const Expr& turn, const Expr& is_asked) const {
  std::vector<Stmt> statements;
  if (!blocks_.empty()) {
    std::vector<Stmt> begun{is_asked.defined() ? ir::if_then(is_asked, {}, announced(slot))
                                               : announced(slot)};
    for (const ir::Copy& copy : blocks_)
      if (ir::is_awaited(program_, *copy.source)) begun.push_back(blocks_copied(copy, slot));
    const Expr number = elements_.empty() ? producer_number() : producer_number() % lanes_of_warp;
    statements.push_back(ir::if_then(ir::equal(number, 0), ir::block(std::move(begun))));
  }
  for (const Gathered& gather : gathers_) {
    const Stmt copied = copy_rows(gather, slot, turn);
    statements.push_back(gather.has_rows.defined()
                             ? ir::if_then(ir::substitute(gather.has_rows, {{gather.copy.coordinates.front(),
                                                                             row_of(gather, 0)}}),
                                           copied)
                             : copied);
  }
  for (const ElementGather& gather : elements_) statements.push_back(gather.store(slot));
  statements.push_back(ir::execute(elements_.empty() ? "mbarrier_arrive_copies" : "mbarrier_arrive",
                                   {ir::load(full_, {slot})}));
  return ir::block(std::move(statements));
}

Stmt ProducerCopies::before_first_iteration(const Expr& before) const {
  std::vector<Stmt> statements;
  for (const Gathered& gather : gathers_) {
    for (std::int64_t i = 0; i < iterations_ahead && gather.data.defined(); ++i)
      statements.push_back(load_number(gather, i, first() + i));
  }
  for (const ElementGather& gather : elements_) statements.push_back(gather.load_first_numbers(before));
  return ir::block(std::move(statements));
}

Stmt ProducerCopies::load_coming(const std::function<Expr(const Expr&)>& at, const BlockList& list,
                                 const Expr& before) const {
  std::vector<Stmt> statements;
  for (const Gathered& gather : gathers_) {
    for (std::int64_t i = 0; i < iterations_ahead && gather.data.defined(); ++i)
      statements.push_back(ir::if_then(
          i < list.iterations(),
          ir::store(gather.coming, {i}, at(number_of(gather, list.block(i), list.takes_two(i))))));
  }
  for (const ElementGather& gather : elements_)
    statements.push_back(gather.load_coming(at, list.begin, list.extent, before));
  return ir::block(std::move(statements));
}

Stmt ProducerCopies::take_coming() const {
  std::vector<Stmt> statements;
  for (const Gathered& gather : gathers_) {
    for (std::int64_t i = 0; i < iterations_ahead && gather.data.defined(); ++i)
      statements.push_back(ir::store(gather.loaded, {i}, ir::load(gather.coming, {i})));
  }
  for (const ElementGather& gather : elements_) statements.push_back(gather.take_coming());
  return ir::block(std::move(statements));
}

Stmt ProducerCopies::in_iteration(const Expr& number, const Stmt& body) const {
  Stmt own = body;
  if (takes_two())
    own = ir::let(loop_.name, list_.block(counter()),
                  ir::let(takes_two_name, list_.takes_two(counter()), body));
  return ir::let(takes_two() ? number_name : loop_.name, first() + number,
                 ir::if_then(counter() < end(), own));
}

Stmt ProducerCopies::load_ahead(const Expr& turn) const {
  std::vector<Stmt> statements;
  for (const Gathered& gather : gathers_) {
    if (gather.data.defined())
      statements.push_back(
          load_number(gather, (turn + iterations_ahead) % turns, counter() + iterations_ahead));
  }
  for (const ElementGather& gather : elements_) statements.push_back(gather.load_ahead());
  return ir::block(std::move(statements));
}

Stmt ProducerCopies::around(const Stmt& body) const {
  Stmt result = body;
  for (const Gathered& gather : gathers_) {
    for (const ir::BufferRef& buffer : {gather.loaded, gather.coming, gather.whole, gather.chosen}) {
      if (buffer != nullptr) result = ir::allocate(buffer, result);
    }
  }
  for (const ElementGather& gather : elements_) result = gather.around(result);
  return ir::let(producer_name, thread_, result);
}

}  // namespace weft::passes
