#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/own_variables.h>
#include <weft/scheduler/passes/word_gather.h>

#include <algorithm>
#include <utility>

namespace weft::passes {
namespace {

constexpr std::int64_t runs_of_line = 8, bytes_of_line = bytes_of_run * runs_of_line;
/// Lanes that store runs together.
constexpr std::int64_t lanes_together = 8;

Expr lane() {
  return producer_number() % lanes_of_warp;
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

WordGather::Shares::Shares(const ir::Copy& copy) {
  const std::int64_t all_places = places_of_line(copy), all_columns = extent_of(copy, 0);
  places = std::min(all_places, bytes_of_line);
  lanes_down = places / bytes_of_run;
  lanes_across = lanes_of_warp / lanes_down;
  columns_of_lane = std::min(bytes_of_run, all_columns / lanes_across);
  columns = lanes_across * columns_of_lane;
  batches_down = all_places / places;
  batches_across = all_columns / columns;
  ahead = std::min(batches(), most_bytes_ahead / bytes());
  internal_check(batches() % ahead == 0, "batches of a tile that take their arrays in no fixed turns");
}

std::int64_t WordGather::Shares::columns_together() const {
  return std::max<std::int64_t>(1, lanes_together / lanes_down);
}

std::optional<RefusedGather> WordGather::why_not(const ir::Copy& copy) {
  const std::int64_t columns = extent_of(copy, 0), places = places_of_line(copy);
  const bool whole = places == 32 || places == 64 || places % bytes_of_line == 0;
  static_assert(least_bytes == bytes_of_word * lanes_of_warp * bytes_of_run);
  const std::int64_t least_columns = least_bytes / std::min(places, bytes_of_line);
  if (!whole || columns % std::max(lanes_of_warp, least_columns) != 0)
    return RefusedGather{
        fmt::format("{} lines of {} places of a byte", columns, places),
        "multiples of 32 lines, of 64 where they have 32 places, 64 or a multiple of 128 else"};
  const ir::Buffer& source = *copy.source;
  const std::int64_t* step = ir::integer_value(source.strides.back());
  const bool in_runs = step != nullptr && *step == 1 &&
                       std::all_of(source.strides.begin(), source.strides.end() - 1,
                                   [](const Expr& stride) { return divides(bytes_of_run, stride); });
  if (in_runs) return std::nullopt;
  return RefusedGather{fmt::format("rows of {} that are no whole runs of 16 bytes", source.name),
                       fmt::format("align(\"{}\") first", source.name)};
}

WordGather::WordGather(const ir::Copy& copy, const ir::For& loop, std::int64_t warps, Expr data,
                       ir::BufferRef numbers, ir::BufferRef next)
    : copy_(copy),
      loop_(loop),
      warps_(warps),
      data_(std::move(data)),
      shares_(copy),
      numbers_(std::move(numbers)),
      next_(std::move(next)) {
  const auto registers = [&](const char* what, std::vector<Expr> shape) {
    return ir::make_buffer(name(what), DType::i32, ir::Scope::registers, ir::Access::read_write,
                           std::move(shape));
  };
  array_ = ir::make_tile(name(".rows"), *copy.destination, ir::Scope::shared,
                         {warps, shares_.ahead, shares_.bytes() / bytes_of_line, bytes_of_line});
  chosen_ = registers(".chosen", {shares_.bytes() / (bytes_of_run * lanes_of_warp)});
  whole_ = registers(".whole", {std::max<std::int64_t>(1, shares_.places / lanes_of_warp)});
  words_ = registers(".words", {bytes_of_run, shares_.columns_of_lane / bytes_of_word});
  turned_ = registers(".turned", {bytes_of_word, bytes_of_word});
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

/// Rows that lanes beside one another load from lie 16 apart. Their runs are rotated by as many as the eight
/// lanes take beside one another.
std::vector<Expr> WordGather::place_in_array(std::int64_t batch, const Expr& row, const Expr& column) const {
  const std::int64_t in_row = shares_.columns / bytes_of_run;
  const Expr run = row * in_row + column / bytes_of_run;
  const Expr rotated = row / bytes_of_run * shares_.columns_together();
  return {producer_number() / lanes_of_warp, batch % shares_.ahead, run / runs_of_line,
          (run + rotated) % runs_of_line * bytes_of_run + column % bytes_of_run};
}

/// A run of 16 columns of the lane. `whole`: all of the batch are inside.
Stmt WordGather::copy_run(std::int64_t batch, std::int64_t round, const Expr& iteration, bool whole) const {
  const std::int64_t in_row = shares_.columns / bytes_of_run;
  const Expr run = lane() + round * lanes_of_warp;
  const Expr row = lane() / in_row + round * (lanes_of_warp / in_row), column = run % in_row * bytes_of_run;
  ir::Substitution here = place(column + first_column(batch), row + first_place(batch));
  here[loop_.name] = iteration;
  const Expr number = ir::load(chosen_, {round});
  const auto at = [&](const Expr& e) { return ir::substitute(with_number(e, data_, number), here); };
  ir::Copy own = copy_;
  std::ranges::transform(copy_.source_begin, own.source_begin.begin(), at);
  own.destination = array_;
  own.destination_begin = place_in_array(batch, row, column);
  own.extents = {bytes_of_run};
  own.coordinates = {name(".place")};
  own.of_one_thread = own.asynchronous = true;
  own.inside = whole || !copy_.inside.defined() ? Expr() : at(copy_.inside);
  return ir::copy(std::move(own));
}

/// The numbers of all rows before the first copy: lanes that ask one another wait behind copies. A copy that
/// may have to clear its run takes longer, and few batches have padding or end beyond the operand.
Stmt WordGather::copy_batch(std::int64_t batch, const ir::BufferRef& numbers, const Expr& iteration) const {
  const std::int64_t in_row = shares_.columns / bytes_of_run, rows_at_once = lanes_of_warp / in_row;
  const std::int64_t rounds = shares_.bytes() / (bytes_of_run * lanes_of_warp);
  std::vector<Stmt> chosen, whole_runs, runs;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t first = first_place(batch) + round * rows_at_once;
    chosen.push_back(ir::execute({"shuffle",
                                  {{chosen_, {round}, 1}},
                                  {{numbers, {first / lanes_of_warp}, 1}},
                                  {lane() / in_row + first % lanes_of_warp}}));
    whole_runs.push_back(copy_run(batch, round, iteration, true));
    runs.push_back(copy_run(batch, round, iteration, false));
  }
  Expr whole = ir::boolean(true);
  const ir::Substitution last =
      place(first_column(batch) + shares_.columns - bytes_of_run, first_place(batch));
  for (const Expr& condition : ir::conjuncts_of(copy_.inside.defined() ? copy_.inside : ir::boolean(true))) {
    if (!ir::same(condition, 0 <= data_)) {
      const bool of_places = ir::reads_memory(condition) ||
                             std::any_of(copy_.coordinates.begin() + 1, copy_.coordinates.end(),
                                         [&](const std::string& each) { return ir::uses(condition, each); });
      whole = of_places ? ir::boolean(false) : whole && ir::substitute(condition, last);
      continue;
    }
    for (std::int64_t part = 0; part < *ir::integer_value(whole_->shape.front()); ++part) {
      chosen.push_back(ir::execute({"none_negative",
                                    {{whole_, {part}, 1}},
                                    {{numbers, {part + first_place(batch) / lanes_of_warp}, 1}},
                                    {}}));
      whole = whole && 0 < ir::load(whole_, {part});
    }
  }
  return ir::block({ir::block(std::move(chosen)),
                    ir::if_then(whole, ir::block(std::move(whole_runs)), ir::block(std::move(runs)))});
}

Stmt WordGather::begin() const {
  std::vector<Stmt> batches;
  for (std::int64_t batch = 0; batch < shares_.ahead; ++batch) {
    batches.push_back(copy_batch(batch, numbers_, ir::variable(loop_.name)));
    batches.push_back(ir::commit_copies());
  }
  return ir::if_then(ir::variable(loop_.name) < loop_.begin + warps_, ir::block(std::move(batches)));
}

/// What the lane takes of the batch, from the warp's array.
Stmt WordGather::load(std::int64_t batch) const {
  std::vector<Stmt> rows;
  for (std::int64_t row = 0; row < bytes_of_run; ++row) {
    const std::vector<Expr> from = place_in_array(batch, lane() % shares_.lanes_down * bytes_of_run + row,
                                                  lane() / shares_.lanes_down * shares_.columns_of_lane);
    rows.push_back(ir::execute({fmt::format("load_{}_bytes", shares_.columns_of_lane),
                                {{words_, {row, 0}, static_cast<int>(*ir::integer_value(words_->shape[1]))}},
                                {},
                                {ir::load(array_, from)}}));
  }
  return ir::block(std::move(rows));
}

/// Where fewer than eight lanes fill a line of 128 bytes, they begin with different columns of four.
Stmt WordGather::store(std::int64_t batch, const Expr& slot) const {
  const std::int64_t together = shares_.columns_together();
  const auto byte = [&](std::int64_t i) -> Expr {
    return together == 1 ? Expr(i) : (lane() / shares_.lanes_down % together + i) % bytes_of_word;
  };
  const ir::Buffer& tile = *copy_.destination;
  const auto place_of = [&](const Expr& column, const Expr& place_of_line) {
    std::vector<Expr> to;
    for (const Expr& index : copy_.destination_begin)
      to.push_back(ir::substitute(index, place(column, place_of_line)));
    to.front() = slot;
    return to;
  };
  // Places of four columns behind differ by whole lines, which are known, and by bits of the swizzle.
  const Expr nothing = ir::offset_of(tile, place_of(0, 0));
  const std::int64_t mixed = (std::int64_t{1} << tile.swizzle) - 1;
  std::vector<Stmt> statements;
  for (std::int64_t four = 0; four < shares_.columns_of_lane / bytes_of_word; ++four) {
    for (std::int64_t group = 0; group < bytes_of_word; ++group) {
      std::vector<ir::RegisterRange> words, results;
      std::vector<Expr> selectors;
      for (std::int64_t i = 0; i < bytes_of_word; ++i) {
        words.push_back({words_, {group * bytes_of_word + i, four}, 1});
        results.push_back({turned_, {i, group}, 1});
        if (together > 1) selectors.push_back(byte(i) * 17 + 64);
      }
      statements.push_back(ir::execute({together > 1 ? "turn_bytes_in_order" : "turn_bytes",
                                        std::move(results), std::move(words), std::move(selectors)}));
    }
    const ir::Linear distance = ir::linear(
        ir::offset_of(tile, place_of(first_column(batch) + four * bytes_of_word, first_place(batch))) -
        nothing);
    internal_check(distance.terms.empty(), "words of a tile that lie at uneven places");
    const std::int64_t whole = distance.constant / bytes_of_line * bytes_of_line;
    const std::int64_t changed =
        (distance.constant / bytes_of_line & mixed) * bytes_of_run + distance.constant % bytes_of_line;
    for (std::int64_t i = 0; i < bytes_of_word; ++i) {
      const std::vector<Expr> first =
          place_of(lane() / shares_.lanes_down * shares_.columns_of_lane + byte(i),
                   lane() % shares_.lanes_down * bytes_of_run);
      statements.push_back(ir::execute({"store_16_bytes",
                                        {},
                                        {{turned_, {i, 0}, static_cast<int>(bytes_of_word)}},
                                        {ir::load(copy_.destination, first), changed, whole}}));
    }
  }
  return ir::block(std::move(statements));
}

Stmt WordGather::fill(const Expr& slot) const {
  const Expr iteration = ir::variable(loop_.name), next = iteration + warps_;
  std::vector<Stmt> statements;
  for (std::int64_t batch = 0; batch < shares_.batches(); ++batch) {
    const std::int64_t later = batch + shares_.ahead;
    const Stmt copied = later < shares_.batches()
                            ? copy_batch(later, numbers_, iteration)
                            : ir::if_then(next < loop_.begin + loop_.extent,
                                          copy_batch(later - shares_.batches(), next_, next));
    const Stmt together = ir::execute("barrier_of_warp");
    for (const Stmt& each : {ir::wait_for_copies(static_cast<int>(shares_.ahead) - 1), together, load(batch),
                             together, copied, ir::commit_copies(), store(batch, slot)})
      statements.push_back(each);
  }
  return ir::block(std::move(statements));
}

Stmt WordGather::around(Stmt body) const {
  for (const ir::BufferRef& buffer : {array_, chosen_, whole_, words_, turned_})
    body = ir::allocate(buffer, std::move(body));
  return body;
}

}  // namespace weft::passes
