#include <fmt/format.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/element_gather.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/loads_ahead.h>
#include <weft/scheduler/passes/own_variables.h>

#include <algorithm>
#include <utility>

namespace weft::passes {
namespace {

constexpr std::int64_t most_under_way = 32;  ///< elements of a thread, in registers

}  // namespace

bool is_by_elements(const ir::Copy& copy) {
  if (copy.coordinates.size() < 2) return false;
  const Expr data = data_of(copy);
  return (data.defined() && !ir::uses(data, copy.coordinates.front()) &&
          ir::uses(data, copy.coordinates.back()) &&
          !ir::uses(copy.source_begin.back(), copy.coordinates.front())) ||
         is_by_words(copy);
}

std::optional<RefusedGather> ElementGather::why_not(const ir::Copy& copy, std::int64_t buffers,
                                                    std::int64_t warps) {
  const std::int64_t places = places_of_line(copy), lines = extent_of(copy, 0);
  const std::int64_t lanes = std::min(places, lanes_of_warp);
  if (buffers < warps)
    return RefusedGather{fmt::format("{} buffers for {} warps, of which each fills its own", buffers, warps),
                         fmt::format("depth = {} or more", warps)};
  if (is_by_words(copy)) return WordGather::why_not(copy);
  if (lanes_of_warp % lanes == 0 && places % lanes == 0 && lines % (lanes_of_warp / lanes) == 0)
    return std::nullopt;
  return RefusedGather{fmt::format("{} lines of {} places for a warp", lines, places),
                       fmt::format("lines of a multiple of {} places", lanes_of_warp)};
}

ElementGather::ElementGather(const ir::Copy& copy, const ir::For& loop, std::int64_t warps)
    : copy_(copy), loop_(loop), warps_(warps), data_(data_of(copy)) {
  copy_.inside = gather_runs(copy, {}).condition;
  const std::int64_t places = places_of_line(copy);
  lanes_ = std::min(places, lanes_of_warp);
  parts_ = places / lanes_;
  lines_ = extent_of(copy, 0) / (lanes_of_warp / lanes_);
  while (lines_ % 2 == 0 && lines_ * parts_ > most_under_way) {
    lines_ /= 2;
    batches_ *= 2;
  }
  ranges_[producer_name] = {0, warps * lanes_of_warp - 1};
  ranges_[line_name()] = {0, lines_ - 1};
  const auto registers = [&](const char* name, DType dtype, std::int64_t count) {
    return ir::make_buffer(copy.destination->name + name, dtype, ir::Scope::registers, ir::Access::read_write,
                           {count});
  };
  numbers_ = registers(".numbers", DType::i32, parts_);
  next_ = registers(".next", DType::i32, parts_);
  coming_ = registers(".coming", DType::i32, parts_);
  values_ = registers(".elements", copy.destination->dtype, lines_ * parts_);
  if (!is_by_words(copy)) return;
  words_.emplace(copy_, loop_, warps_, data_, numbers_, next_);
}

/// Where the lane's element lies whose line is counted through all batches.
ir::Substitution ElementGather::place(const Expr& line, const Expr& part) const {
  const Expr lane = producer_number() % lanes_of_warp;
  const std::int64_t at_once = lanes_of_warp / lanes_;
  ir::Substitution place{{copy_.coordinates.front(), at_once == 1 ? line : line * at_once + lane / lanes_}};
  Expr rest = lane % lanes_ + part * lanes_;
  for (std::size_t i = copy_.coordinates.size(); i-- > 1;) {
    const std::int64_t extent = extent_of(copy_, i);
    place[copy_.coordinates[i]] = extent == 1 ? 0 : i == 1 ? rest : rest % extent;
    rest = rest / extent;
  }
  return place;
}

Expr ElementGather::number_of(const Expr& part, const Expr& iteration) const {
  ir::Substitution here = place(0, part);
  here[loop_.name] = iteration;
  return ir::substitute(data_, here);
}

Stmt ElementGather::each_number(const std::function<Stmt(const Expr&)>& body) const {
  const Expr part = ir::variable(copy_.destination->name + ".part");
  return ir::for_range(part, parts_, LoopKind::unrolled, copy_.step, body(part));
}

Stmt ElementGather::each_element(std::int64_t batch, const OfElement& body) const {
  const Expr line = ir::variable(line_name());
  return each_number([&](const Expr& part) {
    return ir::for_range(line, lines_, LoopKind::unrolled, copy_.step,
                         body(line + batch * lines_, part, part * lines_ + line));
  });
}

Stmt ElementGather::load_numbers(const ir::BufferRef& to, const Expr& iteration) const {
  return ir::if_then(iteration < loop_.begin + loop_.extent, each_number([&](const Expr& part) {
                       return ir::store(to, {part}, number_of(part, iteration));
                     }));
}

Expr ElementGather::first_own(const Expr& before) const {
  return (producer_number() / lanes_of_warp + before * (warps_ - 1)) % warps_;
}

Stmt ElementGather::load_first_numbers(const Expr& before) const {
  return load_numbers(numbers_, loop_.begin + first_own(before));
}

Stmt ElementGather::load_coming(const std::function<Expr(const Expr&)>& at, const Expr& begin,
                                const Expr& extent, const Expr& before) const {
  const Expr own = first_own(before);
  return ir::if_then(own < extent, each_number([&](const Expr& part) {
                       return ir::store(coming_, {part}, at(number_of(part, begin + own)));
                     }));
}

Stmt ElementGather::take(const ir::BufferRef& from) const {
  return each_number([&](const Expr& part) { return ir::store(numbers_, {part}, ir::load(from, {part})); });
}

Stmt ElementGather::take_coming() const {
  return take(coming_);
}

Stmt ElementGather::load_ahead() const {
  return ir::block(
      {words_ ? words_->begin() : load(0), load_numbers(next_, ir::variable(loop_.name) + warps_)});
}

Stmt ElementGather::load(std::int64_t batch) const {
  // Where nothing is, something is read that is not stored. Numbers have been checked when the weights were.
  const auto from = [&](const Expr& line, const Expr& part) {
    const ir::Substitution here = place(line, part);
    const Expr number = ir::load(numbers_, {part});
    std::vector<Expr> indices;
    for (std::size_t i = 0; i < copy_.source_begin.size(); ++i) {
      const Expr& index = copy_.source_begin[i];
      if (ir::same(index, data_))
        indices.push_back(data_.as<ir::Load>()->buffer->non_negative ? number : ir::maximum(number, 0));
      else
        indices.push_back(
            moved_inside(*copy_.source, i, ir::substitute(with_number(index, data_, number), here), ranges_));
    }
    return indices;
  };
  return each_element(batch, [&](const Expr& line, const Expr& part, const Expr& element) {
    return ir::store(values_, {element}, ir::load(copy_.source, from(line, part)));
  });
}

Stmt ElementGather::store(std::int64_t batch, const Expr& slot) const {
  return each_element(batch, [&](const Expr& line, const Expr& part, const Expr& element) {
    const ir::Substitution here = place(line, part);
    std::vector<Expr> to;
    for (const Expr& index : copy_.destination_begin) to.push_back(ir::substitute(index, here));
    to.front() = slot;
    Expr value = ir::load(values_, {element});
    if (copy_.inside.defined()) {
      const Expr inside = with_number(copy_.inside, data_, ir::load(numbers_, {part}));
      value = ir::select(ir::substitute(inside, here), value, ir::zero_of(copy_.destination->dtype));
    }
    return ir::store(copy_.destination, to, value);
  });
}

Stmt ElementGather::store(const Expr& slot) const {
  if (words_) return ir::block({words_->fill(slot), take(next_)});
  std::vector<Stmt> statements{store(0, slot)};
  for (std::int64_t batch = 1; batch < batches_; ++batch) {
    statements.push_back(load(batch));
    statements.push_back(store(batch, slot));
  }
  statements.push_back(take(next_));
  return ir::block(std::move(statements));
}

Stmt ElementGather::around(Stmt body) const {
  for (const ir::BufferRef& buffer : {numbers_, next_, coming_}) body = ir::allocate(buffer, std::move(body));
  return words_ ? words_->around(std::move(body)) : ir::allocate(values_, std::move(body));
}

}  // namespace weft::passes
