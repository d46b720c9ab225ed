#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/own_variables.h>
#include <weft/scheduler/passes/word_gather.h>

#include <algorithm>
#include <utility>

namespace weft::passes {
namespace {

constexpr std::int64_t bytes_of_word = 4;
constexpr std::int64_t lanes_across = 8, lanes_down = lanes_of_warp / lanes_across;
/// Eight lines have swizzles of their own: the columns of two lanes.
constexpr std::int64_t lanes_of_swizzle = 2;
constexpr std::int64_t columns_at_once = lanes_across * bytes_of_word;  ///< that a warp takes
constexpr std::int64_t places_at_once = lanes_down * bytes_of_word;
/// Registers of a thread whose words are under way together: the time of a load is shared by as many.
constexpr std::int64_t most_words_under_way = 64;

Expr lane() {
  return producer_number() % lanes_of_warp;
}
Expr column_of_lane() {
  return lane() % lanes_across * bytes_of_word;
}
Expr place_of_lane() {
  return lane() / lanes_across * bytes_of_word;
}

}  // namespace

std::int64_t extent_of(const ir::Copy& copy, std::size_t coordinate) {
  return *ir::integer_value(copy.extents[coordinate]);
}

std::int64_t places_of_line(const ir::Copy& copy) {
  std::int64_t places = 1;
  for (std::size_t i = 1; i < copy.extents.size(); ++i) places *= extent_of(copy, i);
  return places;
}

bool is_by_words(const ir::Copy& copy) {
  if (copy.coordinates.size() < 2 || ir::element_bytes(*copy.source) != 1) return false;
  const Expr data = data_of(copy);
  return data.defined() && !ir::uses(data, copy.coordinates.front()) &&
         ir::uses(data, copy.coordinates.back()) &&
         ir::uses(copy.source_begin.back(), copy.coordinates.front());
}

std::optional<RefusedGather> WordGather::why_not(const ir::Copy& copy) {
  const std::int64_t columns = extent_of(copy, 0), places = places_of_line(copy);
  if (columns % columns_at_once == 0 && places % lanes_of_warp == 0) {
    const ir::Buffer& source = *copy.source;
    const std::int64_t* step = ir::integer_value(source.strides.back());
    const bool in_words = step != nullptr && *step == 1 &&
                          std::all_of(source.strides.begin(), source.strides.end() - 1,
                                      [](const Expr& stride) { return divides(bytes_of_word, stride); });
    if (in_words) return std::nullopt;
    return RefusedGather{fmt::format("rows of {} that are no whole words", source.name),
                         fmt::format("align(\"{}\") first", source.name)};
  }
  return RefusedGather{fmt::format("{} lines of {} places of a byte", columns, places),
                       fmt::format("multiples of {} of both", lanes_of_warp)};
}

WordGather::WordGather(const ir::Copy& copy, Expr data, ir::BufferRef numbers)
    : copy_(copy), data_(std::move(data)), numbers_(std::move(numbers)) {
  const std::int64_t all_down = places_of_line(copy) / places_at_once,
                     all_across = extent_of(copy, 0) / columns_at_once;
  const auto halved_until = [](std::int64_t all, std::int64_t most) {
    while (all > most && all % 2 == 0) all /= 2;
    return all;
  };
  constexpr std::int64_t most_words = most_words_under_way / bytes_of_word, most_across = 8;
  across_ = halved_until(all_across, most_across);
  down_ = halved_until(all_down, std::max<std::int64_t>(1, most_words / across_));
  batches_down_ = all_down / down_;
  batches_across_ = all_across / across_;
  const auto registers = [&](const char* what, std::vector<Expr> shape) {
    return ir::make_buffer(name(what), DType::i32, ir::Scope::registers, ir::Access::read_write,
                           std::move(shape));
  };
  chosen_ = registers(".chosen", {down_, bytes_of_word});
  words_ = registers(".words", {down_, across_, bytes_of_word});
  turned_ = registers(".turned", {bytes_of_word});
}

Expr WordGather::first_place(std::int64_t batch, const Expr& down) const {
  return (down + first_down(batch)) * places_at_once + place_of_lane();
}

Expr WordGather::first_column(std::int64_t batch, const Expr& across) const {
  return (across + first_across(batch)) * columns_at_once + column_of_lane();
}

ir::Substitution WordGather::place(const Expr& column, const Expr& place_of_line) const {
  ir::Substitution place{{copy_.coordinates.front(), column}};
  Expr rest = place_of_line;
  for (std::size_t i = copy_.coordinates.size(); i-- > 1;) {
    const std::int64_t extent = extent_of(copy_, i);
    place[copy_.coordinates[i]] = extent == 1 ? 0 : i == 1 ? rest : rest % extent;
    rest = rest / extent;
  }
  return place;
}

Stmt WordGather::each(const char* what, std::int64_t count,
                      const std::function<Stmt(const Expr&)>& body) const {
  const Expr number = ir::variable(name(what));
  return ir::for_range(number, count, LoopKind::unrolled, copy_.step, body(number));
}

Stmt WordGather::each_word(const OfWord& body) const {
  return each(".down", down_, [&](const Expr& down) {
    return each(".across", across_, [&](const Expr& across) { return body(down, across); });
  });
}

/// The numbers of the rows that the lane loads, from the lanes that have them.
Stmt WordGather::choose(std::int64_t batch) const {
  return each(".down", down_, [&](const Expr& down) {
    return each(".row", bytes_of_word, [&](const Expr& row) {
      const Expr of_line = first_place(batch, down) + row;
      const Expr part = (down + first_down(batch)) / (lanes_of_warp / places_at_once);
      return ir::execute(
          {"shuffle", {{chosen_, {down, row}, 1}}, {{numbers_, {part}, 1}}, {of_line % lanes_of_warp}});
    });
  });
}

Stmt WordGather::load(std::int64_t batch) const {
  const auto word = [&](const Expr& down, const Expr& across, const Expr& row) {
    const Expr number = ir::load(chosen_, {down, row});
    const ir::Substitution here = place(first_column(batch, across), first_place(batch, down) + row);
    std::vector<Expr> from;
    for (const Expr& index : copy_.source_begin)
      from.push_back(ir::same(index, data_) ? ir::maximum(number, 0)
                                            : ir::substitute(with_number(index, data_, number), here));
    const Expr inside = copy_.inside.defined()
                            ? ir::select(ir::substitute(with_number(copy_.inside, data_, number), here), 1, 0)
                            : Expr(1);
    return ir::execute(
        {"load_word", {{words_, {down, across, row}, 1}}, {}, {ir::load(copy_.source, from), inside}});
  };
  return ir::block({choose(batch), each_word([&](const Expr& down, const Expr& across) {
                      return each(".row", bytes_of_word,
                                  [&](const Expr& row) { return word(down, across, row); });
                    })});
}

Stmt WordGather::store(std::int64_t batch, const Expr& slot) const {
  const auto byte = [](std::int64_t i) {
    return (lane() / lanes_of_swizzle % bytes_of_word + i) % bytes_of_word;
  };
  // Swizzled places of words differ by bits of the line and by whole lines, which are known: a lane computes
  // the four of the first words alone.
  const ir::Buffer& tile = *copy_.destination;
  const std::int64_t line = *ir::integer_value(tile.shape.back());
  const auto place_of = [&](const Expr& column, const Expr& place_of_line) {
    std::vector<Expr> to;
    for (const Expr& index : copy_.destination_begin)
      to.push_back(ir::substitute(index, place(column, place_of_line)));
    to.front() = slot;
    return to;
  };
  const std::vector<Expr> first = place_of(0, 0);
  std::vector<Stmt> statements;
  for (std::int64_t word = 0; word < down_ * across_; ++word) {
    const std::int64_t down = word / across_, across = word % across_;
    std::vector<Expr> selectors;
    for (std::int64_t i = 0; i < bytes_of_word; ++i) selectors.push_back(byte(i) * 17 + 64);
    statements.push_back(ir::execute({"turn_bytes",
                                      {{turned_, {0}, bytes_of_word}},
                                      {{words_, {down, across, 0}, bytes_of_word}},
                                      std::move(selectors)}));
    const std::vector<Expr> behind = place_of((across + first_across(batch)) * columns_at_once,
                                              (down + first_down(batch)) * places_at_once);
    const ir::Linear distance = ir::linear(ir::offset_of(tile, behind) - ir::offset_of(tile, first));
    internal_check(distance.terms.empty() && tile.swizzle > 0, "words of a tile that lie at uneven places");
    const std::int64_t in_line = distance.constant % line;
    for (std::int64_t i = 0; i < bytes_of_word; ++i)
      statements.push_back(
          ir::execute({"store_word",
                       {},
                       {{turned_, {i}, 1}},
                       {ir::load(copy_.destination, place_of(column_of_lane() + byte(i), place_of_lane())),
                        in_line, distance.constant - in_line}}));
  }
  return ir::block(std::move(statements));
}

Stmt WordGather::around(Stmt body) const {
  for (const ir::BufferRef& buffer : {chosen_, words_, turned_}) body = ir::allocate(buffer, std::move(body));
  return body;
}

}  // namespace weft::passes
